"""``mdvec serve --http``: what is refused before a server starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import FakeWorkspace

TOKEN = "0123456789abcdefghij"


@pytest.mark.parametrize(
    "options",
    [
        ("--insecure",),
        ("--allowed-host", "notes.example.com"),
        ("--allowed-origin", "https://notes.example.com"),
        ("--token-file", __file__),
    ],
)
def test_options_of_http_need_http(mdvec: Mdvec, workspace: FakeWorkspace, options: tuple[str, ...]) -> None:
    """On standard streams they would mean nothing, so they are refused."""
    outcome = mdvec("serve", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert "--http 127.0.0.1:8765" in outcome.err
    assert workspace.opened == {}


@pytest.mark.parametrize(
    ("options", "env", "message"),
    [
        (("--http", "nowhere"), {}, "not an address"),
        *(
            (("--http", address), {}, "other machines, but no token is set\nhint: Give --token-file")
            for address in ("0.0.0.0:0", "[::]:0", "example.com:0")
        ),
        (("--http", "127.0.0.1:0"), {"MDVEC_TOKEN": ""}, "contains no token"),
        (("--http", "127.0.0.1:0"), {"MDVEC_TOKEN": "hunter2"}, "at least 16"),
        (("--http", "127.0.0.1:0", "--allowed-host", "*"), {}, "not a host"),
        (("--http", "127.0.0.1:0", "--allowed-origin", "*"), {}, "not an origin"),
        (("--http", "127.0.0.1:0", "--token-file", "nowhere"), {}, "nowhere"),
    ],
)
def test_a_server_that_cannot_be_meant_is_refused(
    mdvec: Mdvec, workspace: FakeWorkspace, options: tuple[str, ...], env: dict[str, str], message: str
) -> None:
    """Wrong addresses, tokens, hosts and origins exit with 2 before anything opens, and no token is told."""
    outcome = mdvec("serve", *options, **env)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert "hunter2" not in outcome.err
    assert workspace.opened == {}


def test_what_its_owner_should_know_is_told(mdvec: Mdvec, tmp_path: Path) -> None:
    """A token file that others can read is warned of, even when the address then cannot be listened at."""
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o644)
    outcome = mdvec("serve", "--http", "192.0.2.1:0", "--token-file", str(path))
    assert outcome.code == 1
    assert f"warning: {path} can be read by other users" in outcome.err
    assert "error: 192.0.2.1 is not an address of this machine" in outcome.err
    assert TOKEN not in outcome.err


def test_tokens_of_the_configuration_guard_a_server(mdvec: Mdvec, tmp_path: Path) -> None:
    """They are tokens enough to listen at an address that others reach, and to end at its being another's."""
    path = tmp_path / "own.toml"
    path.write_text(f"[[access.tokens]]\nhash = '{64 * '0'}'\ncollections = ['notes']\n")
    outcome = mdvec("serve", "--http", "192.0.2.1:0", "--config", str(path))
    assert outcome.code == 1
    assert "warning: HTTP is not encrypted" in outcome.err
    assert "error: 192.0.2.1 is not an address of this machine" in outcome.err
