"""Turns texts into vectors: tokens, windows, and batches of one length for an encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdvec.embedding.builtin.model import ModelFiles, dequantise
from mdvec.embedding.builtin.tokenizer import Tokenizer

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix

_MARKERS = 2  # one at each end of a window

Encoder = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Runs the network on vectors of words, shape (texts, tokens, hidden); returns the mean over the tokens of
each text, shape (texts, hidden). Threads may share it."""


class Prefix(StrEnum):
    """The prefixes that the model expects before a text, as in its training."""

    QUERY = "query: "
    PASSAGE = "passage: "


class BuiltinEngine:
    """Runs the model; threads may share it.

    Each thread runs batches of its own, small enough for its core's cache. That is faster than spreading one
    large batch over the cores, and no core waits for another. The texts of a batch have one length, so there
    is no padding to compute and to mask.

    The table of word vectors is not part of the network: its rows are read from a file that is mapped into
    memory, so that a process holds only the rows it used and shares them with others.
    """

    def __init__(
        self, model: ModelFiles, tokenizer: Tokenizer, encoder: Encoder, *, threads: int, batch_tokens: int
    ) -> None:
        self._manifest = model.manifest
        self._words = model.word_blocks()
        self._tokenizer = tokenizer
        self._encoder = encoder
        self._threads = threads
        self._batch_tokens = batch_tokens

    def embed(self, texts: Sequence[str], prefix: Prefix) -> Matrix:
        """Embed texts of any length, with a prefix in front of each.

        A text longer than the model's window is embedded in windows; its vector is their mean, weighted by
        tokens.

        Returns:
            float32, shape (len(texts), dim), rows of unit length in the order of the texts, finite.

        Raises:
            EmbeddingError: If the encoder cannot run.
        """
        size = self._manifest.window - _MARKERS
        windows: list[NDArray[np.int32]] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            ids = self._tokenizer.encode(prefix + text).ids
            windows += [ids[start : start + size] for start in range(0, ids.size, size)]
            owners += [owner] * (len(windows) - len(owners))
        packed = list(batches([window.size for window in windows], self._batch_tokens))
        sums = np.zeros((len(texts), self._manifest.hidden), dtype=np.float32)
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
        markers = (self._manifest.begin, self._manifest.end)
        marked = np.pad(ids, ((0, 0), (1, 1)), constant_values=((0, 0), markers))
        return self._encoder(dequantise(self._words[marked.ravel()]).reshape(*marked.shape, -1))


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
        indices, size = list(same), max(1, max_tokens // length)
        yield from (indices[start : start + size] for start in range(0, len(indices), size))
