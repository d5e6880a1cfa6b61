"""When a model is measured, and what its figures do to the answers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.fakes.embedding_services import KEY, OpenAiServer
from tests.fakes.http_server import Answer
from tests.integration.models import PROVIDER, Shelf

from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.embedding.interface import Role, Runtime
from mdvec.embedding.openai import make_openai
from mdvec.embedding.unrelated import PASSAGES, QUESTIONS, measure_unrelated
from mdvec.errors import EmbedderBusyError
from mdvec.stores.sqlite.database import SqliteDatabase
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.hit import Confidence
from mdvec.types.query import SearchMode
from mdvec.types.report import ImportMode, ImportOptions
from mdvec.types.space import Unrelated, UnrelatedTexts
from mdvec.workspace.database import open_store

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts, Vector

NOTES = {
    "tomatoes.md": "# Tomatoes\n\nTomatoes need sun and a lot of water in summer.\n",
    "guitar.md": "# Guitar\n\nTune the strings of a guitar from the lowest to the highest.\n",
    "bread.md": "# Bread\n\nBread needs flour, water, salt and a hot oven.\n",
    "sora.md": "# 星空\n\n星空を撮るには三脚と広角レンズが必要である。\n",
}
ANSWERED, UNANSWERED = "sun and water for tomatoes in summer", "pension reform parliament"


class AlikeEmbedder(HashingEmbedder):
    """Finds any two texts at least so similar."""

    def __init__(self, least: float) -> None:
        super().__init__()
        self._least = least

    def _vector(self, text: str) -> Vector:
        own = super()._vector(text)
        shared = np.full_like(own, own.size**-0.5)
        mixed = np.sqrt(self._least) * shared + np.sqrt(1 - self._least) * own
        return np.asarray(mixed / np.linalg.norm(mixed), np.float32)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder of four notes."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Any number of models."""
    made = Shelf()
    made.put_up(monkeypatch)
    return made


def opened(docs: Path, embedder: HashingEmbedder | None = None) -> Workspace:
    """Open a workspace beside the folder, with the folder in it."""
    workspace = open_workspace(database=docs.parent / "i.sqlite", embedder=embedder)
    if not workspace.collections():
        workspace.add_collection("notes", "", str(docs))
    return workspace


def confidence(workspace: Workspace, text: str) -> Confidence:
    """Say how sure an answer by meaning alone is."""
    return workspace.search(SearchQuery(text, mode=SearchMode.DENSE, min_score=0.0)).confidence


def figures(workspace: Workspace, embedder: HashingEmbedder) -> UnrelatedTexts | None:
    """Return what is written down of a model."""
    with closing(open_store(workspace.database)) as store, store.read() as view:
        space_id = view.spaces.find(embedder.space)
        return None if space_id is None else view.spaces.unrelated(space_id)


def forget(workspace: Workspace) -> None:
    """Make the database one whose models were never measured."""
    with closing(SqliteDatabase(workspace.database)) as database, database.writing() as connection:
        connection.execute("DELETE FROM unrelated")


@pytest.mark.parametrize("least", [0.1, 0.5, 0.8])
def test_confidence_is_seen_against_what_the_model_finds_unrelated(docs: Path, least: float) -> None:
    """Models that find all texts alike are as sure as one that tells them apart, and as unsure.

    What nobody has written about is nearer in the last of them than the right passage in the first.
    """
    with opened(docs, AlikeEmbedder(least)) as workspace:
        workspace.import_collection("notes")
        right, wrong = (
            workspace.search(SearchQuery(text, mode=SearchMode.DENSE, min_score=0.0))
            for text in (ANSWERED, UNANSWERED)
        )
    assert right.confidence is Confidence.HIGH
    assert wrong.confidence in (Confidence.LOW, Confidence.NONE)
    assert right.hits[0].similarity == pytest.approx(least + 0.73 * (1 - least), abs=0.15)
    assert wrong.hits[0].similarity == pytest.approx(least, abs=0.15)


def test_a_question_is_seen_against_its_own_way_of_writing(docs: Path) -> None:
    """A model that finds all Japanese alike is not sure in Japanese, and still is in English."""

    class EnglishModel(HashingEmbedder):
        """Sees of Japanese that it is Japanese, and hardly more."""

        def _vector(self, text: str) -> Vector:
            return super()._vector(self._seen(text))

        def _seen(self, text: str) -> str:
            return text if text.isascii() else f"unknown {len(text) % 7}"

    with opened(docs, EnglishModel()) as workspace:
        workspace.import_collection("notes")
        assert confidence(workspace, ANSWERED) is Confidence.HIGH
        assert confidence(workspace, "年金制度の改正について") is not Confidence.HIGH


def test_a_model_is_measured_once(docs: Path) -> None:
    """By the first import that finds something, and by no search and no later import, in any process."""
    embedder = HashingEmbedder()
    with opened(docs, embedder) as workspace:
        workspace.import_collection("notes", ImportOptions(embed=False))
        assert (embedder.measured, figures(workspace, embedder)) == (0, None)
        workspace.import_collection("notes")
        assert embedder.measured == 1
        known = figures(workspace, embedder)
        assert known is not None
    again = HashingEmbedder()
    with opened(docs, again) as workspace:
        confidence(workspace, ANSWERED)
        (docs / "new.md").write_text("# New\n\nSomething else.\n")
        workspace.import_collection("notes")
        workspace.import_collection("notes", ImportOptions(mode=ImportMode.REPLACE))
        assert (again.measured, figures(workspace, again)) == (0, known)


def test_a_service_is_asked_twice_and_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for the questions and once for the passages; one that says "later" is asked again."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAiServer() as server:
        embedder = make_openai(
            model="text-embedding-3-small",
            base_url=f"{server.url}/v1",
            api_key_env="OPENAI_API_KEY",
            runtime=Runtime(tmp_path),
        )
        measure_unrelated(embedder)
        assert [tuple(asked.body["input"]) for asked in server.asked] == [QUESTIONS, PASSAGES]
        assert embedder.requests_for(QUESTIONS) + embedder.requests_for(PASSAGES) == 2
        server.failures += [Answer(429, {}, {"Retry-After": "0"})] * 3
        measure_unrelated(embedder)
        assert len(server.asked) == 2 + 3 + 2


def test_a_collection_of_nothing_measures_nothing(tmp_path: Path) -> None:
    """No model is loaded, and no service asked, for an empty folder."""
    (tmp_path / "docs").mkdir()
    embedder = HashingEmbedder()
    with opened(tmp_path / "docs", embedder) as workspace:
        workspace.import_collection("notes", ImportOptions(allow_empty=True))
        assert embedder.measured == 0


def test_an_import_that_ends_before_the_first_vector_loses_nothing(docs: Path) -> None:
    """What was measured is kept, and the next import embeds everything without measuring again."""

    class Stopping(HashingEmbedder):
        """Is interrupted when it has measured."""

        def embed(
            self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()
        ) -> Parts:
            if self.measured:
                raise KeyboardInterrupt
            yield from super().embed(texts, role, titles)

    stopping = Stopping()
    with opened(docs, stopping) as workspace, pytest.raises(KeyboardInterrupt):
        workspace.import_collection("notes")
    embedder = HashingEmbedder()
    with opened(docs, embedder) as workspace:
        assert figures(workspace, stopping) is not None
        report = workspace.import_collection("notes")
        assert (report.embedded_chunks, report.pending_chunks, embedder.measured) == (4, 0, 0)
        assert confidence(workspace, ANSWERED) is Confidence.HIGH


def test_two_that_measure_at_once_agree(docs: Path) -> None:
    """The figures that are written down first stay, whoever else has measured meanwhile."""

    class Overtaken(HashingEmbedder):
        """Another process writes its figures down while this one measures."""

        def embed(
            self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()
        ) -> Parts:
            if role is Role.QUERY:
                with closing(open_store(docs.parent / "i.sqlite")) as store, store.write() as writer:
                    writer.spaces.open(self.space, theirs)
            yield from super().embed(texts, role, titles)

    theirs = UnrelatedTexts(Unrelated(0.1, 0.1, b"\0\0\0\0"), Unrelated(0.2, 0.1, b"\0\0\0\0"))
    embedder = Overtaken()
    with opened(docs, embedder) as workspace:
        assert workspace.import_collection("notes").pending_chunks == 0
        assert (embedder.measured, figures(workspace, embedder)) == (1, theirs)


def test_a_changed_model_is_measured_in_its_own_space(docs: Path, shelf: Shelf) -> None:
    """The old one keeps its figures; going back measures nothing again."""
    old, new = EmbeddingSpec(PROVIDER, "old", 64), EmbeddingSpec(PROVIDER, "new", 128)
    with open_workspace(database=docs.parent / "i.sqlite") as workspace:
        workspace.add_collection("notes", "", str(docs), embedding=old)
        workspace.import_collection("notes")
        before = figures(workspace, shelf["old", 64])
        for spec in (new, old):
            list(workspace.models.use(spec, ["notes"]))
        assert (shelf["old", 64].measured, shelf["new", 128].measured) == (1, 1)
        assert before == figures(workspace, shelf["old", 64]) != figures(workspace, shelf["new", 128])
        assert confidence(workspace, ANSWERED) is Confidence.HIGH


def test_a_model_that_fails_is_measured_by_a_later_import(docs: Path, shelf: Shelf) -> None:
    """Where all is embedded that is no failure; until then searches go on, and are sure of nothing."""
    spec = EmbeddingSpec(PROVIDER, "old", 64)
    with open_workspace(database=docs.parent / "i.sqlite") as workspace:
        workspace.add_collection("notes", "", str(docs), embedding=spec)
        workspace.import_collection("notes")
        forget(workspace)
        model = shelf["old", 64]
        model.error = EmbedderBusyError()
        report = workspace.import_collection("notes")
        assert (report.pending_chunks, report.warnings) == (0, ())
        model.error = None
        assert confidence(workspace, ANSWERED) is Confidence.LOW
        workspace.import_collection("notes")
        assert confidence(workspace, ANSWERED) is Confidence.HIGH


def test_spaces_are_searched_together_before_they_are_measured(docs: Path, shelf: Shelf) -> None:
    """A space without figures goes by what is usual among its own chunks."""
    with open_workspace(database=docs.parent / "i.sqlite") as workspace:
        for name in ("old", "new"):
            workspace.add_collection(name, "", str(docs), embedding=EmbeddingSpec(PROVIDER, name, 128))
            workspace.import_collection(name)
        steadied = workspace.search(SearchQuery(ANSWERED, mode=SearchMode.DENSE, min_score=0.0))
        forget(workspace)
        plain = workspace.search(SearchQuery(ANSWERED, mode=SearchMode.DENSE, min_score=0.0))
    for result in (steadied, plain):
        assert {hit.collection for hit in result.hits[:2]} == {"old", "new"}
        assert {hit.path for hit in result.hits[:2]} == {"tomatoes.md"}
    assert [hit.score for hit in steadied.hits] != [hit.score for hit in plain.hits]
    assert shelf["new", 128].measured == 1
