"""Lays documents out as files, so that they go through the same pipeline as anybody's notes."""

from __future__ import annotations

import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath, PurePosixPath

from mdvec.errors import UsageError
from mdvec.evaluation.datasets import CorpusDocument
from mdvec.evaluation.naming import Naming
from mdvec.text.undecodable import spelled

# An archive that claims more than this is no set of documents (a gigabyte of text takes days to embed).
_MAX_UNPACKED_BYTES = 1_000_000_000
_FRONTMATTER_FENCES = ("---", "+++")


def corpus_files(documents: Iterable[CorpusDocument], names: Naming) -> dict[str, bytes]:
    """Write each document of a corpus as Markdown.

    Args:
        documents: The corpus.
        names: Says at which path.

    Returns:
        The content of each file, by path.
    """
    return {names.path_of(each.id): _markdown(each).encode() for each in documents}


def archived_files(archive: Path) -> dict[str, bytes]:
    """Read the regular files of a gzipped tar archive; a folder ``tree`` around all of them is left away.

    Nothing is written. Links and devices are passed over.

    Returns:
        The content of each file, by path.

    Raises:
        UsageError: If it is no archive, too large, or names a place outside of itself.
    """
    files: dict[str, bytes] = {}
    left = _MAX_UNPACKED_BYTES
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                if not member.isfile():
                    continue
                left -= member.size
                if left < 0:
                    msg = f"{archive} holds more than {_MAX_UNPACKED_BYTES:,} bytes"
                    raise UsageError(msg, hint="Unpack it to tree/ yourself if that is really meant.")
                content = tar.extractfile(member)
                if content is not None:
                    files[_inner_path(member.name, archive)] = content.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise
        msg = f"{archive} cannot be unpacked: {error}"
        raise UsageError(msg, hint="Make it anew with: tar czf tree.tar.gz tree") from error
    if files and all(path.startswith("tree/") for path in files):
        return {path.removeprefix("tree/"): content for path, content in files.items()}
    return files


def lay_out(files: Mapping[str, bytes], folder: Path) -> None:
    """Make a folder hold exactly these files; those that are there already are not touched.

    A file appears whole or not at all, so that several processes may do the same at once.

    Args:
        files: Content by path, relative with ``/``.
        folder: Made when it is not there; its parent must be on the same file system.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {folder.joinpath(*PurePosixPath(path).parts): content for path, content in files.items()}
    for path, content in wanted.items():
        if not _holds(path, content):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, unfinished = tempfile.mkstemp(dir=folder.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(unfinished).replace(path)
    for path in folder.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink(missing_ok=True)


def _markdown(document: CorpusDocument) -> str:
    title = " ".join(document.title.split())
    text = f"# {title}\n\n{document.text}\n" if title else f"{document.text}\n"
    if text.startswith(_FRONTMATTER_FENCES):
        text = f"\n{text}"  # a corpus has no frontmatter: this is a rule above the text
    return spelled(text).replace("\0", " ")


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _inner_path(name: str, archive: Path) -> str:
    path = PurePosixPath(name)
    # A backslash or a drive is a part of a name in the archive, and leads elsewhere on Windows alone.
    here = PurePath(name)
    if path.is_absolute() or here.anchor or ".." in (*path.parts, *here.parts) or not path.parts:
        msg = f"{archive} names a place outside of itself: {name!r}"
        raise UsageError(msg, hint="Make it anew with: tar czf tree.tar.gz tree")
    return str(path)
