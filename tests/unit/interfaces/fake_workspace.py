"""A workspace that answers what it is told to and remembers what it was asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


def noted(real: Callable[..., object], answer: Callable[..., object], *, name: str = "") -> Any:
    """Return a method that notes its arguments, as the real one names them, and gives an answer."""
    signature = inspect.signature(real)

    def method(self: Any, *arguments: object, **options: object) -> object:
        bound = signature.bind(self, *arguments, **options)
        bound.apply_defaults()
        _, *given = bound.arguments.items()
        self.note(name or real.__name__, **dict(given))
        return answer(self, **dict(given))

    return method


class FakeModels(Models):
    """The models of a fake workspace."""

    def __init__(self, note: Callable[..., None]) -> None:
        self.note = note
        self.listed = [MODEL]
        self.change = CHANGE
        self.estimated = ESTIMATE
        self.interrupted = False

    known = noted(Models.known, lambda self: self.listed, name="models")
    estimate = noted(Models.estimate, lambda self, name, options: replace(self.estimated, collection=name))
    cancel = noted(
        Models.cancel, lambda self, names: [replace(self.change, outcome=ModelChangeOutcome.CANCELLED)]
    )

    def use(
        self, spec: EmbeddingSpec, names: Sequence[str] = (), *, wait_s: float = 60.0
    ) -> Iterator[ModelChange]:
        """Change the model of each collection."""
        self.note("use", spec=spec, names=tuple(names), wait_s=wait_s)
        if self.interrupted:
            raise KeyboardInterrupt
        yield self.change


class FakeBrowse(Browse):
    """The lists of a fake workspace."""

    def __init__(self, workspace: FakeWorkspace) -> None:
        self.workspace = workspace
        self.note = workspace.note

    newest = noted(Browse.newest, lambda self, limit, **_: self.workspace.listed[:limit])
    related = noted(Browse.related, lambda self, **_: self.workspace.result)
    outline = noted(
        Browse.outline,
        lambda *_, **__: Outline("notes", "a.md", "A", (OutlineSection(0, None, 2, "宿", 3, 9, 40),)),
    )

    def unmet(self, filters: Filters, collections: Sequence[str] = ()) -> str:
        """Return a hint on filters by tags, else the one that is set."""
        return "No document has the tag 'x'." if filters.tags else self.workspace.unmet


class FakeFreshness(Freshness):
    """The freshness of a fake workspace."""

    def __init__(self, note: Callable[..., None]) -> None:
        self.note = note

    watch = noted(Freshness.watch, lambda *_, **__: None)

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
        self.models: FakeModels = FakeModels(self.note)
        self.freshness: FakeFreshness = FakeFreshness(self.note)
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
        self.opened: dict[str, Any] = {}
        self.closed = False

    def __call__(
        self, config: Config, *, choice: FolderChoice | None, makes: bool, **place: Any
    ) -> Workspace:
        """Open it; an :class:`mdvec.interfaces.cli.session.Opener`."""
        self.opened = {**place, "config": config}
        self.choice, self.makes = choice, makes
        return self

    def note(self, name: str, /, **details: object) -> None:
        """Remember a call, and fail if that is wanted."""
        self.calls.append((name, details))
        if self.error is not None:
            raise self.error

    @property
    def query(self) -> SearchQuery:
        """The query of the one search."""
        [query] = [details["query"] for name, details in self.calls if name == "search"]
        assert isinstance(query, SearchQuery)
        return query

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Explain nothing."""
        yield

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    read = noted(Workspace.read, lambda self, **_: self.passage)
    links = noted(Workspace.links, lambda self, **_: self.found_links)
    tags = noted(Workspace.tags, lambda self, **_: self.found_tags)
    doctor = noted(Workspace.doctor, lambda self: self.findings)
    generation = noted(Workspace.generation, lambda self: self.changes)
    status = noted(
        Workspace.status,
        lambda self, **_: WorkspaceStatus(
            "/nowhere/index.sqlite", self.size_bytes, "builtin:e5@1:384:t1", self.statuses
        ),
    )
    collections = noted(
        Workspace.collections,
        lambda self, include_disabled: [each for each in self.known if each.enabled or include_disabled],
    )

    import_collection = noted(
        Workspace.import_collection, lambda self, **given: _imported(self, **given), name="import"
    )
    documents = noted(Workspace.documents, lambda self, **given: _page(self, **given))

    def collection(self, name: str) -> Collection:
        """Return a known one."""
        if name not in (each.name for each in self.known):
            raise CollectionNotFoundError
        return next(each for each in self.known if each.name == name)

    def wait_for_change(self, generation: int, *, timeout_s: float) -> int:
        """Wait as long as is allowed."""
        self.note("wait_for_change")
        run.current().sleep(timeout_s if self.changes == generation else 0)
        return self.changes

    def free_idle_model(self) -> bool:
        """Free nothing."""
        return False

    def search_settings(self, collections: Sequence[str] = ()) -> SearchSettings:
        """Return what is configured."""
        config = self.opened.get("config")
        return config.search if config else SearchSettings()

    def search(
        self, query: SearchQuery, *, wait_for_vectors: bool | None = None, related_to: str | None = None
    ) -> SearchResult:
        """Answer what it is told to."""
        with run.current().step("dense", hits=50):
            self.note("search", query=query, wait_for_vectors=wait_for_vectors)
        if self.interrupted:
            raise KeyboardInterrupt
        return replace(self.result, query=query.text)


def _imported(workspace: FakeWorkspace, *, name: str, options: ImportOptions) -> ImportReport:
    report = workspace.report
    run.current().report(Stage.EMBED, 1, 9)
    if workspace.interrupted:
        raise KeyboardInterrupt
    if report.failure is not None and not options.accept_pending:
        raise report.failure
    return replace(report, collection=name)


def _page(
    workspace: FakeWorkspace,
    *,
    collection: str | None,
    after: tuple[str, str] | None,
    prefix: str,
    limit: int,
) -> list[ListedDocument]:
    if collection is not None:
        workspace.collection(collection)
    wanted = [each for each in workspace.listed if each.path.startswith(prefix)]
    if collection is not None:
        wanted = [each for each in wanted if each.collection == collection]
    return [each for each in wanted if (each.collection, each.path) > (after or ("", ""))][:limit]
