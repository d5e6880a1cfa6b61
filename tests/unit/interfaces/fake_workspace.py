"""A workspace that gives the answers of a test, and remembers its calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mdvec import run
from mdvec.config import Config
from mdvec.config.schema import SearchSettings
from mdvec.errors import CollectionNotFoundError
from mdvec.run import Stage
from mdvec.types.collection import Collection, SourceSpec
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
from mdvec.types.query import SearchMode, SearchQuery
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
    line=12,
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

OUTLINE = Outline("notes", "a.md", "A", (OutlineSection(0, None, 2, "宿", 3, 9, 40),))

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


Answer = Callable[..., Any]


class FakeWorkspace(Workspace):
    """Set its public fields to the answers that it is to give; ``calls`` has the questions.

    ``interrupted`` makes the next import end as after Ctrl-C; ``error`` is raised by the next call.

    Attributes:
        answers: Gives the answer of a method, by its name; receives all arguments by their names.
    """

    def __init__(self) -> None:
        whole = open_workspace(database=Path("/nowhere/index.sqlite"))
        super().__init__(whole._collections, Config())
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.result = RESULT
        self.report = ImportReport("notes", added=3, total_documents=3, total_chunks=9, embedded_chunks=9)
        self.passage = Passage("notes", "a.md", "A", ("x",), 1, 2, "# A\ntext\n", stale=False)
        self.found_links = DocumentLinks("notes", "a.md", "A", (), (), (), ())
        self.known = [COLLECTION]
        self.unmet = ""
        self.left: tuple[str, ...] = ()
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
        self.answers: dict[str, Answer] = {
            "search": self._search,
            "read": lambda **_: self.passage,
            "links": lambda **_: self.found_links,
            "tags": lambda **_: self.found_tags,
            "doctor": lambda: self.findings,
            "generation": lambda: self.changes,
            "wait_for_change": self._wait,
            "status": lambda **_: WorkspaceStatus(
                "/nowhere/index.sqlite", self.size_bytes, "builtin:e5@1:384:t1", self.statuses
            ),
            "collections": lambda include_disabled: [
                each for each in self.known if each.enabled or include_disabled
            ],
            "import_collection": self._import,
            "documents": self._documents,
            "newest": lambda limit, **_: self.listed[:limit],
            "related": lambda **_: self.result,
            "outline": lambda **_: OUTLINE,
            "unmet": lambda filters, **_: "No document has the tag 'x'." if filters.tags else self.unmet,
            "watch": lambda **_: None,
            "bring_up": lambda **_: (self.left, {}),
            "known": lambda: [MODEL],
            "estimate": lambda name, **_: replace(ESTIMATE, collection=name),
            "cancel": lambda **_: [replace(CHANGE, outcome=ModelChangeOutcome.CANCELLED)],
            "use": lambda **_: self._unless_interrupted([CHANGE]),
        }
        for name in self.answers:
            parts = (self, self.browse, self.models, self.freshness)
            part = next(each for each in parts if hasattr(type(each), name))
            setattr(part, name, self._noted(name, getattr(part, name)))

    def __call__(
        self, config: Config, *, choice: FolderChoice | None, makes: bool, **place: Any
    ) -> Workspace:
        """Open it; an :class:`mdvec.interfaces.cli.session.Opener`."""
        self.opened = {**place, "config": config}
        return self

    @property
    def query(self) -> SearchQuery:
        """The query of the one search."""
        [query] = [details["query"] for name, details in self.calls if name == "search"]
        assert isinstance(query, SearchQuery)
        return query

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def collection(self, name: str) -> Collection:
        """Return a known one."""
        for each in self.known:
            if each.name == name:
                return each
        raise CollectionNotFoundError

    def search_settings(self, collections: Sequence[str] = ()) -> SearchSettings:
        """Return what is configured."""
        config = self.opened.get("config")
        return config.search if config else SearchSettings()

    def _noted(self, name: str, real: Answer) -> Answer:
        """Return a method that remembers its arguments, as the real one names them, and gives an answer."""
        signature = inspect.signature(real)

        def call(*arguments: object, **options: object) -> object:
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            self.calls.append((name, bound.arguments))
            if self.error is not None:
                raise self.error
            return self.answers[name](**bound.arguments)

        return call

    def _unless_interrupted(self, answer: Any) -> Any:
        if self.interrupted:
            raise KeyboardInterrupt
        return answer

    def _search(self, query: SearchQuery, **_: object) -> SearchResult:
        with run.current().step("dense", hits=50):
            result: SearchResult = self._unless_interrupted(self.result)
        return replace(result, query=query.text)

    def _wait(self, generation: int, timeout_s: float) -> int:
        run.current().sleep(timeout_s if self.changes == generation else 0)
        return self.changes

    def _import(self, name: str, options: ImportOptions) -> ImportReport:
        run.current().report(Stage.EMBED, 1, 9)
        report: ImportReport = self._unless_interrupted(self.report)
        if report.failure is not None and not options.accept_pending:
            raise report.failure
        return replace(report, collection=name)

    def _documents(
        self, collection: str | None, after: tuple[str, str] | None, prefix: str, limit: int
    ) -> list[ListedDocument]:
        if collection is not None:
            self.collection(collection)
        found = (each for each in self.listed if collection in (None, each.collection))
        found = (each for each in found if each.path.startswith(prefix))
        return [each for each in found if (each.collection, each.path) > (after or ("", ""))][:limit]
