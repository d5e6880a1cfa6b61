"""Documents as resources, and completion of their addresses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import (
    INVALID_PARAMS,
    PromptReference,
    Resource,
    ResourceTemplateReference,
    TextResourceContents,
)
from tests.unit.interfaces.fake_workspace import FakeWorkspace
from tests.unit.interfaces.mcp.agent import ERAS, talk
from tests.workspaces import workspace_of, written

from mdvec.interfaces.mcp.places import STATUS, TEMPLATE, address_of
from mdvec.types.report import ListedDocument
from mdvec.workspace import Workspace

SECRET = "the combination of the safe"


def listed(count: int) -> list[ListedDocument]:
    """Return so many documents, in order."""
    return [ListedDocument("notes", f"文書 {number:04}.md", "T", 10, 0) for number in range(count)]


async def pages_of(client: Client) -> list[list[Resource]]:
    """Ask for all pages."""
    pages = [await client.list_resources()]
    while pages[-1].next_cursor is not None:
        pages.append(await client.list_resources(cursor=pages[-1].next_cursor))
    return [page.resources for page in pages]


@pytest.mark.parametrize("count", [0, 1, 100, 101, 250])
def test_pages_hold_every_document_once(workspace: FakeWorkspace, count: int) -> None:
    """The status comes first; no page is empty but the first, and none is longer than 100 documents."""
    workspace.listed = listed(count)
    pages = talk(workspace, pages_of)
    assert [each.uri for page in pages for each in page] == [
        STATUS,
        *(address_of("notes", each.path) for each in workspace.listed),
    ]
    assert all(0 < len(page) <= 101 for page in pages)


def test_a_page_starts_after_the_last_document_even_if_that_is_gone(tmp_path: Path) -> None:
    """Documents that come and go between two pages make no other one appear twice or never."""
    folder = written(tmp_path / "notes", {f"many/{number:03}.md": "text\n" for number in range(150)})

    async def say(client: Client) -> list[str]:
        first = await client.list_resources()
        for number in (5, 99):
            (folder / "many" / f"{number:03}.md").unlink()
        written(folder, {"a-new-one.md": "It comes before the others.\n"})
        await anyio.to_thread.run_sync(workspace.import_collection, "notes")
        second = await client.list_resources(cursor=first.next_cursor)
        return [each.uri for page in (first, second) for each in page.resources]

    with workspace_of(tmp_path / "i.sqlite", {"notes": folder}) as workspace:
        listed = talk(workspace, say)
    assert listed == [STATUS, *(address_of("notes", f"many/{number:03}.md") for number in range(150))]


def test_a_resource_says_what_it_is(workspace: FakeWorkspace) -> None:
    """Its kind, size and time, so that a client can choose without reading it."""
    workspace.listed = [
        ListedDocument("notes", "a.md", "A", 12, 1_777_627_800_123_456_789),
        ListedDocument("notes", "b.txt", "B", 3, 0),
    ]
    _, first, second = talk(workspace, pages_of)[0]
    assert (first.name, first.title, first.mime_type, first.size) == ("notes/a.md", "A", "text/markdown", 12)
    assert first.annotations is not None
    assert first.annotations.last_modified == "2026-05-01T09:30:00Z"
    assert second.mime_type == "text/plain"
    assert second.annotations is not None
    assert second.annotations.last_modified is None


@pytest.mark.parametrize("cursor", ["?", "AAAA", "WyJhIl0="])
def test_a_wrong_cursor_is_refused(workspace: FakeWorkspace, cursor: str) -> None:
    """Not taken for the beginning: a client would go round in circles."""
    with pytest.raises(MCPError, match="this cursor does not come") as caught:
        talk(workspace, lambda client: client.list_resources(cursor=cursor))
    assert caught.value.error.code == INVALID_PARAMS


def test_status_is_a_resource(workspace: FakeWorkspace) -> None:
    """It holds what the tool answers, as JSON."""

    async def say(client: Client) -> tuple[object, object]:
        [content] = (await client.read_resource(STATUS)).contents
        assert isinstance(content, TextResourceContents)
        return json.loads(content.text), (await client.call_tool("status", {})).structured_content

    read, answered = talk(workspace, say)
    assert read == answered


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Workspace]:
    """An imported folder beside a secret, with a link out of it."""
    (tmp_path / "secret.md").write_text(SECRET, encoding="utf-8")
    folder = tmp_path / "notes"
    (folder / "旅 行").mkdir(parents=True)
    (folder / "旅 行" / "京都.md").write_text("# 京都\n\n宿に泊まった。\n", encoding="utf-8")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    with workspace_of(tmp_path / "i.sqlite", {"notes": folder}, description="d") as workspace:
        (folder / "later.md").write_text(SECRET, encoding="utf-8")
        yield workspace


async def read_text(client: Client, address: str) -> str:
    """Read one resource."""
    [content] = (await client.read_resource(address)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


@pytest.mark.parametrize("era", ERAS)
def test_a_listed_document_can_be_read(notes: Workspace, era: str) -> None:
    """Addresses with Japanese and spaces go there and back."""

    async def say(client: Client) -> str:
        [[_, document]] = await pages_of(client)
        return await read_text(client, document.uri)

    assert talk(notes, say, era=era) == "# 京都\n\n宿に泊まった。\n"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "nope.md",
        "%ff%fe",
        "../secret.md",
        "%2e%2e/secret.md",
        "..%2Fsecret.md",
        "旅 行/../../secret.md",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "link.md",
        "later.md",
        "京都.md%00",
        "C:%5Csecret.md",
    ],
)
def test_nothing_but_the_index_is_read(notes: Workspace, path: str) -> None:
    """Paths out of the folder, links and files that are not indexed name no resource."""
    address = f"mdvec://notes/{path}"
    for era in ERAS:
        with pytest.raises(MCPError, match="no document") as caught:
            talk(notes, lambda client: client.read_resource(address), era=era)
        assert caught.value.error.code == INVALID_PARAMS
        assert caught.value.error.data == {"uri": address}
        assert SECRET not in str(caught.value)
    result = talk(notes, lambda client: client.call_tool("get_doc", {"path": path}))
    assert result.is_error


@pytest.mark.parametrize("address", ["mdvec://nope/a.md", "mdvec://notes", "file:///etc/passwd"])
def test_an_unknown_resource_is_told_with_its_address(notes: Workspace, address: str) -> None:
    """As the protocol says: -32602, and the address in the data."""
    with pytest.raises(MCPError) as caught:
        talk(notes, lambda client: client.read_resource(address))
    assert (caught.value.error.code, caught.value.error.data) == (INVALID_PARAMS, {"uri": address})


def completed(workspace: Workspace, name: str, begun: str, **context: str) -> list[str]:
    """Return what is suggested for a variable of the template."""

    async def say(client: Client) -> list[str]:
        result = await client.complete(
            ResourceTemplateReference(type="ref/resource", uri=TEMPLATE),
            {"name": name, "value": begun},
            context_arguments=context or None,
        )
        return result.completion.values

    return talk(workspace, say)


def test_collections_and_paths_are_completed(notes: Workspace) -> None:
    """By what was typed so far; paths inside the collection, when it is known."""
    assert completed(notes, "collection", "NO") == ["notes"]
    assert completed(notes, "collection", "x") == []
    assert completed(notes, "path", "旅", collection="notes") == ["旅 行/京都.md"]
    assert completed(notes, "path", "") == ["旅 行/京都.md"]
    assert completed(notes, "path", "京") == []
    assert completed(notes, "path", "", collection="no") == []
    assert completed(notes, "other", "") == []


def test_no_more_is_suggested_than_the_protocol_allows(workspace: FakeWorkspace) -> None:
    """A hundred, with the word that there are more."""
    workspace.listed = listed(150)

    async def say(client: Client) -> tuple[int, bool | None]:
        reference = ResourceTemplateReference(type="ref/resource", uri=TEMPLATE)
        result = await client.complete(reference, {"name": "path", "value": "文"})
        return len(result.completion.values), result.completion.has_more

    assert talk(workspace, say) == (100, True)


def test_the_question_of_the_prompt_is_not_completed(workspace: FakeWorkspace) -> None:
    """It is the user's own."""

    async def say(client: Client) -> list[str]:
        prompt = PromptReference(type="ref/prompt", name="answer_with_citations")
        return (await client.complete(prompt, {"name": "question", "value": "w"})).completion.values

    assert talk(workspace, say) == []


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (PromptReference(type="ref/prompt", name="answer_with_citation"), "did you mean `answer_with_cit"),
        (ResourceTemplateReference(type="ref/resource", uri="mdvec://{x}"), "there is no template"),
    ],
)
def test_other_templates_and_prompts_are_not_completed(
    workspace: FakeWorkspace, reference: PromptReference | ResourceTemplateReference, said: str
) -> None:
    """The error names the nearest one."""
    with pytest.raises(MCPError, match=said):
        talk(workspace, lambda client: client.complete(reference, {"name": "a", "value": ""}))
