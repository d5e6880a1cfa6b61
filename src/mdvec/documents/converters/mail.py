"""E-mail, one message or a mailbox of them: subjects, texts and what is attached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import cast

from mdvec import registry
from mdvec.documents.converters import NotConvertedError, frontmatter, place_mark, plain
from mdvec.documents.encodings import decode
from mdvec.text.links import converter_of

_MAX_DEPTH = 10  # of messages in messages
_QUOTED = re.compile(r"^(\s*)\\>", re.MULTILINE)
_FRONTMATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_PLACES = re.compile(r"<!-- place: .*? -->\n?")
_ESCAPE = b"\x1b"
_TEXTS = ("text/plain", "text/html")  # the better one first
# The line before each message of a mailbox. https://www.rfc-editor.org/rfc/rfc4155
_FROM = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\n(?=[\w-]+:)")
_ESCAPED_FROM = re.compile(rb"^>(?=>*From )", re.MULTILINE)


def convert_mail(raw: bytes) -> str:
    """Return the Markdown of a message: its subject, its text, messages in it, and what is attached.

    Raises:
        NotConvertedError: If it is no message.
    """
    message = message_from_bytes(raw)
    if not any(message[name] for name in ("From", "Subject", "Date", "Message-ID")):
        msg = "is no e-mail message"
        raise NotConvertedError(msg)
    values = {
        "title": _header(message, "Subject"),
        "author": _header(message, "From"),
        "to": _header(message, "To"),
        "created": _date(message),
    }
    return frontmatter(values) + "\n\n".join(filter(None, _parts(message))) + "\n"


def convert_mailbox(raw: bytes) -> str:
    """Return the Markdown of a mailbox: a heading and a text for each message.

    Raises:
        NotConvertedError: If it holds no message.
    """
    messages = _FROM.split(raw)[1:]
    if not messages:
        msg = "is no mailbox"
        raise NotConvertedError(msg)
    parts: list[str] = []
    for number, each in enumerate(messages, 1):
        message = message_from_bytes(_ESCAPED_FROM.sub(b"", each))
        parts += [place_mark(f"message {number}"), *_head(message), *_parts(message)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _head(message: Message) -> tuple[str, str]:
    """Return the heading of a message among others, and who wrote it when."""
    heading = f"## {plain(_header(message, 'Subject')) or 'Message'}"
    return heading, plain(f"{_header(message, 'From')} {_date(message)}".strip())


def _header(message: Message, name: str) -> str:
    """Return a header in letters, whatever the encoding of its bytes is, and whatever it says of that."""
    held = (value for key, value in message.raw_items() if key.lower() == name.lower())
    return _said(str(next(held, "")))


def _said(value: str) -> str:
    try:
        parts = decode_header(value)
    except HeaderParseError:
        return ""
    return " ".join("".join(_letters(part, charset) for part, charset in parts).split())


def _letters(part: bytes | str, charset: str | None) -> str:
    raw = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
    if charset and _ESCAPE not in raw:  # of ISO-2022-JP, which can be read as ASCII, too
        with suppress(LookupError, UnicodeDecodeError):
            return raw.decode(charset)
    found = decode(raw)
    return "" if found is None else found.text


def _date(message: Message) -> str:
    try:
        return parsedate_to_datetime(str(message["Date"])).isoformat()
    except ValueError:
        return ""


def _parts(message: Message, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a message, or of a part of it."""
    if message.is_multipart():
        for each in _inner(message) if depth < _MAX_DEPTH else ():
            if message.get_content_type() == "message/rfc822":
                yield from _head(each)
            yield from _parts(each, depth + 1)
        return
    name, raw = _said(message.get_filename() or ""), cast("bytes", message.get_payload(decode=True) or b"")
    if name:
        yield f"{place_mark(f'attachment {name}')}\n## {plain(name)}"
        yield _attached(name, raw)
    elif message.get_content_type() == "text/html":
        # The message names its encoding; the page may name another one.
        yield _attached("a.html", _letters(raw, message.get_content_charset()).encode("utf-8-sig"))
    elif message.get_content_maintype() == "text":
        text = _letters(raw, message.get_content_charset()).replace("\r\n", "\n").strip()
        yield _QUOTED.sub(r"\1>", plain(text))


def _inner(message: Message) -> list[Message]:
    """Return the parts of a message; of parts that say the same, the plainest one."""
    parts = cast("list[Message]", message.get_payload())
    if message.get_content_type() == "multipart/alternative":
        for kind in _TEXTS:
            if same := [each for each in parts if each.get_content_type() == kind]:
                return same[:1]
    return parts


def _attached(name: str, raw: bytes) -> str:
    """Return the text of a file, without its properties and places; empty if none can be read."""
    if not (converter := converter_of(name)):
        return plain(_letters(raw, None))
    try:
        text = str(registry.load("converters", converter)(raw))
    except Exception:  # noqa: BLE001 - whatever is attached, the message is read
        return ""
    return _PLACES.sub("", _FRONTMATTER.sub("", text)).strip()
