"""``mdvec daemon install`` and ``uninstall``: the file they write in a home, on each system."""

from __future__ import annotations

import plistlib
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mdvec.interfaces.cli.main import run

Outcome = tuple[int, str, str]
Command = Callable[..., Outcome]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of the process."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def daemon(home: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run ``mdvec daemon`` there; returns its exit code, and what it printed on stdout and stderr."""

    def command(*args: str, **env: str) -> Outcome:
        code = run(
            ["daemon", *args, "--database", str(home / "i.sqlite")], env={"HOME": str(home), **env}, cwd=home
        )
        out, err = capsys.readouterr()
        return code, out, err

    return command


def files(home: Path) -> list[Path]:
    return [each for each in home.rglob("*") if each.is_file()]


@pytest.mark.parametrize("own_folder", [False, True])
def test_a_systemd_unit_is_written_and_removed(
    home: Path, daemon: Command, monkeypatch: pytest.MonkeyPatch, own_folder: bool
) -> None:
    """It goes where systemd looks for it, only its user may read it, and its next step is said."""
    monkeypatch.setattr(sys, "platform", "linux")
    env = {"XDG_CONFIG_HOME": str(home / "settings")} if own_folder else {}

    code, out, err = daemon(
        "install", "--http", "127.0.0.1:9000", MDVEC_SEARCH_K="7", MDVEC_TOKEN="t0p", **env
    )
    unit = Path(out.rstrip("\n"))
    assert (code, files(home)) == (0, [unit])
    assert unit.parent == home / ("settings" if own_folder else ".config") / "systemd" / "user"
    assert unit.stat().st_mode & 0o777 == 0o600
    lines = unit.read_text("utf-8").splitlines()
    [start] = [each.removeprefix("ExecStart=") for each in lines if each.startswith("ExecStart=")]
    database = str(home / "i.sqlite")
    run_in_foreground = [sys.executable, "-P", "-m", "mdvec", "daemon", "run"]
    assert shlex.split(start) == [*run_in_foreground, "--database", database, "--http", "127.0.0.1:9000"]
    assert f"WorkingDirectory={home}" in lines
    assert 'Environment="MDVEC_SEARCH_K=7"' in lines
    assert "t0p" not in unit.read_text("utf-8")
    assert err == f"next: systemctl --user daemon-reload && systemctl --user enable --now {unit.name}\n"

    # A variable that the file must not have is no reason to leave the file.
    secret = {"MDVEC_STORE_LOCATION": "postgresql://me:hidden@h/db"}
    assert daemon("install", **env, **secret)[0] == 1
    code, out, err = daemon("uninstall", **env, **secret)
    assert (code, out, files(home)) == (0, f"{unit}\n", [])
    assert err == f"next, if it runs: systemctl --user disable --now {unit.name}\n"


def test_a_launchd_agent_is_written_and_removed(
    home: Path, daemon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes where launchd looks for a user's agents, and its next step is said."""
    monkeypatch.setattr(sys, "platform", "darwin")
    code, out, err = daemon("install")
    agent = Path(out.rstrip("\n"))
    assert (code, files(home)) == (0, [agent])
    assert agent.parent == home / "Library" / "LaunchAgents"
    content = plistlib.loads(agent.read_bytes())
    assert content["Label"] == agent.stem
    command = [sys.executable, "-P", "-m", "mdvec", "daemon", "run", "--database", str(home / "i.sqlite")]
    assert content["ProgramArguments"] == command
    assert err == f"next: launchctl load -w '{agent}'\n"

    code, out, err = daemon("uninstall")
    assert (code, out, files(home)) == (0, f"{agent}\n", [])
    assert err == f"next, if it runs: launchctl unload -w '{agent}'\n"


def test_installing_again_replaces_the_file(
    home: Path, daemon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One database has one file, which holds what was asked for last."""
    monkeypatch.setattr(sys, "platform", "linux")
    daemon("install", "--http", "127.0.0.1:9000")
    assert daemon("install")[0] == 0
    [unit] = files(home)
    assert "9000" not in unit.read_text("utf-8")


@pytest.mark.parametrize("command", ["install", "start"])
def test_a_password_is_no_part_of_a_command_line(
    home: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Every user of the machine sees it."""
    address = "postgresql://me:hidden@h/db"
    assert run(["daemon", command, "--database", address], env={"HOME": str(home)}, cwd=home) == 2
    err = capsys.readouterr().err
    assert "password" in err
    assert "hidden" not in err
    assert not any(b"hidden" in each.read_bytes() for each in files(home))


def test_there_is_nothing_to_remove(home: Path, daemon: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """That nothing is installed is no error."""
    monkeypatch.setattr(sys, "platform", "linux")
    assert daemon("uninstall") == (0, "", "nothing is installed for this database\n")


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_other_systems_are_told_what_to_do_instead(
    home: Path, daemon: Command, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Nothing is written there."""
    monkeypatch.setattr(sys, "platform", "freebsd14")
    code, out, err = daemon(command)
    assert (code, out, files(home)) == (1, "", [])
    assert "mdvec daemon start" in err.splitlines()[-1]
