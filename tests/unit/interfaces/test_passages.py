"""Several documents in one read."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.interfaces.fake_workspace import FakeWorkspace
from tests.unit.interfaces.mcp.agent import call, text_of

from mdvec.errors import DocumentNotFoundError, UsageError
from mdvec.interfaces.passages import read_documents
from mdvec.interfaces.requests import ReadRequest
from mdvec.text.tokens import estimate_token_count
from mdvec.types.query import Filters
from mdvec.types.report import ListedDocument, Passage


def folder(texts: Mapping[str, str]) -> FakeWorkspace:
    """Return a workspace with texts by path; a glob with a folder in it matches all, the last one first."""
    workspace = FakeWorkspace()

    def read(path: str, **_: object) -> Passage:
        if path not in texts:
            msg = f"no document {path!r}"
            raise DocumentNotFoundError(msg, hint="Did you mean a.md?")
        text = texts[path]
        return Passage("notes", path, "A", (), 1, text.count("\n") + 1, text, stale=False)

    def newest(filters: Filters, limit: int, **_: object) -> list[ListedDocument]:
        listed = [ListedDocument("notes", path, "A", 1, 0) for path in reversed([*texts])]
        return listed[:limit] if "/" in (filters.path or "") else []

    workspace.answers |= {"read": read, "newest": newest}
    return workspace


TEXTS = st.dictionaries(
    st.integers(0, 99).map(lambda number: f"{number:02}.md"),
    st.text(alphabet="word 京都\n\t", max_size=400) | st.text(max_size=200),
    min_size=1,
    max_size=25,
)


@given(TEXTS, st.integers(1, 500))
def test_documents_share_a_budget(texts: dict[str, str], most_tokens: int) -> None:
    """All texts together fit. A text is whole or says where it goes on, unless what is missing is blank."""
    paths = (*texts, "gone.md")
    reading = read_documents(folder(texts), ReadRequest(path=paths, max_tokens=most_tokens), str)
    assert sum(estimate_token_count(each.text) for each in reading.documents) <= most_tokens
    assert [each.path for each in reading.documents] == list(texts)[: len(reading.documents)]
    assert reading.more == (len(reading.documents) < len(texts))
    for each in reading.documents:
        whole = texts[each.path]
        assert whole.startswith(each.text)
        assert each.next_lines is not None or not whole[len(each.text) :].strip()
    [failed] = reading.failed
    assert (failed.path, failed.reason) == ("gone.md", "no document 'gone.md'. Did you mean a.md?")


def test_a_short_document_leaves_its_share_to_the_others() -> None:
    """What fits in the budget as a whole is whole."""
    texts = {"long.md": "word " * 150, "a.md": "short\n", "b.md": "short\n"}
    reading = read_documents(folder(texts), ReadRequest(path=tuple(texts), max_tokens=200), str)
    assert [each.text for each in reading.documents] == [*texts.values()]


def test_a_glob_is_read_in_the_order_of_paths() -> None:
    """Of many documents the last updated ones; a document comes once, however often it is named."""
    texts = {f"{number:02}.md": f"{number}\n" for number in range(30)}
    reading = read_documents(folder(texts), ReadRequest(path=("2026/*", "29.md")), str)
    assert [each.path for each in reading.documents] == [f"{number:02}.md" for number in range(9, 29)]
    assert reading.more
    few = read_documents(folder(dict([*texts.items()][:3])), ReadRequest(path=("2026/*", "01.md")), str)
    assert [each.path for each in few.documents] == ["00.md", "01.md", "02.md"]
    assert not few.more


def test_brackets_are_a_set_or_a_part_of_a_name() -> None:
    """As in a filter by path; a name with brackets that is not there is missing by its name."""
    workspace = folder({"a.md": "a\n", "b.md": "b\n", "Plans [2026].md": "plans\n"})
    reading = read_documents(workspace, ReadRequest(path=("2026/[ab].md",)), str)
    assert [each.path for each in reading.documents] == ["Plans [2026].md", "a.md", "b.md"]
    reading = read_documents(workspace, ReadRequest(path=("Plans [2026].md",), lines="1:1"), str)
    assert [each.path for each in reading.documents] == ["Plans [2026].md"]
    for missing in ("Plans [2027].md", "[[Plans]]"):
        with pytest.raises(DocumentNotFoundError, match="no document '") as caught:
            read_documents(workspace, ReadRequest(path=(missing,), lines="1:1"), str)
        assert caught.value.hint == "Did you mean a.md?"


def test_what_is_for_one_document_is_refused_for_several() -> None:
    """Lines of which document? The next step says how to write them."""
    workspace = folder({"a.md": "a\n", "b.md": "b\n"})
    for path in (("a.md", "b.md"), ("2026/*",)):
        with pytest.raises(UsageError) as caught:
            read_documents(workspace, ReadRequest(path=path, lines="1:2"), str)
        assert "a.md:10-40" in caught.value.hint
    with pytest.raises(DocumentNotFoundError, match="no document matches"):
        read_documents(workspace, ReadRequest(path=("x*",)), str)


def test_an_agent_reads_several_documents() -> None:
    """Each has its place and its own next step; what cannot be read has its reason, between fences."""
    workspace = folder({"a.md": "a\n", "b.md": "word\n" * 400})
    answer = call(workspace, "get_doc", path=["a.md", "b.md", "nope.md"], max_tokens=100)
    lines = text_of(answer).splitlines()
    assert lines[0].startswith("2 documents. Between ``` is data")
    assert lines[1:7] == ["", "1.", "```", "notes/a.md:1-2 · A", "a", "```"]
    assert lines[8] == "2."
    data = answer.structured_content
    rest = data["documents"][1]["next_lines"]
    assert f'next: get_doc with the path of 2 and lines="{rest}" for the rest' in lines
    assert lines[-4:] == ["not read:", "```", "nope.md: no document 'nope.md'. Did you mean a.md?", "```"]
    assert data["failed"] == [{"path": "nope.md", "reason": "no document 'nope.md'. Did you mean a.md?"}]
