"""Who may work on a collection when: one process a collection, and as many collections as there are."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.runs import claimed, noting

from mdvec import SearchQuery, Workspace, open_workspace, registry
from mdvec.embedding.interface import Role
from mdvec.errors import CollectionNotFoundError, ImportStoppedError, WriterBusyError
from mdvec.run import Stage
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.model_report import ModelChangeOutcome
from mdvec.types.query import SearchMode
from mdvec.types.report import ImportMode, ImportOptions, ImportReport

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

WAIT_S = 30.0  # until a test that hangs fails; a test that passes never waits so long
FOR_EVER = float("inf")
UPDATE = ImportOptions(wait_s=FOR_EVER)


class HeldEmbedder(HashingEmbedder):
    """Embeds two texts at a time, and waits before each batch for which ``hold`` says so.

    Attributes:
        hold: Whether to wait before these texts.
        waiting: Set once it waits.
        go_on: Ends the waiting.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hold: Callable[[Sequence[str]], bool] = lambda _: False
        self.waiting = threading.Event()
        self.go_on = threading.Event()

    @property
    def texts_at_once(self) -> int:
        """Two."""
        return 2

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Wait if it has to, then embed."""
        if self.hold(texts):
            self.waiting.set()
            assert self.go_on.wait(WAIT_S)
        yield from super().embed(texts, role, titles)


@pytest.fixture
def embedder() -> HeldEmbedder:
    """A model that waits where a test wants it."""
    return HeldEmbedder()


def fill(folder: Path, subject: str, documents: int = 4) -> Path:
    """Write so many documents of one chunk each."""
    folder.mkdir(exist_ok=True)
    for number in range(documents):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nText {number} about {subject}.\n")
    return folder


@pytest.fixture
def workspace(tmp_path: Path, embedder: HeldEmbedder) -> Iterator[Workspace]:
    """Two collections of four notes each, not imported yet."""
    with open_workspace(database=tmp_path / "i.sqlite", embedder=embedder) as made:
        for name in ("notes", "other"):
            made.add_collection(name, "", str(fill(tmp_path / name, name)))
        yield made


@pytest.fixture
def pool(embedder: HeldEmbedder) -> Iterator[ThreadPoolExecutor]:
    """Threads; at the end of a test none of them waits in the model."""
    with ThreadPoolExecutor(4) as made:
        yield made
        embedder.go_on.set()


@pytest.fixture
def held_import(
    workspace: Workspace, embedder: HeldEmbedder, pool: ThreadPoolExecutor
) -> Future[ImportReport]:
    """An import of ``notes`` that has embedded the names and two of four texts, and waits in the model."""
    embedder.hold = lambda texts: any("Text 2" in text for text in texts)
    started = pool.submit(workspace.import_collection, "notes")
    assert embedder.waiting.wait(WAIT_S)
    return started


def named(workspace: Workspace) -> list[str]:
    """Return the names of the collections."""
    return [each.name for each in workspace.collections()]


def counted(workspace: Workspace, name: str) -> tuple[int, int]:
    """Return how many chunks a collection has, and how many of them wait for a vector."""
    (status,) = workspace.status(name).collections
    return status.counts.chunks, status.counts.pending_chunks


def test_four_collections_are_worked_on_side_by_side(
    tmp_path: Path, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two imports, a reindex and a change of model: all four are in their model at the same moment."""
    together = threading.Barrier(4)
    arrived: set[int] = set()

    class Meeting(HashingEmbedder):
        """Waits before the first texts of each thread, until four threads do so."""

        def embed(
            self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()
        ) -> Parts:
            if meet and any("Text" in text for text in texts) and threading.get_ident() not in arrived:
                arrived.add(threading.get_ident())
                together.wait(WAIT_S)
            yield from super().embed(texts, role, titles)

    def made(*, model: str, dimension: int | None, runtime: object) -> Meeting:
        return Meeting(model=model, dimension=dimension or 64)

    real = registry.load
    monkeypatch.setattr(
        registry, "load", lambda stage, name: made if stage == "embedding" else real(stage, name)
    )
    old, new = EmbeddingSpec("hashing", "old", 64), EmbeddingSpec("hashing", "new", 32)
    names = ("first", "second", "reindexed", "changed")
    with open_workspace(database=tmp_path / "i.sqlite") as workspace:
        for name in names:
            workspace.add_collection(name, "", str(fill(tmp_path / name, name)), embedding=old)
        meet = False
        for name in names[2:]:
            workspace.import_collection(name)
        meet = True
        fill(tmp_path / "reindexed", "something else")
        work: list[Callable[[], object]] = [
            lambda: workspace.import_collection("first", ImportOptions(wait_s=0)),
            lambda: workspace.import_collection("second", ImportOptions(wait_s=0)),
            lambda: workspace.import_collection("reindexed", ImportOptions(ImportMode.REPLACE, wait_s=0)),
            lambda: [each.outcome for each in workspace.models.use(new, ["changed"], wait_s=0)],
        ]
        *_, outcomes = [each.result() for each in [pool.submit(one) for one in work]]
        assert outcomes == [ModelChangeOutcome.CHANGED]
        assert len(arrived) == 4
        assert [counted(workspace, name) for name in names] == [(4, 0)] * 4
        assert workspace.collection("changed").embedding == new
        for name in names:
            query = SearchQuery("Text 3 about", mode=SearchMode.DENSE, collections=(name,), limit=1)
            (hit,) = workspace.search(query).hits
            assert (hit.collection, hit.path) == (name, "3.md")


def test_a_search_answers_while_an_import_embeds(
    workspace: Workspace, embedder: HeldEmbedder, held_import: Future[ImportReport]
) -> None:
    """From what is there: all words, and the vectors that are written; in this process and in another."""
    with open_workspace(database=workspace.database, embedder=HashingEmbedder()) as other:
        for searching in (workspace, other):
            result = searching.search(SearchQuery("notes", min_score=0))
            assert (len(result.hits), result.total_chunks, result.pending_chunks) == (4, 4, 2)
            dense = searching.search(SearchQuery("Text about notes", mode=SearchMode.DENSE, min_score=0)).hits
            assert {hit.path for hit in dense} >= {"0.md", "1.md"}
            assert searching.read("2.md", collection="notes").title == "Note 2"
    assert not held_import.done()
    embedder.go_on.set()
    assert held_import.result().pending_chunks == 0


def test_another_collection_can_be_changed_during_an_import(
    workspace: Workspace, embedder: HeldEmbedder, held_import: Future[ImportReport]
) -> None:
    """Imported, edited and deleted, without waiting; the one at work can be edited, too."""
    embedder.hold = lambda _: False
    assert workspace.import_collection("other", ImportOptions(wait_s=0)).pending_chunks == 0
    workspace.update_collection("notes", description="new")
    workspace.delete_collection("other", wait_s=0)
    assert named(workspace) == ["notes"]
    embedder.go_on.set()
    assert held_import.result().pending_chunks == 0
    assert workspace.collection("notes").description == "new"


def test_deleting_a_collection_waits_for_its_import(
    workspace: Workspace, embedder: HeldEmbedder, held_import: Future[ImportReport], pool: ThreadPoolExecutor
) -> None:
    """The import ends as if nothing were; without waiting the deletion is refused."""
    with pytest.raises(WriterBusyError, match="has been importing notes since"):
        workspace.delete_collection("notes", wait_s=0)
    waits = threading.Event()

    def delete() -> None:
        with noting(lambda stage, _: waits.set() if stage is Stage.WAIT else None):
            workspace.delete_collection("notes", wait_s=FOR_EVER)

    deletion = pool.submit(delete)
    assert waits.wait(WAIT_S)
    assert named(workspace) == ["notes", "other"]
    embedder.go_on.set()
    assert held_import.result().pending_chunks == 0
    deletion.result()
    assert named(workspace) == ["other"]


def test_an_import_that_waited_for_a_deletion_finds_no_collection(
    workspace: Workspace, pool: ThreadPoolExecutor
) -> None:
    """It says so as if it had come later; so does a second deletion, and a change of model."""

    def change() -> object:
        return list(workspace.models.use(EmbeddingSpec("hashing", "terms", 256), ["notes"], wait_s=FOR_EVER))

    work: tuple[Callable[[], object], ...] = (
        lambda: workspace.import_collection("notes", UPDATE),
        lambda: workspace.delete_collection("notes", wait_s=FOR_EVER),
        change,
    )
    waits = [threading.Event() for _ in work]

    def wait(number: int) -> None:
        with noting(lambda stage, _: waits[number].set() if stage is Stage.WAIT else None):
            work[number]()

    with open_workspace(database=workspace.database, embedder=HashingEmbedder()) as other:
        store = other._collections.store()
        collection = other.collection("notes")
        with store.claim(collection, "deleting notes", wait_s=0) as claim:
            waiting = [pool.submit(wait, number) for number in range(len(work))]
            assert all(each.wait(WAIT_S) for each in waits)
            with store.write(claim) as writer:
                writer.collections.delete(collection.id)
    for each in waiting:
        with pytest.raises(CollectionNotFoundError):
            each.result()


def test_closing_cancels_an_import_in_another_thread(
    workspace: Workspace, embedder: HeldEmbedder, held_import: Future[ImportReport]
) -> None:
    """It stops with its batch and says so; what was committed stays, and nobody has to wait for its claim."""
    workspace.close()
    embedder.go_on.set()
    with pytest.raises(ImportStoppedError):
        held_import.result()
    with open_workspace(database=workspace.database, embedder=HashingEmbedder()) as after:
        assert counted(after, "notes") == (4, 2)
        report = after.import_collection("notes", ImportOptions(wait_s=0))
        assert (report.unchanged, report.embedded_chunks, report.pending_chunks) == (4, 2, 0)


def test_closing_cancels_an_import_that_reads_documents(
    workspace: Workspace, pool: ThreadPoolExecutor
) -> None:
    """Before any text goes through a model."""
    reads, closed = threading.Event(), threading.Event()

    def hold(stage: Stage, _: int) -> None:
        if stage is Stage.TEXT:
            reads.set()
            assert closed.wait(WAIT_S)

    def work() -> None:
        with noting(hold):
            workspace.import_collection("notes")

    started = pool.submit(work)
    assert reads.wait(WAIT_S)
    workspace.close()
    closed.set()
    with pytest.raises(ImportStoppedError):
        started.result()


def test_closing_ends_the_waiting_for_another_process(workspace: Workspace, pool: ThreadPoolExecutor) -> None:
    """An import that has not begun is cancelled, too."""
    waits = threading.Event()

    def work() -> None:
        with noting(lambda stage, _: waits.set() if stage is Stage.WAIT else None):
            workspace.import_collection("notes", UPDATE)

    with claimed(workspace, "notes"):
        started = pool.submit(work)
        assert waits.wait(WAIT_S)
        workspace.close()
        with pytest.raises(ImportStoppedError):
            started.result()


def test_a_search_names_the_process_that_makes_what_is_missing(tmp_path: Path) -> None:
    """Instead of a command that would only wait for that process."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Harbour\n\nThe harbour is old.\n", encoding="utf-8")
    with open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("notes", "Notes", str(docs))
        workspace.import_collection("notes", ImportOptions(embed=False))
        [idle] = workspace.search(SearchQuery("harbour")).warnings
        assert "'mdvec import -n notes -m update" in idle
        with claimed(workspace, "notes"):
            [busy] = workspace.search(SearchQuery("harbour")).warnings
        assert f"process {os.getpid()} on " in busy
        assert "mdvec import" not in busy
