"""Documents and chunks as rows, the same in every database with our tables; adapters fill in the rest."""

# ruff: noqa: S608 - the SQL is put together from constants; values are always bound

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from mdvec.clock import now_ms
from mdvec.errors import DamagedDatabaseError
from mdvec.stores.columns import CHUNKS, DOCUMENTS, PARTS, chunk_rows, document_row
from mdvec.stores.interface import DocumentWriter
from mdvec.stores.records import (
    ChunkPlace,
    ChunkTerms,
    DocumentRecord,
    StoredChunk,
    StoredDocument,
    places_of_rows,
)
from mdvec.stores.tables import NEW_EPOCH, Sql, Tables, locator_bytes, locator_of, memorized, starts_with
from mdvec.stores.versions import find_versions
from mdvec.stores.view import ChunkView
from mdvec.stores.where_tables import BY_PLACE, NarrowedPart
from mdvec.text.links import link_key
from mdvec.types.change import Exclusion, KnownDocument, SourceEntry, Unreadable
from mdvec.types.document import Comment, Link, LinkKind
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.links import PlacedLink, Versions
from mdvec.types.query import Where
from mdvec.types.report import ListedDocument, TagCount

# The columns of the fields of a StoredChunk, but for its text, and of a StoredDocument, but for its text and
# its labels.
_CHUNK = {name: f"c.{name}" for name in StoredChunk.__struct_fields__ if name != "text"}
_CHUNK |= {"end": "c.stop", "collection": "k.name", "path": "d.path", "title": "d.title"}
_DOCUMENT = {
    name: f"d.{name}" for name in StoredDocument.__struct_fields__ if name not in ("body", "tags", "aliases")
}
_DOCUMENT |= {
    "collection": "k.name",
    "comments": "t.comments",
    "content_hash": "d.sha256",
    "frontmatter": "t.frontmatter",
    "changed_ns": "coalesce(d.updated_ns, d.mtime_ns)",
    "dirty": "d.dirty_since_ms IS NOT NULL",
}
_DECODED: Mapping[str, Callable[[Any], Any]] = {
    "locator": locator_of,
    "comments": lambda stored: tuple(Comment(at, text) for at, text in json.loads(stored)),
    "frontmatter": json.loads,
    "dirty": bool,
    "warnings": lambda stored: tuple(stored.splitlines()),
}

_JOINED = """chunks c CROSS JOIN documents d ON d.id = c.document_id
    CROSS JOIN collections k ON k.id = c.collection_id"""
_CHUNKS = f"SELECT {', '.join(_CHUNK.values())} FROM {_JOINED}"

_PLACE = "c.id, c.document_id, c.collection_id, c.ordinal, c.unspaced, c.token_count, c.skeleton"

_LAST_CHARACTER = "\U0010ffff"
_EVERY = 2**62

# Of documents, in memory while a snapshot is open: what one answer asks for, and no import of large files.
_MAX_TEXTS, _MAX_TEXT_CHARS = 100, 5_000_000

_LINK = "l.kind, l.target, l.fragment, l.text, l.line"
_REASONS = {"collection_id": "bigint", "path": "text", "reason": "text"}

# A tag is shown as the first document spells it.
_TAGS = """SELECT l.display, t.documents FROM (
        SELECT l.folded, count(*) AS documents, min(d.id) AS first
        FROM labels l CROSS JOIN documents d ON d.id = l.document_id
        WHERE l.kind = 'tag' AND {condition} GROUP BY l.folded) t
    CROSS JOIN labels l ON l.kind = 'tag' AND l.folded = t.folded AND l.document_id = t.first
    ORDER BY t.documents DESC, t.folded"""


class DocumentTables(NarrowedPart, DocumentWriter):
    """The documents of a transaction; a :class:`mdvec.stores.interface.DocumentWriter`."""

    intact: ClassVar[str] = "true"
    """Whether a row ``d`` of documents, with all that belongs to it except the text, matches its checksum."""

    links_table: ClassVar[str] = "links l"
    """The table of links, as ``l``, where the links to older versions are read."""

    @abstractmethod
    def _put_terms(
        self, collection_id: CollectionId, chunks: Sequence[int], terms: Sequence[ChunkTerms]
    ) -> None:
        """Write the terms of new chunks, whose ids follow each other; there is at least one."""

    @abstractmethod
    def _complete(self, documents: Sequence[int], records: Sequence[DocumentRecord]) -> None:
        """Complete the rows of new documents."""

    def _merge_words(self) -> None:
        """Put the index of words in order after an import; does nothing, unless an adapter does."""

    def page(
        self, collection_id: CollectionId, *, after: str, prefix: str, limit: int
    ) -> list[ListedDocument]:
        paths = starts_with("d.path", prefix)
        sql = f"""SELECT k.name, d.path, d.title, d.size, d.mtime_ns
            FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
            WHERE d.collection_id = ? AND d.path > ? AND {paths.text} ORDER BY d.path LIMIT ?"""
        return [
            ListedDocument(*row)
            for row in self.tables.rows(sql, collection_id, after, *paths.arguments, limit)
        ]

    def newest(self, where: Where, *, limit: int | None = None) -> dict[DocumentId, ListedDocument]:
        condition = self._where.documents(where)
        sql = f"""SELECT d.id, d.locator, k.name, d.path, d.title, d.size, d.mtime_ns, d.updated_ns
            FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
            WHERE {condition.text} ORDER BY {BY_PLACE} LIMIT ?"""
        rows = self.tables.rows(sql, *condition.arguments, _EVERY if limit is None else limit)
        return {
            key: ListedDocument(name, path, title, size, modified_ns, updated_ns, locator_of(locator))
            for key, locator, name, path, title, size, modified_ns, updated_ns in rows
        }

    def known(self, collection_id: CollectionId) -> dict[str, KnownDocument]:
        sql = """SELECT id, path, locator, mtime_ns, size, sha256, fingerprint, dirty_since_ms FROM documents
            WHERE collection_id = ?"""
        rows = self.tables.rows(sql, collection_id)
        return {path: KnownDocument(key, path, locator_of(name), *rest) for key, path, name, *rest in rows}

    def find(
        self, collection_id: CollectionId, path: str, *, verified: bool = False
    ) -> StoredDocument | None:
        here = Sql("d.collection_id = ? AND d.path = ?", (collection_id, path))
        if verified:
            rows = self.tables.rows(
                f"SELECT {self.intact} FROM documents d WHERE {here.text}", *here.arguments
            )
            if not all(is_intact for (is_intact,) in rows):
                msg = f"{path} is damaged in the index"
                raise DamagedDatabaseError(msg)
        return next(iter(self._stored(here).values()), None)

    def get(self, documents: Sequence[DocumentId]) -> dict[DocumentId, StoredDocument]:
        return self._stored(self.tables.listed("d.id", documents)) if documents else {}

    def _stored(self, chosen: Sql) -> dict[DocumentId, StoredDocument]:
        """Return the documents ``d`` that meet a condition, by id."""
        sql = f"""SELECT l.kind, l.display, {", ".join(_DOCUMENT.values())}
            FROM documents d CROSS JOIN collections k ON k.id = d.collection_id
            CROSS JOIN contents t ON t.document_id = d.id LEFT JOIN labels l ON l.document_id = d.id
            WHERE {chosen.text} ORDER BY l.position"""
        found: dict[DocumentId, dict[str, Any]] = {}
        for kind, display, *row in self.tables.rows(sql, *chosen.arguments):
            fields = dict(zip(_DOCUMENT, row, strict=True))
            fields = found.setdefault(fields["id"], {**fields, "tags": (), "aliases": ()})
            if kind is not None:
                fields["tags" if kind == "tag" else "aliases"] += (display,)
        bodies, documents = texts_of(self.tables, list(found)), {}
        for key, fields in found.items():
            fields |= {name: decode(fields[name]) for name, decode in _DECODED.items()}
            documents[key] = StoredDocument(**fields, body=bodies[key])
        return documents

    def texts(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        return texts_of(self.tables, documents)

    def links_of(self, documents: Iterable[DocumentId]) -> list[PlacedLink]:
        chosen = self.tables.listed("l.document_id", documents)
        sql = f"""SELECT d.id, d.path, {_LINK} FROM links l CROSS JOIN documents d ON d.id = l.document_id
            WHERE {chosen.text} ORDER BY l.document_id, l.position"""
        return _placed(self.tables.rows(sql, *chosen.arguments))

    def links_to(self, collection_id: CollectionId, key: str) -> list[PlacedLink]:
        sql = f"""SELECT d.id, d.path, {_LINK} FROM links l CROSS JOIN documents d ON d.id = l.document_id
            WHERE l.file_key = ? AND +d.collection_id = ? ORDER BY d.path, l.position"""
        return _placed(self.tables.rows(sql, key, collection_id))

    @memorized
    def versions(self, collection_id: CollectionId) -> Versions:
        # The kind is part of the text, or the index of these links alone could not be used.
        sql = f"""SELECT d.id, d.path, {_LINK} FROM {self.links_table}
            CROSS JOIN documents d ON d.id = l.document_id
            WHERE l.kind = 'previous' AND +d.collection_id = ? ORDER BY l.document_id, l.position"""
        previous = _placed(self.tables.rows(sql, collection_id))
        keys = {link_key(each.link) for each in previous}
        return find_versions(previous, self.with_file_names(collection_id, keys)) if previous else Versions()

    def with_file_names(
        self, collection_id: CollectionId, keys: Iterable[str]
    ) -> dict[str, dict[str, DocumentId]]:
        condition = self.tables.named("d.file_key", sorted(set(keys)))
        sql = f"""SELECT d.file_key, d.path, d.id FROM documents d
            WHERE {condition.text} AND +d.collection_id = ?"""
        found: dict[str, dict[str, DocumentId]] = {}
        for key, path, document_id in self.tables.rows(sql, *condition.arguments, collection_id):
            found.setdefault(key, {})[path] = DocumentId(document_id)
        return found

    def called(self, names: Sequence[str], where: Where) -> list[DocumentId]:
        named = self.tables.named("n.folded", map(self.tables.stored, names))
        condition = self._where.documents(where)
        sql = f"""SELECT DISTINCT d.path, d.id FROM names n CROSS JOIN documents d ON d.id = n.document_id
            WHERE {named.text} AND {condition.text} ORDER BY d.path, d.id"""
        return [DocumentId(key) for _, key in self.tables.rows(sql, *named.arguments, *condition.arguments)]

    def tags(self, where: Where) -> list[TagCount]:
        condition = self._where.documents(where)
        rows = self.tables.rows(_TAGS.format(condition=condition.text), *condition.arguments)
        return [TagCount(display, documents) for display, documents in rows]

    def put(self, collection_id: CollectionId, records: Sequence[DocumentRecord]) -> None:
        """Write documents with all that belongs to them, each instead of the one at its path.

        Each table is written at once, since a statement costs as much as some rows.
        """
        if not records:
            return
        by_path = {record.document.path: record for record in records}
        self.delete(collection_id, list(by_path))
        ids, put = self.tables.new_ids("documents", len(by_path)), list(by_path.values())
        identified = list(zip(ids, put, strict=True))
        rows = ((key, *document_row(collection_id, each, self.tables.stored)) for key, each in identified)
        self.tables.insert("documents", {"id": "bigint", **DOCUMENTS}, rows)
        for part in PARTS:
            rows = (row for key, each in identified for row in part.rows(key, each, self.tables.stored))
            self.tables.insert(part.table, part.columns, rows)
        terms = [each for record in put for each in record.terms]
        chunks = self.tables.new_ids("chunks", len(terms))
        cut = (
            row
            for key, each in identified
            for row in chunk_rows(collection_id, key, each, self.tables.stored)
        )
        rows = ((key, *row) for key, row in zip(chunks, cut, strict=True))
        self.tables.insert("chunks", {"id": "bigint", **CHUNKS}, rows)
        if terms:
            self._put_terms(collection_id, chunks, terms)
        self._complete(ids, put)

    def touch(self, collection_id: CollectionId, entries: Sequence[SourceEntry]) -> None:
        self.tables.change_each(
            """UPDATE documents SET mtime_ns = ?, size = ?, locator = ?, dirty_since_ms = NULL
            WHERE collection_id = ? AND path = ?""",
            [
                (each.mtime_ns, each.size, locator_bytes(each.locator), collection_id, each.path)
                for each in entries
            ],
        )

    def mark_dirty(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        self.tables.change_each(
            """UPDATE documents SET dirty_since_ms = ?
            WHERE collection_id = ? AND path >= ? AND path <= ? AND dirty_since_ms IS NULL""",
            [
                (now_ms(), collection_id, path, path + _LAST_CHARACTER if path.endswith("/") else path)
                for path in map(self.tables.stored, paths)
            ],
        )

    def delete(self, collection_id: CollectionId, paths: Sequence[str]) -> None:
        self.tables.change_each(
            "DELETE FROM documents WHERE collection_id = ? AND path = ?",
            [(collection_id, path) for path in paths],
        )

    def finish(
        self,
        collection_id: CollectionId,
        *,
        exclusions: Iterable[Exclusion],
        failures: Iterable[Unreadable],
    ) -> None:
        self._set_outcome("exclusions", collection_id, {each.path: each.rule for each in exclusions})
        self._set_outcome("failures", collection_id, {each.path: each.reason for each in failures})
        these = self.tables.listed("id", self.versions(collection_id).newer)
        changed = self.tables.rows(
            f"""UPDATE documents SET superseded = NOT superseded
            WHERE collection_id = ? AND superseded <> ({these.text}) RETURNING superseded""",
            collection_id,
            *these.arguments,
        )
        if not all(is_superseded for (is_superseded,) in changed):
            # Some were skipped while superseded: missing vectors are looked for again from the start.
            self.tables.change(NEW_EPOCH)
        self._merge_words()

    def _set_outcome(self, table: str, collection_id: CollectionId, outcome: Mapping[str, str]) -> None:
        wanted = {self.tables.stored(path): self.tables.stored(reason) for path, reason in outcome.items()}
        known = outcome_in(table, collection_id, self.tables)
        gone = [path for path in known if known[path] != wanted.get(path)]
        new = {path: reason for path, reason in wanted.items() if known.get(path) != reason}
        paths = self.tables.named("path", gone)
        self.tables.change(
            f"DELETE FROM {table} WHERE collection_id = ? AND {paths.text}", collection_id, *paths.arguments
        )
        self.tables.insert(table, _REASONS, [(collection_id, path, reason) for path, reason in new.items()])


def texts_of(tables: Tables, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
    """Return the texts of documents, by id; unknown ids are left out."""
    # An answer asks several times for the same ones; a transaction that writes may have changed them.
    known = {} if tables.known is None else tables.texts
    if any(each not in known for each in documents):
        if len(known) > _MAX_TEXTS or sum(map(len, known.values())) > _MAX_TEXT_CHARS:
            known.clear()
        chosen = tables.listed("t.document_id", [each for each in documents if each not in known])
        sql = f"SELECT t.document_id, {tables.body} FROM contents t WHERE {chosen.text}"
        known.update(tables.rows(sql, *chosen.arguments))
    return {each: known[each] for each in documents if each in known}


def outcome_in(table: str, collection_id: CollectionId, tables: Tables) -> dict[str, str]:
    """Return the reasons in ``exclusions`` or ``failures``, by path."""
    return dict(tables.rows(f"SELECT path, reason FROM {table} WHERE collection_id = ?", collection_id))


def _placed(rows: Sequence[tuple[Any, ...]]) -> list[PlacedLink]:
    return [PlacedLink(DocumentId(key), path, Link(LinkKind(kind), *link)) for key, path, kind, *link in rows]


class ChunkTables(NarrowedPart, ChunkView):
    """The chunks of a transaction; a :class:`mdvec.stores.interface.ChunkView`."""

    # True for SQLite, which has one writer at a time: the ids of a document's chunks follow each other.
    before_and_after: ClassVar[str] = (
        "CASE WHEN c.ordinal > 0 THEN c.id - 1 ELSE 0 END, coalesce(after.id, 0)"
    )
    """The ids of the chunks right before and right after a chunk ``c``; 0 where there is none."""

    neighbours: ClassVar[str] = (
        "LEFT JOIN chunks after ON after.id = c.id + 1 AND after.document_id = c.document_id"
    )
    """Joins what ``before_and_after`` needs."""

    def get(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        chosen = self.tables.listed("c.id", ids)
        found = self._stored(self.tables.rows(f"{_CHUNKS} WHERE {chosen.text}", *chosen.arguments))
        return {key: found[key] for key in ids if key in found}

    def of_document(self, document_id: DocumentId) -> list[StoredChunk]:
        rows = self.tables.rows(f"{_CHUNKS} WHERE c.document_id = ? ORDER BY c.ordinal", document_id)
        return [*self._stored(rows).values()]

    def places(self, ids: Sequence[ChunkId]) -> list[ChunkPlace]:
        chosen = self.tables.listed("c.id", ids)
        sql = f"""SELECT {_PLACE}, {self.before_and_after} FROM {_JOINED} {self.neighbours}
            WHERE {chosen.text} ORDER BY {BY_PLACE}, c.ordinal"""
        return places_of_rows(self.tables.rows(sql, *chosen.arguments))

    def places_in(self, documents: Sequence[DocumentId], where: Where, limit: int) -> list[ChunkPlace]:
        if not documents:
            return []
        condition = self._where.chunks(where)
        sql = f"""SELECT {_PLACE}, {self.before_and_after} FROM {self.tables.each_id}
            CROSS JOIN documents d ON d.id = j.value
            CROSS JOIN chunks c ON c.document_id = d.id {self.neighbours}
            WHERE {condition.text} ORDER BY j.key, c.ordinal LIMIT ?"""
        arguments = (self.tables.ids(documents), *condition.arguments, limit)
        return places_of_rows(self.tables.rows(sql, *arguments))

    def _stored(self, rows: Sequence[tuple[Any, ...]]) -> dict[ChunkId, StoredChunk]:
        """Return the chunks of rows of ``_CHUNKS``, with their texts, by id.

        Slicing a decoded body is faster than substr in SQL, which counts characters from the start of the
        body for every chunk.
        """
        at = [*_CHUNK].index("document_id")
        bodies = texts_of(self.tables, list({row[at] for row in rows})) if rows else {}
        found: dict[ChunkId, StoredChunk] = {}
        for row in rows:
            fields = dict(zip(_CHUNK, row, strict=True))
            fields["heading_path"] = tuple(json.loads(fields["heading_path"]))
            text = bodies[fields["document_id"]][fields["start"] : fields["end"]]
            found[fields["id"]] = StoredChunk(**fields, text=text)
        return found
