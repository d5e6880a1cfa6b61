"""What can be known of other systems without having them: Windows is imitated, and never run."""

from __future__ import annotations

import subprocess
import sys

_WITHOUT_POSIX = """
import importlib, os, pkgutil, signal, socket, sys, types

import mdvec

# Vendors of extras are imported by these alone, and only when they are chosen.
NAMES = sorted(
    module.name
    for module in pkgutil.walk_packages(mdvec.__path__, "mdvec.")
    if not module.name.endswith("__main__")
)

def load():
    failed = []
    for name in NAMES:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name.partition(".")[0] in sys.stdlib_module_names:
                failed.append(f"{name}: {error}")
        except (AttributeError, ImportError) as error:
            failed.append(f"{name}: {error}")
    return failed

assert load() == []
for name in [name for name in sys.modules if name.partition(".")[0] == "mdvec"]:
    del sys.modules[name]
sys.platform = "win32"  # os.name stays: pathlib would make no paths
for name in ("fcntl", "grp", "posix", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
for module, names in {
    os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK chown fchmod fchown fork geteuid getuid killpg"
    " register_at_fork sched_getaffinity setsid statvfs sysconf",
    signal: "SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 pthread_sigmask setitimer sigwait",
    socket: "AF_UNIX",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
print("\\n".join(load()))
"""


def test_every_module_is_imported_where_posix_is_missing() -> None:
    """No module needs a part of the standard library that Windows lacks before it is used."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _WITHOUT_POSIX], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
