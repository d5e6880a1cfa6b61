"""The prompt."""

from __future__ import annotations

import pytest
from mcp import Client, MCPError
from mcp_types import INVALID_PARAMS, TextContent
from tests.unit.interfaces.fake_workspace import FakeWorkspace
from tests.unit.interfaces.mcp.agent import ERAS, talk

NAME = "answer_with_citations"


@pytest.mark.parametrize("era", ERAS)
def test_the_prompt_asks_the_question_and_for_citations(workspace: FakeWorkspace, era: str) -> None:
    """The question stands in it as it was typed, braces and all."""

    async def say(client: Client) -> str:
        [prompt] = (await client.list_prompts()).prompts
        result = await client.get_prompt(prompt.name, {"question": "{京都}の宿は?"})
        [message] = result.messages
        assert isinstance(message.content, TextContent)
        return message.content.text

    text = talk(workspace, say, era=era)
    assert "{京都}の宿は?" in text
    assert "`collection/path:line`" in text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("answer_with_citation", {"question": "x"}, f"did you mean `{NAME}`"),
        (NAME, {}, "`question` is missing"),
        (NAME, {"question": " "}, "`question` is missing"),
        (NAME, {"question": "x", "qestion": "y"}, "unknown argument `qestion`; did you mean `question`"),
    ],
)
def test_what_is_wrong_with_a_prompt_is_told(
    workspace: FakeWorkspace, name: str, arguments: dict[str, str], said: str
) -> None:
    """An unknown prompt or argument with the nearest name, a question that is missing."""
    with pytest.raises(MCPError, match=said) as caught:
        talk(workspace, lambda client: client.get_prompt(name, arguments))
    assert caught.value.error.code == INVALID_PARAMS
