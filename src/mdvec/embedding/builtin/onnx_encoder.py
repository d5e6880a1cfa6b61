"""Runs the encoder with onnxruntime."""

from __future__ import annotations

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as states

from mdvec.embedding.builtin.engine import Encoder
from mdvec.embedding.builtin.model import GRAPH_FILE, MEANS, WORDS, ModelFiles
from mdvec.errors import EmbeddingError

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


def open_encoder(model: ModelFiles) -> Encoder:
    """Load the graph; return a function that runs it.

    Raises:
        EmbeddingError: If onnxruntime does not accept the graph; the function, if it cannot run it.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # It would keep a memory plan for every length of text, without being faster.
    options.enable_mem_pattern = False
    # The graph is written as the optimiser would leave it.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    path = model.folder / GRAPH_FILE
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except _REFUSALS as error:
        msg = f"onnxruntime does not accept the model: {error}"
        raise EmbeddingError(msg) from error

    def encode(words: NDArray[np.float32]) -> NDArray[np.float32]:
        try:
            means: NDArray[np.float32] = session.run([MEANS], {WORDS: words})[0]
        except _REFUSALS as error:
            msg = f"onnxruntime cannot run the model: {error}"
            raise EmbeddingError(msg) from error
        return means

    return encode
