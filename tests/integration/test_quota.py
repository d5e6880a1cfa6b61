"""An import that a service's quota interrupts, and the one that goes on from there."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.fakes.embedding_services import OpenAiServer, openai_error
from tests.fakes.http_server import Answer, Asked

from mdvec import SearchQuery, open_workspace
from mdvec.embedding.interface import Runtime
from mdvec.embedding.openai import make_openai
from mdvec.embedding.remote.remote_embedder import RemoteEmbedder
from mdvec.errors import EmbedderBusyError
from mdvec.interfaces.cli.main import run
from mdvec.types.query import SearchMode

DOCUMENTS = 150
NAME = "notes"


class RationedServer(OpenAiServer):
    """Answers a number of texts, then asks to wait an hour.

    Attributes:
        left: Texts it still answers; None for any number.
        counted: What is in the texts that count.
        answered: Every text it has made a vector of.
    """

    needs_key = False

    def __init__(self, left: int, *, counted: str = "") -> None:
        super().__init__()
        self.left: int | None = left
        self.counted = counted
        self.answered: Counter[str] = Counter()

    def answer(self, asked: Asked) -> Answer:
        texts = asked.body["input"]
        count = sum(self.counted in text for text in texts)
        if self.left is not None and count > self.left:
            refusal = openai_error(429, "Rate limit reached for requests per day.", "rate_limit_exceeded")
            return Answer(refusal.status, refusal.body, {"Retry-After": "3600"})
        if self.left is not None:
            self.left -= count
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

    The import ends at once, with the service's words. The server answers 96 chunks, in requests one after
    the other, so that nothing is under way when it refuses: no text is asked for twice.
    """
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(DOCUMENTS):
        text = f"# Note {number}\n\nThe harbour of city{number} is old.\n"
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    database = tmp_path / "i.sqlite"
    with RationedServer(left=96, counted="The harbour") as server:
        with open_workspace(database=database, embedder=embedder_at(server)) as workspace:
            workspace.add_collection(NAME, "Notes", str(folder))
            with pytest.raises(EmbedderBusyError, match=r"Rate limit reached.*asks to wait 60 min"):
                workspace.import_collection(NAME)
            counts = workspace.status(NAME).collections[0].counts
            assert (counts.chunks, counts.pending_chunks) == (DOCUMENTS, DOCUMENTS - 96)
        server.left = None
        with open_workspace(database=database, embedder=embedder_at(server)) as workspace:
            query = SearchQuery("harbour", mode=SearchMode.DENSE, limit=5, min_score=0.0)
            assert len(workspace.search(query).hits) == 5
            workspace.import_collection(NAME)
            assert workspace.status(NAME).collections[0].counts.pending_chunks == 0
    assert server.answered.pop("harbour") == 1
    assert set(server.answered.values()) == {1}
    assert sum("The harbour" in text for text in server.answered) == DOCUMENTS


def test_the_command_ends_with_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``mdvec import`` says how far it came, in text and JSON, and what it says to run goes on from there."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "docs").mkdir()
    for number in range(40):
        (tmp_path / "docs" / f"{number}.md").write_text(f"The harbour of city{number} is old.\n")

    def mdvec(*args: str) -> tuple[int, str, str]:
        code = run((*args, "--database", "i.sqlite"), env={}, cwd=tmp_path)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    with RationedServer(left=32, counted="harbour of city") as server:
        (tmp_path / "mdvec.toml").write_text(
            "[embedding]\nprovider = 'openai'\nmodel = 'text-embedding-3-small'\ndimension = 64\n"
            f"[embedding.openai]\nbase_url = '{server.url}/v1'\nbatch_size = 16\nrequests_at_once = 1\n"
        )
        assert mdvec("trust", str(tmp_path))[0] == 0
        assert mdvec("tool", "add", "-n", NAME, "-d", "Notes", "-s", str(tmp_path / "docs"))[0] == 0
        code, out, err = mdvec("import", "-n", NAME)
        assert code == 1
        assert "40 documents, 40 chunks: 32 embedded (and 40 names), 0 from cache, 8 pending" in out
        assert "Rate limit reached" in err
        go_on = f"mdvec import -n notes -m update --database {tmp_path / 'i.sqlite'}"
        assert f"hint: 32 of 40 chunks are embedded. Run '{go_on}' to resume." in err
        code, out, _ = mdvec(*go_on.split()[1:], "--format", "json")
        report = json.loads(out)
        assert (code, report["pending_chunks"], report["embedded_chunks"]) == (1, 8, 0)
        assert "Rate limit reached" in report["warnings"][-1]
        server.left = None
        code, out, _ = mdvec(*go_on.split()[1:], "--format", "json")
        assert (code, json.loads(out)["pending_chunks"], json.loads(out)["embedded_chunks"]) == (0, 0, 8)
