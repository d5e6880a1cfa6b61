"""What a text that names a document refers to, as a person, an agent or a link writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from mdvec.errors import DocumentNotFoundError, UsageError, nearest_names
from mdvec.files import inside
from mdvec.stores.interface import View
from mdvec.stores.records import StoredDocument
from mdvec.text.folding import fold_name, nfc, normalise, spelled
from mdvec.text.links import file_key, link_key, resolve
from mdvec.types.collection import DEFAULT_SOURCE, Collection
from mdvec.types.document import Lines, Link, LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.links import PlacedLink
from mdvec.types.query import Filters, Where

# Spaces at either end of a file's name.
_UNSEEN = re.compile(r"(?:(?<=/)|\A)\s+|\s+(?=\.\w+\Z|\Z)")
_LINES = re.compile(r"(?::|#L)(\d{1,9})(?:[-:]L?(\d{1,9}))?:?")
_WIKILINK = re.compile(r"!?\[\[(?P<target>[^\[\]|]+)(?:\|[^\[\]]*)?\]\](?P<lines>\S*)")
_MAX_NAMED = 5
_MAX_NEAR = 3
_SCHEME = "mdvec://"
_FILE_SCHEME = "file://"
_ONE_LOOK = {code: code - 0x60 for code in range(ord("ァ"), ord("ヶ") + 1)}  # hiragana
_ONE_LOOK |= str.maketrans("‘’“”‐–—", "''\"\"---")
_BEFORE_DRIVE = re.compile(r"\A/(?=[A-Za-z]:)")  # file:///C:/Notes


class Reference(Struct, frozen=True):
    """A document that was found.

    Attributes:
        document: The document.
        collection: The collection it is in.
        lines: The lines that were named with it; None without any.
        section: The heading that was named with it, as a link does; None without one.
    """

    document: StoredDocument
    collection: Collection
    lines: Lines | None = None
    section: str | None = None


class _Reading(Struct, frozen=True):
    """One reading of a reference: a path, and the collections in which it may be one."""

    path: str
    places: Sequence[Collection]
    lines: Lines | None


def find_reference(text: str, places: Sequence[Collection], view: View) -> Reference:
    """Find a document by its path, or as any door prints it.

    These are understood: ``path``, ``collection/path``, ``collection: path``, ``mdvec://collection/path`` and
    the absolute path of a file, each also with ``:12``, ``:14-21`` or ``#L14-L21`` behind it; then paths in
    another case, and the end of a path or a note's name alone, as a link would name it, if only one document
    has it; then titles and aliases; last, paths as they look (:func:`look_of`). Double brackets, and space
    around the text where it is not part of a name, are left out, and ``%20`` may be a space. A document whose
    path is exactly what was given comes first.

    Raises:
        DocumentNotFoundError: If there is no such document; the hint names the nearest paths.
        UsageError: If more than one document is meant.
    """
    spelled = dict.fromkeys((text, text.strip(), bare := without_brackets(text), unquote(bare)))
    meant = [reading for each in spelled if "\0" not in each for reading in _readings(each, places, view)]
    for reading in meant:
        found = [
            Reference(document, place, reading.lines)
            for place in reading.places
            if (document := document_at(reading.path, place, view)) is not None
        ]
        if found:
            return _only(text, found)
    for named in (_named, _called, _alike):
        for reading in meant:
            found = [
                Reference(document, place, reading.lines)
                for place in reading.places
                for document in named(reading.path, place, view)
            ]
            if found:
                return _only(text, found)
    raise not_found(text, places, view)


def readings(
    text: str, places: Sequence[Collection], view: View
) -> Iterator[tuple[str, Sequence[Collection]]]:
    """Yield the paths that a text may stand for, each with the collections it may be in.

    Those who may read only some collections give no absolute paths: what is found would tell where files are.

    Args:
        text: A path; or one with its collection, an address, or the absolute path of a file.
        places: The collections.
        view: The snapshot.
    """
    on_disk = not view.restricted
    yield text, places
    plain = text
    if text.startswith((_SCHEME, _FILE_SCHEME)):
        scheme = _SCHEME if text.startswith(_SCHEME) else _FILE_SCHEME
        plain = unquote(text.removeprefix(scheme))
        plain = _BEFORE_DRIVE.sub("", plain)
    for place in places:
        for joint in ("/", ": ", ":"):
            before = f"{place.name}{joint}"
            if plain[: len(before)].casefold() == before.casefold():
                yield plain[len(before) :], (place,)
        root = place.source.location
        if on_disk and place.source.kind == DEFAULT_SOURCE and Path(plain).is_absolute():
            for absolute in dict.fromkeys((str(Path(plain)), str(Path(plain).resolve()))):
                if (path := inside(absolute, root)) is not None:  # empty for all of the collection
                    # The pattern of a folder ends with a slash.
                    yield f"{path}/" if path and plain.endswith("/") else path, (place,)


def spellings(path: str) -> tuple[str, ...]:
    r"""Return the possible paths: as written, in canonical form, and with ``/`` for ``\``."""
    path = spelled(path)
    wanted = nfc(path).removeprefix("./")
    return tuple(dict.fromkeys((path, wanted, wanted.replace("\\", "/"))))


def look_of(text: str) -> str:
    """Return the form that names share which readers take for the same.

    They are folded as texts are, to one kana, straight quotation marks and short dashes.
    """
    return normalise(text).translate(_ONE_LOOK)


def backlinks_of(collection_id: CollectionId, path: str, view: View) -> list[PlacedLink]:
    """Return the links to the document at a path, without those that name an older version."""
    key = file_key(path)
    candidates = view.documents.with_file_names(collection_id, [key]).get(key, {})
    return [
        each
        for each in view.documents.links_to(collection_id, key)
        if each.link.kind is not LinkKind.PREVIOUS and resolve(each.link, each.path, candidates) == path
    ]


def without_brackets(text: str) -> str:
    """Return the target of a wikilink with the lines behind it; any other text as it is, stripped."""
    found = _WIKILINK.fullmatch(text.strip())
    return text.strip() if found is None else found["target"].strip() + found["lines"]


def _readings(text: str, places: Sequence[Collection], view: View) -> Iterator[_Reading]:
    found = re.search(rf"{_LINES.pattern}\Z", text)
    for path, places_of_path in readings(text, places, view):
        yield _Reading(path, places_of_path, None)
    if found is not None and found.start():
        first = int(found[1])
        for path, places_of_path in readings(text[: found.start()], places, view):
            yield _Reading(path, places_of_path, (first, int(found[2] or first)))


def document_at(path: str, place: Collection, view: View) -> StoredDocument | None:
    """Return the document of a collection at a path, however it is spelled; None if there is none."""
    return next(filter(None, (view.documents.find(place.id, each) for each in spellings(path))), None)


def _named(path: str, place: Collection, view: View) -> list[StoredDocument]:
    """Return the documents whose paths end so, without regard to case; the whole path comes before.

    Spaces at either end of a file's name are invisible; they may be left out if no other file is meant.
    """
    spelling = spellings(path)[-1].removeprefix("/")
    key = link_key(Link(LinkKind.WIKI, spelling))
    named = view.documents.with_file_names(place.id, [key, f"{key} "]).values()
    candidates = {path: each for found in named for path, each in found.items()}
    for unseen in (None, _UNSEEN):
        shown = {each: unseen.sub("", each) if unseen else each for each in candidates}
        paths = [each for each in candidates if _leads(spelling, shown[each])]
        whole = [each for each in paths if _leads(f"/{spelling}", shown[each])]
        if paths:
            return _stored((candidates[each] for each in sorted(whole or paths)), view)
    return []


def _stored(ids: Iterable[DocumentId], view: View) -> list[StoredDocument]:
    """Return documents in the order of their ids."""
    ids = list(ids)
    found = view.documents.get(ids)
    return [found[each] for each in ids]


def _called(path: str, place: Collection, view: View) -> list[StoredDocument]:
    """Return the documents with this title or alias."""
    return _stored(view.documents.called([fold_name(path)], Where((place.id,))) if path else (), view)


def _alike(path: str, place: Collection, view: View) -> list[StoredDocument]:
    """Return the documents whose paths end so by their looks; those at the whole path come before."""
    spelling = look_of(spellings(path)[-1].removeprefix("/"))
    name = file_key(spelling)
    known = view.documents.known(place.id) if name else {}
    looks = {each: look_of(each) for each in known}
    paths = [each for each, look in looks.items() if name in look and _leads(spelling, look)]
    whole = [each for each in paths if _leads(f"/{spelling}", looks[each])]
    return _stored((known[each].id for each in sorted(whole or paths)), view)


def _leads(spelling: str, path: str) -> bool:
    return resolve(Link(LinkKind.WIKI, spelling), "", (path,)) is not None


def _only(text: str, found: Sequence[Reference]) -> Reference:
    if len(found) == 1:
        return found[0]
    named = [f"{each.collection.name}/{each.document.path}" for each in found[:_MAX_NAMED]]
    if len({each.document.path for each in found}) == 1:
        where = ", ".join(each.collection.name for each in found)
        msg = f"{text!r} is in more than one collection: {where}"
        raise UsageError(msg, hint=f"Name the collection, such as {named[0]!r}.")
    more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
    msg = f"{text!r} is the name of more than one document: {', '.join(named)}{more}"
    raise UsageError(msg, hint="Give the whole path of one of them.")


def not_found(path: str, collections: Sequence[Collection], view: View) -> DocumentNotFoundError:
    """Return the error for a missing document; its hint names what has such an alias or path."""
    wanted = spellings(path)[-1]
    listed = [
        (collection.name, item) for collection in collections for item in view.documents.known(collection.id)
    ]
    known = [item for _, item in listed]
    near = [item for item in known if item.endswith("/" + wanted) or wanted.endswith("/" + item)]
    if wanted and not near:
        begun = Where(tuple(each.id for each in collections), filters=Filters(alias_prefix=wanted))
        near = [each.path for each in view.documents.newest(begun, limit=_MAX_NEAR).values()]
    near = near or nearest_names(wanted, known, most=3)
    if not near and "/" not in wanted:  # a note's name alone
        names = {file_key(item): item for item in known}
        near = [names[name] for name in nearest_names(file_key(wanted), names, most=3)]
    near = near or sorted(
        item for item in known if wanted and f"/{wanted}".casefold() in f"/{item}".casefold()
    )
    places = ", ".join(item.name for item in collections) or "any collection"
    # A path that several collections have needs the name of one.
    nearest = list(dict.fromkeys(near))[:_MAX_NEAR]
    named = [
        f"{name}/{item}" if known.count(item) > 1 else item
        for each in nearest
        for name, item in listed
        if item == each
    ]
    hint = f"Did you mean {', '.join(named[:_MAX_NEAR])}?" if named else None
    return DocumentNotFoundError(f"no document {spelled(path)!r} in {places}", hint=hint)
