r"""A pretended Windows, for a process of its own: ``python -m tests.fakes.windows get C:\notes\tap.md``.

The process gets drives, backslashes, names regardless of case, files that nobody removes while they are
open, and none of the parts of Python's library that only POSIX has. ``C:\a\b`` is ``/a/b`` of this machine.
Libraries of others are loaded before, as they are here; of the native ones, SQLite and onnxruntime see these
paths.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import functools
import importlib
import io
import ntpath
import os
import pkgutil
import posixpath
import shutil
import signal
import socket
import stat
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

_POSIX_MODULES = ("fcntl", "grp", "posix", "pwd", "resource", "termios", "tty")
_POSIX_NAMES = {
    os: "O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK chown fchmod fchown fork geteuid getgid getuid"
    " killpg register_at_fork sched_getaffinity setsid statvfs sysconf",
    signal: "SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 pthread_sigmask setitimer sigwait",
    socket: "AF_UNIX",
}
_DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{number}" for name in ("com", "lpt") for number in range(1, 10)),
}
_VERBATIM = "\\\\?\\"
_MAX_PATH = 259
_ONE_PATH = "access chdir chmod listdir lstat mkdir readlink rmdir stat truncate utime"


def pretend() -> None:
    """Turn this process into one on Windows; what it has loaded of mdvec is loaded anew."""
    for name in module_names():
        importlib.import_module(name)
    psutil: Any = importlib.import_module("psutil")  # before this is Windows: it has a part for each system
    anew = ("pathlib", "platformdirs", "mdvec", "importlib.resources", "importlib.readers")
    for name in [name for name in sys.modules if f"{name}.".startswith(tuple(f"{each}." for each in anew))]:
        del sys.modules[name]
    sys.platform = "win32"
    os.name = "nt"
    sys.modules["msvcrt"] = _locking()
    _change_paths()
    _change_files()
    sys.modules["nt"] = types.ModuleType("nt")
    sys.modules["nt"]._LOAD_LIBRARY_SEARCH_DEFAULT_DIRS = 0  # type: ignore[attr-defined] # of ctypes
    folders: Any = importlib.import_module("platformdirs.windows")
    folders._RESOLVE_WIN_FOLDER = folders.get_win_folder_from_env_vars  # otherwise it asks a DLL
    psutil.disk_partitions = lambda **_: []  # otherwise it asks this system
    asyncio: Any = importlib.import_module("asyncio")
    asyncio.ProactorEventLoop = asyncio.SelectorEventLoop
    sockets: Any = socket
    sockets.socketpair = functools.partial(socket.socketpair, socket.AF_UNIX)
    for module in _POSIX_MODULES:
        sys.modules[module] = None  # type: ignore[assignment] # an import of it fails
    for owner, names in _POSIX_NAMES.items():
        for name in names.split():
            if hasattr(owner, name):
                delattr(owner, name)


def module_names() -> list[str]:
    """Return the modules of mdvec that can be imported here: those of vendors need their library."""
    import mdvec

    found = (module.name for module in pkgutil.walk_packages(mdvec.__path__, "mdvec."))
    return sorted(name for name in found if not name.endswith("__main__") and _is_there(name))


def _is_there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def windows_path(path: str) -> str:
    """Return the path of Windows of an absolute path of this machine."""
    return "C:" + path.replace("/", "\\")


def posix_path(path: Any) -> Any:
    """Return the path of this machine; a number of an open file stays as it is.

    Raises:
        OSError: If it has a name that a file cannot have.
    """
    if isinstance(path, int) or path is None:
        return path
    text = os.fsdecode(os.fspath(path))
    is_verbatim = text.startswith(_VERBATIM)
    if not is_verbatim and len(ntpath.abspath(text)) > _MAX_PATH:
        raise FileNotFoundError(errno.ENOENT, "The system cannot find the path specified", text)
    text = text.removeprefix(_VERBATIM)
    if is_verbatim and "/" in text:
        raise OSError(errno.EINVAL, "The filename, directory name, or volume label syntax is incorrect", text)
    names = ntpath.splitdrive(text)[1].replace("\\", "/").split("/")
    place = "/" if names[0] == "" else "."
    for each in names:
        name = each
        if not is_verbatim and name.partition(".")[0].lower() in _DEVICES:
            return "/dev/null"
        if set(name) & set('<>:"|?*') or any(character < " " for character in name):
            raise OSError(
                errno.EINVAL, "The filename, directory name, or volume label syntax is incorrect", text
            )
        if not is_verbatim and name not in (".", ".."):
            name = name.rstrip(". ")  # as Windows does
        place = posixpath.join(place, _spelled(place, name))
    return place


def _lexists(path: str) -> bool:
    try:
        _lstat(path)
    except OSError:
        return False
    return True


def _spelled(folder: str, name: str) -> str:
    """Return a name as the folder spells it."""
    if not name or _lexists(posixpath.join(folder, name)):
        return name
    try:
        names = _listdir(folder)
    except OSError:
        return name
    return next((each for each in names if each.upper() == name.upper()), name)


_listdir, _lstat, _readlink, _getcwd = os.listdir, os.lstat, os.readlink, os.getcwd
_open_low, _open, _scandir = os.open, io.open, os.scandir
_replace, _unlink, _link = os.replace, os.unlink, os.link


def _real(place: str, *, strict: bool = False) -> str:
    """Return a path of this machine with its links resolved: that of Python would call what is changed."""
    try:
        number = _open_low(place, os.O_PATH)
    except OSError:
        folder, name = posixpath.split(place)
        if strict or not name:
            raise
        return posixpath.join(_real(folder or "."), name)
    try:
        return _readlink(f"/proc/self/fd/{number}")
    finally:
        os.close(number)


def _change_paths() -> None:
    os.path = sys.modules["os.path"] = ntpath
    os.sep, os.altsep, os.pathsep, os.devnull = "\\", "/", ";", "nul"

    def real(path: Any, *, strict: bool = False) -> str:
        found = _real(posix_path(ntpath.abspath(path)), strict=strict)
        return (_VERBATIM if os.fspath(path).startswith(_VERBATIM) else "") + windows_path(found)

    ntpath.realpath = real  # type: ignore[assignment]
    os.getcwd = lambda: windows_path(_getcwd())
    importlib.import_module("pathlib")


def _change_files() -> None:
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    for name in _ONE_PATH.split():
        setattr(os, name, _translating(getattr(os, name)))
    os.O_BINARY = 0  # type: ignore[attr-defined]
    os.open = lambda path, flags, mode=0o777, **_: _open_low(posix_path(path), flags, mode)
    os.scandir = _Folder  # type: ignore[assignment]
    io.open = builtins.open = lambda file, *args, **given: _open(posix_path(file), *args, **given)  # type: ignore[assignment]
    os.unlink = os.remove = lambda path, **_: _unlink(_unused(path))
    os.replace = lambda old, new, **_: _replace(_unused(old), _unused(new))
    os.rename = _rename  # type: ignore[assignment]
    os.link = lambda old, new, **_: _link(posix_path(old), posix_path(new))
    import apsw
    import onnxruntime

    class Connection(apsw.Connection):
        def __init__(self, filename: str, *args: Any, **given: Any) -> None:
            super().__init__(filename.replace("file:///C:", "file://"), *args, **given)

    class Session(onnxruntime.InferenceSession):  # type: ignore[misc]
        def __init__(self, path: str, *args: Any, **given: Any) -> None:
            super().__init__(posix_path(path), *args, **given)

    apsw.Connection, onnxruntime.InferenceSession = Connection, Session  # type: ignore[misc]


def _translating(function: Callable[..., Any]) -> Callable[..., Any]:
    def translated(path: Any = ".", *args: Any, **given: Any) -> Any:
        return function(posix_path(path), *args, **given)

    return translated


def _rename(old: Any, new: Any) -> None:
    if _lexists(posix_path(new)):
        raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists", new)
    os.replace(old, new)


def _unused(path: Any) -> str:
    """Return the path of this machine of a file that may be removed or replaced.

    Raises:
        PermissionError: If it is read-only, or this process has opened or mapped it.
    """
    place = posix_path(path)
    real = _real(place)
    if _lexists(real) and not _lstat(real).st_mode & stat.S_IWUSR:
        raise PermissionError(errno.EACCES, "Access is denied", path)
    with _open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        is_used = any(line.rstrip("\n").endswith(f" {real}") for line in maps)
    for number in _listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # of this very list
            is_used = is_used or _readlink(f"/proc/self/fd/{number}") == real
    if is_used:
        problem = "The process cannot access the file because it is being used by another process"
        raise PermissionError(errno.EACCES, problem, path)
    return str(place)


class _Folder:
    """What ``os.scandir`` returns; the entries know no file's number, as on Windows."""

    def __init__(self, path: Any = ".") -> None:
        self._path, self._found = os.fspath(path), _scandir(posix_path(path))

    def __iter__(self) -> Iterator[_Entry]:
        return (_Entry(each, self._path) for each in self._found)

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self._found.close()

    def close(self) -> None:
        self._found.close()


class _Entry:
    def __init__(self, entry: os.DirEntry[str], folder: str) -> None:
        self.name, self.path = entry.name, ntpath.join(folder, entry.name)
        self.is_dir, self.is_file, self.is_symlink = entry.is_dir, entry.is_file, entry.is_symlink
        self._entry = entry

    def __fspath__(self) -> str:
        return self.path

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        found: Any = self._entry.stat(follow_symlinks=follow_symlinks)
        # The time in nanoseconds comes after the tuple.
        values, more = found.__reduce__()[1]
        return os.stat_result((values[0], 0, 0, 0, *values[4:]), more)


def _locking() -> types.ModuleType:
    import fcntl

    module = types.ModuleType("msvcrt")

    def locking(descriptor: int, mode: int, _: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN if mode == 0 else fcntl.LOCK_EX | fcntl.LOCK_NB)

    module.locking, module.LK_UNLCK, module.LK_LOCK, module.LK_NBLCK = locking, 0, 1, 2  # type: ignore[attr-defined]
    return module


if __name__ == "__main__":
    pretend()
    from mdvec.interfaces.cli.main import main

    main()
