"""What a service says about an error, and what is kept from being read."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.errors import ServiceAnswerError
from mdvec.net.reply import Reply, redacted


def reply(content: bytes, content_type: str = "application/json") -> Reply:
    return Reply("Test", 400, {"content-type": content_type}, content)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}},
            "API key not valid.",
        ),
        ([{"error": {"message": "wrapped"}}], "wrapped"),
        ({"error": "overloaded", "error_type": "Overloaded"}, "overloaded"),
        ({"detail": "Provided API key is invalid."}, "Provided API key is invalid."),
        ({"detail": [{"loc": ["body"], "msg": "Field required"}]}, "Field required"),
        ({"message": "Not Found", "documentation_url": "https://example.com"}, "Not Found"),
        ({"error": {}, "message": "outside"}, "outside"),
        ({"error": None}, ""),
        ("just text", "just text"),
        ([], ""),
        (7, ""),
    ],
)
def test_the_message_is_found(body: object, said: str) -> None:
    """The message is found in the errors of Google, Voyage, OpenAI, TEI, FastAPI and GitHub."""
    assert reply(json.dumps(body).encode()).said() == said


def test_text_is_said_on_one_line() -> None:
    """Plain text becomes one line of bounded length; a page of HTML says nothing."""
    assert reply(b"model\n  not loaded\n", "text/plain").said() == "model not loaded"
    assert len(reply(b"x" * 10_000, "text/plain").said()) == 300
    assert reply(b"<html><h1>502 Bad Gateway</h1>", "text/html; charset=utf-8").said() == ""


def test_truncated_json_is_named() -> None:
    """Half an answer is an error that says whose it is and how much came."""
    with pytest.raises(ServiceAnswerError, match=r"Test answers with 9 bytes that are not JSON") as caught:
        reply(b'{"data":[').json()
    assert caught.value.retry


def test_numbers_that_are_none_are_read() -> None:
    """``NaN`` is no JSON but is sent; it is read so that it can be named."""
    assert math.isnan(reply(b"[NaN]").json()[0])


def test_secrets_are_hidden() -> None:
    """Keys that were sent, credentials in addresses and keys in queries do not show."""
    text = "Incorrect key sk-123456 at https://user:pw@host/v1?key=AIzaX&alt=json, ?access_token=ghp_1"
    assert redacted(text, ["sk-123456"]) == (
        "Incorrect key *** at https://***@host/v1?key=***&alt=json, ?access_token=***"
    )


@given(st.text(), st.text(st.characters(codec="ascii", exclude_characters="*"), min_size=4), st.text())
def test_no_secret_survives(before: str, secret: str, after: str) -> None:
    """A secret is hidden wherever it stands in a message."""
    assert secret not in redacted(before + secret + after, [secret]).replace("***", "")


def test_common_letters_are_no_secret() -> None:
    """A key of a letter or two, as local servers get them, does not make messages unreadable."""
    assert redacted("not loaded", ["x", "lo"]) == "not loaded"
