"""Chunks a second of an import whose texts are embedded on a Ray cluster on this machine.

A node takes a fixed time for each text, and no processor: so three nodes can be seen on two cores. All else
is as in any import: files are read and cut here, texts and vectors travel, and batches are committed as they
come.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from benchmarks.harness import ROOT
from benchmarks.memory import documents, word_list
from mdvec.embedding.interface import Role
from mdvec.testing.embedder import HashingEmbedder
from mdvec.workspace import open_workspace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

SECONDS_A_TEXT = 0.06
"""About what the builtin model takes on one core."""

_DIMENSION = 384
_TEXTS_AT_ONCE = 32
_NODE = {"num_cpus": 1, "object_store_memory": 80_000_000, "node_ip_address": "127.0.0.1"}
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # all on 127.0.0.1
    "RAY_AUTH_MODE": "disabled",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class SleepingEmbedder(HashingEmbedder):
    """Takes its time for each text, and no processor.

    Args:
        seconds: For each text.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(dimension=_DIMENSION)
        self._seconds = seconds

    @property
    def texts_at_once(self) -> int:
        """A task of two seconds."""
        return _TEXTS_AT_ONCE

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:  # noqa: ARG002 - the port's
        """Wait, and invent vectors."""
        time.sleep(self._seconds * len(texts))
        vectors = np.random.default_rng().normal(size=(len(texts), _DIMENSION)).astype(np.float32)
        yield range(len(texts)), vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def run(counts: Sequence[int], chunks: int, folder: Path) -> dict[str, Any]:
    """Import the same files on clusters of some sizes.

    Args:
        counts: How many nodes, growing.
        chunks: How many chunks, each of which takes :data:`SECONDS_A_TEXT`.
        folder: To work in.

    Returns:
        For each cluster the rate, the share of as many times the rate of the smallest, processor time of the
        import, and how busy the machine's processors were: a rate is no measurement where they had no pause.
    """
    docs = folder / "docs"
    docs.mkdir()
    for number, text in enumerate(documents(chunks, word_list([ROOT / "docs"]), random.Random(1))):
        (docs / f"{number:05}.md").write_text(text, encoding="utf-8")
    figures: dict[str, dict[str, float]] = {}
    with _cluster() as grow:
        for count in counts:
            grow(count)
            figures[str(count)] = _import(docs, folder / f"{count}.sqlite", count)
            print(count, figures[str(count)], flush=True)
    first = counts[0]
    one = figures[str(first)]["chunks_per_s"] / first
    for count in counts:
        found = figures[str(count)]
        found["of_linear"] = round(found["chunks_per_s"] / (one * count), 3)
    return {"seconds_a_text": SECONDS_A_TEXT, "chunks": chunks, "nodes": figures}


def _import(docs: Path, database: Path, nodes: int) -> dict[str, float]:
    # Under its own name also where this file is the program: nodes import it.
    from benchmarks.scale_nodes import SleepingEmbedder
    from mdvec.embedding.ray_cluster import RayCluster

    cluster = RayCluster("ray")
    here = SleepingEmbedder(0.0)
    try:
        # Connecting, and starting Python on each node, take seconds once.
        list(
            cluster.embedder(here, partial(SleepingEmbedder, 0.01)).embed(
                ["text"] * 20 * nodes * _TEXTS_AT_ONCE
            )
        )
        embedder = cluster.embedder(here, partial(SleepingEmbedder, SECONDS_A_TEXT))
        with open_workspace(database=database, embedder=embedder) as workspace:
            workspace.add_collection("bench", "", str(docs))
            psutil.cpu_percent()
            cpu_s, started = time.process_time(), time.perf_counter()
            report = workspace.import_collection("bench")
            seconds = time.perf_counter() - started
            busy = psutil.cpu_percent()
            cpu_s = time.process_time() - cpu_s
    finally:
        cluster.close()
    return {
        "chunks_per_s": round(report.embedded_chunks / seconds, 2),
        "seconds": round(seconds, 1),
        "import_cpu_s": round(cpu_s, 2),
        "processors_busy": round(busy / 100, 2),
    }


@contextmanager
def _cluster() -> Iterator[Callable[[int], None]]:
    """Start a cluster of one node on this machine.

    Yields:
        Lets it grow to a number of nodes.
    """
    before = dict(os.environ)
    os.environ.update(_ENVIRONMENT, PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path]))
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**_NODE, "include_dashboard": False})
    os.environ["RAY_ADDRESS"] = cluster.address

    def grow(count: int) -> None:
        for _ in range(count - len(cluster.list_all_nodes())):
            cluster.add_node(**_NODE)
        cluster.wait_for_nodes()

    try:
        yield grow
    finally:
        cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)
