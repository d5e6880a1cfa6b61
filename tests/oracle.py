"""What a store must find, from the definitions: plain loops over every document, chunk and vector."""

from __future__ import annotations

import math
import operator
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mdvec.stores.records import BM25_B, BM25_K1, FIELD_WEIGHTS, DocumentRecord, first_names
from mdvec.text.folding import fold_name
from mdvec.text.globs import compile_glob
from mdvec.text.hashing import text_hash
from mdvec.text.properties import as_number, flat_properties, fold_property, is_date, is_year
from mdvec.types.ids import TextHash
from mdvec.types.query import Comparison, Filters, PropertyCondition, TagMatch

T = TypeVar("T")

DIGITS = 6
"""Of a similarity; the stored float16 holds less."""

_ORDERS: Mapping[Comparison, Callable[[Any, Any], bool]] = {
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.MORE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}


@dataclass(frozen=True)
class Place:
    """A chunk by what is the same in every store."""

    collection: str
    path: str
    ordinal: int


@dataclass(frozen=True)
class Scope:
    """Which documents and chunks may be found; the same as a ``Where``, by names and paths."""

    collections: tuple[str, ...]
    filters: Filters = field(default_factory=Filters)
    only: frozenset[str] | None = None
    hidden: frozenset[str] = frozenset()


Key = tuple[str, str]
"""The collection and the path of a document."""


class Oracle:
    """Everything that was written to a store, and searches over all of it.

    Attributes:
        documents: In the order in which they were written.
        vectors: float16 by text, the oldest first.
    """

    def __init__(self) -> None:
        self.documents: dict[Key, DocumentRecord] = {}
        self.vectors: dict[TextHash, NDArray[np.float16]] = {}

    def put(self, collection: str, record: DocumentRecord) -> None:
        """Write a document instead of the one at its path."""
        self.remove(collection, record.document.path)
        self.documents[collection, record.document.path] = record

    def remove(self, collection: str, path: str) -> None:
        """Remove a document, if it is there."""
        self.documents.pop((collection, path), None)

    def embed(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Give texts vectors; one that has a vector keeps it."""
        for text, vector in vectors.items():
            self.vectors.setdefault(text_hash(text), vector.astype(np.float16))

    def drop_unused(self, keep: int) -> None:
        """Remove vectors that no chunk and no name uses, except the newest ``keep``."""
        used = {key for record in self.documents.values() for key in (*record.text_hashes, *_names(record))}
        unused = [key for key in self.vectors if key not in used]
        for key in unused[: max(len(unused) - keep, 0)]:
            del self.vectors[key]

    def bm25(
        self, terms: Sequence[str], scope: Scope, limit: int, must: Sequence[str] = ()
    ) -> list[tuple[Place, float]]:
        """Rank the chunks that hold one of the terms, or one of those in ``must``."""
        fields = {
            place: [Counter(each.split()) for each in (held.main, held.minor)]
            for place, held in self._chunks(lambda record, at: record.terms[at])
        }
        lengths = {place: sum(each.total() for each in row) for place, row in fields.items()}
        mean_length = sum(lengths.values()) / max(len(lengths), 1)
        held_by = self.frequencies(terms)
        scores: list[tuple[Place, float]] = []
        for place in sorted(self.places(scope), key=self._order):
            row, score = fields[place], 0.0
            norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths[place] / mean_length)
            for term in terms:
                count = sum(weight * each[term] for weight, each in zip(FIELD_WEIGHTS, row, strict=True))
                idf = max(1e-6, math.log((len(fields) - held_by[term] + 0.5) / (held_by[term] + 0.5)))
                score += idf * count * (BM25_K1 + 1) / (count + norm)
            if score and any(each[term] for each in row for term in must or terms):
                scores.append((place, score))
        return _best_first(scores, limit)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return how many chunks hold each of some terms."""
        texts = [
            f"{held.main} {held.minor}".split()
            for _, held in self._chunks(lambda record, at: record.terms[at])
        ]
        return {term: sum(term in each for each in texts) for term in terms}

    def nearest_chunks(
        self, query: NDArray[np.float32], scope: Scope, limit: int
    ) -> list[tuple[Place, float]]:
        """Rank the chunks that have a vector."""
        texts = dict(self._chunks(lambda record, at: record.text_hashes[at]))
        inside = sorted(self.places(scope), key=self._order)
        near = [(place, self._similarity(query, [texts[place]])) for place in inside]
        return _best_first(near, limit)

    def nearest_documents(
        self, query: NDArray[np.float32], scope: Scope, limit: int
    ) -> list[tuple[Key, float]]:
        """Rank the documents that hold a chunk inside, and of which a name has a vector."""
        places = sorted(self.places(scope), key=self._order)
        inside = dict.fromkeys((place.collection, place.path) for place in places)
        near = [(key, self._similarity(query, [*_names(self.documents[key])])) for key in inside]
        return _best_first(near, limit)

    def sample(self, query: NDArray[np.float32], count: int) -> list[float]:
        """Return the similarities of the ``count`` texts with the smallest hashes, in order of place.

        Of like texts, the one with the smallest hash is left.
        """
        texts: dict[TextHash, bytes] = {}
        chunks = self._chunks(lambda each, at: (each.text_hashes[at], each.skeletons[at]))
        for _, (key, skeleton) in sorted(chunks, key=lambda found: self._order(found[0])):
            if key in self.vectors:
                texts.setdefault(key, skeleton or key)
        chosen = dict[bytes, TextHash]()
        for key in sorted(texts)[:count]:
            chosen.setdefault(texts[key], key)
        return [self._similarity(query, [key]) for key in texts if key in chosen.values()]

    def called(self, name: str, scope: Scope) -> list[Key]:
        """Return the documents inside with a name, by path."""
        found = [
            key
            for key in self._documents(scope)
            if name in map(fold_name, self.documents[key].document.names)
        ]
        return sorted(found, key=lambda key: key[1])

    def tags(self, scope: Scope) -> list[tuple[str, int]]:
        """Count the documents of each tag, most used first, then by name; as the first document spells it."""
        counted: Counter[str] = Counter()
        shown: dict[str, str] = {}
        for key in self._documents(scope):
            tags = {_fold(tag): tag for tag in reversed(self.documents[key].document.tags)}
            counted.update(tags.keys())
            shown = tags | shown
        return [(shown[tag], counted[tag]) for tag in sorted(counted, key=lambda tag: (-counted[tag], tag))]

    def pending(self, collection: str) -> list[str]:
        """Return the chunk texts without a vector, each once, the oldest first."""
        texts = self._chunks(lambda record, at: record.chunks[at].embedded_text)
        found = dict.fromkeys(text for place, text in texts if place.collection == collection)
        return [text for text in found if text_hash(text) not in self.vectors]

    def pending_names(self, collection: str) -> list[str]:
        """Return the names without a vector, each once, the oldest first."""
        names = {
            key: name
            for (held_in, _), record in self.documents.items()
            for key, name in _names(record).items()
            if held_in == collection
        }
        return [name for key, name in names.items() if key not in self.vectors]

    def places(self, scope: Scope) -> list[Place]:
        """Return the chunks inside, in the order in which they were written."""
        depths = scope.filters.depths
        return [
            Place(*key, chunk.ordinal)
            for key, record in self.documents.items()
            for chunk in record.chunks
            if _fits(key, record, scope) and (not depths or chunk.depth in depths)
        ]

    def _order(self, place: Place) -> tuple[object, ...]:
        """Order by place: the document that was updated last comes first."""
        record = self.documents[place.collection, place.path]
        updated_ns = record.document.updated_ns
        latest = record.entry.mtime_ns if updated_ns is None else updated_ns
        return -latest, place.collection, place.path, place.ordinal

    def _documents(self, scope: Scope) -> list[Key]:
        """Return the documents inside: where depths matter, one of their chunks has to be."""
        if scope.filters.depths:
            return [*dict.fromkeys((place.collection, place.path) for place in self.places(scope))]
        return [key for key, record in self.documents.items() if _fits(key, record, scope)]

    def _chunks(self, part: Callable[[DocumentRecord, int], T]) -> Iterator[tuple[Place, T]]:
        for key, record in self.documents.items():
            for at, chunk in enumerate(record.chunks):
                yield Place(*key, chunk.ordinal), part(record, at)

    def _similarity(self, query: NDArray[np.float32], texts: Sequence[TextHash]) -> float:
        """Return the largest similarity of some texts; NaN if none has a vector."""
        held = [self.vectors[key].astype(np.float64) for key in texts if key in self.vectors]
        near = [round(float(query.astype(np.float64) @ each), DIGITS) for each in held]
        return max((min(1.0, max(-1.0, each)) for each in near), default=math.nan)


def _names(record: DocumentRecord) -> dict[TextHash, str]:
    return {text_hash(name): name for name in first_names(record.document.names)}


def _best_first(found: Sequence[tuple[T, float]], limit: int) -> list[tuple[T, float]]:
    known = [each for each in found if not math.isnan(each[1])]
    return sorted(known, key=lambda each: -each[1])[: max(limit, 0)]


def _fits(key: Key, record: DocumentRecord, scope: Scope) -> bool:
    collection, path = key
    document, filters = record.document, scope.filters
    updated_ns = record.entry.mtime_ns if document.updated_ns is None else document.updated_ns
    return (
        collection in scope.collections
        and (scope.only is None or path in scope.only)
        and path not in scope.hidden
        and _fits_labels(document.tags, document.aliases, filters)
        and all(_meets({**document.fields, **document.frontmatter}, each) for each in filters.properties)
        and (filters.path is None or compile_glob(filters.path)(path))
        and (filters.updated_since_ns is None or updated_ns >= filters.updated_since_ns)
        and (filters.updated_until_ns is None or updated_ns < filters.updated_until_ns)
    )


def _fits_labels(tags: Sequence[str], aliases: Sequence[str], filters: Filters) -> bool:
    held = [_fold(tag) for tag in tags]
    met = [
        any(tag == wanted or tag.startswith(f"{wanted}/") for tag in held)
        for wanted in map(_fold, filters.tags)
    ]
    tags_fit = not met or (any(met) if filters.tag_match is TagMatch.ANY else all(met))
    prefix = filters.alias_prefix
    return tags_fit and (prefix is None or any(_fold(each).startswith(_fold(prefix)) for each in aliases))


def _meets(properties: Mapping[str, object], condition: PropertyCondition) -> bool:
    key, wanted = fold_property(condition.key), fold_property(condition.value)
    number = as_number(wanted)
    held = [each for each in flat_properties(properties) if each.key == key]
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


def _fold(label: str) -> str:
    """Return the form that two labels share if they differ only in width, case, accents or encoding."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    bare = "".join(each for each in unicodedata.normalize("NFD", folded) if not 0x300 <= ord(each) <= 0x36F)
    return unicodedata.normalize("NFC", bare)
