"""Writes the encoder as an ONNX graph with 8-bit matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from conversion.weights import Weights
from mdvec.embedding.builtin.model import (
    GRAPH_FILE,
    MEANS,
    WEIGHTS_FILE,
    WORDS,
    StoredTensor,
    dequantise,
)

_MICROSOFT = "com.microsoft"  # the domain of onnxruntime's own operators
_OPSETS = {"": 20, _MICROSOFT: 1}
_IR_VERSION = 10  # the oldest that knows the opset: older onnxruntimes can read the file
_ALIGNMENT = 4096  # of tensors, so that they can be mapped
_SMALLEST_STORED = 1024  # bytes; smaller ones are in the graph itself

_EPSILON = 1e-12  # of the layer normalisation, as trained

# Weights take 7 of the 8 bits: without VNNI, x86 adds two products in 16 bits, and u8 x s8 could
# overflow there. Costs .0005 of cosine and makes one file right for every processor.
_LARGEST_WEIGHT = 63


class _Graph:
    """Nodes and constants, in the order of their calculation. Outputs are referred to by name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, NDArray[np.generic]] = {}

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        """Add a constant unless there is one of this name; return the name."""
        self.constants.setdefault(name, np.ascontiguousarray(values))
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: str | Sequence[str],
        *,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node; return the name of its first output."""
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        node = onnx.helper.make_node(operator, list(inputs), names, domain=domain or None, **attributes)
        self.nodes.append(node)
        return names[0]


def write_graph(weights: Weights, directory: Path) -> dict[str, StoredTensor]:
    """Write the encoder as an ONNX file, with its weights in a file next to it.

    Args:
        weights: The weights of the model.
        directory: Existing.

    Returns:
        Where each tensor is in the file of the weights.
    """
    graph = _Graph()
    shape = weights.shape
    hidden = _embedding(graph, weights)
    for layer in range(shape.layers):
        hidden = _encoder_layer(graph, weights, f"l{layer}", hidden)
    graph.node("ReduceMean", [hidden, graph.constant("token_axis", np.array([1]))], MEANS, keepdims=0)
    places, tensors = _write_weights(graph, directory / WEIGHTS_FILE)
    value = onnx.helper.make_tensor_value_info
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "multilingual-e5-small",
            [value(WORDS, onnx.TensorProto.FLOAT, ["texts", "tokens", shape.hidden])],
            [value(MEANS, onnx.TensorProto.FLOAT, ["texts", shape.hidden])],
            tensors,
        ),
        opset_imports=[onnx.helper.make_opsetid(*opset) for opset in _OPSETS.items()],
        ir_version=_IR_VERSION,
    )
    (directory / GRAPH_FILE).write_bytes(model.SerializeToString(deterministic=True))
    return places


def _write_weights(graph: _Graph, path: Path) -> tuple[dict[str, StoredTensor], list[onnx.TensorProto]]:
    """Write the constants; return where each is, and what the graph says of them."""
    places: dict[str, StoredTensor] = {}
    tensors: list[onnx.TensorProto] = []
    with path.open("wb") as file:
        for name, values in graph.constants.items():
            tensor = onnx.numpy_helper.from_array(values, name)
            little = values.astype(values.dtype.newbyteorder("<"))
            file.write(b"\0" * (-file.tell() % _ALIGNMENT))
            places[name] = StoredTensor(little.dtype.str, values.shape, file.tell())
            if values.nbytes >= _SMALLEST_STORED:
                onnx.external_data_helper.set_external_data(
                    tensor, path.name, offset=file.tell(), length=values.nbytes
                )
                tensor.ClearField("raw_data")
                tensor.data_location = onnx.TensorProto.EXTERNAL
            file.write(little.tobytes())
            tensors.append(tensor)
    return places, tensors


def _embedding(graph: _Graph, weights: Weights) -> str:
    """Add positions to the words, and normalise."""
    hidden = weights.shape.hidden
    # Every token is of type 0, so its vector is part of the position's.
    positions = weights.vector("emb.pos").reshape(-1, hidden) + weights.vector("emb.type")[:hidden]
    count = graph.node("Shape", [WORDS], "token_count", start=1, end=2)
    zero = graph.constant("zero", np.array([0]))
    used = graph.node("Slice", [graph.constant("positions", positions), zero, count, zero], "used_positions")
    summed = graph.node("Add", [WORDS, used], "embedded")
    return _layer_norm(graph, weights, "emb.ln", summed)


def _encoder_layer(graph: _Graph, weights: Weights, layer: str, hidden: str) -> str:
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
        domain=_MICROSOFT,
        num_heads=weights.shape.heads,
    )
    update = _dense(graph, weights, [f"{layer}.ao"], attended, columns=width)
    hidden = _add_and_normalise(graph, weights, f"{layer}.aln", hidden, update)
    inner = _multiply(graph, weights, [f"{layer}.fi"], hidden, columns=width)
    bias = _bias(graph, weights, [f"{layer}.fi"])
    active = graph.node("BiasGelu", [inner, bias], f"{layer}.gelu", domain=_MICROSOFT)  # exact, with erf
    update = _dense(graph, weights, [f"{layer}.fo"], active, columns=inner_width)
    return _add_and_normalise(graph, weights, f"{layer}.oln", hidden, update)


def _layer_norm(graph: _Graph, weights: Weights, name: str, hidden: str) -> str:
    scale = graph.constant(f"{name}.w", weights.vector(f"{name}.w"))
    shift = graph.constant(f"{name}.b", weights.vector(f"{name}.b"))
    return graph.node("LayerNormalization", [hidden, scale, shift], f"{name}.out", axis=-1, epsilon=_EPSILON)


def _add_and_normalise(graph: _Graph, weights: Weights, name: str, hidden: str, update: str) -> str:
    # Not the fused operator: it is the slower one.
    summed = graph.node("Add", [hidden, update], f"{name}.sum")
    return _layer_norm(graph, weights, name, summed)


def _dense(graph: _Graph, weights: Weights, names: Sequence[str], hidden: str, *, columns: int) -> str:
    """Multiply with one or several matrices side by side, and add their biases."""
    product = _multiply(graph, weights, names, hidden, columns=columns)
    return graph.node("Add", [product, _bias(graph, weights, names)], f"{names[0]}.out")


def _bias(graph: _Graph, weights: Weights, names: Sequence[str]) -> str:
    bias = np.concatenate([weights.vector(f"{part}.b") for part in names])
    return graph.constant(f"{names[0]}.b", bias)


def _multiply(graph: _Graph, weights: Weights, names: Sequence[str], hidden: str, *, columns: int) -> str:
    """Multiply with one or several matrices side by side.

    onnxruntime quantises all rows of a batch with one scale, and a single outlier token then takes
    the precision of all others. Dividing each row by its largest magnitude first gives every token
    its own scale: cosine .999 instead of .996, and a text's vector no longer depends on its batch.
    A row is never all zero: it comes out of a normalisation, an attention over such rows, or a GELU.
    """
    name = names[0]
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
        domain=_MICROSOFT,
    )
    return graph.node("Mul", [product, largest], f"{name}.restored")


def quantise_rows(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a matrix to 7-bit integers, each row with its own scale.

    Returns:
        Integers of the matrix's shape, and scales of shape (rows,): their product is about ``matrix``.
    """
    scales = np.abs(matrix).max(axis=1) / _LARGEST_WEIGHT
    scales[scales == 0] = 1
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)
