"""Returns a document, or the part of it that was asked for."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from mdvec.errors import DocumentNotFoundError, UsageError
from mdvec.types.collection import Collection
from mdvec.types.document import Section, with_comments
from mdvec.types.report import Passage
from mdvec.stores.interface import Catalog, StoredDocument
from mdvec.text.undecodable import spelled
from mdvec.workspace.advice import first_step

Lines = tuple[int | None, int | None]
"""1-based first and last line, both included; None for an open end."""


def find(
    path: str, collections: Sequence[Collection], catalog: Catalog, *, docs_dir: Path | None = None
) -> StoredDocument:
    r"""Find a document by its path in the given collections.

    Args:
        path: As hits show it; a leading ``./`` and ``\`` for ``/`` are understood.
        collections: Where to look.
        catalog: What is asked.
        docs_dir: The folder of a workspace that has no other, for what the asker is told to run.

    Returns:
        The document.

    Raises:
        DocumentNotFoundError: If none of the collections has it; the hint names the nearest paths, or how
            to index something.
        UsageError: If more than one of them has it.
    """
    found = [
        document
        for collection in collections
        if (document := _first(catalog.find_document(collection.id, each) for each in spellings(path)))
    ]
    if len(found) > 1:
        msg = f"{path!r} is in more than one collection: {', '.join(item.collection for item in found)}"
        raise UsageError(msg, hint="Name the collection.")
    if found:
        return found[0]
    raise not_found(path, collections, catalog, docs_dir=docs_dir)


def spellings(path: str) -> tuple[str, ...]:
    r"""Return the paths that somebody may mean: as written, in canonical form, and with ``/`` for ``\``."""
    path = spelled(path)
    wanted = unicodedata.normalize("NFC", path).removeprefix("./")
    return tuple(dict.fromkeys((path, wanted, wanted.replace("\\", "/"))))


def not_found(
    path: str, collections: Sequence[Collection], catalog: Catalog, *, docs_dir: Path | None = None
) -> DocumentNotFoundError:
    """Return the error that says a document is not there; see :func:`find`."""
    wanted = spellings(path)[-1]
    known = [item for collection in collections for item in catalog.known_documents(collection.id)]
    near = [item for item in known if item.endswith("/" + wanted) or wanted.endswith("/" + item)][:3]
    near = near or difflib.get_close_matches(wanted, known, n=3)
    places = ", ".join(item.name for item in collections) or "any collection"
    msg = f"no document {spelled(path)!r} in {places}"
    if near:
        return DocumentNotFoundError(msg, hint=f"Did you mean {', '.join(near)}?")
    first = "" if known else first_step(collections, docs_dir=docs_dir)
    return DocumentNotFoundError(msg, hint=first or None)


def _first(items: Iterable[StoredDocument | None]) -> StoredDocument | None:
    return next((item for item in items if item is not None), None)


def passage(document: StoredDocument, *, lines: Lines | None, section: str | None, stale: bool) -> Passage:
    """Return a document, or the lines or the section of it that were asked for.

    Args:
        document: The document.
        lines: Which ones.
        section: A heading, instead of lines.
        stale: Whether the file has changed since.

    Raises:
        DocumentNotFoundError: If there is no such section.
        UsageError: If the lines do not exist.
    """
    if section is not None:
        lines = lines_of_section(document, section)
    text, first, last = cut(document, lines or (None, None))
    return Passage(
        collection=document.collection,
        path=document.path,
        title=document.title,
        tags=document.tags,
        start_line=first,
        end_line=last,
        text=text,
        stale=stale,
    )


def lines_of_section(document: StoredDocument, wanted: str) -> Lines:
    """Return the lines of a section with its subsections.

    Args:
        document: The document.
        wanted: The heading, without regard to case, ``#`` marks and surrounding space.

    Returns:
        Its first and last line.

    Raises:
        DocumentNotFoundError: If there is no such heading; the hint names those there are.
    """
    from mdvec.documents.parse import parse_document  # Markdown is read for this alone

    parsed = parse_document(document.path, document.body)
    name = wanted.lstrip("#").strip().casefold()
    section = next((item for item in parsed.sections if item.level and item.heading.casefold() == name), None)
    if section is None:
        msg = f"{document.path} has no section {wanted!r}"
        raise DocumentNotFoundError(msg, hint=_headings_hint(parsed.sections, wanted))
    # A comment at the end belongs to the section.
    text = with_comments(document.body, document.comments)[section.start : section.subtree_end].rstrip()
    first = document.body.count("\n", 0, section.start) + 1
    return first, first + text.count("\n")


def _headings_hint(sections: Sequence[Section], wanted: str) -> str:
    headings = [section.heading for section in sections if section.level]
    if not headings:
        return "The document has no headings."
    near = difflib.get_close_matches(wanted, headings, n=3) or headings[:8]
    return f"It has: {', '.join(near)}."


def cut(document: StoredDocument, lines: Lines) -> tuple[str, int, int]:
    """Return the text of some lines.

    Args:
        document: The document.
        lines: Which ones; a last line beyond the end means the end.

    Returns:
        The text, its first and its last line.

    Raises:
        UsageError: If the first line does not exist, or comes after the last one.
    """
    all_lines = _split(with_comments(document.body, document.comments))
    first = 1 if lines[0] is None else lines[0]
    last = len(all_lines) if lines[1] is None else min(lines[1], len(all_lines))
    if not all_lines and lines == (None, None):
        return "", 1, 1
    if first < 1 or first > max(1, len(all_lines)) or last < first:
        msg = f"{document.path} has {len(all_lines)} lines; {_spell(lines)} is not a range of them"
        raise UsageError(msg, hint="Lines count from 1; give them as FIRST:LAST.")
    return "".join(all_lines[first - 1 : last]), first, last


def _split(text: str) -> list[str]:
    r"""Split at ``\n`` alone: editors do not count U+2028, vertical tabs and the like as line ends."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _spell(lines: Lines) -> str:
    return ":".join("" if line is None else str(line) for line in lines)
