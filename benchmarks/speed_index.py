"""Large indexes of invented sentences and random vectors: nothing is parsed or embedded to make them.

Half of the documents are English, half Japanese. Words are drawn as often as in real text (Zipf), sentences
from a pool, whose terms are computed once. The vectors have the length and the common part of the model's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Final

import numpy as np

from mdvec.stores.interface import Store
from mdvec.stores.records import ChunkTerms, DocumentRecord, VectorKind, first_names
from mdvec.text.hashing import content_hash, text_hash
from mdvec.text.indexed_terms import Terms, index_terms, once
from mdvec.types.change import SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.collection import Collection, SourceSpec
from mdvec.types.document import Document, TitleSource
from mdvec.types.ids import CollectionId
from mdvec.types.space import EmbeddingSpace
from mdvec.workspace.database import open_store

NAME: Final = "bench"
TAGS: Final = {"one": 1000, "many": 10}
"""A document in 1,000 has the tag ``one``, three in ten have ``many``."""

_MANY = 3
_SENTENCES = 20_000  # of each language
_WORDS = 30_000  # of each language
_WORDS_PER_SENTENCE = (6, 14)
_SENTENCES_PER_CHUNK = 3
_CHUNKS_PER_DOCUMENT = 20
_DOCUMENTS_AT_ONCE = 250
_VECTORS_AT_ONCE = 20_000
_ALIKE = 0.8  # the mean cosine of any two texts
# Questions of the judged sets, in either language: tenth, quarter, half, three quarters, nine tenths.
_QUESTION_TOKENS = (5, 9, 14, 22, 32)
_TOKENS_PER_WORD = 2.4

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_PARTICLES = ["は", "が", "を", "に", "で", "と", "の", "も", "から", "まで", "として", "について"]
_ENDINGS = ["です。", "ます。", "した。", "する。", "である。", "でしょうか。"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its terms."""

    text: str
    terms: Terms


def sentences(
    chance: np.random.Generator, *, count: int = _SENTENCES
) -> tuple[list[Sentence], list[Sentence]]:
    """Return the pools of English and of Japanese sentences, so many of each."""
    syllables = [a + b for a in _CONSONANTS for b in _VOWELS]
    kanji = [chr(code) for code in range(0x4E00, 0x4E00 + 1500)]
    english, japanese = _words(syllables, (2, 5), chance), _words(kanji, (2, 4), chance)
    odds = 1 / np.arange(10, _WORDS + 10)
    odds /= odds.sum()
    particles = itertools.cycle(_PARTICLES)
    pools = list[Sentence](), list[Sentence]()
    for pool, words in zip(pools, (english, japanese), strict=True):
        drawn = iter(chance.choice(_WORDS, count * _WORDS_PER_SENTENCE[1], p=odds).tolist())
        for words_in in chance.integers(*_WORDS_PER_SENTENCE, count).tolist():
            chosen = [words[at] for at in itertools.islice(drawn, words_in)]
            if words is english:
                text = " ".join(chosen) + "."
            else:
                joined = zip(chosen, itertools.islice(particles, words_in), strict=True)
                text = (
                    "".join(word + particle for word, particle in joined) + _ENDINGS[words_in % len(_ENDINGS)]
                )
            pool.append(Sentence(text, index_terms(text)))
    return pools


def _words(parts: Sequence[str], length: tuple[int, int], chance: np.random.Generator) -> list[str]:
    """Return words of some parts each, from the shortest to one less than the longest."""
    drawn = iter(chance.integers(len(parts), size=_WORDS * length[1]).tolist())
    counts = chance.integers(*length, _WORDS).tolist()
    return ["".join(parts[at] for at in itertools.islice(drawn, count)) for count in counts]


def questions(chance: np.random.Generator, pools: Sequence[Sequence[Sentence]], count: int) -> list[str]:
    """Return the beginnings of sentences, English and Japanese in turns, as long as real questions are."""
    lengths = itertools.cycle(_QUESTION_TOKENS)
    made = []
    for number in range(count):
        pool = pools[number % 2]
        text = pool[int(chance.integers(len(pool)))].text
        tokens = next(lengths)
        if number % 2 == 0:
            text = " ".join(text.rstrip(".").split()[: round(tokens / _TOKENS_PER_WORD)])
        else:
            text = text[:tokens]  # one for each character
        made.append(text)
    return made


def fill(database: Path, chunks: int, space: EmbeddingSpace, pools: Sequence[Sequence[Sentence]]) -> None:
    """Write an index.

    Args:
        database: Where; there is none yet.
        chunks: How many.
        space: Of the vectors.
        pools: From :func:`sentences`.
    """
    chance = np.random.default_rng(1)
    with closing(open_store(database)) as store:
        with store.write() as writer:
            source = SourceSpec("push", "push:")
            new = Collection(CollectionId(0), NAME, "Invented notes", source, last_indexed_ms=1)
            collection = writer.collections.add(new)
        records = _records(chunks // _CHUNKS_PER_DOCUMENT, chance, pools)
        while some := list(itertools.islice(records, _DOCUMENTS_AT_ONCE)):
            with store.write() as writer:
                writer.documents.put(collection.id, some)
        _put_vectors(store, space, chance)


def _records(
    documents: int, chance: np.random.Generator, pools: Sequence[Sequence[Sentence]]
) -> Iterator[DocumentRecord]:
    for number in range(documents):
        pool = pools[number % 2]
        picked = chance.integers(len(pool), size=(_CHUNKS_PER_DOCUMENT, _SENTENCES_PER_CHUNK)).tolist()
        parts = [[pool[at] for at in each] for each in picked]
        yield _record(number, parts, unspaced=number % 2 == 1)


def _record(number: int, parts: Sequence[Sequence[Sentence]], *, unspaced: bool) -> DocumentRecord:
    path = f"d{number // 500}/note{number}.md"
    chunks, start = [], 0
    for ordinal, part in enumerate(parts):
        # No two chunks have the same vector.
        text = " ".join([f"{number}-{ordinal}", *(each.text for each in part)])
        chunks.append(
            Chunk(ordinal, None, 0, (), start, start + len(text), ordinal + 1, ordinal + 1, 100, text)
        )
        start += len(text) + 1
    body = "\n".join(chunk.text for chunk in chunks)
    tags = [tag for tag, each in TAGS.items() if number % each < (_MANY if each == TAGS["many"] else 1)]
    document = Document(path, f"Note {number}", TitleSource.HEADING, body, 0, (), tags=tuple(tags))
    names = first_names(document.names)
    title = index_terms("\n".join(names))
    return DocumentRecord(
        entry=SourceEntry(path, path, 1, len(body)),
        content_hash=content_hash(path.encode()),
        fingerprint="benchmark",
        document=document,
        chunks=tuple(chunks),
        text_hashes=tuple(text_hash(chunk.embedded_text) for chunk in chunks),
        terms=tuple(_terms(title, part) for part in parts),
        unspaced=unspaced,
        skeletons=tuple(text_hash(chunk.text) for chunk in chunks),
        names=names,
    )


def _terms(title: Terms, part: Sequence[Sentence]) -> ChunkTerms:
    """Return the terms of a chunk of these sentences, as :mod:`mdvec.indexing.prepare` makes them."""
    every = (title, *(each.terms for each in part))
    pairs = once(" ".join(terms.pairs for terms in every))
    singles = once(" ".join(terms.singles for terms in every))
    main, words = (" ".join(map(attrgetter(kind), every)) for kind in ("main", "words"))
    return ChunkTerms(main, f"{words} {pairs} {singles}")


def _put_vectors(store: Store, space: EmbeddingSpace, chance: np.random.Generator) -> None:
    """Give every text and name a vector."""
    with store.write() as writer:
        space_id = writer.spaces.open(space)
    common = np.full(space.dimension, (_ALIKE / space.dimension) ** 0.5, np.float32)
    with store.read() as view:
        collection = view.collections.all()[0]
    for kind in VectorKind:
        while True:
            with store.read() as view:
                pending = view.vectors.pending(kind, collection.id, space_id, _VECTORS_AT_ONCE)
                hashes = [each.text_hash for each in pending]
            if not hashes:
                break
            vectors = common + chance.normal(
                0, ((1 - _ALIKE) / space.dimension) ** 0.5, (len(hashes), space.dimension)
            ).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            with store.write() as writer:
                writer.vectors.put(space_id, hashes, vectors)
