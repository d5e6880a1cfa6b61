"""The tables that all stores with tables have, the rows of documents in them, and the columns of values.

A function ``..._rows`` yields what one table holds of a document, in the order of its columns, whose types
are those of PostgreSQL. Two rows never have the same key. The tables themselves have the types of each
database: see :func:`tables_sql`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from mdvec.clock import now_ms
from mdvec.stores.records import DocumentRecord
from mdvec.stores.tables import locator_bytes
from mdvec.text.folding import fold_characters, fold_name
from mdvec.text.hashing import text_hash
from mdvec.text.links import file_key, link_key
from mdvec.text.properties import flat_properties
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId

Row = tuple[Any, ...]

_LAST_MS: Final = 250_000_000_000_000  # in the year 9892


COLLECTION: Final = ("name", "description", "source", "chunking", "enabled", "last_indexed_ms", "settings")
"""The columns of :func:`collection_row`."""

# The other fields of a collection share the last one, because no query looks for them.
_SETTINGS: Final = tuple(name for name in Collection.__struct_fields__ if name not in (*COLLECTION, "id"))


def collection_row(collection: Collection) -> Row:
    """Return the row of a collection, without its id."""
    return (
        collection.name,
        collection.description,
        _escaped_json(collection.source),
        _escaped_json(collection.chunking),
        collection.enabled,
        collection.last_indexed_ms,
        _escaped_json({name: getattr(collection, name) for name in _SETTINGS}),
    )


def collection_of(row: Row) -> Collection:
    """Return the collection of an id and the columns of ``COLLECTION``."""
    row_id, name, description, source, chunking, enabled, last_indexed_ms, settings = row
    stored = {
        **json.loads(settings),
        "id": row_id,
        "name": name,
        "description": description,
        "source": json.loads(source),
        "chunking": json.loads(chunking),
        "enabled": bool(enabled),
        # Damage can leave a year that no calendar has: then the next import writes it anew.
        "last_indexed_ms": last_indexed_ms if 0 <= (last_indexed_ms or 0) < _LAST_MS else None,
    }
    return msgspec.convert(stored, Collection)


def _escaped_json(value: object) -> str:
    # The location of a folder may hold bytes that are not UTF-8 (as lone surrogates).
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=True)


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
    """document_id bigint, collection_id bigint, ordinal integer, parent integer, depth integer,
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
    for kind, labels in (("tag", document.tags), ("alias", document.aliases)):
        seen: set[str] = set()
        for position, label in enumerate(map(stored, labels)):
            folded = fold_characters(label)
            if folded not in seen:
                seen.add(folded)
                yield kind, folded, key, position, label


def property_rows(key: int, record: DocumentRecord, stored: Stored) -> Iterator[Row]:
    """Yield the values that filters compare."""
    found = {
        (stored(each.key), stored(each.value)): each.number
        for each in flat_properties({**record.document.fields, **record.document.frontmatter})
    }
    for (name, value), number in found.items():
        yield key, name, value, number


def name_rows(key: int, record: DocumentRecord, stored: Stored) -> Iterator[Row]:
    """Yield the names of the document."""
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
"""The tables of what belongs to a document, but for its chunks."""

_TABLES: Final = """
-- generation: grows with every commit that changed something, so that other processes notice.
-- vector_epoch: grows when vectors are removed; otherwise vectors are only ever appended.
CREATE TABLE meta(
  key {text} PRIMARY KEY,
  value {int} NOT NULL
){keyed};
INSERT INTO meta VALUES ('generation', 0), ('vector_epoch', 0);

CREATE TABLE collections(
  id {id},
  name {code} NOT NULL UNIQUE,
  description {text} NOT NULL,
  source {text} NOT NULL,
  chunking {text} NOT NULL,
  enabled {bool} NOT NULL,
  last_indexed_ms {int},
  settings {text} NOT NULL DEFAULT '{{}}'{of_collections}
){end};

CREATE TABLE documents(
  id {id},
  collection_id {int} NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  path {code} NOT NULL,
  locator {bytes} NOT NULL,
  title {text} NOT NULL,
  mtime_ns {int} NOT NULL,
  size {int} NOT NULL,
  sha256 {bytes} NOT NULL,
  fingerprint {text} NOT NULL,
  content_start {small} NOT NULL,
  indexed_at_ms {int} NOT NULL,
  file_key {code} NOT NULL DEFAULT '',
  updated_ns {int},
  superseded {bool} NOT NULL DEFAULT false,
  warnings {text} NOT NULL DEFAULT ''{of_documents},
  dirty_since_ms {int},
  UNIQUE(collection_id, path)
){end};
-- Documents that changed after they were indexed, as far as a watcher or a client has said so.
CREATE INDEX documents_dirty ON documents(collection_id, dirty_since_ms) WHERE dirty_since_ms IS NOT NULL;
CREATE INDEX documents_file ON documents(file_key);

-- Apart from documents, so that listing and filtering documents reads no text. comments: start and text
-- of what is hidden from readers; the body has white space there.
CREATE TABLE contents(
  document_id {int} PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  frontmatter {text} NOT NULL,
  body {text} NOT NULL,
  comments {text} NOT NULL DEFAULT '[]'{of_contents}
){end};

-- Tags and aliases; folded is what is compared, display what is shown.
CREATE TABLE labels(
  kind {code} NOT NULL,
  folded {code} NOT NULL,
  document_id {int} NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  position {small} NOT NULL,
  display {text} NOT NULL,
  PRIMARY KEY(kind, folded, document_id)
){keyed};
CREATE INDEX labels_document ON labels(document_id, kind, folded);

-- The values of frontmatter, as filters compare them; see mdvec.text.properties.
CREATE TABLE properties(
  document_id {int} NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  key {code} NOT NULL,
  value {code} NOT NULL,
  number {real},
  PRIMARY KEY(document_id, key, value)
){keyed};
CREATE INDEX properties_value ON properties(key, value);

-- What a document is called: its title, its file, its aliases. folded is what a query is compared
-- with; text is what is embedded. Ids are never used again, as those of chunks.
CREATE TABLE names(
  id {id},
  document_id {int} NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  folded {code} NOT NULL,
  text {text} NOT NULL,
  text_hash {bytes} NOT NULL,
  UNIQUE(document_id, text)
){end};
CREATE INDEX names_folded ON names(folded);
CREATE INDEX names_hash ON names(text_hash);

-- file_key: the name of the file a link points at, as documents have it; which document that is depends on
-- all the others of its collection, and is found when it is asked for.
CREATE TABLE links(
  document_id {int} NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  position {small} NOT NULL,
  kind {code} NOT NULL,
  target {text} NOT NULL,
  fragment {text} NOT NULL,
  text {text} NOT NULL,
  line {small} NOT NULL,
  file_key {code} NOT NULL,
  PRIMARY KEY(document_id, position)
){keyed};
CREATE INDEX links_file ON links(file_key);
CREATE INDEX links_previous ON links(document_id) WHERE kind = 'previous';

-- The text of a chunk is a span of its document's body. An id is never used again, so a remembered one can be
-- stale but never wrong. unspaced: whether its document is mostly in scripts that are written without spaces.
-- skeleton: equal in chunks of repeated text.
CREATE TABLE chunks(
  id {id},
  document_id {int} NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  collection_id {int} NOT NULL,
  ordinal {small} NOT NULL,
  parent {small},
  depth {small} NOT NULL,
  start {small} NOT NULL,
  stop {small} NOT NULL,
  start_line {small} NOT NULL,
  end_line {small} NOT NULL,
  token_count {small} NOT NULL,
  text_hash {bytes} NOT NULL,
  heading_path {text} NOT NULL,
  context {text} NOT NULL,
  unspaced {bool} NOT NULL DEFAULT false,
  skeleton {bytes},
  UNIQUE(document_id, ordinal)
){end};
CREATE INDEX chunks_collection ON chunks(collection_id, text_hash);
CREATE INDEX chunks_hash ON chunks(text_hash);
CREATE INDEX chunks_skeleton ON chunks(collection_id, skeleton) WHERE skeleton IS NOT NULL;

CREATE TABLE spaces(
  id {id},
  key {code} NOT NULL UNIQUE,
  dimension {small} NOT NULL
){end};

-- How similar unrelated texts are in a space, by whether they are written with spaces between words. Either
-- both rows of a space are there or none: then it was not measured yet.
CREATE TABLE unrelated(
  space_id {int} NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  unspaced {bool} NOT NULL,
  mean {real} NOT NULL,
  spread {real} NOT NULL,
  passages {bytes} NOT NULL,
  PRIMARY KEY(space_id, unspaced)
){keyed};

-- A cache by content: moving, renaming or importing a text again finds its vector here. A chunk is
-- pending when it has no row here, and for no other reason. vector: float16, unit length.
CREATE TABLE vectors(
  id {id},
  space_id {int} NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  text_hash {bytes} NOT NULL,
  vector {vector} NOT NULL{of_vectors},
  UNIQUE(space_id, text_hash)
){end};

CREATE TABLE failures(
  collection_id {int} NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  path {code} NOT NULL,
  reason {text} NOT NULL,
  PRIMARY KEY(collection_id, path)
){keyed};

CREATE TABLE exclusions(
  collection_id {int} NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  path {code} NOT NULL,
  reason {text} NOT NULL,
  PRIMARY KEY(collection_id, path)
){keyed};

-- Chunks, names and spaces that are gone, so that a vector index next to the store can follow. Triggers write
-- here once an index was attached; the oldest rows are removed again.
CREATE TABLE removed_owners(
  id {id},
  kind {code} NOT NULL,
  owner_id {int} NOT NULL
){end};
"""


def tables_sql(**words: str) -> str:
    """Return SQL that makes the tables that every store has.

    Args:
        words: The types of a database, of which ``code`` is a text that is compared by code point, and
            ``small`` a number that fits into four bytes; the ends of a table (``end``) and of one without an
            id of its own (``keyed``); and additional columns of a table (``of_...``).
    """
    return _TABLES.format(**words)
