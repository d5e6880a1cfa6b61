"""The rows of documents, and the columns of values, the same in every store that has tables.

A function ``..._rows`` yields what one table holds of a document, in the order of its columns, whose types
are those of PostgreSQL. Two rows never have the same key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct

from mdvec.clock import now_ms
from mdvec.stores.records import DocumentRecord
from mdvec.text.folding import fold_characters, fold_name
from mdvec.text.hashing import text_hash
from mdvec.text.links import file_key, link_key
from mdvec.text.properties import flat_properties
from mdvec.types.collection import (
    Boilerplate,
    ChunkingSpec,
    Collection,
    EmbeddingSpec,
    SearchDefaults,
    SourceSpec,
)
from mdvec.types.folder_context import FolderContext
from mdvec.types.ids import CollectionId

_SURROGATES = re.compile("[\ud800-\udfff]")

# What is kept together in one column, because no query looks for it.
_SETTINGS: Final[Mapping[str, Any]] = {
    "preset": str,
    "embedding": EmbeddingSpec | None,
    "next_embedding": EmbeddingSpec | None,
    "search": SearchDefaults,
    "folder_contexts": tuple[FolderContext, ...],
    "boilerplate": Boilerplate,
    "revision": str,
    "checked_up_to": str,
    "created_ms": int | None,
    "updated_ms": int | None,
}

_LAST_MS: Final = 250_000_000_000_000  # in the year 9892


class LabelKind(StrEnum):
    """The kinds of rows in the labels table."""

    TAG = "tag"
    ALIAS = "alias"


def storable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold; an escape in YAML can make one."""
    return text if text.isascii() else _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def fold_label(label: str) -> str:
    """Return the form that two labels share if they differ only in width, case or encoding."""
    return fold_characters(label)


def locator_bytes(locator: str) -> bytes:
    """Return the name of a file as it is stored; it may hold undecodable bytes as lone surrogates."""
    return locator.encode("utf-8", "surrogatepass")


def locator_of(stored: bytes) -> str:
    """Return the name of a file as Python spells it."""
    return stored.decode("utf-8", "surrogatepass")


def prefix_end(prefix: str) -> str | None:
    """Return the first string after all that start with a prefix, by code point; None if there is none."""
    for length in range(len(prefix), 0, -1):
        following = ord(prefix[length - 1]) + 1
        if following > 0x10FFFF:
            continue
        return prefix[: length - 1] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)
    return None


COLLECTION_COLUMNS: Final = (
    "id, name, description, source, chunking, enabled, last_indexed_ms, settings"  # of collection_of
)


def collection_of(row: tuple[Any, ...]) -> Collection:
    """Return the collection in a row of ``COLLECTION_COLUMNS``."""
    row_id, name, description, source, chunking, enabled, last_indexed_ms, settings = row
    written = json.loads(settings)
    return Collection(
        id=CollectionId(row_id),
        name=name,
        description=description,
        source=msgspec.convert(json.loads(source), SourceSpec),
        chunking=msgspec.convert(json.loads(chunking), ChunkingSpec),
        enabled=bool(enabled),
        # Damage can leave a year that no calendar has: then the next import writes it anew.
        last_indexed_ms=last_indexed_ms if 0 <= (last_indexed_ms or 0) < _LAST_MS else None,
        **{name: msgspec.convert(written[name], kind) for name, kind in _SETTINGS.items() if name in written},
    )


def spec_json(spec: SourceSpec | ChunkingSpec) -> str:
    """Return a source or a chunking as it is stored."""
    # Escaped: the location of a folder may hold bytes that are not UTF-8 (as lone surrogates).
    return json.dumps(msgspec.structs.asdict(spec), ensure_ascii=True)


def settings_json(collection: Collection) -> str:
    """Return the settings of a collection as they are stored."""
    return json.dumps({name: msgspec.to_builtins(getattr(collection, name)) for name in _SETTINGS})


Row = tuple[Any, ...]
Stored = Callable[[str], str]
"""Turns a text into one that the database can hold."""


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
