"""Writes the encoder as an ONNX graph with 8-bit matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mdvec.embedding.builtin.onnx_file import MICROSOFT, Graph
from mdvec.embedding.builtin.weights import Weights, dequantise

WORDS: Final = "words"
"""Input: vectors of the words, shape (texts, tokens, hidden), float32; texts of one length."""
MEANS: Final = "means"
"""Output: mean over the tokens of each text, shape (texts, hidden), float32; not of unit length."""

_EPSILON = 1e-12  # of the layer normalisation, as trained

# Weights take 7 of the 8 bits: without VNNI, x86 adds two products in 16 bits, and u8 x s8 could
# overflow there. Costs .0005 of cosine and makes one file right for every processor.
_LARGEST_WEIGHT = 63


def write_graph(weights: Weights, path: Path, *, progress: Callable[[float], None]) -> None:
    """Write the encoder's graph as an ONNX file.

    Args:
        weights: The weights of the model.
        path: File to write.
        progress: Receives the finished share, 0 to 1.
    """
    graph = Graph()
    shape = weights.shape
    hidden = _embedding(graph, weights)
    for layer in range(shape.layers):
        hidden = _encoder_layer(graph, weights, f"l{layer}", hidden)
        progress((layer + 1) / (shape.layers + 1))
    graph.node("ReduceMean", [hidden, graph.constant("token_axis", np.array([1]))], MEANS, keepdims=0)
    graph.save(
        path,
        "multilingual-e5-small",
        inputs={WORDS: ("texts", "tokens", shape.hidden)},
        outputs={MEANS: ("texts", shape.hidden)},
    )
    progress(1.0)


def _embedding(graph: Graph, weights: Weights) -> str:
    """Add positions to the words, and normalise."""
    hidden = weights.shape.hidden
    # Every token is of type 0, so its vector is part of the position's.
    positions = weights.vector("emb.pos").reshape(-1, hidden) + weights.vector("emb.type")[:hidden]
    count = graph.node("Shape", [WORDS], "token_count", start=1, end=2)
    zero = graph.constant("zero", np.array([0]))
    used = graph.node("Slice", [graph.constant("positions", positions), zero, count, zero], "used_positions")
    summed = graph.node("Add", [WORDS, used], "embedded")
    return _layer_norm(graph, weights, "emb.ln", summed)


def _encoder_layer(graph: Graph, weights: Weights, layer: str, hidden: str) -> str:
    """Add attention, then two dense layers, each added to its input and normalised (BERT, post-norm)."""
    width, inner_width = weights.shape.hidden, weights.shape.inner
    names = [f"{layer}.q", f"{layer}.k", f"{layer}.v"]
    projected = _dense(graph, weights, names, hidden, columns=width)
    parts = [f"{layer}.{part}" for part in ("query", "key", "value")]
    graph.node("Split", [projected], parts, axis=-1, num_outputs=len(parts))
    attended = graph.node(
        "MultiHeadAttention",
        parts,
        f"{layer}.attended",
        domain=MICROSOFT,
        num_heads=weights.shape.heads,
    )
    update = _dense(graph, weights, [f"{layer}.ao"], attended, columns=width)
    hidden = _add_and_normalise(graph, weights, f"{layer}.aln", hidden, update)
    inner = _dense(graph, weights, [f"{layer}.fi"], hidden, columns=width)
    active = graph.node("Gelu", [inner], f"{layer}.gelu", domain=MICROSOFT)  # exact, with erf
    update = _dense(graph, weights, [f"{layer}.fo"], active, columns=inner_width)
    return _add_and_normalise(graph, weights, f"{layer}.oln", hidden, update)


def _layer_norm(graph: Graph, weights: Weights, name: str, hidden: str) -> str:
    scale = graph.constant(f"{name}.w", weights.vector(f"{name}.w"))
    shift = graph.constant(f"{name}.b", weights.vector(f"{name}.b"))
    return graph.node("LayerNormalization", [hidden, scale, shift], f"{name}.out", axis=-1, epsilon=_EPSILON)


def _add_and_normalise(graph: Graph, weights: Weights, name: str, hidden: str, update: str) -> str:
    # Not the fused operator: it is the slower one.
    summed = graph.node("Add", [hidden, update], f"{name}.sum")
    return _layer_norm(graph, weights, name, summed)


def _dense(graph: Graph, weights: Weights, names: Sequence[str], hidden: str, *, columns: int) -> str:
    """Multiply with one or several matrices side by side, and add their biases.

    onnxruntime quantises all rows of a batch with one scale, and a single outlier token then takes
    the precision of all others. Dividing each row by its largest magnitude first gives every token
    its own scale: cosine .999 instead of .996, and a text's vector no longer depends on its batch.
    A row is never all zero: it comes out of a normalisation, an attention over such rows, or a GELU.
    """
    name = names[0]
    bias = np.concatenate([weights.vector(f"{part}.b") for part in names])
    matrix = np.concatenate([dequantise(weights.blocks(f"{part}.w", columns)) for part in names])
    quantised, scales = quantise_rows(matrix)

    magnitude = graph.node("Abs", [hidden], f"{name}.abs")
    last_axis = graph.constant("last_axis", np.array([-1]))
    largest = graph.node("ReduceMax", [magnitude, last_axis], f"{name}.largest", keepdims=1)
    scaled = graph.node("Div", [hidden, largest], f"{name}.scaled")
    product = graph.node(
        "DynamicQuantizeMatMul",
        [
            scaled,
            graph.constant(f"{name}.w", quantised.T),
            graph.constant(f"{name}.w_scales", scales),
            graph.constant(f"{name}.w_zeros", np.zeros(scales.size, dtype=np.int8)),
        ],
        f"{name}.product",
        domain=MICROSOFT,
    )
    restored = graph.node("Mul", [product, largest], f"{name}.restored")
    return graph.node("Add", [restored, graph.constant(f"{name}.b", bias)], f"{name}.out")


def quantise_rows(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a matrix to 7-bit integers, each row with its own scale.

    Returns:
        Integers of the matrix's shape, and scales of shape (rows,): their product is about ``matrix``.
    """
    scales = np.abs(matrix).max(axis=1) / _LARGEST_WEIGHT
    scales[scales == 0] = 1
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)
