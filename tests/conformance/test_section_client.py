"""A program in JavaScript that starts ``mdvec rpc`` as its child and keeps sections in step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conformance.clients import HERE, node
from tests.conformance.servers import MDVEC

pytestmark = pytest.mark.node


def test_a_node_program_uses_the_ten_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits by ping, sends long lines, has a hundred searches in flight, and reads errors with a hint."""
    monkeypatch.setenv("MDVEC_DATABASE_PATH", str(tmp_path / "index.sqlite"))
    outcome = node(str(HERE / "section_client.mjs"), *MDVEC, "rpc", cwd=tmp_path)
    assert outcome.code == 0, outcome.stderr
    seen = json.loads(outcome.stdout)
    assert seen.pop("model")["success"]
    hint = seen["error"]["data"].pop("hint")
    assert hint.startswith("It takes query, limit, depth")
    assert seen == {
        "added": {"count": 2},
        "searches": ["b"] * 100,
        "same": True,
        "created": True,
        "marked": {"marked": 2},
        "dirty": 2,
        "error": {"code": -32602, "data": {"code": "invalid_arguments", "retry": False}},
        "deleted": {"deleted": 2},
        "stats": {"totalSections": 0, "dirtyCount": 0, "totalDocuments": 0},
        "code": 0,
    }
