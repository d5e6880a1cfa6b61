"""Naming a cluster, and making an embedder on its machines."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.commands import run_here

from mdvec.config.schema import EmbeddingSettings
from mdvec.errors import EmbedderUnavailableError
from mdvec.types.collection import EmbeddingSpec
from mdvec.workspace.stages import make_elsewhere


@pytest.mark.parametrize(
    ("cluster", "message"),
    [("ray://h:1", "pip install '"), ("spark", "no cluster 'spark'")],
)
def test_a_cluster_that_cannot_be_used(
    cluster: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Ray, the command that installs it is named, before anything is read."""
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "mdvec.embedding.ray_cluster", raising=False)
    done = run_here(
        ["import", "--docs-dir", str(tmp_path), "--on", cluster], cwd=tmp_path, env=dict(os.environ)
    )
    assert done.returncode == 2
    assert message in done.stderr


def test_a_machine_with_another_version_refuses() -> None:
    """The hint is the command that installs the version of the import."""
    with pytest.raises(EmbedderUnavailableError, match=r"0\.0\.7 where the import runs") as caught:
        make_elsewhere("0.0.7", EmbeddingSpec(), EmbeddingSettings(), {})
    assert "mdvec==0.0.7" in caught.value.hint
