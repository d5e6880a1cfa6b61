"""What a test runs on a Ray cluster: an embedder that notes who embeds, and imports that are killed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tests.waiting import wait_until

from mdvec.embedding.interface import Role
from mdvec.embedding.unrelated import PASSAGES
from mdvec.errors import EmbeddingError
from mdvec.testing.embedder import HashingEmbedder

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

BROKEN = "broken"
"""No text with this word can be embedded."""


class NodeEmbedder(HashingEmbedder):
    """Writes a file for each call, named by the node; waits where ``stuck`` names it, or ``every`` node.

    Args:
        folder: Where the files go.
        revision: Of its space.
    """

    def __init__(self, folder: Path, revision: str = "1") -> None:
        super().__init__(dimension=16, revision=revision)
        self._folder = folder

    @property
    def texts_at_once(self) -> int:
        """Few, so that there are many tasks."""
        return 4

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Embed, after what the files ask for."""
        import ray

        on_node = ray.is_initialized() and ray.get_runtime_context().worker.mode == ray.WORKER_MODE
        node = ray.get_runtime_context().get_node_id() if on_node else "here"
        (self._folder / f"{node}-{uuid4().hex}").write_text("\n".join(texts), encoding="utf-8")
        stuck = self._folder / "stuck"
        wait_until(lambda: node == "here" or texts[0] in PASSAGES or not _names(stuck, node))
        if any(BROKEN in text for text in texts):
            msg = "a broken text"
            raise EmbeddingError(msg, hint="Mend it.")
        yield from super().embed(texts, role, titles)


def _names(stuck: Path, node: str) -> bool:
    named = stuck.read_text(encoding="utf-8").split() if stuck.exists() else []
    return node in named or "every" in named


def on_cluster(folder: Path, cluster: Any, *, node_revision: str = "1") -> Any:
    """Return an embedder that has passages embedded on the nodes."""
    make = functools.partial(NodeEmbedder, folder, node_revision)
    return cluster.embedder(NodeEmbedder(folder), make)


def started(folder: Path, node: str = "") -> int:
    """Return how many calls have begun, on one node or on all."""
    return len([each for each in folder.iterdir() if "-" in each.name and each.name.startswith(node)])


def run_import(arguments: Sequence[str], folder: Path) -> int:
    """Run ``mdvec import`` with :class:`NodeEmbedder` on the cluster that Ray finds."""
    from mdvec.embedding.ray_cluster import RayCluster
    from mdvec.interfaces.cli.main import run
    from mdvec.workspace import open_workspace

    cluster = RayCluster("ray")
    opener = functools.partial(open_workspace, embedder=on_cluster(folder, cluster))
    try:
        return run(["import", *arguments], env={}, opener=opener)
    finally:
        cluster.close()
