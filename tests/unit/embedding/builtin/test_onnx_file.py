"""Writing ONNX files, compared with what the package ``onnx`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from mdvec.embedding.builtin.onnx_file import MICROSOFT, Graph

_CONSTANTS: dict[str, NDArray[Any]] = {
    "floats": np.linspace(-1, 1, 600, dtype=np.float32).reshape(20, 30),
    "bytes": np.arange(-6, 6, dtype=np.int8).reshape(3, 4).T,  # not contiguous
    "whole": np.array([-1, 0, 2**40]),
}
_NODES: tuple[tuple[str, list[str], list[str], str, dict[str, Any]], ...] = (
    ("Reshape", ["words", "whole"], ["shaped"], "", {"allowzero": 1}),
    ("Split", ["shaped"], ["left", "right"], "", {"num_outputs": 2, "axis": -1}),
    ("LayerNormalization", ["left", "floats"], ["normal"], "", {"axis": -1, "epsilon": 1e-12}),
    ("Gelu", ["normal"], ["means"], MICROSOFT, {}),
)


def test_bytes_are_those_of_onnx(tmp_path: Path) -> None:
    """A model with all that we use of the format is the same file, byte for byte, as the package's own."""
    ours = Graph()
    for name, values in _CONSTANTS.items():
        assert ours.constant(name, values) == name
        ours.constant(name, values)  # a second time: it is there once
    for operator, inputs, outputs, domain, attributes in _NODES:
        assert ours.node(operator, inputs, outputs, domain=domain, **attributes) == outputs[0]
    ours.save(tmp_path / "ours", "a name", {"words": ("texts", "語", 384)}, {"means": ("texts", 300)})

    theirs = helper.make_graph(
        [
            helper.make_node(operator, inputs, outputs, domain=domain, **attributes)
            for operator, inputs, outputs, domain, attributes in _NODES
        ],
        "a name",
        [helper.make_tensor_value_info("words", TensorProto.FLOAT, ["texts", "語", 384])],
        [helper.make_tensor_value_info("means", TensorProto.FLOAT, ["texts", 300])],
        [numpy_helper.from_array(np.ascontiguousarray(values), name) for name, values in _CONSTANTS.items()],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
    onnx.save(helper.make_model(theirs, opset_imports=opsets, ir_version=10), str(tmp_path / "theirs"))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
