"""Writes ONNX files: the part of the format that the encoder's graph needs, without the package ``onnx``.

The numbers of the fields are those of ``onnx.proto`` (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto),
their encoding is that of protocol buffers (https://protobuf.dev/programming-guides/encoding/).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's own operators."""

_OPSETS = {"": 20, MICROSOFT: 1}
_IR_VERSION = 10  # the oldest that knows the opset: older onnxruntimes can read the file

# TensorProto.DataType and AttributeProto.AttributeType.
_ELEMENT_TYPES = {np.dtype(np.float32): 1, np.dtype(np.int8): 3, np.dtype(np.int64): 7}
_FLOAT, _INT = 1, 2

# Wire types of protocol buffers.
_VARINT, _LENGTH_DELIMITED, _FIXED32 = 0, 2, 5


_Shapes = Mapping[str, Sequence[int | str]]


class Graph:
    """Nodes and constants, in the order of their calculation. Outputs are referred to by name."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        """Add a constant unless there is one of this name; returns the name.

        Args:
            name: Unique in the graph.
            values: float32, int8 or int64.
        """
        if name not in self._constants:
            self._constants[name] = b"".join(
                (
                    *(_field(1, size) for size in values.shape),
                    _field(2, _ELEMENT_TYPES[values.dtype]),
                    _field(8, name),
                    _field(9, values.astype(values.dtype.newbyteorder("<")).tobytes()),
                )
            )
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: str | Sequence[str],
        *,
        domain: str = "",
        **attributes: float,
    ) -> str:
        """Add a node; returns the name of its first output.

        Args:
            operator: Its name.
            inputs: Names of constants, of outputs or of the graph's input.
            outputs: One name or several, each unique in the graph.
            domain: Where the operator is defined; empty for ONNX itself.
            attributes: ``int`` and ``float`` are different types.
        """
        names = [outputs] if isinstance(outputs, str) else outputs
        self._nodes.append(
            b"".join(
                (
                    *(_field(1, each) for each in inputs),
                    *(_field(2, each) for each in names),
                    _field(4, operator),
                    *(_field(5, _attribute(*each)) for each in sorted(attributes.items())),
                    _field(7, domain),
                )
            )
        )
        return names[0]

    def save(self, path: Path, name: str, inputs: _Shapes, outputs: _Shapes) -> None:
        """Write the graph as a model.

        Args:
            path: File to write.
            name: Of the graph.
            inputs: Shapes of its float32 inputs, by name; a text stands for a size that varies.
            outputs: Likewise.
        """
        graph = (
            *(_field(1, node) for node in self._nodes),
            _field(2, name),
            *(_field(5, constant) for constant in self._constants.values()),
            *(_field(11, _value_info(*each)) for each in inputs.items()),
            *(_field(12, _value_info(*each)) for each in outputs.items()),
        )
        opsets = (_field(1, domain) + _field(2, version) for domain, version in _OPSETS.items())
        with path.open("wb") as file:
            file.write(_field(1, _IR_VERSION))
            file.write(_field(7, b"".join(graph)))
            file.writelines(_field(8, opset) for opset in opsets)


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, _INT)
    return _field(1, name) + _key(2, _FIXED32) + struct.pack("<f", value) + _field(20, _FLOAT)


def _value_info(name: str, shape: Sequence[int | str]) -> bytes:
    sizes = (_field(1, _field(2 if isinstance(size, str) else 1, size)) for size in shape)
    tensor = _field(1, _FLOAT) + _field(2, b"".join(sizes))
    return _field(1, name) + _field(2, _field(1, tensor))


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _key(number, _VARINT) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _key(number, _LENGTH_DELIMITED) + _varint(len(content)) + content


def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    """Encode seven bits a byte, lowest first; a negative number as its 64-bit two's complement."""
    rest = value & 0xFFFF_FFFF_FFFF_FFFF
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)
