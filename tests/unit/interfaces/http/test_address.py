"""Hosts and ports as people and browsers write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.errors import UsageError
from mdvec.interfaces.http.options import Authority, parse_address, parse_authority


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8765", "127.0.0.1", 8765),
        ("8765", "127.0.0.1", 8765),
        ("[::1]:8765", "::1", 8765),
        ("LocalHost:0", "localhost", 0),
        ("0.0.0.0:65535", "0.0.0.0", 65535),
        ("notes.example.com:80", "notes.example.com", 80),
    ],
)
def test_addresses_are_read(text: str, host: str, port: int) -> None:
    """Names, both kinds of addresses, and a port alone."""
    assert parse_address(text) == Authority(host, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        "::1:8765",
        "[::1]",
        "[zz]:1",
        "[::1:8765",
        ":8765",
        "a b:1",
        "x:65536",
        "x:-1",
        "http://x:1",
        "x:1/",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """Each wrong spelling is a usage error that shows a right one."""
    with pytest.raises(UsageError) as caught:
        parse_address(text)
    assert "[::1]:8765" in caught.value.hint


@given(
    st.ip_addresses().map(str) | st.from_regex(r"[a-z][a-z0-9-]{0,9}(\.[a-z]{1,5}){0,2}", fullmatch=True),
    st.none() | st.integers(0, 65535),
)
def test_writing_and_reading_agree(host: str, port: int | None) -> None:
    """Every host with every port is read as it is written."""
    assert parse_authority(str(Authority(host, port))) == Authority(host, port)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("::ffff:192.168.1.5", False),
        ("localhost.example.com", False),
        ("my-machine", False),
    ],
)
def test_only_what_surely_stays_on_this_machine_is_loopback(host: str, loopback: bool) -> None:
    """A name could lead anywhere, but for localhost."""
    assert Authority(host, 1).is_loopback is loopback
