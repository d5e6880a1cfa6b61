"""Embedding on a Ray cluster of three nodes: as here, though a node or the import dies."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from tests.commands import run_here
from tests.fakes.cluster import BROKEN, NodeEmbedder, on_cluster, run_import, started
from tests.waiting import HANG_S, wait_until

from mdvec.embedding.interface import embed_all
from mdvec.errors import EmbedderUnavailableError, EmbeddingError
from mdvec.workspace import open_workspace

pytestmark = [
    pytest.mark.ray,
    # Sockets and logs that Ray leaves to the end of the process.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROOT = Path(__file__).resolve().parents[2]
IMPORT = """
import pathlib, sys
from tests.fakes.cluster import run_import
sys.exit(run_import(sys.argv[2:], pathlib.Path(sys.argv[1])))
"""
EMBED = """
import pathlib, sys
from mdvec.embedding.interface import embed_all
from mdvec.embedding.ray_cluster import RayCluster
from tests.fakes.cluster import on_cluster
from tests.integration.test_ray import TEXTS
cluster = RayCluster(sys.argv[2])
print(len(embed_all(on_cluster(pathlib.Path(sys.argv[1]), cluster), TEXTS)))
cluster.close()
"""
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000, "node_ip_address": "127.0.0.1"}
CLIENT_PORT = 20_101  # below those of the system, and beyond those of Ray's workers
TEXTS = [f"the {word} of text {number}" for number in range(20) for word in ("start", "end")]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """Three nodes of one CPU; the first is the head."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # all on 127.0.0.1
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("GRPC_ENABLE_FORK_SUPPORT", "0")  # as docs/how-to/build-with-ray.md tells
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
        from ray.cluster_utils import Cluster

        cluster = Cluster(
            initialize_head=True,
            head_node_args={**NODE, "include_dashboard": False, "ray_client_server_port": CLIENT_PORT},
        )
        patch.setenv("RAY_ADDRESS", cluster.address)
        for _ in range(2):
            cluster.add_node(**NODE)
        try:
            yield cluster
        finally:
            cluster.shutdown()


@pytest.fixture
def cluster(nodes: Any) -> Iterator[Any]:
    """The cluster as mdvec sees it."""
    from mdvec.embedding.ray_cluster import RayCluster

    made = RayCluster("ray")
    yield made
    made.close()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A file with 24 sections, each of them a chunk."""
    folder = tmp_path / "notes"
    folder.mkdir()
    sections = [f"## Part {number}\n\n" + f"word{number} is told here. " * 40 for number in range(24)]
    (folder / "a.md").write_text("# A\n\n" + "\n\n".join(sections), encoding="utf-8")
    return folder


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """The folder in which embedders note their calls."""
    folder = tmp_path / "calls"
    folder.mkdir()
    return folder


def test_the_nodes_make_the_vectors_that_are_made_here(cluster: Any, calls: Path) -> None:
    """Each text has the vector that it has without a cluster; few texts are not sent."""
    embedder = on_cluster(calls, cluster)
    assert np.array_equal(embed_all(embedder, TEXTS), embed_all(NodeEmbedder(calls), TEXTS))
    assert started(calls) == 1 + len(TEXTS) / 4
    embed_all(embedder, TEXTS[:4])
    assert started(calls, "here") == 2


def test_a_cluster_elsewhere_is_reached_through_its_client_server(nodes: Any, calls: Path) -> None:
    """From a process that is no part of it."""
    done = subprocess.run(
        [sys.executable, "-c", EMBED, str(calls), f"ray://127.0.0.1:{CLIENT_PORT}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert (done.stdout, done.returncode) == (f"{len(TEXTS)}\n", 0), done.stderr
    assert started(calls) == len(TEXTS) / 4


def test_a_cluster_that_is_not_there_is_reported_at_once(calls: Path) -> None:
    """By the refused connection: Ray itself would go on trying, and say something else."""
    from mdvec.embedding.ray_cluster import RayCluster

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    embedder = on_cluster(calls, RayCluster(f"ray://127.0.0.1:{port}"))
    with pytest.raises(EmbedderUnavailableError, match="Connection refused") as caught:
        embed_all(embedder, TEXTS)
    assert "ray status" in str(caught.value.hint)


def test_the_builtin_model_is_made_on_the_nodes(
    nodes: Any, notes: Path, tmp_path: Path, model_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line embeds there with the settings of here, and both find the same."""
    from mdvec.embedding import ray_cluster

    monkeypatch.setattr(ray_cluster, "_MAX_TEXTS_OF_A_TASK", 8)
    config = tmp_path / "mdvec.toml"
    config.write_text(f"[embedding]\ncache_dir = {str(model_cache)!r}\n", encoding="utf-8")
    common = ["--docs-dir", str(notes), "--config", str(config)]
    done = run_here(["import", *common, "--on", "ray"], cwd=tmp_path, env=dict(os.environ))
    assert (done.returncode, "ray" in done.stderr.lower()) == (0, False)
    assert "24 embedded" in done.stdout
    found = run_here(["search", "word7", *common, "--mode", "dense"], cwd=tmp_path, env=dict(os.environ))
    assert "Part 7" in found.stdout


def test_a_text_that_fails_is_an_error_after_all_that_was_made(cluster: Any, calls: Path) -> None:
    """The error names the node and the cause, once the other tasks under way have come back."""
    texts = [*TEXTS[:12], BROKEN, *TEXTS[12:20]]
    parts: list[Any] = []
    with pytest.raises(EmbeddingError, match=r"on .+: a broken text") as caught:
        parts.extend(on_cluster(calls, cluster).embed(texts))
    done = [at for positions, _ in parts for at in positions]
    assert caught.value.hint == "Mend it."
    assert sorted(done) == [at for at in range(len(texts)) if not 12 <= at < 16]


def test_a_node_with_another_model_refuses(cluster: Any, calls: Path) -> None:
    """Vectors of two models are never mixed."""
    with pytest.raises(EmbedderUnavailableError, match=r"on .+: the model is hashing"):
        embed_all(on_cluster(calls, cluster, node_revision="2"), TEXTS)


def test_an_import_that_is_killed_is_resumed(nodes: Any, notes: Path, tmp_path: Path, calls: Path) -> None:
    """What came back before the driver was killed is not embedded again; nothing is missing."""
    (calls / "stuck").write_text(nodes.head_node.node_id, encoding="utf-8")
    command = [sys.executable, "-c", IMPORT, str(calls), "--docs-dir", str(notes)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: process.poll() is not None or 0 < _pending(notes) < 24)
            assert process.poll() is None
        finally:
            process.kill()
    left = _pending(notes)
    (calls / "stuck").unlink()
    before = set(calls.iterdir())
    assert run_import(["--docs-dir", str(notes)], calls) == 0
    again = [each.read_text(encoding="utf-8").splitlines() for each in set(calls.iterdir()) - before]
    assert (len([text for texts in again for text in texts if "told here" in text]), _pending(notes)) == (
        left,
        0,
    )


def test_an_update_embeds_what_has_changed(
    nodes: Any, notes: Path, calls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two documents one has changed: nothing of the other is read or embedded, on the nodes as here."""
    second = notes / "b.md"
    parts = [f"## Part {number}\n\n" + f"other{number} is said there. " * 40 for number in range(9)]
    second.write_text("# B\n\n" + "\n\n".join(parts), encoding="utf-8")
    assert run_import(["--docs-dir", str(notes)], calls) == 0
    before = set(calls.iterdir())
    second.write_text(
        second.read_text(encoding="utf-8").replace("said there", "changed now"), encoding="utf-8"
    )
    capsys.readouterr()
    assert run_import(["--docs-dir", str(notes)], calls) == 0
    report = capsys.readouterr().out
    assert "1 updated" in report
    assert "1 unchanged" in report
    again = [each.read_text(encoding="utf-8").splitlines() for each in set(calls.iterdir()) - before]
    assert len([text for texts in again for text in texts if "changed now" in text]) == 9
    assert not any("told here" in text for texts in again for text in texts)
    assert any(not each.name.startswith("here") for each in set(calls.iterdir()) - before)


def test_a_node_that_dies_is_replaced_by_the_others(nodes: Any, cluster: Any, calls: Path) -> None:
    """Its tasks are done elsewhere; each text has one vector."""
    doomed = nodes.add_node(**NODE)
    nodes.wait_for_nodes()
    (calls / "stuck").write_text(" ".join(each.node_id for each in nodes.list_all_nodes()), encoding="utf-8")
    cluster.connect()
    found: list[Any] = []
    embedder = on_cluster(calls, cluster)
    importing = threading.Thread(target=lambda: found.extend(embedder.embed(TEXTS)), daemon=True)
    importing.start()
    wait_until(lambda: started(calls, doomed.node_id))
    nodes.remove_node(doomed, allow_graceful=False)
    (calls / "stuck").unlink()
    importing.join(HANG_S)
    vectors = {at: row for positions, rows in found for at, row in zip(positions, rows, strict=True)}
    assert sum(len(positions) for positions, _ in found) == len(vectors) == len(TEXTS)
    expected = embed_all(NodeEmbedder(calls), TEXTS)
    assert np.array_equal(expected, [vectors[at] for at in range(len(TEXTS))])


def test_ctrl_c_leaves_no_process(
    notes: Path, calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that was made for the import ends with it, when a terminal interrupts all processes."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    short = Path(tempfile.mkdtemp(prefix="ray"))  # the names of sockets have at most 107 characters
    monkeypatch.setenv("RAY_TMPDIR", str(short))
    (calls / "stuck").write_text("every", encoding="utf-8")
    command = [sys.executable, "-c", IMPORT, str(calls), "--docs-dir", str(notes)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)
    children: list[psutil.Process] = []
    try:
        wait_until(lambda: process.poll() is not None or started(calls) > started(calls, "here"))
        children = psutil.Process(process.pid).children(recursive=True)
        assert any("raylet" in each.name() for each in children)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(HANG_S) == 130
        _, alive = psutil.wait_procs(children, timeout=HANG_S)
        assert alive == []
    finally:
        process.kill()
        process.wait(HANG_S)
        for each in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        shutil.rmtree(short, ignore_errors=True)


def _pending(notes: Path) -> int:
    """Return how many chunks have no vector yet; 0 before there is an index."""
    if not (notes / ".mdvec" / "index.sqlite").exists():
        return 0
    with open_workspace(docs_dir=notes, embedder=NodeEmbedder(notes), makes=False) as workspace:
        return sum(each.counts.pending_chunks for each in workspace.status().collections)
