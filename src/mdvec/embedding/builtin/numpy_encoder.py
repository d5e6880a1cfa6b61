"""Runs the encoder with numpy alone, where onnxruntime has no build.

Each product is that of the ONNX graph to the last bits. Sums in another order let a few activations round to
the neighbouring step, so vectors agree to a cosine of about .999.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdvec.embedding.builtin.engine import Encoder
from mdvec.embedding.builtin.model import ModelFiles

_EPSILON = 1e-12  # of the layer normalisation, as trained
_STEPS = 255  # of an activation's 8 bits
# Coefficients of the error function: Abramowitz and Stegun, 7.1.26; off by at most 1.5e-7.
_ERF_SCALE = 0.3275911
_ERF_TERMS = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)

_Floats = NDArray[np.float32]


def open_encoder(model: ModelFiles) -> Encoder:
    """Return a function that runs the encoder."""
    return _NumpyEncoder(model.tensors(), model.manifest.layers, model.manifest.heads).encode


class _NumpyEncoder:
    """The network: see ``packages/mdvec-e5/conversion/graph.py``, whose steps these are."""

    def __init__(self, tensors: dict[str, NDArray[Any]], layers: int, heads: int) -> None:
        self._tensors = tensors
        self._layers = [f"l{layer}" for layer in range(layers)]
        self._heads = heads

    def encode(self, words: _Floats) -> _Floats:
        hidden = self._normalise("emb.ln", words + self._tensors["positions"][: words.shape[1]])
        for layer in self._layers:
            attended = self._attend(self._dense(f"{layer}.q", hidden))
            hidden = self._normalise(f"{layer}.aln", hidden + self._dense(f"{layer}.ao", attended))
            active = _gelu(self._dense(f"{layer}.fi", hidden))
            hidden = self._normalise(f"{layer}.oln", hidden + self._dense(f"{layer}.fo", active))
        means: _Floats = hidden.mean(axis=1)
        return means

    def _normalise(self, name: str, rows: _Floats) -> _Floats:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        normal: _Floats = centred / spread * self._tensors[f"{name}.w"] + self._tensors[f"{name}.b"]
        return normal

    def _dense(self, name: str, rows: _Floats) -> _Floats:
        """Multiply 8-bit activations with 7-bit weights; float32 holds the products, which are whole."""
        largest = np.abs(rows).max(axis=-1, keepdims=True)
        scaled = rows / largest
        low, high = min(scaled.min(), np.float32(0)), max(scaled.max(), np.float32(0))
        step = np.float32((high - low) / _STEPS)
        zero = np.rint(-low / step)
        rounded = np.clip(np.rint(scaled / step) + zero, 0, _STEPS) - zero
        matrix = self._tensors[f"{name}.w"].astype(np.float32)
        product = (rounded.reshape(-1, matrix.shape[0]) @ matrix).reshape(*rows.shape[:-1], -1)
        result: _Floats = product * (step * self._tensors[f"{name}.w_scales"]) * largest
        result += self._tensors[f"{name}.b"]
        return result

    def _attend(self, projected: _Floats) -> _Floats:
        texts, tokens, width = projected.shape
        # (texts, tokens, part, head, size) as (part, texts, head, tokens, size)
        split = projected.reshape(texts, tokens, 3, self._heads, -1).transpose(2, 0, 3, 1, 4)
        query, key, value = split
        scores: _Floats = query @ key.swapaxes(-1, -2) / np.sqrt(np.float32(query.shape[-1]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        attended: _Floats = (scores @ value).transpose(0, 2, 1, 3).reshape(texts, tokens, width // 3)
        return attended


def _gelu(values: _Floats) -> _Floats:
    """Return ``x / 2 * (1 + erf(x / sqrt(2)))``; numpy has no error function."""
    size = np.abs(values) * np.float32(np.sqrt(0.5))
    inverse = 1 / (1 + np.float32(_ERF_SCALE) * size)
    series: NDArray[Any] = np.zeros_like(values)
    for term in _ERF_TERMS:
        series = (series + np.float32(term)) * inverse
    erf = np.copysign(1 - series * np.exp(-size * size), values)
    result: _Floats = np.float32(0.5) * values * (1 + erf)
    return result
