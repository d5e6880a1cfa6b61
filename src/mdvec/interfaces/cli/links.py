"""Links of a document as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from mdvec.interfaces.passage import printable
from mdvec.types.document import LinkKind
from mdvec.types.links import Backlink, DocumentLinks, LinkState, OutgoingLink

_INDENT = "  "


def links_text(found: DocumentLinks) -> str:
    """Lay out the links of a document, those to it and its versions; empty when there are none."""
    parts = (
        ("links", [_outgoing(link) for link in found.links]),
        ("backlinks", [_backlink(link) for link in found.backlinks]),
        ("supersedes", list(found.supersedes)),
        ("superseded by", list(found.superseded_by)),
    )
    return "".join(f"{line}\n" for title, lines in parts if lines for line in _part(title, lines))


def _part(title: str, lines: list[str]) -> Iterator[str]:
    yield f"{title} ({len(lines):,})"
    yield from (_INDENT + printable(line) for line in lines)


def _outgoing(link: OutgoingLink) -> str:
    return f"{link.line}: {_written(link.kind, link.target, link.fragment, link.text)} → {_end(link)}"


def _end(link: OutgoingLink) -> str:
    match link.state:
        case LinkState.DOCUMENT:
            return link.path or ""
        case LinkState.FILE:
            return "a file that is no document"
        case LinkState.OUTSIDE:
            return "outside"
        case LinkState.UNRESOLVED:
            return "unresolved"
        case _:
            assert_never(link.state)


def _backlink(link: Backlink) -> str:
    shown = " ".join(each for each in (f"#{link.fragment}" if link.fragment else "", link.text) if each)
    return f"{link.path}:{link.line}{' ' + shown if shown else ''}"


def _written(kind: LinkKind, target: str, fragment: str, text: str) -> str:
    address = f"{target}#{fragment}" if fragment else target
    match kind:
        case LinkKind.MARKDOWN:
            return f"[{text}]({address})"
        case LinkKind.EMBED:
            return f"![[{address}{'|' + text if text else ''}]]"
        case LinkKind.WIKI | LinkKind.PREVIOUS:
            return f"[[{address}{'|' + text if text else ''}]]"
        case _:
            assert_never(kind)
