"""A server that stops while mdvec uses it, and starts again on the same data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.postgres_server import own_server, stop_server

from mdvec import open_workspace
from mdvec.config import Config, load_config
from mdvec.embedding.interface import Role
from mdvec.errors import StoreUnavailableError
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode, SearchQuery

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

pytestmark = pytest.mark.postgres

NOTES = 20
BATCH = 4


@pytest.fixture
def server() -> Iterator[Any]:
    """A server of this test's own, which keeps what it has committed."""
    with own_server() as server:
        yield server


class Interrupted(HashingEmbedder):
    """Embeds a few texts at a time; something happens after the first two batches of passages."""

    def __init__(self, happen: Callable[[], None]) -> None:
        super().__init__(dimension=16)
        self._happen = happen

    @property
    def texts_at_once(self) -> int:
        """Fewer than there are."""
        return BATCH

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Yield vectors as before."""
        if sum("of its own" in each for each in self.embedded) >= 2 * BATCH:
            self._happen()
        yield from super().embed(texts, role, titles)


def test_an_import_survives_a_restart_of_the_server(server: Any, tmp_path: Path) -> None:
    """It ends with an error that names the server; the next one embeds what is left, in the same process."""
    for number in range(NOTES):
        (tmp_path / f"{number}.md").write_text(f"# Note {number}\n\nThe word{number} of its own.\n")
    config: Config = load_config(cwd=tmp_path, env={"MDVEC_STORE_LOCATION": server.get_uri()}).config
    stops: list[None] = []

    def stop_once() -> None:
        if not stops:
            stops.append(None)
            stop_server(server)

    embedder = Interrupted(stop_once)
    with open_workspace(config, embedder=embedder) as workspace:
        workspace.add_collection("notes", "", str(tmp_path))
        with pytest.raises(StoreUnavailableError, match=r"postgresql://.* cannot be reached") as caught:
            workspace.import_collection("notes")
        assert caught.value.retry
        assert stops
        with pytest.raises(StoreUnavailableError, match="cannot be reached"):
            workspace.search(SearchQuery("word3", mode=SearchMode.LEXICAL))
        server.ensure_postgres_running()
        [left] = workspace.status().collections
        assert 0 < left.counts.pending_chunks < left.counts.chunks
        hits = workspace.search(SearchQuery("word3", mode=SearchMode.LEXICAL)).hits
        assert hits[0].path == "3.md"
        report = workspace.import_collection("notes")
        assert (report.total_documents, report.pending_chunks, report.failure) == (NOTES, 0, None)
        assert report.embedded_chunks == left.counts.pending_chunks
        twice = [text for text, count in Counter(embedder.embedded).items() if count > 1]
        assert len(twice) <= BATCH  # what was made while the server was away
        assert {each.severity for each in workspace.doctor() if each.subject == "database"} == {"ok"}
