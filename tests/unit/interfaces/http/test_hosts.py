"""The names a server is known under, and the pages that may use it."""

from __future__ import annotations

import pytest

from mdvec.interfaces.http.hosts import is_known_host, is_known_origin
from mdvec.interfaces.http.options import ServerOptions, server_options

PORT = 8765


def at(address: str, *hosts: str, origins: tuple[str, ...] = ()) -> ServerOptions:
    return server_options(
        f"{address}:{PORT}", env={}, insecure=True, allowed_hosts=hosts, allowed_origins=origins
    )


@pytest.mark.parametrize(
    ("options", "host", "known"),
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
def test_hosts(options: ServerOptions, host: str, known: bool) -> None:
    """What was bound, with its port, and what was allowed; no other name, whatever it starts or ends with."""
    assert is_known_host(host, options, PORT) is known


@pytest.mark.parametrize(
    ("options", "origin", "known"),
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
def test_origins(options: ServerOptions, origin: str, known: bool) -> None:
    """Pages of this very server and of allowed places; neither other ports of this machine nor files."""
    assert is_known_origin(origin, options, PORT) is known
