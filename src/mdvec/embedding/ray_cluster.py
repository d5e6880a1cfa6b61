"""Embeds on a Ray cluster: batches of texts go out as tasks, the vectors come back as they are made."""

from __future__ import annotations

import functools
import os
import pickle
import platform
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

# Before Ray is imported: nothing is sent home, and a task that asks for no GPU may still see one.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
# With it, a process that has a connection open sometimes ends one that it starts (grpc/grpc#43055).
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
if "RAY_ADDRESS" not in os.environ:
    # A cluster of our own has the address 127.0.0.1, as on macOS: nothing listens to other machines.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

import ray
from ray.exceptions import RayError, RayTaskError

from mdvec import run
from mdvec.embedding.interface import Embedder, Role, TokenCounter
from mdvec.errors import EmbedderUnavailableError, EmbeddingError, MdvecError
from mdvec.threads import map_concurrently
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix, Parts

    NodeResult = tuple[list[tuple[Sequence[int], Matrix]], MdvecError | None]
    """The vectors that a task has made, and the error that ended it early."""

# Of a CPU. On a node of one CPU a small task of somebody else's still runs.
_TASK_CPUS = 0.75
# While one task of a process computes, the next already has its texts.
_TASKS_PER_SLOT = 2
# A task whose node or process dies is done elsewhere, so many times: its text may be what kills.
_RETRIES = 5
# The port of Ray's client server, unless another one is named.
_RAY_PORT = 10001
_REACH_S = 10.0
# A task takes seconds, and a service takes as many texts in one request.
_MAX_TEXTS_OF_A_TASK = 96
# The last task of a lot is waited for before the next lot is read. The texts of one are some 30 MB.
_TASKS_OF_A_LOT = 256


class RayCluster:
    """A cluster, connected to when it is first needed.

    Args:
        address: ``ray`` for the cluster that RAY_ADDRESS names, or without that a new one of this machine
            alone; ``ray://HOST:PORT`` for one elsewhere.
        shows_output: Whether to show what tasks print.
    """

    def __init__(self, address: str, *, shows_output: bool = False) -> None:
        self._address = address
        self._shows_output = shows_output
        self._task: Any = None

    def embedder(self, own: Embedder, make: Callable[[], Embedder]) -> Embedder:
        """Return an embedder that makes its passages on the nodes; ``make`` is pickled, and holds no key."""
        return RayEmbedder(own, pickle.dumps(make), self)

    @property
    def tasks_at_once(self) -> int:
        """How many tasks may be under way, with the nodes that are there now.

        Raises:
            EmbeddingError: If no node computes.
        """
        cpus = ray.cluster_resources().get("CPU", 0.0)
        if cpus < _TASK_CPUS:
            msg = "the Ray cluster has no node with a CPU"
            raise EmbeddingError(msg, hint="Add one: 'ray start --address HOST:PORT' on another machine.")
        return _TASKS_PER_SLOT * int(cpus / _TASK_CPUS)

    def run(self, *arguments: object) -> NodeResult:
        """Run :func:`embed_here` on a node, and wait for its result."""
        result: NodeResult = ray.get(self._task.remote(*arguments))
        return result

    def connect(self) -> None:
        """Connect, unless that is done.

        Raises:
            EmbeddingError: If the cluster cannot be reached, or has another version of Python or Ray.
        """
        if self._task is not None:
            return
        address = os.environ.get("RAY_ADDRESS", "") if self._address == "ray" else self._address
        own = {} if address else {"include_dashboard": False}
        try:
            with run.current().step("connect_to_ray"):
                _reach(address)
                ray.init(
                    address or "local",
                    **own,
                    log_to_driver=self._shows_output,
                    logging_level="info" if self._shows_output else "critical",
                )
        except (RayError, OSError, RuntimeError, ValueError) as error:
            msg = f"the Ray cluster {self._address} cannot be used: {_summary(error)}"
            hint = "Is it running ('ray status'), with the same versions of Python and Ray as here?"
            if "client server failed" in msg:
                hint = "Set GRPC_ENABLE_FORK_SUPPORT=0 where 'ray start --head' runs, or run this again."
            raise EmbedderUnavailableError(msg, hint=hint) from error
        self._task = ray.remote(embed_here).options(
            num_cpus=_TASK_CPUS, max_retries=_RETRIES, scheduling_strategy="SPREAD"
        )

    def close(self) -> None:
        """Leave the cluster; one that was made for this process ends."""
        if self._task is not None:
            self._task = None
            ray.shutdown()


class RayEmbedder(Embedder):
    """Has passages embedded by a cluster; see :class:`mdvec.embedding.interface.Embedder`.

    A few texts are embedded here, which is faster than asking a cluster.
    """

    def __init__(self, own: Embedder, make: bytes, cluster: RayCluster) -> None:
        self._own = own
        self._make = make
        self._cluster = cluster

    @property
    def space(self) -> EmbeddingSpace:
        """That of the embedder here; a node with another one refuses."""
        return self._own.space

    @property
    def tokens(self) -> TokenCounter:
        return self._own.tokens

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """Queries are embedded here."""
        return self._own.problem

    @property
    def folder(self) -> Path | None:
        """The same path on every node."""
        return self._own.folder

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._own.warnings

    @property
    def texts_at_once(self) -> int:
        """Enough for many tasks, so that waiting for the last one costs little."""
        return _TASKS_OF_A_LOT * self._texts_of_a_task

    def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:
        """Return the number for this machine, which is about the same."""
        return self._own.requests_for(texts, titles)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return self._own.embed_queries(texts)

    def unload(self, *, idle_s: float) -> bool:
        return self._own.unload(idle_s=idle_s)

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Embed texts and yield a part for each finished task; after a failure, wait for running tasks."""
        if role is Role.QUERY or len(texts) <= self._texts_of_a_task:
            yield from self._own.embed(texts, role, titles)
            return
        self._cluster.connect()
        try:
            yield from self._in_batches(texts, titles)
        except (RayError, ConnectionError) as error:
            raise _translated(error) from error

    @property
    def _texts_of_a_task(self) -> int:
        """The size of a local batch: some models' vectors depend a little on the others in the batch."""
        return min(self._own.texts_at_once, _MAX_TEXTS_OF_A_TASK)

    def _in_batches(self, texts: Sequence[str], titles: Sequence[str]) -> Parts:
        size = self._texts_of_a_task

        def made_of(start: int) -> Iterator[tuple[Sequence[int], Matrix]]:
            part = slice(start, start + size)
            made, error = self._cluster.run(self._make, self.space, texts[part], titles[part])
            for positions, vectors in made:
                yield [start + position for position in positions], vectors
            if error is not None:
                raise error

        starts = range(0, len(texts), size)
        yield from map_concurrently(made_of, starts, at_once=self._cluster.tasks_at_once)


def embed_here(make: bytes, space: EmbeddingSpace, texts: Sequence[str], titles: Sequence[str]) -> NodeResult:
    """Embed passages on a node.

    Args:
        make: Pickled; makes the embedder. A process makes each once.
        space: Of the embedder where the import runs.
        texts: The passages.
        titles: Their titles, or none at all.

    Returns:
        The vectors that were made, and the error that ended that; errors of ours travel as values.
    """
    made: list[tuple[Sequence[int], Matrix]] = []
    try:
        embedder = _embedder(make)
        if embedder.problem is not None:
            raise embedder.problem
        if embedder.space != space:
            msg = f"the model is {embedder.space.key} here, and {space.key} where the import runs"
            raise EmbedderUnavailableError(msg, hint="Install the same packages on every node.")
        for positions, vectors in embedder.embed(texts, titles=titles):
            made.append(([*positions], vectors))
    except MdvecError as error:
        kind = type(error) if isinstance(error, EmbeddingError) else EmbeddingError
        return made, kind(f"on {platform.node()}: {error}", hint=error.hint)
    return made, None


@functools.cache
def _embedder(make: bytes) -> Embedder:
    made: Embedder = pickle.loads(make)()  # noqa: S301 - Ray itself sends pickles
    return made


def _translated(error: Exception) -> EmbeddingError:
    cause = getattr(error, "cause", None) if isinstance(error, RayTaskError) else None
    msg = f"a task of the Ray cluster has failed: {_summary(cause or error)}"
    hint = "Every node needs the same version of mdvec, the packages of the model, and memory for it."
    return EmbeddingError(msg, hint=hint)


def _reach(address: str) -> None:
    """Raise an OSError if nothing listens at ``ray://HOST:PORT``: Ray itself tries for over a minute."""
    parts = urlsplit(address)
    if parts.scheme == "ray" and parts.hostname:
        with socket.create_connection((parts.hostname, parts.port or _RAY_PORT), timeout=_REACH_S):
            pass


def _summary(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any(line.startswith("Traceback ") for line in lines):
        return lines[-1]
    return " ".join(lines[:2]) or type(error).__name__
