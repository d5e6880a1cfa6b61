"""A server's first search of a folder: words at once, vectors behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.runs import cancelled_when, claimed
from tests.waiting import HANG_S, wait_until

from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.embedding.interface import Role
from mdvec.errors import EmbedderUnavailableError, EmbeddingError, ImportStoppedError, SourceMissingError
from mdvec.run import Stage
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.hit import SearchResult
from mdvec.types.query import SearchMode
from mdvec.types.report import ImportOptions
from mdvec.workspace import importing

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

TOMATOES = SearchQuery("tomatoes")
MANY = int(importing._VECTORS_BUDGET_S * importing._CHUNKS_PER_S) + 50
EMBEDDED = 3 * MANY  # the title, the file name and the text of each document


class GatedEmbedder(HashingEmbedder):
    """Embeds passages only after ``gate`` was opened; ``waiting`` says that it was asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.waiting = threading.Event()

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Wait, then embed."""
        if role is Role.DOCUMENT:
            self.waiting.set()
            assert self.gate.wait(HANG_S)
        yield from super().embed(texts, role, titles)


@pytest.fixture
def embedder() -> Iterator[GatedEmbedder]:
    """A model that is slow until it is told otherwise."""
    made = GatedEmbedder()
    yield made
    made.gate.set()


def fill(folder: Path, documents: int) -> Path:
    """Write so many documents of one chunk each."""
    folder.mkdir(exist_ok=True)
    for number in range(documents):
        (folder / f"{number:03}.md").write_text(f"# Bed {number}\n\nTomatoes {number}.\n", encoding="utf-8")
    return folder


def ask(workspace: Workspace, query: SearchQuery = TOMATOES) -> SearchResult:
    """Search as a server does."""
    return workspace.search(query, wait_for_vectors=False)


def test_words_are_searched_before_vectors_are_made(tmp_path: Path, embedder: GatedEmbedder) -> None:
    """The first answers say how much is pending, and load no model; then hybrid search takes over."""
    with open_workspace(docs_dir=fill(tmp_path / "d", MANY), embedder=embedder) as workspace:
        first, second = ask(workspace), ask(workspace)
        for result in (first, second):
            assert len(result.hits) == 5
            assert (result.mode, result.pending_chunks) == (SearchMode.LEXICAL, MANY)
            assert result.warnings == ("searched by words only: the vectors are still being made",)
        assert embedder.queries == []
        embedder.gate.set()
        wait_until(lambda: ask(workspace).pending_chunks == 0)
        last = ask(workspace)
        assert (last.mode, last.warnings) == (SearchMode.HYBRID, ())
    assert len(embedder.embedded) == EMBEDDED


def test_what_is_pending_is_being_made(tmp_path: Path, embedder: GatedEmbedder) -> None:
    """A dense search of a half-made index says so, and tells nobody to run a command."""
    with open_workspace(docs_dir=fill(tmp_path / "d", MANY), embedder=embedder) as workspace:
        result = ask(workspace, SearchQuery("tomatoes", mode=SearchMode.DENSE))
    assert result.warnings == (
        f"{MANY} of {MANY} chunks have no vector yet and are found by words only; they are being made",
    )
    assert result.hint == "There is no vector yet. Search in mode hybrid or lexical."


def test_the_first_answer_from_a_small_folder_is_complete(tmp_path: Path) -> None:
    """Its vectors take a moment, and are worth it."""
    with open_workspace(docs_dir=fill(tmp_path / "d", 3), embedder=HashingEmbedder()) as workspace:
        result = ask(workspace)
    assert (result.mode, result.pending_chunks, result.warnings) == (SearchMode.HYBRID, 0, ())


def test_a_client_hears_how_far_it_is_and_may_give_up(tmp_path: Path, embedder: GatedEmbedder) -> None:
    """That ends the waiting and not the indexing."""
    with open_workspace(docs_dir=fill(tmp_path / "d", 3), embedder=embedder) as workspace:
        with (
            cancelled_when(lambda stage, _: stage is Stage.EMBED) as watched,
            pytest.raises(ImportStoppedError),
        ):
            ask(workspace)
        assert watched.stages[-1] is Stage.EMBED
        embedder.gate.set()
        wait_until(lambda: ask(workspace).pending_chunks == 0)


def test_two_servers_make_one_index(tmp_path: Path, embedder: GatedEmbedder) -> None:
    """Both answer while one of them works; nothing is embedded twice, by nobody."""
    docs = fill(tmp_path / "d", MANY)
    other_embedder = HashingEmbedder()
    with (
        open_workspace(docs_dir=docs, embedder=embedder) as one,
        open_workspace(docs_dir=docs, embedder=other_embedder) as other,
    ):
        assert len(ask(one).hits) == len(ask(other).hits) == 5
        embedder.gate.set()
        wait_until(lambda: ask(other).pending_chunks == 0)
    assert sorted(embedder.embedded) == sorted(set(embedder.embedded))
    assert len(embedder.embedded) == EMBEDDED
    assert other_embedder.embedded == []


def test_closing_ends_the_work_behind(tmp_path: Path, embedder: GatedEmbedder) -> None:
    """Even inside a batch, whose end it does not wait for; the next server embeds what is missing."""
    docs = fill(tmp_path / "d", MANY)
    with open_workspace(docs_dir=docs, embedder=embedder) as workspace:
        ask(workspace)
        assert embedder.waiting.wait(10)
    assert not embedder.gate.is_set()
    embedder.gate.set()
    fresh = HashingEmbedder()
    with open_workspace(docs_dir=docs, embedder=fresh) as workspace:
        wait_until(lambda: ask(workspace).pending_chunks == 0)
    assert 0 < len(fresh.embedded) <= EMBEDDED


def test_a_folder_that_is_away_is_an_error_until_it_is_back(tmp_path: Path) -> None:
    """Each search tries again as long as nothing is indexed."""
    docs = fill(tmp_path / "d", 2)
    with open_workspace(docs_dir=docs, data_dir=tmp_path / "i", embedder=HashingEmbedder()) as workspace:
        docs.rename(tmp_path / "away")
        for _ in range(2):
            with pytest.raises(SourceMissingError):
                ask(workspace)
        (tmp_path / "away").rename(docs)
        assert len(ask(workspace).hits) == 2


def test_an_empty_folder_is_looked_at_again(tmp_path: Path) -> None:
    """Each search brings it up to date, in a server and elsewhere: first all of it, then what is new."""
    docs = fill(tmp_path / "d", 0)
    with open_workspace(docs_dir=docs, embedder=HashingEmbedder()) as workspace:
        for wait in (True, False):
            result = workspace.search(TOMATOES, wait_for_vectors=wait)
            assert (result.hits, result.warnings, result.total_chunks) == ((), (), 0)
        fill(docs, 2)
        assert len(ask(workspace).hits) == 2
        fill(docs, 3)
        # Looking takes a small share of the time, so the next search may come too soon.
        wait_until(lambda: len(ask(workspace).hits) == 3)


def test_without_a_model_there_is_nothing_to_wait_for(tmp_path: Path) -> None:
    """Words are indexed once; the missing model is told, and does not start the work again and again."""
    embedder = HashingEmbedder(problem=EmbedderUnavailableError("no model", hint="Run this."))
    with open_workspace(docs_dir=fill(tmp_path / "d", 2), embedder=embedder) as workspace:
        first = ask(workspace)
        assert len(first.hits) == 2
        assert first.warnings == ("no model. Run this.", "searched by words only: no model")
        assert ask(workspace).warnings == ("searched by words only: no model",)
        generation = workspace.generation()
        ask(workspace)
        time.sleep(0.3)
        assert workspace.generation() == generation


class BrokenEmbedder(HashingEmbedder):
    """Cannot embed passages."""

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Fail."""
        if role is Role.DOCUMENT:
            msg = "the model does not answer"
            raise EmbeddingError(msg)
        yield from super().embed(texts, role, titles)


def test_a_failure_behind_is_told_once(tmp_path: Path) -> None:
    """The search goes on with words."""
    with open_workspace(docs_dir=fill(tmp_path / "d", 2), embedder=BrokenEmbedder()) as workspace:
        result = ask(workspace)
        assert len(result.hits) == 2
        assert "indexing has ended early: the model does not answer" in result.warnings
        assert "indexing has ended early: the model does not answer" not in ask(workspace).warnings


def test_a_large_folder_is_answered_from_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client does not wait for ever: the answer says that documents are missing."""
    monkeypatch.setattr(importing, "_BUDGET_S", 0.0)
    docs = fill(tmp_path / "d", 2)
    with open_workspace(docs_dir=docs, embedder=HashingEmbedder()) as workspace:
        with claimed(workspace, "docs"):
            for _ in range(2):
                [warning] = ask(workspace).warnings
                assert warning.startswith("the folder is still being indexed")
        wait_until(lambda: len(ask(workspace).hits) == 2)


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Workspace]:
    """A registered collection that is not imported yet."""
    folder = fill(tmp_path / "notes", 250)
    with open_workspace(database=tmp_path / "n.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("notes", "d", str(folder))
        yield workspace


def test_a_cancelled_import_can_be_resumed_at_once(notes: Workspace) -> None:
    """What was committed stays, the claim has ended, and the next import starts from there."""

    def has_read_100(stage: Stage, done: int) -> bool:
        return stage is Stage.TEXT and done >= 100

    with cancelled_when(has_read_100), pytest.raises(ImportStoppedError):
        notes.import_collection("notes")
    report = notes.import_collection("notes", ImportOptions(wait_s=0))
    assert (report.added, report.unchanged, report.pending_chunks) == (150, 100, 0)


def test_a_large_folder_is_searched_by_words_first(tmp_path: Path) -> None:
    """The first search embeds nothing and says so; the same one again embeds everything once."""
    documents = 2_000
    docs = fill(tmp_path / "d", documents)
    embedder = HashingEmbedder()
    with open_workspace(docs_dir=docs, embedder=embedder) as workspace:
        first = workspace.search(TOMATOES)
    assert (len(first.hits), first.mode, first.pending_chunks) == (5, SearchMode.LEXICAL, documents)
    assert embedder.embedded == []
    [warning] = first.warnings
    assert "2,000 chunks have no vector yet; run the same command again to make vectors" in warning
    assert f"'mdvec import --docs-dir {docs}' for all" in warning
    with open_workspace(docs_dir=docs, embedder=embedder) as workspace:
        second = workspace.search(TOMATOES)
    assert (second.mode, second.pending_chunks, second.warnings) == (SearchMode.HYBRID, 0, ())
    assert len(embedder.embedded) == 3 * documents
    assert len(set(embedder.embedded)) == len(embedder.embedded)


class SmallBatches(HashingEmbedder):
    """Embeds few texts at once."""

    @property
    def texts_at_once(self) -> int:
        """So that an import can be stopped between them."""
        return 20


def test_the_same_search_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """By Ctrl-C or by its time: what was embedded is kept, and nothing is embedded twice."""
    docs = fill(tmp_path / "d", MANY)
    embedder = SmallBatches()
    for _ in range(2):
        with (
            open_workspace(docs_dir=docs, embedder=embedder) as workspace,
            cancelled_when(lambda stage, done: stage is Stage.EMBED and done >= 200),
            suppress(ImportStoppedError),
        ):
            workspace.search(TOMATOES)
    assert 200 <= len(embedder.embedded) < EMBEDDED
    with open_workspace(docs_dir=docs, embedder=embedder) as workspace:
        assert workspace.search(TOMATOES).pending_chunks == 0
    assert len(set(embedder.embedded)) == len(embedder.embedded) == EMBEDDED


def test_a_search_makes_vectors_for_a_while_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it answers from what is there, and says what is missing."""
    monkeypatch.setattr(importing, "_VECTORS_BUDGET_S", 0.0)
    monkeypatch.setattr(importing, "_CHUNKS_PER_S", 1)
    docs = fill(tmp_path / "d", MANY)
    with open_workspace(docs_dir=docs, embedder=HashingEmbedder()) as workspace:
        workspace.search(TOMATOES)
        second = workspace.search(TOMATOES)
    assert len(second.hits) == 5
    assert second.pending_chunks
    assert f"'mdvec import --docs-dir {docs}' makes them" in second.warnings[-1]
