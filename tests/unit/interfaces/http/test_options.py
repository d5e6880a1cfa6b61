"""What is asked of a server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mdvec.errors import UsageError
from mdvec.interfaces.http.address import Authority
from mdvec.interfaces.http.options import server_options

TOKEN = "0123456789abcdefghij"


def test_loopback_needs_no_token() -> None:
    """On this machine alone there is nothing to warn of."""
    options = server_options("127.0.0.1:8765", env={})
    assert (options.token, options.warnings) == (None, ())


@pytest.mark.parametrize("address", ["0.0.0.0:1", "[::]:1", "192.168.1.5:1", "my-machine:1"])
def test_other_addresses_need_a_token_or_a_clear_word(address: str) -> None:
    """Without a token the server is refused, unless its owner asks for it in so many words."""
    with pytest.raises(UsageError, match="other machines") as caught:
        server_options(address, env={})
    assert all(word in caught.value.hint for word in ("--token-file", "MDVEC_TOKEN", "--insecure"))
    assert "everybody" in server_options(address, env={}, insecure=True).warnings[0]
    with_token = server_options(address, env={"MDVEC_TOKEN": TOKEN})
    assert with_token.token == TOKEN
    assert "TLS" in with_token.warnings[0]


def test_a_file_counts_before_the_variable(tmp_path: Path) -> None:
    """The token of a file is taken without the line end."""
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    options = server_options("127.0.0.1:1", env={"MDVEC_TOKEN": "another-token-altogether"}, token_file=path)
    assert (options.token, options.warnings) == (TOKEN, ())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such mode")
def test_a_file_for_everybody_is_warned_of(tmp_path: Path) -> None:
    """A token that other users can read is told, with what to do."""
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o644)
    [warning] = server_options("127.0.0.1:1", env={}, token_file=path).warnings
    assert f"chmod 600 {path}" in warning


@pytest.mark.parametrize(
    "token", ["", "  \n", "short", "0123456789abcde", "0123456789 abcdefghij", "秘密" * 10, "a\r\nb" * 9]
)
def test_bad_tokens_are_refused_and_not_repeated(token: str) -> None:
    """An empty, short or unusable token stops the start; the message says where it is, not what."""
    with pytest.raises(UsageError) as caught:
        server_options("127.0.0.1:1", env={"MDVEC_TOKEN": token})
    assert str(caught.value).startswith("MDVEC_TOKEN: ")
    assert not token.strip() or token.strip() not in str(caught.value) + caught.value.hint


def test_the_token_is_not_shown() -> None:
    """Options that are printed by mistake do not tell it."""
    assert TOKEN not in repr(server_options("127.0.0.1:1", env={"MDVEC_TOKEN": TOKEN}))


def test_hosts_and_origins_are_read() -> None:
    """Names with and without ports; origins in lower case, without a path or the usual port."""
    options = server_options(
        "127.0.0.1:1",
        env={},
        allowed_hosts=("Notes.example.com", "other:8080"),
        allowed_origins=("https://Notes.example.com:443/", "http://localhost:3000"),
    )
    assert options.allowed_hosts == (Authority("notes.example.com"), Authority("other", 8080))
    assert options.allowed_origins == ("https://notes.example.com", "http://localhost:3000")


@pytest.mark.parametrize("host", ["", "http://x", "a/b", "*"])
def test_wrong_hosts_are_refused(host: str) -> None:
    """A host is a name or an address; there is no wildcard."""
    with pytest.raises(UsageError, match="not a host"):
        server_options("127.0.0.1:1", env={}, allowed_hosts=(host,))


@pytest.mark.parametrize(
    "origin", ["", "*", "null", "notes.example.com", "https://x/path", "https://x?q", "https://[x"]
)
def test_wrong_origins_are_refused(origin: str) -> None:
    """An origin is a scheme and a host; there is no wildcard."""
    with pytest.raises(UsageError, match="not an origin"):
        server_options("127.0.0.1:1", env={}, allowed_origins=(origin,))
