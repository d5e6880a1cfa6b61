"""A server of a workspace that only pretends."""

from __future__ import annotations

import pytest
from tests.unit.interfaces.fake_workspace import FakeWorkspace


@pytest.fixture
def workspace() -> FakeWorkspace:
    """The workspace behind the server."""
    return FakeWorkspace()
