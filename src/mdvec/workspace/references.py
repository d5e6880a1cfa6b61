"""Documents by whatever a person or a door calls them: all that is printed can be given back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from mdvec.errors import DocumentNotFoundError, UsageError
from mdvec.search.where import not_found, spellings
from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk, StoredDocument
from mdvec.text.links import link_key, resolve
from mdvec.types.collection import DEFAULT_SOURCE, Collection
from mdvec.types.document import Link, LinkKind

Lines = tuple[int | None, int | None]
"""1-based first and last line, both included; None for an open end."""

_SCHEME = "mdvec://"
_FILE_SCHEME = "file://"
_LINES = re.compile(r"(?::|#L)(\d{1,9})(?:[-:]L?(\d{1,9}))?:?")
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Reference:
    """A document that was found.

    Attributes:
        document: The document.
        collection: The collection it is in.
        lines: The lines that were named with it; None without any.
    """

    document: StoredDocument
    collection: Collection
    lines: Lines | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """A way to read what was given: a path, and the collections in which it may be one."""

    path: str
    places: Sequence[Collection]
    lines: Lines | None


def find_reference(text: str, places: Sequence[Collection], view: View) -> Reference:
    """Find a document by its path, or as any door prints it.

    These are understood: ``path``, ``collection/path``, ``collection: path``, ``mdvec://collection/path`` and
    the absolute path of a file, each also with ``:12``, ``:14-21`` or ``#L14-L21`` behind it; then paths in
    another case, and the end of a path or a note's name alone, as a link would name it, if only one document
    has it. A document whose path is exactly what was given comes first.

    Raises:
        DocumentNotFoundError: If there is no such document; the hint names the nearest paths.
        UsageError: If more than one document is meant.
    """
    readings = list(_readings(text, places))
    for reading in readings:
        found = [
            Reference(document, place, reading.lines)
            for place in reading.places
            if (document := _at(reading.path, place, view)) is not None
        ]
        if found:
            return _only(text, found)
    for reading in readings:
        found = [
            Reference(document, place, reading.lines)
            for place in reading.places
            for document in _named(reading.path, place, view)
        ]
        if found:
            return _only(text, found)
    raise not_found(text, places, view)


def path_of_reference(text: str, places: Sequence[Collection], view: View) -> str:
    """Return the path of the document that is meant; the text itself where none is, or several are."""
    try:
        return find_reference(text, places, view).document.path
    except (DocumentNotFoundError, UsageError):
        return text


def file_of(known: StoredDocument | StoredChunk, collection: Collection) -> str | None:
    """Return the absolute path of a document's file; None when it is no file of this machine."""
    if collection.source.kind != DEFAULT_SOURCE:
        return None
    return str(Path(collection.source.location, known.locator))


def _readings(text: str, places: Sequence[Collection]) -> Iterator[_Reading]:
    found = re.search(rf"{_LINES.pattern}\Z", text)
    yield from _places_in(text, places, None)
    if found is not None and found.start():
        first = int(found[1])
        yield from _places_in(text[: found.start()], places, (first, int(found[2] or first)))


def _places_in(text: str, places: Sequence[Collection], lines: Lines | None) -> Iterator[_Reading]:
    yield _Reading(text, places, lines)
    plain = text
    if text.startswith((_SCHEME, _FILE_SCHEME)):
        scheme = _SCHEME if text.startswith(_SCHEME) else _FILE_SCHEME
        plain = unquote_to_bytes(text.removeprefix(scheme)).decode("utf-8", "replace")
    for place in places:
        for joint in ("/", ": ", ":"):
            if plain.startswith(f"{place.name}{joint}"):
                yield _Reading(plain.removeprefix(f"{place.name}{joint}"), (place,), lines)
        root = place.source.location
        if place.source.kind == DEFAULT_SOURCE and Path(plain).is_absolute():
            for absolute in dict.fromkeys((plain, str(Path(plain).resolve()))):
                if absolute.startswith(f"{root.rstrip('/')}/"):
                    yield _Reading(absolute[len(root.rstrip("/")) + 1 :], (place,), lines)


def _at(path: str, place: Collection, view: View) -> StoredDocument | None:
    return next(filter(None, (view.find_document(place.id, each) for each in spellings(path))), None)


def _named(path: str, place: Collection, view: View) -> list[StoredDocument]:
    """Return the documents whose paths end so, without regard to case; the whole path comes before."""
    spelling = spellings(path)[-1].removeprefix("/")
    link = Link(LinkKind.WIKI, spelling)
    candidates = view.files_named(place.id, [link_key(link)]).get(link_key(link), {})
    paths = [each for each in candidates if resolve(link, "", (each,)) is not None]
    whole = [each for each in paths if resolve(Link(LinkKind.WIKI, f"/{spelling}"), "", (each,)) is not None]
    documents = (view.find_document(place.id, each) for each in sorted(whole or paths))
    return [each for each in documents if each is not None]


def _only(text: str, found: Sequence[Reference]) -> Reference:
    if len(found) == 1:
        return found[0]
    named = [f"{each.collection.name}/{each.document.path}" for each in found[:_MOST_NAMED]]
    if len({each.document.path for each in found}) == 1:
        where = ", ".join(each.collection.name for each in found)
        msg = f"{text!r} is in more than one collection: {where}"
        raise UsageError(msg, hint="Name the collection.")
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    msg = f"{text!r} is the name of more than one document: {', '.join(named)}{more}"
    raise UsageError(msg, hint="Give the whole path of one of them.")
