"""What a memory store holds, and which of it is inside a ``Where``."""

from __future__ import annotations

import operator
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from mdvec.stores.holders import Holder
from mdvec.stores.records import ChunkPlace, ChunkTerms, DocumentRecord, StoredChunk, first_names
from mdvec.text.globs import compile_glob
from mdvec.text.hashing import text_hash
from mdvec.text.properties import as_number, flat_properties, fold_property, is_date, is_year
from mdvec.types.change import SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.collection import Collection
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId, TextHash
from mdvec.types.query import Comparison, Filters, PropertyCondition, TagMatch, Where
from mdvec.types.space import EmbeddingSpace, UnrelatedTexts


class HeldChunk(Struct, frozen=True):
    """A chunk with its id, the hash of its embedded text, and its terms."""

    id: ChunkId
    text_hash: TextHash
    chunk: Chunk
    terms: ChunkTerms


class HeldDocument(Struct, frozen=True):
    """A document as it was written, but for its mark, and for ``entry`` and path, which are the last ones."""

    id: DocumentId
    collection_id: CollectionId
    entry: SourceEntry
    record: DocumentRecord
    chunks: tuple[HeldChunk, ...]
    dirty_since_ms: int | None = None
    written_at_ms: int = 0

    @property
    def path(self) -> str:
        """The path of the document."""
        return self.record.document.path

    def at(self, entry: SourceEntry) -> HeldDocument:
        """Return the document with another path, and clean."""
        document = replace(self.record.document, path=entry.path)
        record = replace(self.record, document=document)
        return replace(self, entry=entry, record=record, dirty_since_ms=None)

    @property
    def names(self) -> dict[TextHash, str]:
        """The names that are embedded, by hash, the title first."""
        return {text_hash(name): name for name in first_names(self.record.document.names)}


class Contents(Struct):
    """All that a store holds at one moment; values are immutable, so a shallow copy is a snapshot.

    Attributes:
        version: Grows with every commit that changed something.
        last_id: The largest id in use, of whatever kind.
        collections: By id.
        documents: By collection and path, in order of id.
        exclusions: Reasons by collection and path.
        failures: The same for files that could not be read.
        superseded: Documents that another one replaces.
        claims: Who works on a collection; by None, who keeps everything up to date.
        spaces: By id.
        unrelated: What was measured in a space.
        vectors: float16 by space and text, the oldest first.
    """

    version: int = 0
    last_id: int = 0
    collections: dict[CollectionId, Collection] = field(default_factory=dict)
    documents: dict[tuple[CollectionId, str], HeldDocument] = field(default_factory=dict)
    exclusions: dict[CollectionId, dict[str, str]] = field(default_factory=dict)
    failures: dict[CollectionId, dict[str, str]] = field(default_factory=dict)
    superseded: frozenset[DocumentId] = frozenset()
    claims: dict[CollectionId | None, Holder] = field(default_factory=dict)
    spaces: dict[SpaceId, EmbeddingSpace] = field(default_factory=dict)
    unrelated: dict[SpaceId, UnrelatedTexts] = field(default_factory=dict)
    vectors: dict[tuple[SpaceId, TextHash], bytes] = field(default_factory=dict)

    def copied(self) -> Contents:
        """Return what can be changed without changing this."""
        tables = {name: dict(held) for name, held in asdict(self).items() if isinstance(held, dict)}
        return replace(self, **tables)

    def next_id(self) -> int:
        """Return an id that was never used."""
        self.last_id += 1
        return self.last_id


def inside(document: HeldDocument, chunk: HeldChunk, where: Where) -> bool:
    """Return True if a chunk is inside."""
    return _fits(document, where) and _chunk_fits(chunk, where)


def document_inside(document: HeldDocument, where: Where) -> bool:
    """Return True if a document is inside: where its chunks matter, one of them has to be."""
    chunks_matter = bool(where.filters.depths or where.hidden_chunks) or where.chunks is not None
    return _fits(document, where) and (
        not chunks_matter or any(_chunk_fits(each, where) for each in document.chunks)
    )


def _chunk_fits(held: HeldChunk, where: Where) -> bool:
    depths = where.filters.depths
    return (
        (not depths or held.chunk.depth in depths)
        and (where.chunks is None or held.id in where.chunks)
        and held.id not in where.hidden_chunks
    )


def _fits(held: HeldDocument, where: Where) -> bool:
    document, filters = held.record.document, where.filters
    updated_ns = updated_ns_of(held)
    return (
        held.collection_id in where.collections
        and (where.only is None or held.id in where.only)
        and held.id not in where.hidden
        and not (filters.clean_only and held.dirty_since_ms is not None)
        and _fits_labels(document.tags, document.aliases, filters)
        and all(_meets({**document.fields, **document.frontmatter}, each) for each in filters.properties)
        and (filters.path is None or compile_glob(filters.path)(document.path))
        and (filters.updated_since_ns is None or updated_ns >= filters.updated_since_ns)
        and (filters.updated_until_ns is None or updated_ns < filters.updated_until_ns)
    )


def _fits_labels(tags: Sequence[str], aliases: Sequence[str], filters: Filters) -> bool:
    held = [fold(tag) for tag in tags]
    met = [
        any(tag == wanted or tag.startswith(f"{wanted}/") for tag in held)
        for wanted in map(fold, filters.tags)
    ]
    tags_fit = not met or (any(met) if filters.tag_match is TagMatch.ANY else all(met))
    prefix = filters.alias_prefix
    return tags_fit and (prefix is None or any(fold(each).startswith(fold(prefix)) for each in aliases))


_ORDERS = {
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.MORE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}


def _meets(frontmatter: Mapping[str, object], condition: PropertyCondition) -> bool:
    key, wanted = fold_property(condition.key), fold_property(condition.value)
    number = as_number(wanted)
    held = [each for each in flat_properties(frontmatter) if each.key == key]
    if condition.comparison in (Comparison.EQUAL, Comparison.UNEQUAL):
        equal = any(each.value == wanted or (number is not None and each.number == number) for each in held)
        return equal is (condition.comparison is Comparison.EQUAL)
    meets = _ORDERS[condition.comparison]
    dated = is_date(wanted) or is_year(wanted)
    return any(
        (number is not None and each.number is not None and meets(each.number, number))
        or (dated and is_date(each.value) and meets(each.value[: len(wanted)], wanted))
        for each in held
    )


def updated_ns_of(held: HeldDocument) -> int:
    """Return when a document was updated: as it says, else as its file does."""
    said = held.record.document.updated_ns
    return held.entry.mtime_ns if said is None else said


def fold(label: str) -> str:
    """Return the form that two labels share if they differ only in width, case or encoding."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())


def place_of(document: HeldDocument, held: HeldChunk) -> ChunkPlace:
    """Return where a chunk stands."""
    ordinal = held.chunk.ordinal
    ids = {each.chunk.ordinal: each.id for each in document.chunks}
    return ChunkPlace(
        *(held.id, document.id, document.collection_id, ordinal, document.record.unspaced),
        token_count=held.chunk.token_count,
        before=ids.get(ordinal - 1, ChunkId(0)),
        after=ids.get(ordinal + 1, ChunkId(0)),
    )


def stored_chunk(document: HeldDocument, held: HeldChunk, collection: str) -> StoredChunk:
    """Return a chunk as a store returns it; ``collection`` is the name of its collection."""
    chunk, entry = held.chunk, document.entry
    return StoredChunk(
        id=held.id,
        document_id=document.id,
        collection_id=document.collection_id,
        collection=collection,
        path=document.path,
        locator=entry.locator,
        title=document.record.document.title,
        content_hash=document.record.content_hash,
        mtime_ns=entry.mtime_ns,
        size=entry.size,
        dirty=document.dirty_since_ms is not None,
        ordinal=chunk.ordinal,
        parent=chunk.parent,
        depth=chunk.depth,
        heading_path=chunk.heading_path,
        start=chunk.start,
        end=chunk.end,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        token_count=chunk.token_count,
        text=chunk.text,
    )


def fields_of(held: HeldChunk) -> tuple[Sequence[str], ...]:
    """Return the terms of a chunk, in the order of ``FIELD_WEIGHTS``."""
    terms = held.terms
    return tuple(each.split() for each in (terms.main, terms.minor))


def holds_one(held: HeldChunk, terms: Sequence[str]) -> bool:
    """Return True if a chunk holds one of the terms; one that ends in ``*`` stands for all that begin so."""
    prefixes = tuple(term[:-1] for term in terms if term.endswith("*"))
    return any(term in terms or term.startswith(prefixes) for each in fields_of(held) for term in each)


def holds_any(row: Iterable[Counter[str]], terms: Sequence[str]) -> bool:
    """Return True if one of the fields of a chunk holds one of the terms."""
    return any(each[term] for each in row for term in terms)
