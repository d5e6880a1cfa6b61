"""A workspace that answers what it is told to and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from mdvec import run
from mdvec.config import Config
from mdvec.config.schema import SearchSettings
from mdvec.errors import CollectionNotFoundError
from mdvec.run import Stage
from mdvec.types.collection import Collection, EmbeddingSpec, SourceSpec
from mdvec.types.hit import Confidence, SearchHit, SearchResult
from mdvec.types.ids import CollectionId
from mdvec.types.links import DocumentLinks
from mdvec.types.model_report import (
    Benchmark,
    ImportEstimate,
    ListedModel,
    ModelChange,
    ModelChangeOutcome,
    Price,
)
from mdvec.types.outline import Outline, OutlineSection
from mdvec.types.query import Filters, SearchMode, SearchQuery
from mdvec.types.report import (
    CollectionCounts,
    CollectionStatus,
    Finding,
    ImportOptions,
    ImportReport,
    ListedDocument,
    Passage,
    TagCount,
    WorkspaceStatus,
)
from mdvec.workspace import FolderChoice, Workspace, open_workspace
from mdvec.workspace.importing import Freshness
from mdvec.workspace.models import Models
from mdvec.workspace.pages import Browse

HIT = SearchHit(
    rank=1,
    collection="notes",
    path="旅行/京都.md",
    title="京都の旅",
    heading="宿",
    heading_path=("京都の旅", "宿"),
    depth=2,
    start_line=12,
    end_line=14,
    start=100,
    end=130,
    score=0.87654321,
    similarity=0.8123456789,
    dense_rank=1,
    lexical_rank=3,
    text="## 宿\n四条の宿に泊まった。\n朝は静かだった。",
    chunk_text="## 宿\n四条の宿に泊まった。\n朝は静かだった。",
    chunk_line=12,
)

RESULT = SearchResult(
    query="宿",
    mode=SearchMode.HYBRID,
    hits=(HIT,),
    confidence=Confidence.HIGH,
    total_chunks=40,
    pending_chunks=0,
    last_indexed_ms=1_777_627_800_123,
    elapsed_ms=12.3456,
)

COLLECTION = Collection(
    id=CollectionId(1),
    name="notes",
    description="My notes",
    source=SourceSpec("folder", "/home/me/notes", include=("*.md",)),
    last_indexed_ms=1_777_627_800_123,
)


CHANGE = ModelChange(
    collection="notes",
    outcome=ModelChangeOutcome.CHANGED,
    model="voyage:voyage-4-lite@1024",
    embedded_chunks=8,
    total_chunks=9,
    elapsed_ms=1234.56,
)

ESTIMATE = ImportEstimate(
    collection="notes",
    model="voyage:voyage-4-lite@1024",
    documents=3,
    chunks=9,
    names=6,
    tokens=12_345,
    exact=False,
    requests=2,
    usd=0.0002469,
    price=Price(0.02, "2026-04-30"),
)

MODEL = ListedModel(
    spec="builtin",
    provider="builtin",
    model="multilingual-e5-small",
    dimensions=(384,),
    languages="many",
    size_mb=95,
    price=None,
    offline=True,
    benchmarks=(Benchmark("JMTEB retrieval, 11 sets", 62.92, "https://example.com/jmteb"),),
    problem="",
    hint="",
    collections=("notes",),
)


class FakeModels(Models):
    """The models of a fake workspace."""

    def __init__(self, note: Callable[..., None]) -> None:
        self._note = note
        self.listed = [MODEL]
        self.change = CHANGE
        self.estimated = ESTIMATE
        self.interrupted = False

    def known(self) -> list[ListedModel]:
        """Return the listed ones."""
        self._note("models")
        return self.listed

    def estimate(
        self,
        name: str,
        options: ImportOptions = ImportOptions(),  # noqa: B008 - frozen
    ) -> ImportEstimate:
        """Return the estimate."""
        self._note("estimate", name=name, options=options)
        return replace(self.estimated, collection=name)

    def use(
        self, spec: EmbeddingSpec, names: Sequence[str] = (), *, wait_s: float = 60.0
    ) -> Iterator[ModelChange]:
        """Change the model of each collection."""
        self._note("use", spec=spec, names=tuple(names), wait_s=wait_s)
        if self.interrupted:
            raise KeyboardInterrupt
        yield self.change

    def cancel(self, names: Sequence[str] = ()) -> list[ModelChange]:
        """Cancel."""
        self._note("cancel", names=tuple(names))
        return [replace(self.change, outcome=ModelChangeOutcome.CANCELLED)]


class FakeBrowse(Browse):
    """The lists of a fake workspace."""

    def __init__(self, workspace: FakeWorkspace) -> None:
        self._workspace = workspace

    def newest(
        self, filters: Filters, collections: Sequence[str] = (), *, limit: int = 100, offset: int = 0
    ) -> list[ListedDocument]:
        """Return the listed documents."""
        self._workspace._note("newest", filters=filters, collections=tuple(collections), limit=limit)
        return self._workspace.listed[offset : offset + limit]

    def unmet(self, filters: Filters, collections: Sequence[str] = ()) -> str:
        """Return a hint on filters by tags, else the one that is set."""
        return "No document has the tag 'x'." if filters.tags else self._workspace.unmet

    def outline(self, path: str, *, collection: str | None = None) -> Outline:
        """Return an outline of one section."""
        self._workspace._note("outline", path=path, collection=collection)
        return Outline("notes", "a.md", "A", (OutlineSection(0, None, 2, "宿", 3, 9, 40),))

    def related(self, path: str, *, collection: str | None = None, limit: int = 5) -> SearchResult:
        """Return the result."""
        self._workspace._note("related", path=path, collection=collection, limit=limit)
        return self._workspace.result


class FakeFreshness(Freshness):
    """The freshness of a fake workspace."""

    def __init__(self, note: Callable[..., None]) -> None:
        self._note = note

    def watch(self, names: Sequence[str] = (), *, force: bool = False) -> None:
        """Remember that it was asked to."""
        self._note("watch", names=tuple(names), force=force)

    def close(self, most_s: float) -> None:
        """Do nothing."""


class FakeWorkspace(Workspace):
    """Set its public fields to what it is to answer; read ``calls`` for what it was asked.

    ``interrupted`` makes the next import end as after Ctrl-C; ``error`` is raised by whatever comes next.
    """

    def __init__(self) -> None:
        whole = open_workspace(database=Path("/nowhere/index.sqlite"))
        super().__init__(whole._collections, Config())
        self.browse = FakeBrowse(self)
        self.calls: list[tuple[str, dict[str, object]]] = []
        self.models: FakeModels = FakeModels(self._note)
        self.freshness: FakeFreshness = FakeFreshness(self._note)
        self.result = RESULT
        self.report = ImportReport("notes", added=3, total_documents=3, total_chunks=9, embedded_chunks=9)
        self.passage = Passage("notes", "a.md", "A", ("x",), 1, 2, "# A\ntext\n", stale=False)
        self.found_links = DocumentLinks("notes", "a.md", "A", (), (), (), ())
        self.known = [COLLECTION]
        self.unmet = ""
        self.size_bytes = 1_234_567
        self.found_tags = [TagCount("旅行", 1200), TagCount("x", 3)]
        self.statuses = (CollectionStatus(COLLECTION, CollectionCounts(3, 1, 2, 9, 4)),)
        self.findings: list[Finding] = []
        self.listed: list[ListedDocument] = []
        self.changes = 0
        self.interrupted = False
        self.error: Exception | None = None
        self.opened: dict[str, object] = {}
        self.closed = False

    def __call__(
        self,
        config: Config | None = None,
        *,
        database: Path | str | None = None,
        docs_dir: Path | None = None,
        data_dir: Path | None = None,
        choice: FolderChoice | None = None,
        makes: bool = True,
    ) -> Workspace:
        """Open it; an :class:`mdvec.interfaces.cli.session.Opener`."""
        self.opened = {"database": database, "docs_dir": docs_dir, "data_dir": data_dir, "config": config}
        self.choice, self.makes = choice, makes
        return self

    def _note(self, name: str, /, **details: object) -> None:
        self.calls.append((name, details))
        if self.error is not None:
            raise self.error

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Explain nothing."""
        yield

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def collections(self, *, include_disabled: bool = False) -> list[Collection]:
        """Return the known ones."""
        self._note("collections", include_disabled=include_disabled)
        return [each for each in self.known if each.enabled or include_disabled]

    def collection(self, name: str) -> Collection:
        """Return a known one."""
        for each in self.known:
            if each.name == name:
                return each
        raise CollectionNotFoundError

    def import_collection(
        self,
        name: str,
        options: ImportOptions = ImportOptions(),  # noqa: B008 - frozen
    ) -> ImportReport:
        """Report what it is told to."""
        self._note("import", name=name, options=options)
        run.current().report(Stage.EMBED, 1, 9)
        if self.interrupted:
            raise KeyboardInterrupt
        if self.report.failure is not None and not options.accept_pending:
            raise self.report.failure
        return replace(self.report, collection=name)

    def generation(self) -> int:
        """Return how often it was changed."""
        self._note("generation")
        return self.changes

    def wait_for_change(self, generation: int, *, timeout_s: float) -> int:
        """Wait as long as is allowed."""
        self._note("wait_for_change")
        run.current().sleep(timeout_s if self.changes == generation else 0)
        return self.changes

    def documents(
        self,
        collection: str | None = None,
        *,
        after: tuple[str, str] | None = None,
        prefix: str = "",
        limit: int = 100,
    ) -> list[ListedDocument]:
        """Return a page of the listed documents."""
        self._note("documents", collection=collection, after=after, prefix=prefix, limit=limit)
        if collection is not None:
            self.collection(collection)
        return [
            each
            for each in self.listed
            if (each.collection, each.path) > (after or ("", ""))
            and collection in (None, each.collection)
            and each.path.startswith(prefix)
        ][:limit]

    def free_idle_model(self) -> bool:
        """Free nothing."""
        return False

    def search_settings(self, collections: Sequence[str] = ()) -> SearchSettings:
        """Return what is configured."""
        config = self.opened.get("config")
        return config.search if isinstance(config, Config) else SearchSettings()

    def search(
        self, query: SearchQuery, *, wait_for_vectors: bool | None = None, related_to: str | None = None
    ) -> SearchResult:
        """Answer what it is told to."""
        with run.current().step("dense", hits=50):
            self._note("search", query=query, wait_for_vectors=wait_for_vectors)
        if self.interrupted:
            raise KeyboardInterrupt
        return replace(self.result, query=query.text)

    def read(
        self,
        path: str,
        *,
        collection: str | None = None,
        lines: tuple[int | None, int | None] | None = None,
        section: str | None = None,
    ) -> Passage:
        """Return the passage."""
        self._note("read", path=path, collection=collection, lines=lines, section=section)
        return self.passage

    def links(self, path: str, *, collection: str | None = None, steps: int = 1) -> DocumentLinks:
        """Return the links."""
        self._note("links", path=path, collection=collection, steps=steps)
        return self.found_links

    def tags(self, collections: Sequence[str] = ()) -> list[TagCount]:
        """Return the tags."""
        self._note("tags", collections=tuple(collections))
        return self.found_tags

    def status(self, name: str | None = None, *, files: bool = False, check: bool = False) -> WorkspaceStatus:
        """Return the statuses."""
        self._note("status", name=name, files=files, check=check)
        return WorkspaceStatus("/nowhere/index.sqlite", self.size_bytes, "builtin:e5@1:384:t1", self.statuses)

    def doctor(self) -> list[Finding]:
        """Return the findings."""
        self._note("doctor")
        return self.findings
