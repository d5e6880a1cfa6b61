"""An import that a service's quota interrupts, and the one that goes on from there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.fakes.embedding_services import OpenAiServer, openai_error
from tests.fakes.http_server import Answer, Asked

from mdvec import SearchQuery, open_workspace
from mdvec.embedding.interface import Runtime
from mdvec.embedding.openai import make_openai
from mdvec.embedding.remote.embedder import RemoteEmbedder
from mdvec.errors import EmbedderBusyError
from mdvec.model.query import SearchMode
from mdvec.model.report import ImportMode

DOCUMENTS = 150
NAME = "notes"


class RationedServer(OpenAiServer):
    """Answers a number of texts, then asks to wait an hour.

    Attributes:
        left: Texts it still answers; None for any number.
        answered: Every text it has made a vector of.
    """

    needs_key = False

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left: int | None = left
        self.answered: Counter[str] = Counter()

    def answer(self, asked: Asked) -> Answer:
        texts = asked.body["input"]
        if self.left is not None and len(texts) > self.left:
            refusal = openai_error(429, "Rate limit reached for requests per day.", "rate_limit_exceeded")
            return Answer(refusal.status, refusal.body, {"Retry-After": "3600"})
        if self.left is not None:
            self.left -= len(texts)
        self.answered.update(texts)
        return super().answer(asked)


def embedder_at(server: RationedServer) -> RemoteEmbedder:
    return make_openai(
        model="text-embedding-3-small",
        dimension=64,
        runtime=Runtime(Path("/nonexistent")),
        base_url=f"{server.url}/v1",
        batch_size=16,
        requests_at_once=1,
    )


def test_an_import_goes_on_where_a_quota_ended_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was committed before the quota was used up is kept and searchable; only the rest is asked later.

    The import ends at once, with the service's words. The server answers the 300 names (titles and files)
    and one commit of 96 chunks, so that nothing is under way when it refuses: no text is asked for twice.
    """
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(DOCUMENTS):
        text = f"# Note {number}\n\nThe harbour of city{number} is old.\n"
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    database = tmp_path / "i.sqlite"
    with RationedServer(left=2 * DOCUMENTS + 96) as server:
        with open_workspace(database=database, embedder=embedder_at(server)) as workspace:
            workspace.add_collection(NAME, "Notes", str(folder))
            with pytest.raises(EmbedderBusyError, match=r"Rate limit reached.*asks to wait 60 min"):
                workspace.import_collection(NAME)
            counts = workspace.status(NAME).collections[0].counts
            assert (counts.chunks, counts.pending_chunks) == (DOCUMENTS, DOCUMENTS - 96)
        server.left = None
        with open_workspace(database=database, embedder=embedder_at(server)) as workspace:
            assert len(workspace.search(SearchQuery("harbour", mode=SearchMode.DENSE, limit=5)).hits) == 5
            workspace.import_collection(NAME, mode=ImportMode.UPDATE)
            assert workspace.status(NAME).collections[0].counts.pending_chunks == 0
    assert server.answered.pop("harbour") == 1
    assert set(server.answered.values()) == {1}
    assert server.answered.total() == 3 * DOCUMENTS
