"""The options of a server, and which hosts and origins they accept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mdvec.config.schema import AccessToken
from mdvec.errors import UsageError
from mdvec.interfaces.http.options import Authority, ServerOptions, server_options
from mdvec.interfaces.http.rights import Right, digest_of, right_of_token

TOKEN = "0123456789abcdefghij"


def test_loopback_needs_no_token() -> None:
    """On this machine alone there is nothing to warn of."""
    options = server_options("127.0.0.1:8765", env={})
    assert (options.rights, options.warnings) == ((), ())


@pytest.mark.parametrize("address", ["0.0.0.0:1", "[::]:1", "192.168.1.5:1", "my-machine:1"])
def test_other_addresses_need_a_token_or_a_clear_word(address: str) -> None:
    """Without a token the server is refused, unless its owner says so explicitly."""
    with pytest.raises(UsageError, match="other machines") as caught:
        server_options(address, env={})
    assert all(word in caught.value.hint for word in ("--token-file", "MDVEC_TOKEN", "--insecure"))
    assert "everybody" in server_options(address, env={}, insecure=True).warnings[0]
    with_token = server_options(address, env={"MDVEC_TOKEN": TOKEN})
    assert right_of_token(with_token.rights, TOKEN) == Right(digest_of(TOKEN), TOKEN.encode())
    assert "TLS" in with_token.warnings[0]
    narrow = AccessToken(hash=digest_of(TOKEN).hex(), collections=("notes",))
    assert "TLS" in server_options(address, env={}, access=[narrow]).warnings[0]


def test_a_file_counts_before_the_variable(tmp_path: Path) -> None:
    """The token of a file is taken without the line end."""
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    options = server_options("127.0.0.1:1", env={"MDVEC_TOKEN": "another-token-altogether"}, token_file=path)
    assert options.warnings == ()
    assert [right_of_token(options.rights, each) is None for each in (TOKEN, "another-token-altogether")] == [
        False,
        True,
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such mode")
def test_a_file_for_everybody_is_warned_of(tmp_path: Path) -> None:
    """A token that other users can read gets a warning with the next step."""
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
    """Options that are printed by mistake do not show it."""
    assert TOKEN not in repr(server_options("127.0.0.1:1", env={"MDVEC_TOKEN": TOKEN}))


def test_a_token_has_one_right() -> None:
    """The same token twice would leave open what it may do."""
    narrow = AccessToken(hash=digest_of(TOKEN).hex(), collections=("notes",))
    for env, access in (({}, [narrow, narrow]), ({"MDVEC_TOKEN": TOKEN}, [narrow])):
        with pytest.raises(UsageError, match=r"the same token|the token of the server"):
            server_options("127.0.0.1:1", env=env, access=access)


def test_sessions_are_signed_by_what_is_in_no_file() -> None:
    """With a token of its own servers share sessions; without one each process has others."""
    narrow = AccessToken(hash=digest_of("x").hex(), collections=("notes",))

    def key(**env: str) -> bytes:
        return server_options("127.0.0.1:1", env=env, access=[narrow]).rights[-1].session_key

    assert key(MDVEC_TOKEN=TOKEN) == key(MDVEC_TOKEN=TOKEN) != key(MDVEC_TOKEN=TOKEN[::-1])
    assert key() != key()


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


PORT = 8765


def at(address: str, *hosts: str, origins: tuple[str, ...] = ()) -> ServerOptions:
    return server_options(
        f"{address}:{PORT}", env={}, insecure=True, allowed_hosts=hosts, allowed_origins=origins
    )


@pytest.mark.parametrize(
    ("options", "host", "accepted"),
    [
        (at("127.0.0.1"), "127.0.0.1:8765", True),
        (at("127.0.0.1"), "localhost:8765", True),
        (at("127.0.0.1"), "LOCALHOST:8765", True),
        (at("127.0.0.1"), "[::1]:8765", True),
        (at("[::1]"), "[::1]:8765", True),
        (at("127.0.0.1"), "127.0.0.1", False),
        (at("127.0.0.1"), "127.0.0.1:80", False),
        (at("127.0.0.1"), "127.0.0.1:8766", False),
        (at("127.0.0.1"), "evil.example:8765", False),
        (at("127.0.0.1"), "localhost.evil.example:8765", False),
        (at("127.0.0.1"), "127.0.0.1.nip.io:8765", False),
        (at("127.0.0.1"), "localhost:8765@evil.example", False),
        (at("127.0.0.1"), "0.0.0.0:8765", False),
        (at("127.0.0.1"), "192.168.1.5:8765", False),
        (at("127.0.0.1"), "", False),
        (at("127.0.0.1"), "localhost:", False),
        (at("127.0.0.1"), "localhost:8765, evil.example", False),
        (at("127.0.0.1", "notes.example.com"), "notes.example.com", True),
        (at("127.0.0.1", "notes.example.com"), "notes.example.com:443", True),
        (at("127.0.0.1", "notes.example.com:443"), "notes.example.com", False),
        (at("127.0.0.1", "notes.example.com:443"), "notes.example.com:443", True),
        (at("127.0.0.1", "notes.example.com"), "x.notes.example.com", False),
        (at("192.168.1.5"), "192.168.1.5:8765", True),
        (at("192.168.1.5"), "localhost:8765", False),
        (at("my-machine"), "my-machine:8765", True),
        (at("my-machine"), "my-machine.evil.example:8765", False),
        (at("0.0.0.0"), "192.168.1.5:8765", True),
        (at("0.0.0.0"), "localhost:8765", True),
        (at("[::]"), "[fe80::1]:8765", True),
        (at("0.0.0.0"), "192.168.1.5:80", False),
        (at("0.0.0.0"), "0.0.0.0:8765", False),
        (at("0.0.0.0"), "my-machine:8765", False),
        (at("0.0.0.0", "my-machine"), "my-machine:8765", True),
    ],
)
def test_hosts(options: ServerOptions, host: str, accepted: bool) -> None:
    """What was bound, with its port, and what was allowed; no other name, whatever it starts or ends with."""
    assert options.accepts_host(host, PORT) is accepted


@pytest.mark.parametrize(
    ("options", "origin", "accepted"),
    [
        (at("127.0.0.1"), "http://127.0.0.1:8765", True),
        (at("127.0.0.1"), "http://localhost:8765", True),
        (at("127.0.0.1"), "http://localhost:3000", False),
        (at("127.0.0.1"), "http://localhost", False),
        (at("127.0.0.1"), "null", False),
        (at("127.0.0.1"), "", False),
        (at("127.0.0.1"), "file://", False),
        (at("127.0.0.1"), "http://evil.example", False),
        (at("127.0.0.1"), "http://evil.example:8765", False),
        (at("127.0.0.1"), "chrome-extension://localhost:8765", False),
        (at("127.0.0.1", "notes.example.com"), "https://notes.example.com", True),
        (at("127.0.0.1", origins=("https://app.example.com",)), "https://app.example.com", True),
        (at("127.0.0.1", origins=("https://app.example.com",)), "http://app.example.com", False),
        (at("127.0.0.1", origins=("https://app.example.com",)), "https://app.example.com:444", False),
        (at("127.0.0.1", origins=("vscode-webview://abc",)), "vscode-webview://abc", True),
        (at("127.0.0.1", origins=("https://app.example.com:443",)), "https://app.example.com", True),
        (at("127.0.0.1", origins=("https://App.Example.com",)), "HTTPS://app.example.COM:443", True),
        (at("127.0.0.1", origins=("http://app.example.com:80/",)), "http://app.example.com", True),
        (at("127.0.0.1", origins=("http://[FE80::1]:80",)), "http://[fe80::1]", True),
        (at("127.0.0.1", origins=("https://app.example.com:80",)), "https://app.example.com", False),
        (at("127.0.0.1", origins=("http://app.example.com:443",)), "https://app.example.com", False),
        (at("127.0.0.1", origins=("https://app.example.com",)), "https://app.example.com:443:443", False),
        (at("127.0.0.1", origins=("https://app.example.com",)), "https://app.example.com:443/", False),
        (at("127.0.0.1", origins=("https://app.example.com",)), "https://x@app.example.com", False),
        (at("127.0.0.1", origins=("https://app.example.com",)), "https://app.example.com:", False),
        (at("127.0.0.1", origins=("https://app.example.com",)), "https://app.example.com\n", False),
        (at("127.0.0.1", origins=("https://app.example.com",)), "app.example.com:443", False),
    ],
)
def test_origins(options: ServerOptions, origin: str, accepted: bool) -> None:
    """Pages of this very server and of allowed places; neither other ports of this machine nor files."""
    assert options.accepts_origin(origin, PORT) is accepted
