"""The files by which the system starts a daemon at login: a systemd user unit, or a launchd agent."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mdvec.interfaces.daemon.place import DaemonError, DaemonPlace
from mdvec.text.addresses import without_password

_LABEL = "mdvec"
# Secrets do not belong into a file that starts a program.
_SECRETS = ("MDVEC_TOKEN",)
# Commands that have others do not use the daemon.
_KEPT = ("TZ", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")


@dataclass(frozen=True, slots=True)
class Unit:
    """A file that starts a daemon.

    Attributes:
        path: Where it goes.
        content: What it says.
        start: The command that starts the daemon now and at every login.
        stop: The command that ends both.
    """

    path: Path
    content: bytes
    start: str
    stop: str


def unit_for(
    place: DaemonPlace,
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    platform: str,
) -> Unit:
    """Return the file for this system.

    Args:
        place: Of the daemon.
        command: What runs it in the foreground.
        cwd: Absolute path of the folder where it runs.
        env: Environment variables; those of mdvec are kept, but for tokens, and where files are looked for.
        platform: As in :data:`sys.platform`.

    Raises:
        DaemonError: If this system has neither, or a variable contains a password.
    """
    kept = {
        name: value
        for name, value in env.items()
        if name in _KEPT or (name.startswith("MDVEC_") and name not in _SECRETS)
    }
    secret = next((name for name, value in kept.items() if without_password(value) != value), None)
    if secret is not None:
        msg = f"{secret} contains a password, which the unit's file would contain, too"
        raise DaemonError(msg, hint="Leave the password to ~/.pgpass, or set [store] location.")
    name = f"{_LABEL}-{place.folder.name}"
    if platform == "linux":
        path = Path(
            env.get("XDG_CONFIG_HOME") or Path.home() / ".config", "systemd", "user", f"{name}.service"
        )
        return Unit(
            path,
            _systemd_unit(command, cwd, kept).encode(),
            f"systemctl --user daemon-reload && systemctl --user enable --now {path.name}",
            f"systemctl --user disable --now {path.name}",
        )
    if platform == "darwin":
        path = Path.home() / "Library" / "LaunchAgents" / f"{name}.plist"
        agent = {
            "Label": name,
            "ProgramArguments": [*command],
            "WorkingDirectory": str(cwd),
            "EnvironmentVariables": kept,
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Umask": 0o077,
        }
        return Unit(
            path, plistlib.dumps(agent), f"launchctl load -w '{path}'", f"launchctl unload -w '{path}'"
        )
    msg = "there is no systemd or launchd here"
    raise DaemonError(msg, hint="Run 'mdvec daemon start' when you log in.")


def _systemd_unit(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> str:
    variables = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in env.items())
    return f"""[Unit]
Description=mdvec: search over your documents

[Service]
ExecStart={" ".join(_quoted(each, in_command=True) for each in command)}
WorkingDirectory={str(cwd).replace("%", "%%")}
{variables}Restart=on-failure
RestartSec=5
Nice=10
IOSchedulingClass=idle
UMask=0077

[Install]
WantedBy=default.target
"""


def _quoted(text: str, *, in_command: bool = False) -> str:
    """Return a text as one word of a unit (systemd.syntax(7)); only commands replace variables."""
    for mark, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("%", "%%")):
        text = text.replace(mark, escaped)
    return f'"{text.replace("$", "$$") if in_command else text}"'
