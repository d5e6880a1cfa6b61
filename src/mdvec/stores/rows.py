"""A document as rows, the same in every store that has tables.

Each function yields what one table holds of a document, in the order of its columns, whose types are those of
PostgreSQL. Two rows never have the same key. ``stored`` turns a text into one that the database can hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from mdvec.clock import now_ms
from mdvec.stores.columns import LabelKind, fold_label, locator_bytes
from mdvec.stores.records import DocumentRecord
from mdvec.text.folding import fold_name
from mdvec.text.hashing import text_hash
from mdvec.text.links import file_key, link_key
from mdvec.text.properties import flat_properties
from mdvec.types.ids import CollectionId

Row = tuple[Any, ...]
Stored = Callable[[str], str]


def _columns(definition: str) -> Mapping[str, str]:
    """Return the types of columns by name, in order."""
    return dict(each.split(maxsplit=1) for each in definition.split(","))


DOCUMENTS: Final = _columns(
    """collection_id bigint, path text, locator bytea, title text, mtime_ns bigint, size bigint, sha256 bytea,
    fingerprint text, content_start integer, indexed_at_ms bigint, file_key text, updated_ns bigint,
    warnings text"""
)
"""The columns of :func:`document_row`."""

CHUNKS: Final = _columns(
    """document_id bigint, collection_id bigint, ordinal integer, parent integer, depth smallint,
    start integer, stop integer, start_line integer, end_line integer, token_count integer, text_hash bytea,
    heading_path text, context text, unspaced boolean, skeleton bytea"""
)
"""The columns of :func:`chunk_rows`."""


class DocumentTable(Struct, frozen=True):
    """A table that holds a part of each document.

    Attributes:
        table: Its name.
        columns: Types by name.
        rows: Yields the rows of a document.
    """

    table: str
    columns: Mapping[str, str]
    rows: Callable[[int, DocumentRecord, Stored], Iterator[Row]]


# json.dumps would make an encoder for each call.
_json = json.JSONEncoder(ensure_ascii=False).encode


def document_row(collection_id: CollectionId, record: DocumentRecord, stored: Stored) -> Row:
    """Return the row of documents, without its id."""
    document, entry = record.document, record.entry
    return (
        collection_id,
        document.path,
        locator_bytes(entry.locator),
        stored(document.title),
        entry.mtime_ns,
        entry.size,
        record.content_hash,
        record.fingerprint,
        document.content_start,
        now_ms(),
        file_key(document.path),
        document.updated_ns,
        stored("\n".join(document.warnings)),
    )


def content_rows(key: int, record: DocumentRecord, stored: Stored) -> Iterator[Row]:
    """Yield the one row of contents."""
    document = record.document
    comments = [(each.start, stored(each.text)) for each in document.comments]
    yield key, stored(_json(dict(document.frontmatter))), stored(document.body), _json(comments)


def label_rows(key: int, record: DocumentRecord, stored: Stored) -> Iterator[Row]:
    """Yield tags and aliases, the first of those that differ in case alone."""
    document = record.document
    for kind, labels in ((LabelKind.TAG, document.tags), (LabelKind.ALIAS, document.aliases)):
        seen: set[str] = set()
        for position, label in enumerate(map(stored, labels)):
            folded = fold_label(label)
            if folded not in seen:
                seen.add(folded)
                yield kind.value, folded, key, position, label


def property_rows(key: int, record: DocumentRecord, stored: Stored) -> Iterator[Row]:
    """Yield the values that filters compare."""
    found = {
        (stored(each.key), stored(each.value)): each.number
        for each in flat_properties({**record.document.fields, **record.document.frontmatter})
    }
    for (name, value), number in found.items():
        yield key, name, value, number


def name_rows(key: int, record: DocumentRecord, stored: Stored) -> Iterator[Row]:
    """Yield what the document is called."""
    for name in dict.fromkeys(map(stored, record.names)):
        yield key, fold_name(name), name, text_hash(name)


def link_rows(key: int, record: DocumentRecord, stored: Stored) -> Iterator[Row]:
    """Yield links."""
    for position, link in enumerate(record.document.links):
        yield (
            key,
            position,
            link.kind.value,
            stored(link.target),
            stored(link.fragment),
            stored(link.text),
            link.line,
            stored(link_key(link)),
        )


def chunk_rows(
    collection_id: CollectionId, key: int, record: DocumentRecord, stored: Stored
) -> Iterator[Row]:
    """Yield chunks, without their ids."""
    for chunk, digest, skeleton in zip(record.chunks, record.text_hashes, record.skeletons, strict=True):
        yield (
            key,
            collection_id,
            chunk.ordinal,
            chunk.parent,
            chunk.depth,
            chunk.start,
            chunk.end,
            chunk.start_line,
            chunk.end_line,
            chunk.token_count,
            digest,
            stored(_json(chunk.heading_path)),
            stored(chunk.context),
            record.unspaced,
            skeleton or None,
        )


PARTS: Final = (
    DocumentTable(
        "contents",
        _columns("document_id bigint, frontmatter text, body text, comments text"),
        content_rows,
    ),
    DocumentTable(
        "labels",
        _columns("kind text, folded text, document_id bigint, position integer, display text"),
        label_rows,
    ),
    DocumentTable(
        "properties",
        _columns("document_id bigint, key text, value text, number double precision"),
        property_rows,
    ),
    DocumentTable(
        "names", _columns("document_id bigint, folded text, text text, text_hash bytea"), name_rows
    ),
    DocumentTable(
        "links",
        _columns(
            """document_id bigint, position integer, kind text, target text, fragment text, text text,
            line integer, file_key text"""
        ),
        link_rows,
    ),
)
"""What belongs to a document, but for its chunks."""
