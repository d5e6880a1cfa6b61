"""A workspace that several people, threads or interrupted runs share."""

from __future__ import annotations

import os
import sys
import threading
import time
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.runs import cancelled_when, noting
from tests.waiting import HANG_S
from tests.workspaces import workspace_of

from mdvec import SearchQuery, Workspace, clock, open_workspace, registry, run
from mdvec.config import Config
from mdvec.config.schema import ChunkingSettings, EmbeddingSettings
from mdvec.errors import (
    CollectionNotFoundError,
    DocumentNotFoundError,
    ImportStoppedError,
    InvalidNameError,
    SourceMissingError,
    UsageError,
    WorkspaceClosedError,
)
from mdvec.run import Stage
from mdvec.stores.collection_tables import CollectionTables
from mdvec.stores.document_tables import ChunkTables
from mdvec.stores.records import StoredChunk
from mdvec.stores.word_tables import WordTables
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.ids import ChunkId, CollectionId
from mdvec.types.query import Comparison, Expansion, Filters, PropertyCondition, SearchMode
from mdvec.types.report import ImportOptions, Severity
from mdvec.workspace.database import open_store
from mdvec.workspace.serving import RestrictedWorkspace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix

NAME = "notes"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with one document."""
    folder = tmp_path / "my docs"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nTomatoes need sun.\n", encoding="utf-8")
    return folder


@pytest.fixture
def workspace(tmp_path: Path, docs: Path) -> Iterator[Workspace]:
    """The folder as a collection, not imported yet."""
    with open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as made:
        made.add_collection(NAME, "old", str(docs))
        yield made


def test_a_clock_that_jumps_is_no_reason_for_work(
    workspace: Workspace, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Years ahead, back, and where a number of seconds ends: what has not changed is not embedded again."""
    for number in range(20):
        (docs / f"{number}.md").write_text(f"# N{number}\n\nOf the year {number}.\n", encoding="utf-8")
    workspace.import_collection(NAME)
    for year in (2036, 2026, 1970, 2038, 2100, 1971):
        now_ns = (year - 1970) * 31_556_952 * 10**9
        monkeypatch.setattr(clock, "time", SimpleNamespace(time_ns=lambda now_ns=now_ns: now_ns))
        (docs / "a.md").write_text(f"# A\n\nTomatoes of {year}.\n", encoding="utf-8")
        os.utime(docs / "a.md", ns=(now_ns, now_ns))
        report = workspace.import_collection(NAME)
        assert (report.updated, report.unchanged, report.embedded_chunks, report.failed) == (1, 20, 1, 0)
        [hit, *_] = workspace.search(SearchQuery(f"tomatoes {year}")).hits
        assert (hit.path, hit.stale, hit.updated_ms or 0) == ("a.md", False, now_ns // 1_000_000)
        status = workspace.status(check=True)
        [collection] = status.collections
        assert collection.check is not None
        assert (collection.check.new, collection.check.changed, status.warnings) == ((), (), ())
        assert Severity.PROBLEM not in {each.severity for each in workspace.doctor()}


def test_a_change_made_during_an_import_is_kept(workspace: Workspace) -> None:
    """The import writes down when it ended, and nothing else that it read at its start."""

    def change(stage: Stage, _done: int) -> None:
        if stage is Stage.SCAN:
            with open_workspace(database=workspace.database, embedder=HashingEmbedder()) as other:
                other.update_collection(NAME, description="new", enabled=False)

    with noting(change):
        workspace.import_collection(NAME)
    now = workspace.collection(NAME)
    assert (now.description, now.enabled) == ("new", False)
    assert now.last_indexed_ms is not None


def test_an_interrupted_import_goes_on_with_its_chunk_size(workspace: Workspace, docs: Path) -> None:
    """The next run without --chunk-size cuts nothing back to the old size."""
    (docs / "long.md").write_text("# Long\n\n" + "文章がここにあります。" * 100, encoding="utf-8")
    workspace.import_collection(NAME)

    with cancelled_when(lambda stage, _: stage is Stage.TEXT), pytest.raises(ImportStoppedError):
        workspace.import_collection(NAME, ImportOptions(max_tokens=50))
    assert workspace.collection(NAME).chunking.max_tokens == 50
    assert workspace.import_collection(NAME).unchanged == 2


def test_threads_that_ask_first_at_the_same_time(docs: Path) -> None:
    """One of them registers and indexes the folder, the others wait; all get the answer."""
    embedder = HashingEmbedder()
    together = threading.Barrier(6)
    with open_workspace(docs_dir=docs, embedder=embedder) as workspace:

        def ask(_: int) -> list[str]:
            together.wait()
            return [hit.path for hit in workspace.search(SearchQuery("tomatoes")).hits]

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(ask, range(6))) == [["a.md"]] * 6
    assert len(embedder.embedded) == 3  # title, file name and text


def test_a_model_is_made_once_and_tells_each_caller(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that need it at the same time share one; its progress goes to the call that waits for it."""
    made: list[HashingEmbedder] = []

    class Reporting(HashingEmbedder):
        def __init__(self, **_settings: object) -> None:
            super().__init__()
            time.sleep(0.05)
            made.append(self)

        def embed_queries(self, texts: Sequence[str]) -> Matrix:
            run.current().report(Stage.MODEL, 50, 100)
            return super().embed_queries(texts)

    real = registry.load
    monkeypatch.setattr(
        registry, "load", lambda stage, name: Reporting if stage == "embedding" else real(stage, name)
    )
    with open_workspace(database=workspace.database) as fresh:
        with noting() as during_import:
            fresh.import_collection(NAME)
        reported = len(during_import.reports)
        with noting() as during_search:
            fresh.search(SearchQuery("sun"))
        assert during_search.reports == [(Stage.MODEL, 50, 100)]
        assert len(during_import.reports) == reported
    made.clear()
    with open_workspace(database=workspace.database) as fresh, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: fresh.search(SearchQuery("sun")), range(4)))
    assert len(made) == 1


def test_processes_that_register_a_folder_at_the_same_time(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that comes second finds the collection of the first."""
    database = tmp_path / "i.sqlite"
    real = CollectionTables.all

    def look_and_be_overtaken(view: CollectionTables) -> list[Collection]:
        found = real(view)
        monkeypatch.setattr(CollectionTables, "all", real)
        with open_workspace(docs_dir=docs, database=database, embedder=HashingEmbedder()) as faster:
            faster.collections()
        return found

    monkeypatch.setattr(CollectionTables, "all", look_and_be_overtaken)
    with open_workspace(docs_dir=docs, database=database, embedder=HashingEmbedder()) as workspace:
        assert [each.name for each in workspace.collections()] == ["docs"]


def test_another_spelling_of_a_name_is_noticed(workspace: Workspace, docs: Path) -> None:
    """A name changed from NFD to NFC keeps path, time and size, yet the file is found again."""
    composed = unicodedata.normalize("NFC", "が.md")
    decomposed = unicodedata.normalize("NFD", composed)
    (docs / decomposed).write_text("# が\n\nGardening.\n", encoding="utf-8")
    workspace.import_collection(NAME)
    if (docs / composed).exists():  # this file system takes both spellings for one
        return
    (docs / decomposed).rename(docs / composed)
    assert workspace.import_collection(NAME).unchanged == 2
    assert not workspace.search(SearchQuery("gardening")).hits[0].stale


@pytest.mark.parametrize("mode", list(SearchMode))
def test_only_the_text_of_what_is_shown_is_read(
    workspace: Workspace, docs: Path, monkeypatch: pytest.MonkeyPatch, mode: SearchMode
) -> None:
    """However many chunks of one long document match: those, and the best by words to look for the query."""
    sections = "\n\n".join(f"## Part {part}\n\n{f'tomatoes {part} ' * 40}" for part in range(300))
    (docs / "long.md").write_text(f"# Long\n\n{sections}\n", encoding="utf-8")
    assert workspace.import_collection(NAME).total_chunks > 300
    real = ChunkTables.get
    loaded: list[ChunkId] = []

    def load_chunks(view: ChunkTables, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        loaded.extend(ids)
        return real(view, ids)

    monkeypatch.setattr(ChunkTables, "get", load_chunks)
    assert len(workspace.search(SearchQuery("tomatoes", mode=mode, min_score=0)).hits) == 5
    # Once more with a greater depth; passages of three chunks, three for each hit.
    assert len(loaded) <= 2 * 60 + 3 * 5 * 3 + 10 * 3


def test_another_thread_may_forget_what_is_counted(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Document frequencies are remembered for all threads; one that finds too many of them clears them."""

    class Forgetful(dict[str, int]):
        def update(self, *_: object, **__: object) -> None:
            self.clear()

    workspace.import_collection(NAME)
    counted = Forgetful()
    monkeypatch.setattr(WordTables, "_counted", lambda _: counted)
    with closing(open_store(workspace.database)) as store, store.read() as view:
        assert view.words.frequencies(["tomato", "nowhere"]).of_term == {"tomato": 1}


def test_words_are_found_while_the_model_embeds(tmp_path: Path, docs: Path) -> None:
    """A search takes as long as the slower of both."""
    found_by_words = threading.Event()

    class Slow(HashingEmbedder):
        def embed_queries(self, texts: Sequence[str]) -> Matrix:
            assert found_by_words.wait(HANG_S)
            return super().embed_queries(texts)

    def on_step(name: str, elapsed_ms: float, **details: object) -> None:
        if name == "lexical":
            found_by_words.set()

    with open_workspace(database=tmp_path / "slow.sqlite", embedder=Slow()) as workspace:
        workspace.add_collection(NAME, "", str(docs))
        workspace.import_collection(NAME)
        with run.bound(run.Run(on_step=on_step)):
            (hit,) = workspace.search(SearchQuery("tomatoes")).hits
    assert hit.dense_rank == hit.lexical_rank == 1


@pytest.mark.parametrize("expansion", list(Expansion))
def test_a_hit_whose_document_is_replaced_meanwhile(
    workspace: Workspace, docs: Path, monkeypatch: pytest.MonkeyPatch, expansion: Expansion
) -> None:
    """A search sees one snapshot: the text around a chunk is never of another version of its document."""
    workspace.import_collection(NAME)
    real = ChunkTables.get

    def import_then_chunks(view: ChunkTables, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        monkeypatch.setattr(ChunkTables, "get", real)
        (docs / "a.md").write_text("Something else entirely, and longer than before.", encoding="utf-8")
        with open_workspace(database=workspace.database, embedder=HashingEmbedder()) as other:
            other.import_collection(NAME)
        return real(view, ids)

    monkeypatch.setattr(ChunkTables, "get", import_then_chunks)
    (hit,) = workspace.search(SearchQuery("tomatoes", expand=expansion)).hits
    whole = expansion is Expansion.DOCUMENT
    assert hit.text == ("# A\n\nTomatoes need sun.\n" if whole else "# A\n\nTomatoes need sun.")
    assert workspace.search(SearchQuery("tomatoes", mode=SearchMode.LEXICAL)).hits == ()


def test_without_any_collection_the_next_step_is_to_add_one(tmp_path: Path) -> None:
    """Searching and reading say the same."""
    with open_workspace(database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as empty:
        hint = empty.search(SearchQuery("anything")).hint
        with pytest.raises(DocumentNotFoundError) as raised:
            empty.read("a.md")
    assert hint is not None
    assert "mdvec tool add" in hint
    assert raised.value.hint == hint


def test_the_next_step_is_a_command_that_works(workspace: Workspace, docs: Path) -> None:
    """It names the collections that are pending, or the folder when it is not registered."""
    workspace.import_collection(NAME, ImportOptions(embed=False))
    (warning,) = workspace.search(SearchQuery("tomatoes")).warnings
    assert f"'mdvec import -n notes -m update --database {workspace.database}'" in warning
    with open_workspace(docs_dir=docs, embedder=HashingEmbedder()) as folder:
        folder.import_collection("docs", ImportOptions(embed=False))
        (warning,) = folder.search(SearchQuery("tomatoes"), wait_for_vectors=True).warnings
        assert f"mdvec import --docs-dir '{docs}'" in warning
        (hint,) = [finding.hint for finding in folder.doctor() if finding.subject == "docs"]
        assert f"mdvec import --docs-dir '{docs}'" in hint


def test_a_folder_without_documents_is_not_to_be_imported_again(tmp_path: Path) -> None:
    """After an import that found nothing, another one would find nothing too."""
    (tmp_path / "docs").mkdir()
    with open_workspace(docs_dir=tmp_path / "docs", embedder=HashingEmbedder()) as workspace:
        result = workspace.search(SearchQuery("anything"))
    assert result.hint is not None
    assert "import" not in result.hint


def test_a_filter_takes_a_path_as_answers_show_it(tmp_path: Path) -> None:
    """With the collection before it, as an address, or absolute; a folder of that name comes first."""
    inner = tmp_path / "docs" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "a.md").write_text("quagga outside\n", encoding="utf-8")
    (inner / "b.md").write_text("quagga inside\n", encoding="utf-8")
    with open_workspace(docs_dir=tmp_path / "docs", embedder=HashingEmbedder()) as workspace:

        def found(path: str, query: str = "quagga") -> list[str]:
            answer = workspace.search(SearchQuery(query, filters=Filters(path=path)), wait_for_vectors=True)
            listed = [each.path for each in workspace.browse.newest(Filters(path=path))]
            assert sorted(listed) == sorted(hit.path for hit in answer.hits)
            return sorted(listed)

        for path in (
            "docs/inner/b.md",
            "docs/inner",
            "DOCS/inner/*.md",
            "mdvec://docs/inner/b.md",
            str(inner),
        ):
            assert found(path) == ["inner/b.md"]
        for path in ("docs/", str(inner.parent), f"{inner.parent}/"):
            assert found(path) == ["a.md", "inner/b.md"]
        answers = [
            workspace.search(SearchQuery(each))
            for each in ("quagga path:docs/inner", "quagga -path:docs/inner")
        ]
        assert [[hit.path for hit in each.hits] for each in answers] == [["inner/b.md"], ["a.md"]]
        missing = workspace.search(SearchQuery("quagga", filters=Filters(path="docs/c.md")))
        assert missing.hint == "No document is at the path 'docs/c.md'."

        (inner.parent / "docs").mkdir()
        (inner.parent / "docs" / "c.md").write_text("quagga below\n", encoding="utf-8")
        workspace.import_collection("docs")
        assert found("docs/*.md") == ["docs/c.md"]


def test_a_collection_that_was_never_imported_is_told_from_one_that_was_stopped(
    tmp_path: Path, docs: Path
) -> None:
    """Its import has nothing to resume."""
    with workspace_of(tmp_path / "i.sqlite", {NAME: docs}) as workspace:
        workspace.add_collection("new", "", str(docs))
        result = workspace.search(SearchQuery("anything"))
    assert result.warnings == (
        f"not imported yet: new; 'mdvec import -n new -m update --database {workspace.database}' "
        "imports the documents",
    )


def test_the_filter_that_nothing_meets_is_named(tmp_path: Path) -> None:
    """A mistyped tag is told from words that no document contains; without filters none are blamed."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("---\ntags: drawings/maps\n---\nquagga\n", encoding="utf-8")
    with open_workspace(docs_dir=tmp_path / "docs", embedder=HashingEmbedder()) as workspace:

        def hint(text: str, **filters: Any) -> str | None:
            query = SearchQuery(text, SearchMode.LEXICAL, filters=Filters(**filters))
            return workspace.search(query, wait_for_vectors=True).hint

        assert hint("quagga", tags=("drawings",)) is None
        assert hint("quagga", tags=("drawngs/maps",)) == (
            "No document has the tag 'drawngs/maps'; did you mean 'drawings/maps'?"
        )
        assert hint("tag:drawngs/maps quagga") == (
            "No document has the tag 'drawngs/maps'; did you mean 'drawings/maps'?"
        )
        assert hint("tag:夕食") == "No document has the tag '夕食'."
        left_out = "Nothing matches all of tag:drawings -tag:夕食. Leave some of them out."
        assert hint("tag:drawings zebra -tag:夕食") == left_out
        assert hint("zebra", tags=("drawings",)) == "Nothing matches. Try other words, or fewer filters."
        assert hint("zebra") == "Nothing matches. Try other words."
        assert hint("path:nowhere") == "Nothing matches path:nowhere. Leave it out."
        both = "Nothing matches tag:drawings and the words. Try other words, or leave it out."
        assert hint("zebra tag:drawings") == both
        quoted = 'Nothing matches "golden ticket". Without quotation marks, its words are searched for.'
        assert hint('"golden ticket"') == quoted
        assert workspace.browse.unmet(Filters(tags=("drawings",))) == ""


def _rated(comparison: str, value: str) -> PropertyCondition:
    return PropertyCondition("rating", Comparison(comparison), value)


@pytest.mark.parametrize(
    ("filters", "hint"),
    [
        (Filters(alias_prefix="jira:"), "No document has an alias that starts with 'jira:'."),
        (Filters(path="*.md", properties=(_rated(">=", "4"),)), ""),
        (Filters(path="*.md", properties=(_rated(">=", "6"),)), "No document meets 'rating>=6'."),
        (Filters(properties=(_rated("=", "5"),), linked_to="b.md"), "No document links to 'b.md'."),
        (Filters(path="*.md", updated_until_ns=1), "No document was updated in that time."),
        (Filters(tags=("x",), depths=(3,)), "No document has text of that depth."),
        (Filters(tags=("x",), path="a.md"), "No document meets all the filters. Leave some of them out."),
    ],
)
def test_of_several_filters_the_one_that_nothing_meets_is_named(
    tmp_path: Path, filters: Filters, hint: str
) -> None:
    """If each has documents, all of them together are named."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("---\nrating: 5\n---\nquagga [[c]]\n", encoding="utf-8")
    (tmp_path / "docs" / "b.md").write_text("zebra #x\n", encoding="utf-8")
    with open_workspace(docs_dir=tmp_path / "docs", embedder=HashingEmbedder()) as workspace:
        workspace.search(SearchQuery("quagga"), wait_for_vectors=True)
        assert workspace.browse.unmet(filters) == hint


def test_chunks_that_the_model_cannot_read_whole_are_told(tmp_path: Path, docs: Path) -> None:
    """Also when the configuration asks for them; they are embedded nevertheless."""
    config = Config(chunking=ChunkingSettings(max_tokens=5000))
    with open_workspace(config, database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection(NAME, "", str(docs))
        report = workspace.import_collection(NAME)
        assert (report.embedded_chunks, report.pending_chunks) == (1, 0)
        assert "chunks of 5000 tokens are larger than what" in report.warnings[0]
        smaller = ImportOptions(max_tokens=100)
        assert workspace.import_collection(NAME, smaller).warnings == ()


def test_arguments_that_are_not_utf_8_find_nothing(workspace: Workspace, docs: Path) -> None:
    """Bytes of a command line that are no UTF-8 arrive as lone surrogates; they give no error but ours."""
    odd = os.fsdecode(b"\xff")
    workspace.import_collection(NAME)
    assert workspace.search(SearchQuery(f"tomatoes {odd}")).hits
    for filters in (Filters(path=f"{odd}/*"), Filters(tags=(odd,)), Filters(alias_prefix=odd)):
        assert workspace.search(SearchQuery("tomatoes", filters=filters)).hits == ()
    with pytest.raises(DocumentNotFoundError):
        workspace.read(f"{odd}.md")
    assert workspace.add_collection("other", f"a{odd}", str(docs)).description == r"a\xff"
    assert workspace.update_collection("other", description=f"b{odd}").description == r"b\xff"
    assert workspace.collection("other").description == r"b\xff"


def test_the_home_of_an_unknown_user_is_no_folder(workspace: Workspace) -> None:
    """A leading ~ that means nothing is a missing folder like any other."""
    with pytest.raises(SourceMissingError):
        workspace.add_collection("other", "", "~no-such-user/notes")


def test_size_counts_the_database_alone(workspace: Workspace) -> None:
    """A copy beside it with a longer name is not part of it."""
    workspace.import_collection(NAME)
    before = workspace.status().size_bytes
    workspace.database.with_name(workspace.database.name + ".bak").write_bytes(bytes(1_000_000))
    assert workspace.status().size_bytes == before > 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    """A folder and a file whose names are not UTF-8 are indexed, found, and read by their real names."""
    folder = tmp_path / "d\udcff"
    folder.mkdir()
    (folder / "\udcfe.md").write_text("# A\n\nTomatoes need sun.\n", encoding="utf-8")
    with open_workspace(docs_dir=folder, embedder=HashingEmbedder()) as workspace:
        [hit] = workspace.search(SearchQuery("tomatoes \udcff", mode=SearchMode.LEXICAL)).hits
        assert hit.path == r"\xfe.md"
        assert (
            workspace.read("\udcfe.md").text == workspace.read(hit.path).text == "# A\n\nTomatoes need sun.\n"
        )


@pytest.mark.parametrize("asked", ["x/sub/long.md", "{docs}/x/sub/long.md"])
def test_a_part_of_a_path_is_enough_for_a_suggestion(workspace: Workspace, docs: Path, asked: str) -> None:
    """The hint names the document with this file name or at this place, before those spelled alike."""
    (docs / "sub").mkdir()
    (docs / "sub" / "long.md").write_text("Tomatoes.", encoding="utf-8")
    (docs / "lang.md").write_text("Tomatoes.", encoding="utf-8")
    workspace.import_collection(NAME)
    with pytest.raises(DocumentNotFoundError) as caught:
        workspace.read(asked.format(docs=docs))
    assert caught.value.hint == "Did you mean sub/long.md?"


def test_a_document_of_a_disabled_collection_is_read_where_nothing_else_is_meant(
    workspace: Workspace,
) -> None:
    """It is only left out where several collections are meant."""
    workspace.import_collection(NAME)
    workspace.update_collection(NAME, enabled=False)
    assert workspace.read(f"{NAME}/a.md").path == "a.md"
    with pytest.raises(DocumentNotFoundError):
        workspace.read(f"{NAME}/z.md")


def test_documents_are_listed_over_all_collections(workspace: Workspace, tmp_path: Path) -> None:
    """By collection and path, a page at a time; disabled ones only when named."""
    for name in ("alpha", "zeta"):
        folder = tmp_path / name
        folder.mkdir()
        for document in ("b.md", "a/c.md", "猫.md"):
            (folder / document).parent.mkdir(exist_ok=True)
            (folder / document).write_text(f"# {name}\n", encoding="utf-8")
        workspace.add_collection(name, "", str(folder))
        workspace.import_collection(name)
    workspace.import_collection(NAME)
    everything = [(each.collection, each.path) for each in workspace.documents()]
    paths = ["a/c.md", "b.md", "猫.md"]
    assert everything == [
        *(("alpha", path) for path in paths),
        (NAME, "a.md"),
        *(("zeta", path) for path in paths),
    ]
    for size in (1, 2, 3):
        after, listed = None, []
        while page := workspace.documents(after=after, limit=size):
            after = page[-1].collection, page[-1].path
            listed += [(each.collection, each.path) for each in page]
        assert listed == everything
    workspace.update_collection("alpha", enabled=False)
    assert workspace.documents(limit=1)[0].collection == NAME
    assert [each.path for each in workspace.documents("alpha", prefix="a/")] == ["a/c.md"]
    with pytest.raises(CollectionNotFoundError):
        workspace.documents("nope")


def test_the_generation_tells_of_other_processes(workspace: Workspace, docs: Path) -> None:
    """It grows with what they commit, and stays while nobody does."""
    before = workspace.generation()
    with open_workspace(database=workspace.database, embedder=HashingEmbedder()) as other:
        other.import_collection(NAME)
    after = workspace.generation()
    assert after > before
    workspace.search(SearchQuery("tomatoes"))
    assert workspace.generation() == after


def test_a_closed_workspace_opens_nothing(workspace: Workspace) -> None:
    """A thread that begins to wait a moment too late would open a store that nobody closes."""
    version = workspace.generation()
    workspace.close()
    for call in (
        lambda: workspace.wait_for_change(version, timeout_s=HANG_S),
        lambda: workspace.import_collection(NAME),
        lambda: workspace.search(SearchQuery("tomatoes")),
        workspace.collections,
    ):
        with pytest.raises(WorkspaceClosedError, match="has been closed") as caught:
            call()
        assert "open_workspace" in caught.value.hint
    workspace.close()


def test_a_closed_workspace_keeps_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory and files are free at once, not when Python collects garbage; none is loaded again."""
    made: list[UnloadingEmbedder] = []

    def make(*_: object) -> UnloadingEmbedder:
        made.append(UnloadingEmbedder())
        return made[-1]

    monkeypatch.setattr("mdvec.workspace.stages.make_embedder", make)
    with open_workspace(database=tmp_path / "index.sqlite") as workspace:
        workspace.models.load()
    assert [each.idle_s for each in made] == [[0]]
    with pytest.raises(WorkspaceClosedError):
        workspace.models.load()


def test_folders_are_named_by_paths_or_text(tmp_path: Path) -> None:
    """A library that takes one for the database takes both for folders."""
    notes = tmp_path / "github:notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n", encoding="utf-8")
    with open_workspace(
        docs_dir=str(notes), data_dir=str(tmp_path / "data"), embedder=HashingEmbedder()
    ) as own:
        own.import_collection("docs")
        assert [each.path for each in own.chunks()] == ["a.md"]
    with open_workspace(database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as workspace:
        made = workspace.add_collection("notes", "Notes", notes)
        assert (made.source.kind, made.source.location) == ("folder", str(notes))
        assert workspace.update_collection("notes", location=tmp_path).source.location == str(tmp_path)


def test_lines_and_a_section_are_not_read_together(workspace: Workspace) -> None:
    """One of them would have no effect."""
    workspace.import_collection(NAME)
    with pytest.raises(UsageError, match="cannot be used together"):
        workspace.read("a.md", lines=(1, 1), section="A")


def test_an_old_collection_with_a_reserved_name_is_noted(workspace: Workspace) -> None:
    """Doctor says that agents see no tool of it; a new one is refused."""
    with closing(open_store(workspace.database)) as store, store.write() as writer:
        writer.collections.add(Collection(CollectionId(0), "search", "", SourceSpec("folder", "/nowhere")))
    [finding, *_] = [each for each in workspace.doctor() if each.subject == "search"]
    assert "the collection has none of its own" in finding.message
    with pytest.raises(InvalidNameError):
        workspace.add_collection("status", "", str(workspace.database.parent))


class UnloadingEmbedder(HashingEmbedder):
    """Remembers for how long it had to be idle."""

    def __init__(self) -> None:
        super().__init__()
        self.idle_s: list[float] = []

    def unload(self, *, idle_s: float) -> bool:
        """Take note."""
        self.idle_s.append(idle_s)
        return True


@pytest.mark.parametrize(
    ("minutes", "threshold", "idle_s"),
    [
        (10.0, 1.0, [600.0]),
        (0.5, 1.0, [30.0]),
        (0.0, 1.0, []),
        (10.0, 0.0, [60.0]),
        (0.5, 0.0, [30.0]),
        (0.0, 0.0, [60.0]),
    ],
)
def test_an_idle_model_is_freed_as_configured(
    tmp_path: Path, minutes: float, threshold: float, idle_s: list[float]
) -> None:
    """``auto_unload_minutes`` says when, 0 is never; above ``memory_threshold`` it is after a minute."""
    embedder = UnloadingEmbedder()
    config = Config(embedding=EmbeddingSettings(auto_unload_minutes=minutes, memory_threshold=threshold))
    with open_workspace(config, database=tmp_path / "i.sqlite", embedder=embedder) as workspace:
        assert workspace.free_idle_model() is bool(idle_s)
    assert embedder.idle_s == idle_s


def test_warnings_about_the_settings_are_in_every_answer(tmp_path: Path, docs: Path) -> None:
    """What has no effect of another program's file is told in searches and status, but not to guests."""
    with open_workspace(
        Config(warnings=("logging.level",)), database=tmp_path / "x.sqlite", embedder=HashingEmbedder()
    ) as opened:
        opened.add_collection(NAME, "Notes", docs)
        opened.import_collection(NAME)
        query = SearchQuery("tomatoes")
        assert opened.search(query).warnings[0] == "logging.level"
        assert opened.browse.related("a.md").warnings[0] == "logging.level"
        assert opened.status().warnings == ("logging.level",)
        assert "logging.level" in [each.message for each in opened.doctor()]
        guest = RestrictedWorkspace(opened, [NAME])
        assert "logging.level" not in (*guest.search(query).warnings, *guest.status().warnings)


def test_each_chunk_may_be_a_hit_by_itself(tmp_path: Path) -> None:
    """By default the chunks of a small file that answer together are one passage, the whole file."""
    (tmp_path / "a.md").write_text("".join(f"## Garden {n}\n\nTomatoes need sun {n}.\n\n" for n in range(3)))
    chunking = ChunkingSpec("headings", min_chars=0)
    with open_workspace(database=tmp_path / "x.sqlite", embedder=HashingEmbedder()) as opened:
        opened.add_collection(NAME, "Notes", tmp_path, chunking=chunking)
        opened.import_collection(NAME)
        [passage] = opened.search(SearchQuery("tomatoes sun")).hits
        chunks = opened.search(SearchQuery("tomatoes sun", expand=Expansion.CHUNK, min_score=0)).hits
        assert {each.heading for each in chunks} == {f"Garden {n}" for n in range(3)}
        assert all(each.text in passage.text for each in chunks)
