"""``mdvec serve``, up to the door that it opens."""

from __future__ import annotations

import sys

import pytest
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import FakeWorkspace

from mdvec.config import Config
from mdvec.errors import NotADatabaseError
from mdvec.interfaces.mcp import stdio
from mdvec.workspace import Workspace

Opened = list[tuple[Workspace, Config]]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """The arguments of each call of the door."""
    seen: Opened = []

    def door(workspace: Workspace, config: Config) -> int:
        seen.append((workspace, config))
        return 7

    monkeypatch.setattr(stdio, "serve_stdio", door)
    return seen


def test_serve_opens_the_door_on_the_workspace(
    mdvec: Mdvec, workspace: FakeWorkspace, opened: Opened
) -> None:
    """It passes on the settings, prints nothing, and ends with the door's code."""
    outcome = mdvec("serve")
    [(served, config)] = opened
    assert served is workspace
    assert config.mcp.collection_tools
    assert (outcome.code, outcome.out, outcome.err) == (7, "", "")
    assert workspace.closed


def test_serve_keeps_the_index_up_to_date(mdvec: Mdvec, workspace: FakeWorkspace, opened: Opened) -> None:
    """As configured, unless it is told not to."""
    mdvec("serve")
    assert ("watch", {"names": (), "force": False}) in workspace.calls
    workspace.calls.clear()
    mdvec("serve", "--no-watch")
    assert "watch" not in dict(workspace.calls)
    assert len(opened) == 2


def test_a_database_that_cannot_be_used_is_reported_at_once(
    mdvec: Mdvec, workspace: FakeWorkspace, opened: Opened
) -> None:
    """A client shows what a server says when it does not start."""
    workspace.error = NotADatabaseError("notes.txt is not an mdvec database")
    outcome = mdvec("serve")
    assert (outcome.code, opened) == (1, [])
    assert outcome.err.startswith("error: notes.txt is not an mdvec database\nhint: ")


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_a_closed_stream_is_reported(
    mdvec: Mdvec, opened: Opened, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    """The database could get its number, and be written to as if it were the client."""
    monkeypatch.setattr(sys, stream, None)
    outcome = mdvec("serve")
    assert (outcome.code, opened) == (2, [])
    assert "one of them is closed" in outcome.err
