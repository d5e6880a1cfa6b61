"""Listening, and the end of a process that serves."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from mdvec.errors import ListenError
from mdvec.interfaces.http.options import Authority
from mdvec.interfaces.http.server import bind


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_port_0_takes_a_free_port(host: str) -> None:
    """The socket knows the real port."""
    with bind(Authority(host, 0)) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
        assert listener.getsockname()[1] > 0


@pytest.mark.parametrize(
    ("host", "message"),
    [("192.0.2.1", "not an address of this machine"), ("no-such-host.invalid", "there is no host")],
)
def test_a_wrong_address_is_reported(host: str, message: str) -> None:
    """The error names the host and the next step."""
    with pytest.raises(ListenError, match=message) as caught:
        bind(Authority(host, 0))
    assert host in str(caught.value)
    assert caught.value.hint


def test_a_port_in_use_is_reported() -> None:
    """The error names the port and another way."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ListenError, match=f"port {port} of 127.0.0.1 is in use") as caught:
            bind(Authority("127.0.0.1", port))
    assert "--http 127.0.0.1:0" in caught.value.hint


def test_parts_of_a_response_are_sent_at_once() -> None:
    """A connection does not hold back a part until the client has acknowledged the one before."""
    with (
        bind(Authority("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        listener.settimeout(10)
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_thread_that_does_not_end_is_not_waited_for() -> None:
    """A process that is to end ends with its exit code, whatever its threads do."""
    code = (
        "import threading; from mdvec.interfaces.streams import exit_soon;"
        "exit_soon(7); threading.Thread(target=threading.Event().wait).start()"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7
