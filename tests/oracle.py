"""The results that a store must find, from the definitions: plain loops over every document and vector."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mdvec.stores.records import BM25_B, BM25_K1, FIELD_WEIGHTS, DocumentRecord, VectorKind, first_names
from mdvec.text.folding import fold_name
from mdvec.text.globs import compile_glob
from mdvec.text.hashing import text_hash
from mdvec.types.ids import TextHash
from mdvec.types.query import Filters, TagMatch

T = TypeVar("T")
Query = NDArray[np.float32]
Key: TypeAlias = tuple[str, str]
"""Collection and path of a document; ids differ between stores."""

DIGITS = 6
"""Of a similarity; the stored float16 holds less."""


class Place(NamedTuple):
    """A chunk by collection, path and position."""

    collection: str
    path: str
    ordinal: int


@dataclass(frozen=True)
class Scope:
    """The documents and chunks that may be found; the same as a ``Where``, by names and paths."""

    collections: tuple[str, ...]
    filters: Filters = field(default_factory=Filters)
    only: frozenset[str] | None = None
    hidden: frozenset[str] = frozenset()


class Oracle:
    """Everything that was written to a store, and searches over all of it. Each document has a chunk.

    Attributes:
        documents: By collection and path, in the order in which they were written.
        dirty: Those that are marked as changed.
        vectors: float16 by text, the oldest first.
    """

    def __init__(self) -> None:
        self.documents: dict[Key, DocumentRecord] = {}
        self.dirty: set[Key] = set()
        self.vectors: dict[TextHash, NDArray[np.float16]] = {}

    def put(self, collection: str, record: DocumentRecord) -> None:
        """Write a document instead of the one at its path."""
        self.remove(collection, record.document.path)
        self.documents[collection, record.document.path] = record

    def remove(self, collection: str, path: str) -> None:
        """Remove a document, if it is there."""
        self.documents.pop((collection, path), None)
        self.dirty.discard((collection, path))

    def mark_dirty(self, collection: str, path: str) -> None:
        """Mark a document as changed, if it is there."""
        self.dirty |= {(collection, path)} & self.documents.keys()

    def embed(self, vectors: Mapping[str, Query]) -> None:
        """Give texts vectors; one that has a vector keeps it."""
        for text, vector in vectors.items():
            self.vectors.setdefault(text_hash(text), vector.astype(np.float16))

    def drop_unused(self, keep: int) -> int:
        """Remove vectors that no chunk and no name uses, except the newest ``keep``; return how many."""
        used = {key for each in self.documents.values() for key in (*each.text_hashes, *_names(each))}
        unused = [key for key in self.vectors if key not in used]
        dropped = unused[: max(len(unused) - keep, 0)]
        for key in dropped:
            del self.vectors[key]
        return len(dropped)

    def bm25(
        self, terms: Sequence[str], scope: Scope, limit: int, must: Sequence[str] = ()
    ) -> list[tuple[Place, float]]:
        """Rank the chunks that hold one of the terms, or one of those in ``must``."""
        held = self._terms()
        lengths = {place: sum(each.total() for each in fields) for place, fields in held.items()}
        mean_length = sum(lengths.values()) / max(len(lengths), 1)
        held_by, scores = self.frequencies(terms), dict[Place, float]()
        for place in self.places(scope):
            norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths[place] / mean_length)
            for term in terms if any(each[term] for each in held[place] for term in must or terms) else ():
                weighed = zip(FIELD_WEIGHTS, held[place], strict=True)
                count = sum(weight * each[term] for weight, each in weighed)
                idf = max(1e-6, math.log((len(held) - held_by[term] + 0.5) / (held_by[term] + 0.5)))
                scores[place] = scores.get(place, 0.0) + idf * count * (BM25_K1 + 1) / (count + norm)
        return _best_first(scores, limit)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return how many chunks hold each of some terms."""
        held = self._terms().values()
        return {term: sum(any(each[term] for each in fields) for fields in held) for term in terms}

    def holding(self, groups: Sequence[Sequence[str]], scope: Scope) -> set[Place]:
        """Return the chunks that hold a term of every group, in whatever fields."""
        held = {place: sum(fields, Counter[str]()) for place, fields in self._terms().items()}
        return {
            each
            for each in self.places(scope)
            if all(any(held[each][term] for term in group) for group in groups)
        }

    def nearest_chunks(self, query: Query, scope: Scope, limit: int) -> list[tuple[Place, float]]:
        """Rank the chunks that have a vector."""
        return _best_first(
            {each: self._near(query, [self._text(each)]) for each in self.places(scope)}, limit
        )

    def nearest_documents(self, query: Query, scope: Scope, limit: int) -> list[tuple[Key, float]]:
        """Rank the documents that hold a chunk inside, and of which a name has a vector."""
        inside = dict.fromkeys(each[:2] for each in self.places(scope))
        return _best_first({key: self._near(query, _names(self.documents[key])) for key in inside}, limit)

    def sample(self, query: Query, count: int) -> list[float]:
        """Return the similarities of the ``count`` texts with the smallest hashes, in order of place.

        Of like texts, the one with the smallest hash is left.
        """
        every = self.places(Scope(tuple({collection for collection, _ in self.documents})))
        known = {key: each for each in reversed(every) if (key := self._text(each)) in self.vectors}
        chosen = dict[bytes, TextHash]()
        for key in sorted(known)[:count]:
            place = known[key]
            chosen.setdefault(self.documents[place[:2]].skeletons[place.ordinal] or key, key)
        sampled = sorted(chosen.values(), key=lambda key: every.index(known[key]))
        return [self._near(query, [key]) for key in sampled]

    def called(self, name: str, scope: Scope) -> list[Key]:
        """Return the documents inside with a name, by path."""
        names = {key: map(fold_name, record.document.names) for key, record in self._inside(scope).items()}
        return sorted((key for key in names if name in names[key]), key=lambda key: key[1])

    def tags(self, scope: Scope) -> list[tuple[str, int]]:
        """Count the documents of each tag, most used first, then by name; as the first document spells it."""
        counted, shown = Counter[str](), dict[str, str]()
        for record in self._inside(scope).values():
            tags = {_fold(tag): tag for tag in reversed(record.document.tags)}
            counted.update(tags.keys())
            shown = tags | shown
        return [(shown[tag], counted[tag]) for tag in sorted(counted, key=lambda tag: (-counted[tag], tag))]

    def pending(self, kind: VectorKind, collection: str) -> list[str]:
        """Return the texts of a kind without a vector, each once, the oldest first."""
        found: dict[TextHash, str] = {}
        for record in (record for key, record in self.documents.items() if key[0] == collection):
            texts = {text_hash(each.embedded_text): each.embedded_text for each in record.chunks}
            found |= _names(record) if kind is VectorKind.NAME else texts
        return [text for key, text in found.items() if key not in self.vectors]

    def places(self, scope: Scope) -> list[Place]:
        """Return the chunks inside: those of the document that was updated last come first."""
        depths = scope.filters.depths
        found = [
            (-_updated_ns(record), Place(*key, chunk.ordinal))
            for key, record in self.documents.items()
            for chunk in record.chunks
            if _fits(key, record, scope) and (not depths or chunk.depth in depths)
            if not (scope.filters.clean_only and key in self.dirty)
        ]
        return [place for _, place in sorted(found)]

    def _inside(self, scope: Scope) -> dict[Key, DocumentRecord]:
        """Return the documents with a chunk inside."""
        keys = {each[:2] for each in self.places(scope)}
        return {key: record for key, record in self.documents.items() if key in keys}

    def _terms(self) -> dict[Place, list[Counter[str]]]:
        """Return the terms of each chunk, by field."""
        return {
            Place(*key, ordinal): [Counter(each.main.split()), Counter(each.minor.split())]
            for key, record in self.documents.items()
            for ordinal, each in enumerate(record.terms)
        }

    def _text(self, place: Place) -> TextHash:
        return self.documents[place[:2]].text_hashes[place.ordinal]

    def _near(self, query: Query, texts: Iterable[TextHash]) -> float:
        """Return the largest similarity of some texts; NaN if none has a vector."""
        held = [self.vectors[key].astype(np.float64) for key in texts if key in self.vectors]
        near = [round(float(query.astype(np.float64) @ each), DIGITS) for each in held]
        return max((min(1.0, max(-1.0, each)) for each in near), default=math.nan)


def _names(record: DocumentRecord) -> dict[TextHash, str]:
    return {text_hash(name): name for name in first_names(record.document.names)}


def _best_first(found: Mapping[T, float], limit: int) -> list[tuple[T, float]]:
    known = [each for each in found.items() if not math.isnan(each[1])]
    return sorted(known, key=lambda each: -each[1])[: max(limit, 0)]


def _updated_ns(record: DocumentRecord) -> int:
    updated_ns = record.document.updated_ns
    return record.entry.mtime_ns if updated_ns is None else updated_ns


def _fits(key: Key, record: DocumentRecord, scope: Scope) -> bool:
    (collection, path), filters, tags = key, scope.filters, list(map(_fold, record.document.tags))
    met = [
        any(tag == each or tag.startswith(f"{each}/") for tag in tags) for each in map(_fold, filters.tags)
    ]
    prefix = None if filters.alias_prefix is None else _fold(filters.alias_prefix)
    return (
        collection in scope.collections
        and (scope.only is None or path in scope.only)
        and path not in scope.hidden
        and (not met or (any(met) if filters.tag_match is TagMatch.ANY else all(met)))
        and (prefix is None or any(_fold(each).startswith(prefix) for each in record.document.aliases))
        and (filters.path is None or compile_glob(filters.path)(path))
        and (filters.updated_since_ns is None or _updated_ns(record) >= filters.updated_since_ns)
        and (filters.updated_until_ns is None or _updated_ns(record) < filters.updated_until_ns)
    )


def _fold(label: str) -> str:
    """Return the form that two labels share if they differ only in width, case, accents or encoding."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    bare = "".join(each for each in unicodedata.normalize("NFD", folded) if not 0x300 <= ord(each) <= 0x36F)
    return unicodedata.normalize("NFC", bare)
