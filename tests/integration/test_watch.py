"""The index keeps itself up to date: events, sweeps, polling, the lease, and what ends them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from tests.integration.chaos import WORDS, Chaos
from tests.postgres_server import new_schema, shared_server
from tests.waiting import HANG_S, wait_until
from tests.workspaces import workspace_of

from mdvec import SearchQuery, Workspace, open_workspace, run
from mdvec.config.schema import Config, SearchSettings, WatchSettings
from mdvec.errors import CollectionNotFoundError, WatchError
from mdvec.indexing import watch as watching
from mdvec.sources.folder import FolderSource
from mdvec.stores.interface import Store
from mdvec.stores.postgres.database import PostgresSettings
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.document import DocumentState
from mdvec.types.query import Filters, SearchMode
from mdvec.types.report import ImportOptions, ImportReport

NAME = "notes"
# The index alone answers: what a search finds, the watcher has put there.
CONFIG = Config(search=SearchSettings(sync_budget_ms=0), watch=WatchSettings(interval_s=0.2))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others take over, and new collections are noticed, without a wait."""
    monkeypatch.setattr(watching, "_STAND_BY_S", 0.05)
    monkeypatch.setattr(watching, "_COLLECTIONS_S", 0.05)


@dataclass
class Vault:
    """A folder, a database, and workspaces on it."""

    docs: Path
    database: Path
    open: Callable[[], Workspace]

    def write(self, path: str, text: str) -> None:
        target = self.docs / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """A folder of six documents in three folders, imported."""
    with ExitStack() as opened:
        made = Vault(
            tmp_path / "docs",
            tmp_path / "index.sqlite",
            lambda: opened.enter_context(
                open_workspace(CONFIG, database=tmp_path / "index.sqlite", embedder=HashingEmbedder())
            ),
        )
        for number in range(6):
            made.write(f"d{number % 3}/n{number}.md", f"# Note {number}\n\nanimal{number} text\n")
        workspace = made.open()
        workspace.add_collection(NAME, "", str(made.docs))
        workspace.import_collection(NAME)
        yield made


def paths(workspace: Workspace, text: str, mode: SearchMode = SearchMode.LEXICAL) -> list[str]:
    """Return the paths that are found."""
    return [
        hit.path
        for hit in workspace.search(SearchQuery(text, mode=mode, min_score=0.0, all_similar=True)).hits
    ]


def wait_for_sweep(workspace: Workspace) -> None:
    """Wait until the collection was compared with its folder once more."""
    before = workspace.collection(NAME).last_indexed_ms or 0
    wait_until(lambda: (workspace.collection(NAME).last_indexed_ms or 0) > before)


def watched(vault: Vault) -> Workspace:
    """Return a workspace that watches, and whose watch is established."""
    workspace = vault.open()
    workspace.freshness.watch()
    vault.write("probe.md", "probe\n")
    wait_until(lambda: paths(workspace, "probe") == ["probe.md"])
    (vault.docs / "probe.md").unlink()
    wait_until(lambda: paths(workspace, "probe") == [])
    return workspace


def test_what_changes_is_found_at_once(vault: Vault) -> None:
    """An edit, a new folder, a moved folder, and a deleted one; by words, and by vectors."""
    workspace = watched(vault)
    vault.write("d0/n0.md", "# Note\n\nzebra\n")
    wait_until(lambda: paths(workspace, "zebra") == ["d0/n0.md"])
    wait_until(lambda: paths(workspace, "zebra", SearchMode.DENSE)[:1] == ["d0/n0.md"])
    vault.write("new/deep/x.md", "okapi\n")
    wait_until(lambda: paths(workspace, "okapi") == ["new/deep/x.md"])
    (vault.docs / "d1").rename(vault.docs / "moved")
    wait_until(lambda: paths(workspace, "animal1") == ["moved/n1.md"])
    vault.write("moved/n1.md", "quagga\n")
    wait_until(lambda: paths(workspace, "quagga") == ["moved/n1.md"])
    shutil.rmtree(vault.docs / "moved")
    wait_until(lambda: paths(workspace, "quagga") == [])


def test_what_changes_during_the_first_update_is_noticed(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may embed for hours what an import has left pending."""
    workspace = vault.open()
    noticed: list[int] = []

    def dirty() -> int:
        vault.write("d0/n0.md", f"{time.monotonic()}\n")  # until the watch is established there are no events
        return workspace.status(NAME).collections[0].counts.dirty

    def embedding(name: str, options: ImportOptions) -> object:
        if not noticed:
            wait_until(dirty)
            noticed.append(1)
        return workspace.import_collection(name, options)

    monkeypatch.setattr(workspace.freshness, "_import", embedding)
    workspace.freshness.watch()
    wait_until(lambda: noticed)


def test_embedding_that_makes_way_is_not_counted_as_work_for_a_change(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a change would wait for half a minute whenever much is being embedded."""
    now = [0.0]
    monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=lambda: now[0]))
    workspace = vault.open()

    def update(name: str) -> ImportReport:
        now[0] += 0.5
        run.current().report(run.Stage.EMBED, 0, 9)
        now[0] += 100
        target.changed = True
        run.current().report(run.Stage.EMBED, 1, 9)
        run.current().check()
        return workspace.import_collection(name)

    times = watching.WatchTimes()
    source = FolderSource(location=str(vault.docs))
    target = watching.Target(workspace.collection(NAME), source, times, changed=True, restructured=False)
    watching.Watcher(_no_store, list, update, times)._look(target, target.begin())
    assert target.due_at == now[0] + 0.25


def _no_store() -> Store:
    raise NotImplementedError


def test_a_burst_of_changes_is_few_updates(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand files that come at once are not a thousand updates."""
    workspace = watched(vault)
    updates: list[str] = []

    def counting(name: str, options: ImportOptions) -> object:
        updates.append(name)
        return workspace.import_collection(name, options)

    monkeypatch.setattr(workspace.freshness, "_import", counting)
    for number in range(1000):
        vault.write(f"burst/b{number}.md", f"burst{number}\n")
    wait_until(lambda: workspace.status(NAME).collections[0].counts.documents == 1006)
    assert len(updates) < 20


@pytest.mark.harness
def test_a_checkout_is_few_updates(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """git writes 2,000 files one after the other: the first start an update, a few more take the rest."""

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *who, *arguments], cwd=vault.docs, check=True, capture_output=True)

    git("init", "-q", "-b", "old")
    for branch in ("old", "new"):
        for number in range(2000):
            vault.write(f"many/{number % 50}/{number}.md", f"{branch}note{number}\n")
        git("add", "-A")
        git("commit", "-q", "-m", branch)
        git("checkout", "-q", "-B", "new")
    git("checkout", "-q", "old")
    workspace = vault.open()
    workspace.import_collection(NAME)
    workspace.close()
    workspace = watched(vault)
    updates: list[str] = []

    def counting(name: str, options: ImportOptions) -> object:
        updates.append(name)
        return workspace.import_collection(name, options)

    monkeypatch.setattr(workspace.freshness, "_import", counting)
    git("checkout", "-q", "new")
    wait_until(lambda: not paths(workspace, "oldnote1999") and not paths(workspace, "oldnote0"))
    wait_until(lambda: workspace.status(NAME).collections[0].counts.dirty == 0)
    assert paths(workspace, "newnote1999") == ["many/49/1999.md"]
    assert len(updates) <= 6


def test_dirty_documents_are_stale_until_they_are_read(vault: Vault) -> None:
    """Hits say so, clean only leaves them out, status counts and lists them; reading them ends it."""
    workspace = vault.open()
    collection = workspace.collection(NAME)
    with workspace._collections.store().write() as writer:
        writer.documents.mark_dirty(collection.id, ["d0/n0.md"])
    [hit] = workspace.search(SearchQuery("animal0", mode=SearchMode.LEXICAL)).hits
    assert hit.stale
    clean = SearchQuery("animal0", mode=SearchMode.LEXICAL, filters=Filters(clean_only=True))
    assert workspace.search(clean).hits == ()
    status = workspace.status(NAME, files=True).collections[0]
    assert status.counts.dirty == 1
    assert [each.path for each in status.files if each.state is DocumentState.DIRTY] == ["d0/n0.md"]
    report = workspace.import_collection(NAME)
    assert (report.unchanged, report.updated) == (6, 0)
    assert workspace.status(NAME).collections[0].counts.dirty == 0
    assert len(workspace.search(clean).hits) == 1


def test_what_others_mark_is_read_again(vault: Vault) -> None:
    """A client says that a document is dirty, of which no event came: it is compared, and clean."""
    workspace = watched(vault)
    collection = workspace.collection(NAME)
    with vault.open()._collections.store().write() as writer:
        writer.documents.mark_dirty(collection.id, ["d0/n0.md"])
    wait_until(lambda: workspace.status(NAME).collections[0].counts.dirty == 0)


def test_clean_only_leaves_out_what_changed_just_now(vault: Vault) -> None:
    """Before anything could mark it."""
    workspace = vault.open()
    vault.write("d0/n0.md", "something else\n")
    clean = SearchQuery("animal0", mode=SearchMode.LEXICAL, filters=Filters(clean_only=True))
    assert workspace.search(clean).hits == ()


def test_an_import_marks_what_it_will_read(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is interrupted, what it has not read yet is known to be old."""
    workspace = vault.open()
    vault.write("d0/n0.md", "new\n")
    vault.write("d1/n1.md", "new, too\n")
    (vault.docs / "d2/n2.md").unlink()

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mdvec.indexing.imports.write_changes", fail)
    with pytest.raises(KeyboardInterrupt):
        workspace.import_collection(NAME)
    files = workspace.status(NAME, files=True).collections[0].files
    dirty = [each.path for each in files if each.state is DocumentState.DIRTY]
    assert dirty == ["d0/n0.md", "d1/n1.md", "d2/n2.md"]


def test_one_watches_and_another_takes_over(vault: Vault) -> None:
    """Of three, one holds the lease; when it is closed, the others go on."""
    workspaces = [vault.open() for _ in range(3)]
    for each in workspaces:
        each.freshness.watch()
    first = workspaces[0]
    wait_until(lambda: first.status().watchers)
    for number, workspace in enumerate(workspaces):
        vault.write("d0/n0.md", f"round{number}\n")
        wait_until(lambda number=number: paths(workspaces[-1], f"round{number}") == ["d0/n0.md"])  # type: ignore[misc]
        workspace.close()
    with open_workspace(CONFIG, database=vault.database, embedder=HashingEmbedder()) as after:
        assert after.status().watchers == ()


def test_a_folder_that_vanishes_keeps_its_index(vault: Vault) -> None:
    """It is watched again when it is back; an empty folder in its place deletes nothing, either."""
    workspace = watched(vault)
    away = vault.docs.with_name("away")
    for empty in (False, True):
        vault.docs.rename(away)
        if empty:
            vault.docs.mkdir()
        time.sleep(0.5)
        assert len(workspace.status(NAME, files=True).collections[0].files) == 6
        if empty:
            vault.docs.rmdir()
        away.rename(vault.docs)
        vault.write("d0/n0.md", f"back{empty}\n")
        wait_until(lambda empty=empty: paths(workspace, f"back{empty}") == ["d0/n0.md"])  # type: ignore[misc]


def test_a_disk_that_comes_back_is_watched_again(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """No event tells that it was unmounted."""
    listened: list[Sequence[str]] = []

    def without_events(folders: Sequence[str], stop: threading.Event) -> Iterator[set[str]]:
        listened.append(folders)
        yield set()
        stop.wait()

    monkeypatch.setattr(watching, "watch", without_events)
    workspace = vault.open()
    workspace.freshness.watch()
    wait_until(lambda: listened)
    away = vault.docs.with_name("away")
    for _ in range(2):
        vault.docs.rename(away)
        time.sleep(0.3)  # a look that was under way may have seen the folder
        before = len(listened)
        time.sleep(0.3)
        assert len(listened) == before
        away.rename(vault.docs)
        wait_until(lambda before=before: len(listened) > before)  # type: ignore[misc]


def test_an_error_of_a_driver_does_not_end_the_watching(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables may be gone while a backup is restored."""
    workspace = vault.open()
    failures, returned = iter(range(3)), list[int]()

    def failing() -> Store:
        if next(failures, None) is not None:
            msg = "no such table"
            raise RuntimeError(msg)
        returned.append(1)
        return _no_store()

    watcher = watching.Watcher(failing, list, workspace.import_collection, watching.WatchTimes())
    watcher.start()
    wait_until(lambda: len(returned) > 2)
    watcher.close(HANG_S)


def test_where_events_do_not_work_it_is_polled(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the file system is, or because the system refuses: there are too many folders, say."""
    monkeypatch.setattr(watching, "why_no_events", lambda _: "its file system is nfs4")
    workspace = watched(vault)
    vault.write("d0/n0.md", "zebra\n")
    wait_until(lambda: paths(workspace, "zebra") == ["d0/n0.md"])


def test_a_name_that_is_no_utf8_concerns_its_own_collection_alone(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch ends at its event; the other collections are watched again, and that one is polled."""
    polled: list[str] = []
    poll = watching.Target.poll

    def note(self: watching.Target, reason: str) -> None:
        polled.append(self.collection.name)
        poll(self, reason)

    monkeypatch.setattr(watching.Target, "poll", note)
    workspace = watched(vault)
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("other\n")
    workspace.add_collection("other", "", str(other))
    workspace.import_collection("other")
    wait_for_sweep_after_edit(vault, workspace)
    name = os.fsencode(other) + b"/caf\xe9.md"
    try:
        with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 - a name in bytes
            file.write("espresso\n")
    except OSError:
        pytest.skip("this file system refuses names that are not UTF-8")
    wait_until(lambda: polled == ["other"])
    wait_until(lambda: paths(workspace, "espresso") == ["caf\\xe9.md"])
    vault.write("d0/n0.md", "zebra\n")
    wait_until(lambda: paths(workspace, "zebra") == ["d0/n0.md"])
    assert set(polled) == {"other"}


def test_too_many_folders_are_polled(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal of the system is no error."""

    def refuse(*_: object) -> list[set[str]]:
        msg = "OS file watch limit reached"
        raise WatchError(msg)

    monkeypatch.setattr(watching, "watch", refuse)
    workspace = watched(vault)
    vault.write("d0/n0.md", "zebra\n")
    wait_until(lambda: paths(workspace, "zebra") == ["d0/n0.md"])


def test_what_was_never_imported_is_left_alone(vault: Vault, tmp_path: Path) -> None:
    """Its first import may cost money; after it, it is watched like the others."""
    workspace = watched(vault)
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("other\n")
    workspace.add_collection("other", "", str(other))
    wait_for_sweep_after_edit(vault, workspace)
    assert workspace.status("other").collections[0].counts.documents == 0
    workspace.import_collection("other")
    wait_until(lambda: paths(workspace, "other") == ["o.md"])
    time.sleep(0.3)
    (other / "o.md").write_text("changed\n")
    wait_until(lambda: paths(workspace, "changed") == ["o.md"])


def wait_for_sweep_after_edit(vault: Vault, workspace: Workspace) -> None:
    """Edit a document, and wait until that is found."""
    word = f"edit{random.randrange(10**9)}"
    vault.write("d0/n0.md", f"{word}\n")
    wait_until(lambda: paths(workspace, word) == ["d0/n0.md"])


def test_watching_what_is_not_there_is_an_error(vault: Vault) -> None:
    """And not a thread that does nothing."""
    workspace = vault.open()
    with pytest.raises(CollectionNotFoundError):
        workspace.freshness.watch(["nothing"], force=True)


def test_it_can_be_turned_off(vault: Vault) -> None:
    """By the configuration, unless it is asked for."""
    config = Config(watch=WatchSettings(enabled=False))
    with open_workspace(config, database=vault.database, embedder=HashingEmbedder()) as workspace:
        workspace.freshness.watch()
        time.sleep(0.3)
        assert workspace.status().watchers == ()
        workspace.freshness.watch(force=True)
        wait_until(lambda: workspace.status().watchers)


def test_the_database_among_the_documents_is_no_change(tmp_path: Path) -> None:
    """What is written to the index raises events in its folder, which must not have it written again."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("text\n")
    with workspace_of(docs / "index.sqlite", {NAME: docs}, CONFIG) as workspace:
        workspace.freshness.watch()
        wait_for_sweep(workspace)
        time.sleep(1.5)
        generation = workspace.generation()
        time.sleep(1.0)
        assert workspace.generation() == generation


# --- without a watcher -------------------------------------------------------------------------------


def test_a_search_looks_first(vault: Vault) -> None:
    """What was edited, came, moved or went is found as it is now; without a change, nothing is written."""
    with open_workspace(database=vault.database, embedder=HashingEmbedder()) as workspace:
        vault.write("d0/n0.md", "zebra\n")
        vault.write("new.md", "okapi\n")
        (vault.docs / "d1/n1.md").rename(vault.docs / "n1.md")
        (vault.docs / "d2/n2.md").unlink()
        assert paths(workspace, "zebra") == ["d0/n0.md"]
        assert paths(workspace, "okapi") == ["new.md"]
        assert paths(workspace, "animal1") == ["n1.md"]
        assert paths(workspace, "animal2") == []
        generation = workspace.generation()
        result = workspace.search(SearchQuery("zebra"))
        assert workspace.generation() == generation
        assert result.last_indexed_ms is not None


def test_a_search_reads_no_file_that_looks_unchanged(vault: Vault) -> None:
    """It goes by time and size; an import also reads a sample of the files that have both as before."""
    path = vault.docs / "d0/n0.md"
    before, text = path.stat(), path.read_text(encoding="utf-8")
    path.write_text(text.replace("animal0", "camel00"), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with open_workspace(database=vault.database, embedder=HashingEmbedder()) as workspace:
        assert paths(workspace, "camel00") == []
        assert workspace.import_collection(NAME).updated == 1
        assert paths(workspace, "camel00") == ["d0/n0.md"]


def test_an_answer_says_when_the_folder_was_looked_at(vault: Vault) -> None:
    """A look that finds nothing is as good as an import."""
    with open_workspace(database=vault.database, embedder=HashingEmbedder()) as workspace:
        imported_ms = workspace.collection(NAME).last_indexed_ms
        assert imported_ms is not None
        time.sleep(0.01)
        looked_ms = workspace.search(SearchQuery("text")).last_indexed_ms
        assert looked_ms is not None
        assert looked_ms > imported_ms
        assert workspace.collection(NAME).last_indexed_ms == imported_ms


def test_what_does_not_fit_into_the_time_is_reported(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read by then is kept, what was not is dirty, and the next search goes on."""
    for number in range(300):
        vault.write(f"many/m{number:03d}.md", f"many{number}\n")
    config = Config(search=SearchSettings(sync_budget_ms=600_000))
    with open_workspace(config, database=vault.database, embedder=HashingEmbedder()) as workspace:
        now = time.monotonic
        prepared: list[str] = []
        prepare = __import__("mdvec.indexing.prepare", fromlist=["prepare"]).prepare

        def counting(entry: object, *rest: object, **more: object) -> object:
            prepared.append(str(entry))
            return prepare(entry, *rest, **more)

        monkeypatch.setattr("mdvec.indexing.prepare.prepare", counting)
        # The time is up when 150 documents were prepared.
        monkeypatch.setattr("mdvec.run.time.monotonic", lambda: now() + (3600 if len(prepared) >= 150 else 0))
        [warning] = workspace.search(SearchQuery("many", mode=SearchMode.LEXICAL)).warnings
        assert warning.startswith("changed documents of notes that are not read yet: 150; ")
        monkeypatch.undo()
        assert workspace.status(NAME).collections[0].counts.documents == 6 + 150


def test_a_search_leaves_the_work_to_a_watcher(vault: Vault) -> None:
    """Of another process or its own: it looks at nothing."""
    with open_workspace(database=vault.database, embedder=HashingEmbedder()) as workspace:
        with workspace._collections.store().claim(None, "watching", wait_s=0):
            vault.write("d0/n0.md", "zebra\n")
            assert paths(workspace, "zebra") == []
        assert paths(workspace, "zebra") == ["d0/n0.md"]


def test_a_database_that_cannot_be_written_is_searched_as_it_is(vault: Vault) -> None:
    """A changed folder is no error, and its hits are stale."""
    vault.open().close()
    vault.write("d0/n0.md", "animal0, too\n")
    vault.database.chmod(0o400)
    try:
        with open_workspace(database=vault.database, embedder=HashingEmbedder()) as workspace:
            workspace._collections.store()._database._access = type(  # type: ignore[attr-defined]
                workspace._collections.store()._database._access  # type: ignore[attr-defined]
            ).READ
            [hit] = workspace.search(SearchQuery("animal0", mode=SearchMode.LEXICAL)).hits
            assert hit.stale
    finally:
        vault.database.chmod(0o600)


# --- chaos -------------------------------------------------------------------------------------------

STORES = ("sqlite", pytest.param("postgres", marks=pytest.mark.postgres))


def chaos(store: str, tmp_path: Path, *, operations: int, seed: int) -> None:
    """Change a folder at random while it is watched; index and answers must be those of a fresh import."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "note0.md").write_text("# First\n")
    rng = random.Random(seed)
    with opened(store, docs, tmp_path / "watched") as workspace:
        workspace.freshness.watch()
        for number in Chaos(docs, seed).run(operations):
            if rng.random() < 0.02:
                time.sleep(0.3)
            if number % 500 == 0:
                assert workspace.status(NAME).collections[0].counts.documents > 0
        with opened(store, docs, tmp_path / "fresh") as fresh:
            expected = contents(fresh)
            answered = answers(fresh)
        wait_until(lambda: contents(workspace) == expected)
        assert workspace.status(NAME).collections[0].counts.dirty == 0
        assert answers(workspace) == answered


@contextmanager
def opened(store: str, docs: Path, place: Path) -> Iterator[Workspace]:
    """Open a database of a kind, and import a folder."""
    config, database = CONFIG, str(place)
    if store == "postgres":
        database = shared_server()
        settings = {"store.postgres": PostgresSettings(schema=new_schema())}
        config = msgspec.structs.replace(CONFIG, extension_sections=settings)
    with workspace_of(database, {NAME: docs}, config) as workspace:
        yield workspace


def contents(workspace: Workspace) -> object:
    """Return all that a collection holds, but for ids and times."""
    status = workspace.status(NAME, files=True).collections[0]
    chunks = [
        (each.path, each.ordinal, each.text, each.title, each.heading_path)
        for each in workspace.chunks((NAME,))
    ]
    documents = workspace.documents(NAME, limit=10_000)
    return (
        chunks,
        documents,
        [msgspec.structs.replace(each, indexed_ms=0) for each in status.files or ()],
        status.counts,
    )


def answers(workspace: Workspace) -> object:
    """Return the hits of fifty random queries, each with its score to the last digit."""
    rng = random.Random(50)
    queries = [" ".join(rng.choices(WORDS, k=rng.randrange(1, 4))) for _ in range(50)]
    return [
        [(hit.path, hit.start_line, hit.end_line, hit.score) for hit in workspace.search(query).hits]
        for query in (
            SearchQuery(text, rng.choice([*SearchMode]), limit=20, min_score=0.0) for text in queries
        )
    ]


@pytest.mark.parametrize("store", STORES)
def test_a_little_chaos_ends_as_a_fresh_import(store: str, tmp_path: Path) -> None:
    """Two hundred random changes."""
    chaos(store, tmp_path, operations=200, seed=20261122)


@pytest.mark.harness
def test_chaos_ends_as_a_fresh_import(tmp_path: Path) -> None:
    """Two thousand random changes of every kind."""
    chaos("sqlite", tmp_path, operations=2000, seed=15)
