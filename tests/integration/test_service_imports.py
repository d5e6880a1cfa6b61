"""Imports through a service: several requests at once, every answer stored as it comes."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.embedding_services import KEY, OpenAiServer, VoyageServer, openai_error
from tests.fakes.http_server import Answer, Asked
from tests.fakes.runs import cancelled_when, noting
from tests.waiting import HANG_S

from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config.schema import ChunkingSettings, Config, EmbeddingSettings
from mdvec.embedding.interface import Role
from mdvec.embedding.openai import OpenAiSettings
from mdvec.embedding.unrelated import PASSAGES, QUESTIONS
from mdvec.embedding.voyage import VoyageSettings
from mdvec.errors import EmbedderBusyError, EmbeddingError, ImportStoppedError
from mdvec.run import Stage
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

NAME = "notes"
TRIED = "dimension"
OF_THE_NOTES = re.compile(r"Note \d|\d{3}$")
BATCH = 8
AT_ONCE = 4
NAMES_EACH = 2  # the title and the file's name


class WatchedServer(OpenAiServer):
    """Counts what it is asked for.

    Attributes:
        before: Called with the texts of a request for the notes before it is answered; what it returns is the
            answer.
        requests: How many requests there were, but for the single word by which a model is tried first.
        answered: The texts of the notes that it has made vectors of.
    """

    needs_key = False

    def __init__(self, before: Callable[[list[str]], Answer | None] = lambda _texts: None) -> None:
        super().__init__()
        self.before = before
        self.requests = 0
        self.answered: Counter[str] = Counter()
        self._counting = threading.Lock()

    def answer(self, asked: Asked) -> Answer:
        texts = asked.body["input"]
        with self._counting:
            self.requests += texts != [TRIED]
        if not all(OF_THE_NOTES.match(text) for text in texts):
            return super().answer(asked)
        if (refusal := self.before(texts)) is not None:
            return refusal
        with self._counting:
            self.answered.update(texts)
        return super().answer(asked)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@contextmanager
def notes_at(
    server: WatchedServer,
    root: Path,
    documents: int,
    *,
    at_once: int = AT_ONCE,
    batch_tokens: int = 8192,
    attempts: int = 1,
) -> Iterator[Workspace]:
    """Open a collection of so many documents of one chunk each, which the server embeds."""
    settings = OpenAiSettings(
        base_url=f"{server.url}/v1",
        batch_size=BATCH,
        batch_tokens=batch_tokens,
        requests_at_once=at_once,
        attempts=attempts,
    )
    embedding = EmbeddingSettings(provider="openai", model="text-embedding-3-small", dimension=64)
    config = Config(embedding=embedding, extension_sections={"embedding.openai": settings})
    docs = root / "docs"
    if not docs.exists():
        docs.mkdir()
        for number in range(documents):
            text = f"# Note {number}\n\nThe harbour of city{number:03} is old.\n"
            (docs / f"{number:03}.md").write_text(text, encoding="utf-8")
    with open_workspace(config, database=root / "i.sqlite") as workspace:
        if not workspace.collections():
            workspace.add_collection(NAME, "Notes", str(docs))
        yield workspace


def pending(workspace: Workspace) -> int:
    return workspace.status(NAME).collections[0].counts.pending_chunks


def test_as_many_requests_are_under_way_as_may_be(tmp_path: Path) -> None:
    """A server that answers only when four have come is never left waiting, nor asked five things at once.

    There are more texts than are given to the embedder at once, and all requests are full.
    """
    together = threading.Barrier(AT_ONCE)
    sizes: list[int] = []

    def meet(texts: list[str]) -> None:
        sizes.append(len(texts))
        together.wait(HANG_S)

    documents = 5 * AT_ONCE * BATCH
    with WatchedServer(meet) as server, notes_at(server, tmp_path, documents) as workspace:
        workspace.import_collection(NAME)
        assert pending(workspace) == 0
    assert server.most_at_once == AT_ONCE
    assert sizes == [BATCH] * (len(sizes))
    assert set(server.answered.values()) == {1}
    assert server.answered.total() == (1 + NAMES_EACH) * documents


@pytest.mark.parametrize(
    ("documents", "at_once", "batch_tokens"), [(210, 1, 8192), (75, 4, 8192), (45, 3, 30)]
)
def test_the_requests_are_those_of_the_estimate(
    tmp_path: Path, documents: int, at_once: int, batch_tokens: int
) -> None:
    """However many documents there are, and whatever fills a request, the import makes as many as told."""
    with (
        WatchedServer() as server,
        notes_at(server, tmp_path, documents, at_once=at_once, batch_tokens=batch_tokens) as workspace,
    ):
        estimate = workspace.models.estimate(NAME)
        assert server.requests == 0
        workspace.import_collection(NAME)
        assert pending(workspace) == 0
    assert server.requests == estimate.requests
    assert server.answered.total() == estimate.chunks + estimate.names
    assert set(server.answered.values()) == {1}


def test_a_failure_loses_one_request(tmp_path: Path) -> None:
    """The third of four requests under way is refused: the other three are stored, and never asked again."""
    together = threading.Barrier(AT_ONCE)

    def refuse_one(texts: list[str]) -> Answer | None:
        together.wait(HANG_S)
        if any("city020" in text for text in texts):
            return openai_error(400, "I do not like this.", None)
        return None

    documents = AT_ONCE * BATCH
    with WatchedServer(refuse_one) as server, notes_at(server, tmp_path, documents) as workspace:
        with pytest.raises(EmbeddingError, match="I do not like this"):
            workspace.import_collection(NAME)
        assert pending(workspace) == BATCH
        server.before = lambda _texts: None
        workspace.import_collection(NAME)
        assert pending(workspace) == 0
    assert set(server.answered.values()) == {1}


def test_a_quota_that_ends_loses_nothing(tmp_path: Path) -> None:
    """Whatever the server answered before it asks to wait an hour is stored, whoever was under way then."""
    documents, answered_chunks = 150, 9 * BATCH
    guard = threading.Lock()
    left = NAMES_EACH * documents + answered_chunks

    def ration(texts: list[str]) -> Answer | None:
        nonlocal left
        with guard:
            if len(texts) > left:
                refusal = openai_error(429, "Rate limit reached for requests per day.", "rate_limit_exceeded")
                return Answer(refusal.status, refusal.body, {"Retry-After": "3600"})
            left -= len(texts)
        return None

    with WatchedServer(ration) as server:
        with notes_at(server, tmp_path, documents) as workspace:
            with pytest.raises(EmbedderBusyError, match=r"Rate limit reached.*asks to wait 60 min"):
                workspace.import_collection(NAME)
            assert pending(workspace) == documents - answered_chunks
        server.before = lambda _texts: None
        with notes_at(server, tmp_path, documents) as workspace:
            query = SearchQuery("harbour", mode=SearchMode.DENSE, limit=5, min_score=0.0)
            assert len(workspace.search(query).hits) == 5
            workspace.import_collection(NAME)
            assert pending(workspace) == 0
    assert set(server.answered.values()) == {1}
    assert server.answered.total() == (1 + NAMES_EACH) * documents


def test_stopping_waits_for_no_answer(tmp_path: Path) -> None:
    """Who stops an import goes on at once, though three answers are still to come; the first is stored."""
    first, released = threading.Lock(), threading.Event()

    def hold(_texts: list[str]) -> None:
        if not first.acquire(blocking=False):
            assert released.wait(HANG_S)

    def first_answer(stage: Stage, done: int) -> bool:
        return stage is Stage.EMBED and done > 0

    documents = AT_ONCE * BATCH
    with WatchedServer(hold) as server, notes_at(server, tmp_path, documents) as workspace:
        try:
            with cancelled_when(first_answer), pytest.raises(ImportStoppedError):
                workspace.import_collection(NAME)
            assert not released.is_set()
            rest = workspace.models.estimate(NAME)
            assert rest.names == NAMES_EACH * documents - BATCH
        finally:
            released.set()


def test_waits_are_reported_to_the_run_of_the_import(tmp_path: Path) -> None:
    """Four requests wait at the same time, each in a thread of its own; their run hears of every one."""
    refused: Counter[str] = Counter()

    def overloaded_at_first(texts: list[str]) -> Answer | None:
        refused[texts[0]] += 1
        return openai_error(503, "Overloaded.", None) if refused[texts[0]] == 1 else None

    documents = AT_ONCE * BATCH
    with (
        WatchedServer(overloaded_at_first) as server,
        notes_at(server, tmp_path, documents, attempts=2) as workspace,
    ):
        with noting() as watched:
            workspace.import_collection(NAME)
        assert pending(workspace) == 0
    assert {*watched.stages} >= {Stage.EMBED, Stage.LIMIT}


class BackwardsEmbedder(HashingEmbedder):
    """Makes the last vectors first, three at a time."""

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Embed from the end."""
        if tuple(texts) in {QUESTIONS, PASSAGES}:
            yield from super().embed(texts, role, titles)
            return
        for stop in range(len(texts), 0, -3):
            positions = range(max(0, stop - 3), stop)
            [(_, vectors)] = super().embed(texts[positions.start : stop], role)
            yield positions, vectors


def test_parts_may_come_in_any_order(tmp_path: Path) -> None:
    """Each part is stored under its own texts as it comes, and progress is told of each."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(10):
        (docs / f"{number}.md").write_text(f"# Note {number}\n\nAbout city{number:03}.\n", encoding="utf-8")
    with open_workspace(database=tmp_path / "i.sqlite", embedder=BackwardsEmbedder()) as workspace:
        workspace.add_collection(NAME, "Notes", str(docs))
        with noting() as watched:
            workspace.import_collection(NAME)
        embedded = [done for stage, done, _ in watched.reports if stage is Stage.EMBED]
        assert embedded == [0, 3, 6, 9, 12, 15, 18, 20, 23, 26, 29, 30]
        for number in range(10):
            query = SearchQuery(f"About city{number:03}", mode=SearchMode.DENSE, limit=1, min_score=0.0)
            assert workspace.search(query).hits[0].path == f"{number}.md"


@pytest.mark.parametrize("chunker", ["headings", "sections", "vault", "windows"])
def test_a_missing_key_changes_no_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunker: str
) -> None:
    """What an import made with a key is up to date without it, whatever counted the tokens."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "note.md").write_text("# Note\n\nThe harbour is old.\n", encoding="utf-8")
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    with VoyageServer() as server:
        config = Config(
            embedding=EmbeddingSettings(provider="voyage"),
            chunking=ChunkingSettings(strategy=chunker),
            extension_sections={"embedding.voyage": VoyageSettings(base_url=f"{server.url}/v1")},
        )
        with open_workspace(config, database=tmp_path / "i.sqlite") as workspace:
            workspace.add_collection(NAME, "Notes", str(tmp_path / "docs"))
            workspace.import_collection(NAME)
    monkeypatch.delenv("VOYAGE_API_KEY")
    with open_workspace(config, database=tmp_path / "i.sqlite") as workspace:
        check = workspace.status(NAME, check=True).collections[0].check
        assert check is not None
        assert check.in_sync
