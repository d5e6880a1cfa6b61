"""Finds the document that a person, an agent or a link means, and reads it, its links and its outline."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote

from msgspec.structs import replace

from mdvec.errors import DocumentNotFoundError, UsageError, nearest_names
from mdvec.search.filters import MAX_DEPTH
from mdvec.search.link_graph import link_graph, other_files
from mdvec.search.references import Reference, backlinks_of, find_reference, look_of, without_brackets
from mdvec.stores.interface import View
from mdvec.stores.records import StoredDocument
from mdvec.text.folding import spelled
from mdvec.text.links import link_key, link_state, resolve
from mdvec.text.tokens import estimate_token_count
from mdvec.types.collection import Collection
from mdvec.types.document import Document, Lines, Link, LinkKind, Section, places_of, with_comments
from mdvec.types.ids import CollectionId
from mdvec.types.links import Backlink, DocumentLinks, OutgoingLink
from mdvec.types.outline import Outline, OutlineSection
from mdvec.types.report import ListedDocument, Passage
from mdvec.workspace.collections import Collections

# Comparing takes quadratic time in the length, for each heading.
_MAX_COMPARED_HEADINGS = 1_000
_MAX_HEADING_CHARS = 80

_ID = re.compile(r"\{#([^{}\s]+)\}\s*$")


def page_of_documents(
    places: Sequence[Collection], view: View, *, after: tuple[str, str] | None, prefix: str, limit: int
) -> list[ListedDocument]:
    """Return a page of documents; see :meth:`mdvec.workspace.Workspace.documents`."""
    last_collection, last_path = map(spelled, after or ("", ""))
    prefix = spelled(prefix)
    page: list[ListedDocument] = []
    for place in places:
        if place.name >= last_collection and len(page) < limit:
            start = last_path if place.name == last_collection else ""
            page += view.documents.page(place.id, after=start, prefix=prefix, limit=limit - len(page))
    return page


class OtherFiles:
    """The files of collections that are no documents. Safe to use from several threads."""

    def __init__(self) -> None:
        self._known: dict[CollectionId, tuple[int, dict[str, dict[str, None]]]] = {}

    def of(self, collection_id: CollectionId, view: View) -> Mapping[str, Mapping[str, None]]:
        """Return the result of :func:`other_files`, remembered for each version of the store."""
        version, named = self._known.get(collection_id, (-1, {}))
        if version != view.version:
            named = other_files(collection_id, view)
            self._known[collection_id] = view.version, named
        return named


def links_of(document: StoredDocument, files: OtherFiles, view: View, steps: int = 1) -> DocumentLinks:
    """Return the links of a document and those to it, of so many steps, and the versions of it.

    Args:
        document: The document.
        files: The other files of collections, which links may lead to.
        view: The snapshot.
        steps: How far a document may be to be near.
    """
    near = link_graph(document.collection_id, view).near(document.path, steps) if steps > 1 else ()
    placed = view.documents.links_of([document.id])
    links = [each.link for each in placed if each.link.kind is not LinkKind.PREVIOUS]
    named = view.documents.with_file_names(document.collection_id, {link_key(link) for link in links})
    others = files.of(document.collection_id, view) if links else {}
    versions = view.documents.versions(document.collection_id)
    return DocumentLinks(
        collection=document.collection,
        path=document.path,
        title=document.title,
        links=tuple(_outgoing(link, document.path, named, others) for link in links),
        backlinks=tuple(
            Backlink(each.path, each.link.line, each.link.kind, each.link.fragment, each.link.text)
            for each in backlinks_of(document.collection_id, document.path, view)
        ),
        supersedes=versions.older.get(document.id, ()),
        superseded_by=versions.newer.get(document.id, ()),
        near=tuple(near),
    )


def _outgoing(
    link: Link,
    from_path: str,
    documents: Mapping[str, Mapping[str, object]],
    files: Mapping[str, Mapping[str, object]],
) -> OutgoingLink:
    path, file = (resolve(link, from_path, paths.get(link_key(link), {})) for paths in (documents, files))
    state = link_state(link, path, is_file=file is not None)
    return OutgoingLink(link.kind, link.target, link.fragment, link.text, link.line, state, path)


def passage(document: StoredDocument, *, lines: Lines | None, section: str | None, stale: bool) -> Passage:
    """Return a document, or some lines or one section of it.

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
        warnings=document.warnings,
    )


def lines_of_section(document: StoredDocument, wanted: str) -> tuple[int, int]:
    """Return the lines of a section with its subsections.

    Args:
        document: The document.
        wanted: The heading, without regard to case, ``#`` marks and surrounding space, plain or with markup;
            with headings above it and the title before it with ``›`` between, as hits show them, or ``#``, as
            links do; or the anchor of a link to it. The first such section counts. Also the beginning of one
            heading, up to the end of a word: ``2021年2月3日`` for ``2021年2月3日（水）``; the id of a block
            (``^id``), and of a file that was converted a place, such as ``page 7`` or ``page=7``.
            Percent-encoded if nothing has the name as it is.

    Returns:
        Its first and last line.

    Raises:
        DocumentNotFoundError: If there is no such heading; the hint names those there are.
    """
    parsed = _parsed(document.path, document.body)
    # A heading may have a percent sign or "#", so what a link would mean comes later.
    names = [each.lstrip("#").strip() for each in (wanted, unquote(wanted))]
    for name in dict.fromkeys((*names, *(each.replace("#", " › ") for each in names))):
        if lines := _lines_called(document, parsed, name):
            return lines
    msg = f"{document.path} has no section {wanted!r}"
    kind = re.escape(names[1].replace("=", " ").partition(" ")[0].casefold())
    alike = [place for _, place in places_of(document.comments) if re.fullmatch(rf"{kind} \d+", place)]
    hint = f"It has {alike[0]} to {alike[-1]}." if len(alike) > 1 else _headings_hint(parsed.sections, wanted)
    raise DocumentNotFoundError(msg, hint=hint)


@lru_cache(maxsize=1)  # embeds of one page show several parts of a document
def _parsed(path: str, body: str) -> Document:
    from mdvec.documents.parse import parse_document  # Markdown is read for this alone

    return parse_document(path, body)


def _lines_called(document: StoredDocument, parsed: Document, name: str) -> tuple[int, int] | None:
    """Return the lines of the section, place or block of a name; None if there is none."""
    from mdvec.documents.parse import parse_document
    from mdvec.documents.targets import numbered, slug

    # As the document spells it: with markup, and with an id.
    plain = next((each.heading for each in parse_document("x.md", f"# {name}\n").sections if each.level), "")
    headed = [each for each in parsed.sections if each.level]
    seen: dict[str, int] = {}
    anchors = [(numbered(slug(each.heading), seen), _id_of(each, document.body)) for each in headed]
    by_link = (each for each, own in zip(headed, anchors, strict=True) if name in own)
    spelled = (
        each
        for ending in dict.fromkeys(f" › {each}".casefold() for each in (name, plain) if each)
        for each in headed
        if _named_path(each, parsed).casefold().endswith(ending)
    )
    section = next(spelled, None) or next(by_link, None)
    if section is None:
        lines = _lines_of_place(document, name) or _lines_of_block(parsed, name)
        look, begins = look_of(f" › {name}"), re.compile(rf"{re.escape(name)}(?!\w)", re.IGNORECASE)
        alike = (each for each in headed if look_of(_named_path(each, parsed)).endswith(look))
        begun = [each for each in headed if begins.match(each.heading)]
        section = None if lines else next(alike, begun[0] if len(begun) == 1 else None)
        if section is None:
            return lines
    # A comment at the end belongs to the section; a place begins what comes next.
    places = {at for at, _ in places_of(document.comments)}
    comments = [each for each in document.comments if each.start not in places]
    return _lines_of(with_comments(document.body, comments), section.start, section.subtree_end)


def _lines_of(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the first and the last line of a part of a text; blank ones at its end do not count."""
    first = text.count("\n", 0, start) + 1
    return first, first + text[start:end].rstrip().count("\n")


def _named_path(section: Section, parsed: Document) -> str:
    """Return the title and the headings down to a section, as hits show them, with a mark before each."""
    return " › ".join(("", parsed.title, *section.heading_path))


def _lines_of_place(document: StoredDocument, name: str) -> tuple[int, int] | None:
    """Return the lines of a page, a slide, a cell or an anchor of the original; None if there is none."""
    wanted = name.replace("=", " ").casefold()
    places = [*places_of(document.comments), (len(document.body), "")]
    for (start, place), (end, _) in pairwise(places):
        if place.casefold().lstrip("#") in (wanted, name.casefold()):
            return _lines_of(document.body, start, end)
    return None


def _lines_of_block(parsed: Document, name: str) -> tuple[int, int] | None:
    """Return the lines of the block that ends in an id (Obsidian); an id alone belongs to the block above."""
    sign = re.compile(rf"(?<!\S){re.escape(name)}[ \t]*$", re.MULTILINE)
    found = sign.search(parsed.body, parsed.content_start) if name[:1] == "^" else None
    if found is None:
        return None
    spans = [(each.start, each.end) for each in parsed.blocks if each.start <= found.start()]
    alone = len(spans) > 1 and parsed.body[slice(*spans[-1])].strip() == name
    return _lines_of(parsed.body, *spans[-2 if alone else -1])


def _id_of(section: Section, body: str) -> str:
    """Return the id behind a heading, as in ``## Heading {#id}``; empty without one."""
    first_line = body[section.start : section.end].lstrip().partition("\n")[0]
    found = _ID.search(first_line)
    return found[1] if found else ""


def outline_of(document: StoredDocument) -> Outline:
    """Return the sections of a document."""
    sections = _parsed(document.path, document.body).sections
    has_lead = bool(document.body[sections[0].start : sections[0].end].strip())
    numbers = {each.ordinal: each.ordinal - (not has_lead) for each in sections}
    return Outline(
        document.collection,
        document.path,
        document.title,
        tuple(
            _outline_section(each, numbers, document.body) for each in sections if has_lead or each.ordinal
        ),
    )


def _outline_section(section: Section, numbers: Mapping[int, int], body: str) -> OutlineSection:
    first, last = _lines_of(body, section.start, section.end)
    parent = None if section.parent is None else numbers[section.parent]
    return OutlineSection(
        order=numbers[section.ordinal],
        parent=None if parent is None or parent < 0 else parent,
        depth=min(section.level, MAX_DEPTH),
        heading=section.heading,
        start_line=first,
        end_line=last,
        tokens=estimate_token_count(body[section.start : section.end]),
    )


def _headings_hint(sections: Sequence[Section], wanted: str) -> str:
    headings = list(dict.fromkeys(each.heading[:_MAX_HEADING_CHARS] for each in sections if each.level))
    near = nearest_names(wanted, headings[:_MAX_COMPARED_HEADINGS], most=3) or headings[:8]
    return f"It has: {', '.join(near)}." if near else "The document has no headings."


def cut(document: StoredDocument, lines: Lines) -> tuple[str, int, int]:
    """Return the text of some lines.

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
        given = ":".join("" if line is None else str(line) for line in lines)
        msg = f"{document.path} has {len(all_lines)} lines; {given} is not a range within it"
        raise UsageError(msg, hint="Lines count from 1; give them as FIRST:LAST.")
    return "".join(all_lines[first - 1 : last]), first, last


def _split(text: str) -> list[str]:
    r"""Split at ``\n`` alone: editors do not count U+2028, vertical tabs and the like as line ends."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def find(path: str, collection: str | None, collections: Collections, view: View) -> Reference:
    """Find a document, and the collection it is in.

    Raises:
        CollectionNotFoundError: If there is no such collection.
        DocumentNotFoundError: If there is no such document; the hint names the nearest paths, or how to index
            something.
        UsageError: If more than one document is meant.
    """
    places = collections.chosen((collection,) if collection else (), view)
    try:
        return find_reference(path, places, view)
    except DocumentNotFoundError as error:
        name, _, section = without_brackets(path).partition("#")
        if name.strip() and section.strip():
            with suppress(DocumentNotFoundError):
                return replace(find_reference(name, places, view), section=section)
        every = [] if collection else collections.chosen((), view, include_disabled=True)
        with suppress(DocumentNotFoundError):  # a disabled collection is only left out where nothing is named
            return find_reference(path, [each for each in every if not each.enabled], view)
        if not any(view.collections.counts(place.id, None).documents for place in places):
            error.hint = collections.first_step(places) or error.hint
        raise
