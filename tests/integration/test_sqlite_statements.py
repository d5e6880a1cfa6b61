"""What a search costs in statements: one snapshot, and a handful of queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest
from tests.workspaces import workspace_of

import mdvec.search
from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config.schema import Config, SearchSettings
from mdvec.stores.sqlite import database, opening
from mdvec.stores.sqlite.connection import Access, Connection, connect
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import Expansion, Filters, SearchMode

# Seventeen; three that look up the places of chunks where scores are equal, as of notes that are so alike;
# and one for the chunks that operators chose.
MAX_STATEMENTS = 21


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that any connection executes from now on."""
    seen: list[str] = []

    def traced(path: Path, access: Access, *, follow_links: bool = True) -> Connection:
        connection = connect(path, access, follow_links=follow_links)

        def record(_cursor: object, sql: str, _bindings: object) -> bool:
            seen.append(" ".join(sql.split()))
            return True

        connection.exec_trace = record
        return connection

    for module in (opening, database):
        monkeypatch.setattr(module, "connect", traced)
    return seen


@pytest.fixture
def workspace(tmp_path: Path, statements: list[str]) -> Iterator[Workspace]:
    """A collection of forty documents that replace each other and have tags; none is like another."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(40):
        own = ascii_lowercase[number // 6] + ascii_lowercase[number % 6]
        previous = f"previous: note{number - 1}\n" if number % 4 == 3 else ""
        header = f"---\ntags: [t{number % 3}]\n{previous}---\n"
        sections = "\n\n".join(
            f"## Part {part}\n\n" + f"word{number} {own}{'xyz'[part]} some words " * 20 for part in range(3)
        )
        (docs / f"note{number}.md").write_text(f"{header}# Note {number}\n\n{sections}\n", encoding="utf-8")
    with workspace_of(tmp_path / "index.sqlite", {"notes": docs}):
        pass
    config = Config(search=SearchSettings(sync_budget_ms=0))  # looking at the folder is not counted
    with open_workspace(config, database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as workspace:
        yield workspace


@pytest.mark.parametrize(
    "query",
    [
        SearchQuery("some words of note 7"),
        SearchQuery("word7", mode=SearchMode.LEXICAL),
        SearchQuery("word7", mode=SearchMode.DENSE),
        SearchQuery("some words", filters=Filters(tags=("t1",), path="note*.md")),
        SearchQuery("some words", limit=50, per_document=3),
        SearchQuery("some words", limit=1, expand=Expansion.SECTION),
        SearchQuery('"some words" -word7 path:note*.md'),
        SearchQuery("smoe wrods of a note"),
    ],
)
def test_a_warm_search_takes_one_snapshot_and_few_statements(
    workspace: Workspace, statements: list[str], query: SearchQuery
) -> None:
    """Whatever is searched for; the beginning and the end of the snapshot are counted, too."""
    assert workspace.search(query).hits
    statements.clear()
    assert workspace.search(query).hits
    assert len([sql for sql in statements if sql.startswith("BEGIN")]) == 1
    assert [sql for sql in statements if sql.startswith(("INSERT", "UPDATE", "DELETE"))] == []
    assert len(statements) <= MAX_STATEMENTS, "\n".join(statements)


def test_what_one_query_chose_is_not_remembered(workspace: Workspace) -> None:
    """A server that answers for weeks does not grow with each question."""
    remembered = []
    for number in range(3, 9):
        assert workspace.search(SearchQuery(f"word{number}")).hits
        with workspace._collections.store().read() as view:
            remembered.append(len(view.words.tables.known))  # type: ignore[attr-defined] # of SQLite
    assert remembered[1:] == remembered[:1] * 5


def test_ranking_knows_no_store() -> None:
    """Nothing of the search package mentions SQLite."""
    folder = Path(mdvec.search.__file__).parent
    sources = {path.name: path.read_text("utf-8") for path in folder.rglob("*.py")}
    assert len(sources) > 5
    assert [name for name, text in sources.items() if "sqlite" in text.casefold()] == []
