"""What a service says about an error, and what is kept from being read."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.errors import ServiceAnswerError
from mdvec.net.response import Response, redacted


def response(content: bytes, content_type: str = "application/json") -> Response:
    return Response("Test", 400, {"content-type": content_type}, content)


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
    assert response(json.dumps(body).encode()).error_message() == said


def test_text_is_said_on_one_line() -> None:
    """Plain text becomes one line of bounded length; a page of HTML says nothing."""
    assert response(b"model\n  not loaded\n", "text/plain").error_message() == "model not loaded"
    assert len(response(b"x" * 10_000, "text/plain").error_message()) == 300
    assert response(b"<html><h1>502 Bad Gateway</h1>", "text/html; charset=utf-8").error_message() == ""


def test_truncated_json_is_named() -> None:
    """Half an answer is an error that says whose it is and how much came."""
    with pytest.raises(ServiceAnswerError, match=r"Test answers with 9 bytes that are not JSON") as caught:
        response(b'{"data":[').json()
    assert caught.value.retry


def test_numbers_that_are_none_are_read() -> None:
    """``NaN`` is no JSON but is sent; it is read so that it can be named."""
    assert math.isnan(response(b"[NaN]").json()[0])


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


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("key sk-proj-0123… is wrong", "key ***… is wrong"),
        ("key …456789/+= is wrong", "key …*** is wrong"),
        ("key sk-proj-0123456789%2F%2B%3D is wrong", "key *** is wrong"),
        ("sk-proj and 456789 are fine", "sk-proj and 456789 are fine"),
    ],
)
def test_parts_of_a_secret_are_hidden(said: str, shown: str) -> None:
    """Eight characters of it in a row, from anywhere, and as it stands in an address."""
    assert redacted(said, ["Bearer sk-proj-0123456789/+=", "sk-proj-0123456789/+="]) == shown


def test_common_letters_are_no_secret() -> None:
    """A key of a letter or two, as local servers get them, does not make messages unreadable."""
    assert redacted("not loaded", ["x", "lo"]) == "not loaded"


DEEP = b"[" * 100_000 + b"]" * 100_000


def test_json_that_is_nested_too_deep_is_an_error() -> None:
    """It neither crashes the parser nor says anything."""
    deep = response(DEEP)
    with pytest.raises(ServiceAnswerError, match="are not JSON"):
        deep.json()
    assert (deep.error_message(), deep.error_details(), deep.retry_after(0.0)) == ("", [], None)
    for depth in range(0, 1200, 50):
        response(b"[" * depth + b'"x"' + b"]" * depth).error_message()
