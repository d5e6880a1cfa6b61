"""Writes the encoder as an ONNX graph with 8-bit matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from mdvec.embedding.builtin.signature import MEANS, WORDS
from mdvec.embedding.builtin.weights import Weights, dequantise

_MICROSOFT = "com.microsoft"
_OPSET = 20
_IR_VERSION = 10  # the oldest that knows the opset: older onnxruntimes can read the file
_EPSILON = 1e-12  # of the layer normalisation, as trained

# Weights take 7 of the 8 bits: without VNNI, x86 adds two products in 16 bits, and u8 x s8 could
# overflow there. Costs .0005 of cosine and makes one file right for every processor.
_LARGEST_WEIGHT = 63


class _GraphBuilder:
    """Collects the nodes and constants of a graph; outputs are known by name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    @property
    def constants(self) -> list[onnx.TensorProto]:
        return list(self._constants.values())

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        """Add a constant, once; returns its name."""
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def node(
        self,
        kind: str,
        inputs: Sequence[str],
        outputs: str | Sequence[str],
        *,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node; returns the name of its first output."""
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0]

    def layer_norm(self, weights: Weights, name: str, hidden: str) -> str:
        """Add a layer normalisation; returns its output."""
        scale = self.constant(f"{name}.w", weights.vector(f"{name}.w"))
        shift = self.constant(f"{name}.b", weights.vector(f"{name}.b"))
        return self.node(
            "LayerNormalization", [hidden, scale, shift], f"{name}.out", axis=-1, epsilon=_EPSILON
        )


def write_graph(weights: Weights, path: Path, *, progress: Callable[[float], None]) -> None:
    """Write the model's graph.

    Args:
        weights: What to take the numbers from.
        path: File to write.
        progress: Told the finished share, 0 to 1.
    """
    builder = _GraphBuilder()
    shape = weights.shape
    hidden = _embedding(builder, weights)
    for layer in range(shape.layers):
        hidden = _encoder_layer(builder, weights, f"l{layer}", hidden)
        progress((layer + 1) / (shape.layers + 1))
    builder.node("ReduceMean", [hidden, builder.constant("token_axis", np.array([1]))], MEANS, keepdims=0)
    graph = helper.make_graph(
        builder.nodes,
        "multilingual-e5-small",
        [
            helper.make_tensor_value_info(WORDS, TensorProto.FLOAT, ["texts", "tokens", shape.hidden]),
        ],
        [helper.make_tensor_value_info(MEANS, TensorProto.FLOAT, ["texts", shape.hidden])],
        builder.constants,
    )
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
    onnx.save(model, str(path))
    progress(1.0)


def _embedding(builder: _GraphBuilder, weights: Weights) -> str:
    """Add positions to the words, and normalise."""
    hidden = weights.shape.hidden
    # Every token is of type 0, so its vector is part of the position's.
    positions = weights.vector("emb.pos").reshape(-1, hidden) + weights.vector("emb.type")[:hidden]
    count = builder.node("Shape", [WORDS], "token_count", start=1, end=2)
    zero = builder.constant("zero", np.array([0]))
    used = builder.node(
        "Slice", [builder.constant("positions", positions), zero, count, zero], "used_positions"
    )
    summed = builder.node("Add", [WORDS, used], "embedded")
    return builder.layer_norm(weights, "emb.ln", summed)


def _encoder_layer(builder: _GraphBuilder, weights: Weights, layer: str, hidden: str) -> str:
    """Attention, then two dense layers, each added to its input and normalised (BERT, post-norm)."""
    width, inner_width = weights.shape.hidden, weights.shape.inner
    names = [f"{layer}.q", f"{layer}.k", f"{layer}.v"]
    projected = _dense(builder, weights, names, hidden, columns=width)
    parts = [f"{layer}.{part}" for part in ("query", "key", "value")]
    builder.node("Split", [projected], parts, axis=-1, num_outputs=len(parts))
    attended = builder.node(
        "MultiHeadAttention",
        parts,
        f"{layer}.attended",
        domain=_MICROSOFT,
        num_heads=weights.shape.heads,
    )
    update = _dense(builder, weights, [f"{layer}.ao"], attended, columns=width)
    hidden = _add_and_normalise(builder, weights, f"{layer}.aln", hidden, update)
    inner = _dense(builder, weights, [f"{layer}.fi"], hidden, columns=width)
    active = builder.node("Gelu", [inner], f"{layer}.gelu", domain=_MICROSOFT)  # exact, with erf
    update = _dense(builder, weights, [f"{layer}.fo"], active, columns=inner_width)
    return _add_and_normalise(builder, weights, f"{layer}.oln", hidden, update)


def _add_and_normalise(builder: _GraphBuilder, weights: Weights, name: str, hidden: str, update: str) -> str:
    # Not the fused operator: it is the slower one.
    summed = builder.node("Add", [hidden, update], f"{name}.sum")
    return builder.layer_norm(weights, name, summed)


def _dense(
    builder: _GraphBuilder, weights: Weights, names: Sequence[str], hidden: str, *, columns: int
) -> str:
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

    magnitude = builder.node("Abs", [hidden], f"{name}.abs")
    last_axis = builder.constant("last_axis", np.array([-1]))
    largest = builder.node("ReduceMax", [magnitude, last_axis], f"{name}.largest", keepdims=1)
    scaled = builder.node("Div", [hidden, largest], f"{name}.scaled")
    product = builder.node(
        "DynamicQuantizeMatMul",
        [
            scaled,
            builder.constant(f"{name}.w", quantised.T),
            builder.constant(f"{name}.w_scales", scales),
            builder.constant(f"{name}.w_zeros", np.zeros(scales.size, dtype=np.int8)),
        ],
        f"{name}.product",
        domain=_MICROSOFT,
    )
    restored = builder.node("Mul", [product, largest], f"{name}.restored")
    return builder.node("Add", [restored, builder.constant(f"{name}.b", bias)], f"{name}.out")


def quantise_rows(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a matrix to 7-bit integers, each row with its own scale.

    Returns:
        Integers of the matrix's shape, and scales of shape (rows,): their product is about ``matrix``.
    """
    scales = np.abs(matrix).max(axis=1) / _LARGEST_WEIGHT
    scales[scales == 0] = 1
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)
