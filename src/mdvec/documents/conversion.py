"""Files that are no text: converted to Markdown in a process of its own, which has limits.

Parsers of such files are large and written in C or Rust; what makes one of them hang, crash or take all
memory must not end an import. The process converts one file after another, and ends when nothing comes.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import IO, cast

from mdvec import registry
from mdvec.errors import UnreadableFileError
from mdvec.text.links import converter_of
from mdvec.types.document import Comment

_PLACE = "place: "

_TIMEOUT_S = 120.0
_SECONDS_A_MB = 2.0
_IDLE_S = 20.0
_MAX_MEMORY_BYTES = 3_000_000_000
_MAX_TEXT_BYTES = 50_000_000


def convert(path: str, raw: bytes) -> str:
    """Return the Markdown of a file.

    Args:
        path: Its path, which names the converter.
        raw: Its bytes.

    Raises:
        UnreadableFileError: If it cannot be converted; the message is the reason alone.
    """
    with _lock:
        if not _processes or _processes[-1].has_ended:
            _processes[:] = [_Process()]
        [process] = _processes
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            process.kill()

        watch = threading.Timer(_TIMEOUT_S + _SECONDS_A_MB * len(raw) / 1_000_000, expire)
        watch.start()
        try:
            text = process.convert(converter_of(path), raw)
        finally:
            watch.cancel()
    if text is not None:
        return text
    msg = "takes too long to convert" if expired.is_set() else "cannot be converted: its converter crashed"
    raise UnreadableFileError(msg)


def places_of(comments: Iterable[Comment]) -> Iterator[tuple[int, str]]:
    """Yield where a part of the original begins, and its name, such as ``page 7``.

    Args:
        comments: Those of a document that was converted; those of another one mark nothing.
    """
    for comment in comments:
        text = comment.text.removeprefix("<!--").removesuffix("-->").strip()
        if text.startswith(_PLACE):
            yield comment.start, text.removeprefix(_PLACE)


def place_at(comments: Iterable[Comment], start: int) -> str:
    """Return the name of the place of the original that holds a character.

    Args:
        comments: Those of a document, in order.
        start: Position of the character.

    Returns:
        The place; empty in a document that was not converted.
    """
    return next((place for begins, place in reversed([*places_of(comments)]) if begins <= start), "")


_lock = threading.Lock()
_processes: list[_Process] = []


class _Process:
    """The process that converts, as this one sees it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mdvec.documents.conversion"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        weakref.finalize(self, _end, self._process)

    def convert(self, name: str, raw: bytes) -> str | None:
        """Convert a file; return None if the process ends meanwhile, and has been waited for.

        Raises:
            UnreadableFileError: If the file cannot be converted.
        """
        sent, received = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        try:
            sent.write(json.dumps({"converter": name, "bytes": len(raw)}).encode() + b"\n")
            sent.write(raw)
            sent.flush()
            header = received.readline()
        except BrokenPipeError:
            header = b""
        if not header:
            self._process.wait()
            return None
        answer = json.loads(header)
        text = received.read(answer["bytes"]).decode("utf-8", "replace")
        if not answer["is_text"]:
            raise UnreadableFileError(text)
        return text

    @property
    def has_ended(self) -> bool:
        """True if it has ended, because nothing came for a while or a file made it."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End it now."""
        self._process.kill()


def end() -> None:
    """End the process that converts, if there is one; the next file starts another."""
    with _lock:
        _processes.clear()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


# --- in the process ----------------------------------------------------------------------------------------


def serve() -> None:
    """Convert the files that come on standard input, until it ends or nothing comes for a while."""
    _limit_memory()
    read, write = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # libraries print
    while _comes(read) and (header := read.readline()):
        request = json.loads(header)
        raw = read.read(request["bytes"])
        text, is_text = _text_or_reason(request["converter"], raw)
        sent = text.encode("utf-8", "replace")
        if len(sent) > _MAX_TEXT_BYTES:
            sent, is_text = f"holds more than {_MAX_TEXT_BYTES // 1_000_000} MB of text".encode(), False
        write.write(json.dumps({"is_text": is_text, "bytes": len(sent)}).encode() + b"\n")
        write.write(sent)
        write.flush()


def _comes(read: IO[bytes]) -> bool:
    """Return True once there is something to read; False if nothing comes for a while."""
    if sys.platform == "win32":  # where pipes cannot be waited for
        return True
    return bool(select.select([read], [], [], _IDLE_S)[0])


def _text_or_reason(name: str, raw: bytes) -> tuple[str, bool]:
    from mdvec.documents.converters import NotConvertedError

    try:
        convert_bytes = registry.load("converters", name)
        return str(convert_bytes(raw)), True
    except NotConvertedError as error:
        return str(error), False
    except MemoryError:
        return "takes too much memory to convert", False
    except Exception as error:  # noqa: BLE001 - whatever a library raises for a damaged file
        return f"is damaged, or of a kind that cannot be read ({type(error).__name__})", False


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = _MAX_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(hard, _MAX_MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    serve()
