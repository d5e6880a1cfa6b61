"""Documents that clients wrote: their sections become chunks as they are, and can be read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import astuple, replace

from mdvec.chunking.writing import context_line
from mdvec.errors import DamagedDatabaseError
from mdvec.indexing.prepare import make_record
from mdvec.indexing.work import Work
from mdvec.stores.records import DocumentRecord, StoredDocument
from mdvec.text.hashing import content_hash
from mdvec.text.terms import TERMS_VERSION
from mdvec.types.change import SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.document import Document, Section, TitleSource
from mdvec.types.section import SECTIONS_KEY, IndexedSection, saved_sections

# All that decides what is written for the same sections.
_FINGERPRINT = f"push1/t{TERMS_VERSION}"
_BETWEEN = "\n\n"
_MS = 1_000_000


def pushed_record(path: str, sections: Sequence[IndexedSection]) -> DocumentRecord:
    """Return what is written of a document that consists of some sections.

    Args:
        path: The path of the document.
        sections: At least one, in any order; a parent that is not among them counts as none.
    """
    ordered = sorted(sections, key=lambda each: each.order)
    at = {each.id: ordinal for ordinal, each in enumerate(ordered)}
    document = _document_of(path, ordered)
    body = document.body
    saved: list[list[Any]] = []
    chunks: list[Chunk] = []
    start = 0
    for ordinal, each in enumerate(ordered):
        end = start + len(each.content)
        first_line = body.count("\n", 0, start) + 1
        headings = _heading_path(each, ordered, at)
        chunk = Chunk(
            ordinal=ordinal,
            parent=at.get(each.parent_id) if each.parent_id is not None else None,
            depth=each.depth,
            heading_path=headings,
            start=start,
            end=end,
            start_line=first_line,
            end_line=first_line + each.content.count("\n"),
            token_count=each.token_count,
            text=each.content,
            context=context_line(document, headings),
        )
        chunks.append(chunk)
        saved.append([start, end, *astuple(replace(each, content="", document_path="", is_dirty=False))])
        start = end + len(_BETWEEN)
    raw = body.encode()
    updated_ns = max(each.updated_at_ms for each in ordered) * _MS
    document = replace(document, frontmatter={SECTIONS_KEY: json.dumps(saved, ensure_ascii=False)})
    entry = SourceEntry(path, path, updated_ns, len(raw))
    return make_record(entry, content_hash(raw), _FINGERPRINT, document, tuple(chunks))


def _document_of(path: str, sections: Sequence[IndexedSection]) -> Document:
    """Return a document of the texts of some sections, without the record of what they were."""
    body = _BETWEEN.join(each.content for each in sections)
    heading = next((each.heading for each in sections if each.heading), "")
    return Document(
        path=path,
        title=heading or PurePosixPath(path).stem or path,
        title_source=TitleSource.HEADING if heading else TitleSource.FILE_NAME,
        body=body,
        content_start=0,
        sections=(Section(0, None, 0, "", (), 0, len(body), len(body)),),
    )


def pushed_sections(document: StoredDocument) -> tuple[IndexedSection, ...] | None:
    """Return the sections of a document as they were written; None if mdvec cut it itself."""
    saved = saved_sections(document.frontmatter)
    if saved is None:
        return None
    return tuple(
        replace(
            section,
            document_path=document.path,
            content=document.body[start:end],
            is_dirty=document.dirty,
            document_hash=section.document_hash or document.content_hash.hex(),
        )
        for start, end, section in saved
    )


def refresh_pushed(work: Work, *, rebuild: bool = False) -> list[str]:
    """Write again what came through a rebuild, has other terms, or is damaged; nothing is embedded for it.

    Args:
        work: The collection, and the claim under which it is written.
        rebuild: Whether to write all of it.

    Returns:
        The documents whose text or sections are damaged. They stay as they are: there is no source.
    """
    lost: list[str] = []
    with work.store.read() as view:
        known = view.documents.known(work.collection.id)
    for path, document in known.items():
        if not rebuild and document.fingerprint == _FINGERPRINT:
            continue
        with work.write() as writer:
            try:
                stored = writer.documents.find(work.collection.id, path)
                sections = pushed_sections(stored) if stored is not None else None
            except (DamagedDatabaseError, ValueError, TypeError):
                lost.append(path)
                continue
            if stored is None or sections is None:
                continue
            writer.documents.put(work.collection.id, [pushed_record(path, sections)])
            if stored.dirty:
                writer.documents.mark_dirty(work.collection.id, [path])
    return lost


def _heading_path(
    section: IndexedSection, ordered: Sequence[IndexedSection], at: dict[str, int]
) -> tuple[str, ...]:
    """Return the headings from the outermost one; a circle of parents ends where it closes."""
    headings: dict[str, str] = {}
    current: IndexedSection | None = section
    while current is not None and current.id not in headings:
        headings[current.id] = current.heading
        above = None if current.parent_id is None else at.get(current.parent_id)
        current = None if above is None else ordered[above]
    return tuple(filter(None, reversed(headings.values())))
