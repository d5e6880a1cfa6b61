"""Other terms, fields and names: functions that stand for those of the real code."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from mdvec.stores.lexical import Holding, LexicalFields
from mdvec.stores.names import embedded_names

from mdvec.chunking.context import context_line
from mdvec.indexing import prepare
from mdvec.search import lexical
from mdvec.stores.interface import Catalog
from mdvec.text import terms
from mdvec.text.folding import normalise
from mdvec.text.scripts import KATAKANA
from mdvec.text.terms import QueryTerms, Terms
from mdvec.text.words import STOP_WORDS, is_english, stem
from mdvec.types.chunk import Chunk
from mdvec.types.document import Document
from mdvec.types.ids import ChunkId
from mdvec.types.query import Scope

# The real functions, from before anything stands for them.
_by_kind = terms._by_kind
_kind_of = terms._kind_of
_index_terms = terms.index_terms
_fields = prepare._fields
_telling_kinds = lexical._telling_kinds

_Kind = terms._Kind
_Kinds = dict[terms._Kind, list[str]]

# Shorter ones are a bigram already.
_KATAKANA_WORD = re.compile(rf"[{KATAKANA}]{{3,}}")

NO_MATCH = re.compile(r"(?!)")
"""Matches nothing."""


# --- English words -----------------------------------------------------------------------------


def add_word_as_written(word: str, kinds: _Kinds) -> None:
    """Take an English word as it is, without its stem."""
    kind = _Kind.STOP_WORD if word in STOP_WORDS else _Kind.WORD
    kinds[kind].append(word)


def add_stem_alone(word: str, kinds: _Kinds) -> None:
    """Take the stem of an English word, and not the word."""
    if not is_english(word):
        kinds[_Kind.WORD].append(word)
    elif word in STOP_WORDS:
        kinds[_Kind.STOP_WORD].append(word)
    else:
        kinds[_Kind.WORD].append(stem(word))


# --- Japanese ----------------------------------------------------------------------------------


def pair_is_bigram(bigram: str) -> terms._Kind:
    """Treat a bigram of hiragana and something else as an informative one."""
    kind = _kind_of(bigram)
    return _Kind.BIGRAM if kind is _Kind.PAIR else kind


def with_katakana_words(text: str) -> _Kinds:
    """Add whole katakana words to the bigrams they are made of."""
    kinds = _by_kind(text)
    kinds[_Kind.BIGRAM] += _KATAKANA_WORD.findall(normalise(text))
    return kinds


def terms_with_repeated_pairs(text: str) -> Terms:
    """Keep pairs as often as they occur."""
    kinds = _by_kind(text)
    return replace(_index_terms(text), pairs=(*kinds[_Kind.PAIR], *kinds[_Kind.PARTICLE]))


def fields_with_repeated_pairs(title: Terms, chunk: Chunk) -> LexicalFields:
    """Keep pairs as often as they occur in the title, the headings and the text."""
    fields = _fields(title, chunk)
    parts = (title, *map(terms_with_repeated_pairs, ("\n".join(chunk.heading_path), chunk.text)))
    pairs = [pair for part in parts for pair in part.pairs]
    once = set(pairs)
    others = (term for term in fields.minor if term not in once)
    return replace(fields, minor=(*others, *pairs))


def telling_kinds_with_all_singles(query: QueryTerms, holding: Holding) -> Iterator[lexical._Sought]:
    """Look for single kanji though none of their bigrams occurs."""
    yield from _telling_kinds(replace(query, singles=()), holding)
    yield from (lexical._Sought(term, reach=lexical._MINOR_REACH) for term in query.singles)


# --- folding -----------------------------------------------------------------------------------


def fold_width_and_case(text: str) -> str:
    """Leave long vowels as they are written."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def fold_case(text: str) -> str:
    """Leave widths and compatibility forms too."""
    return unicodedata.normalize("NFC", text).casefold()


# --- fields, names, context --------------------------------------------------------------------


def fields_without_headings(title: Terms, chunk: Chunk) -> LexicalFields:
    """Leave the heading path away; the chunk's own headings are in its text."""
    return _fields(title, replace(chunk, heading_path=()))


def title_alone(document: Document) -> tuple[str, ...]:
    """Take a document's title for its only name."""
    return embedded_names(document)[:1]


def nothing_is_named(_catalog: Catalog, _folded: str, _scope: Scope, _limit: int) -> list[ChunkId]:
    """Find no document by its exact name."""
    return []


def no_context(_document: Document, _heading_path: object) -> str:
    """Embed a chunk's text alone."""
    return ""


def title_as_context(document: Document, _heading_path: object) -> str:
    """Embed a chunk under its document's title, without headings and tags."""
    return context_line(replace(document, tags=()), ())
