"""Files that are no text: converted to Markdown in a process of its own, which has limits.

Parsers of such files are large and written in C or Rust; what makes one of them hang, crash or take all
memory must not end an import. The process converts one file after another, and ends when nothing comes.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import weakref
from typing import IO, cast

from mdvec import registry
from mdvec.documents.encodings import Decoded
from mdvec.errors import UnreadableFileError
from mdvec.text.hashing import content_hash
from mdvec.text.links import converter_of

_TIMEOUT_S = 120.0
_SECONDS_A_MB = 2.0
_IDLE_S = 20.0
_ATTEMPTS = 2  # the process may end when it is asked, because nothing came for a while
_MAX_MEMORY_BYTES = 3_000_000_000
_MAX_TEXT_BYTES = 50_000_000


def convert(path: str, raw: bytes) -> Decoded:
    """Return the Markdown of a file, by the converter that its path names.

    Returns:
        Its text; without a text, the warning says why there is none.

    Raises:
        UnreadableFileError: If it ends its converter, or takes too long; the message is the reason alone. In
            this process it is not tried again.
    """
    with _lock:
        if _given_up and (reason := _given_up.get(content_hash(raw))):
            raise UnreadableFileError(reason)
        for _ in range(_ATTEMPTS):
            if not _processes or _processes[-1].has_ended:
                _processes[:] = [_Process()]
            [process] = _processes
            found = process.convert(converter_of(path), raw)
            if found is not None:
                return found
            if process.has_expired:
                break
        reason = "takes too long to convert" if process.has_expired else "ends its converter"
        _given_up[content_hash(raw)] = reason
    raise UnreadableFileError(reason)


_lock = threading.Lock()
_processes: list[_Process] = []
_given_up: dict[bytes, str] = {}
"""By the hash of a file, why it is not tried again: each look for changes would wait for it."""


class _Process:
    """The process that converts, as this one sees it.

    Attributes:
        has_expired: Whether it was killed because a file took too long.
    """

    def __init__(self) -> None:
        self.has_expired = False
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mdvec.documents.conversion"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        weakref.finalize(self, _end, self._process)

    def convert(self, name: str, raw: bytes) -> Decoded | None:
        """Convert a file; return None if the process ends meanwhile, and has been waited for."""
        watch = threading.Timer(_TIMEOUT_S + _SECONDS_A_MB * len(raw) / 1_000_000, self._expire)
        watch.start()
        try:
            return self._answer(name, raw)
        except (BrokenPipeError, EOFError):
            self._process.wait()
            return None
        finally:
            watch.cancel()

    def _answer(self, name: str, raw: bytes) -> Decoded:
        """Send a file and receive its text.

        Raises:
            BrokenPipeError: If the process ends before it has the file.
            EOFError: If it ends before all of its answer came.
        """
        sent, received = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        sent.write(json.dumps({"converter": name, "bytes": len(raw)}).encode() + b"\n")
        sent.write(raw)
        sent.flush()
        header = received.readline()
        if not header.endswith(b"\n"):
            raise EOFError
        answer = json.loads(header)
        text = received.read(answer["bytes"])
        if len(text) < answer["bytes"]:
            raise EOFError
        said = text.decode("utf-8", "replace")
        return Decoded(said, "utf-8") if answer["is_text"] else Decoded("", "utf-8", said)

    def _expire(self) -> None:
        self.has_expired = True
        self._process.kill()

    @property
    def has_ended(self) -> bool:
        """True if it has ended, because nothing came for a while or a file made it."""
        return self._process.poll() is not None


def end() -> None:
    """End the process that converts, if there is one, and forget which files it could not convert."""
    with _lock:
        _processes.clear()
        _given_up.clear()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


# --- in the process ----------------------------------------------------------------------------------------


def serve() -> None:
    """Convert the files that come on standard input, until it ends or nothing comes for a while."""
    _limit_memory()
    read = sys.stdin.buffer
    write = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # libraries print, also those in C
    sys.stdout = sys.stderr  # which takes any character, whatever the encoding of the system
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
        return str(registry.load("converters", name)(raw)), True
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
