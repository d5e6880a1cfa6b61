"""The files by which a system starts a daemon."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest

from mdvec.interfaces.daemon.control import inherited, unit_for
from mdvec.interfaces.daemon.place import DaemonError

PLACE = Path("/data/daemons/0123")
COMMAND = ["/usr/bin/python3", "-m", "mdvec", "daemon", "run", "--docs-dir", '/my "notes"/100%/$HOME']
ENV = {
    "MDVEC_SEARCH_K": "7",
    "MDVEC_TOKEN": "secret-token",
    "GEMINI_API_KEY": "secret-key",
    "XDG_CONFIG_HOME": "/c",
}


def test_a_systemd_unit_runs_the_command_as_it_is() -> None:
    """Quotes, specifiers and variables in arguments are escaped; secrets are left out."""
    unit = unit_for(PLACE, COMMAND, cwd=Path("/my 100%"), env=inherited(ENV), platform="linux")
    text = unit.content.decode()
    assert unit.path == Path("/c/systemd/user/mdvec-0123.service")
    assert '"--docs-dir" "/my \\"notes\\"/100%%/$$HOME"\n' in text
    assert "WorkingDirectory=/my 100%%\n" in text
    assert 'Environment="MDVEC_SEARCH_K=7"\n' in text
    assert 'Environment="XDG_CONFIG_HOME=/c"\n' in text
    assert "secret" not in text
    assert "enable --now mdvec-0123.service" in unit.start


def test_a_launchd_agent_runs_the_command_as_it_is() -> None:
    """The property list holds the words of the command, and no secrets."""
    unit = unit_for(PLACE, COMMAND, cwd=Path("/notes"), env=inherited(ENV), platform="darwin")
    agent = plistlib.loads(unit.content)
    assert unit.path.name == "mdvec-0123.plist"
    assert agent["ProgramArguments"] == COMMAND
    assert agent["EnvironmentVariables"] == {"MDVEC_SEARCH_K": "7", "XDG_CONFIG_HOME": "/c"}


def test_a_password_in_a_variable_is_refused() -> None:
    """The file would contain it."""
    with pytest.raises(DaemonError, match="MDVEC_STORE_LOCATION") as raised:
        inherited({**ENV, "MDVEC_STORE_LOCATION": "postgresql://me:hidden@h/db"})
    assert "hidden" not in str(raised.value)


def test_other_systems_have_no_such_file() -> None:
    """The error names what to do instead."""
    with pytest.raises(DaemonError) as raised:
        unit_for(PLACE, COMMAND, cwd=Path("/notes"), env=ENV, platform="win32")
    assert "daemon start" in raised.value.hint
