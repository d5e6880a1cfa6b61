"""Other terms, fields and names: functions that stand for those of the real code."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from mdvec.chunking.context import context_line
from mdvec.indexing import prepare
from mdvec.search import lexical
from mdvec.search.lexical import QueryTerm
from mdvec.stores.records import ChunkTerms, DocumentFrequencies, first_names
from mdvec.text import terms
from mdvec.text.folding import normalise
from mdvec.text.indexed_terms import Terms
from mdvec.text.prose import Prose
from mdvec.text.scripts import KATAKANA
from mdvec.text.terms import QueryTerms
from mdvec.text.words import STOP_WORDS, is_english, stem
from mdvec.types.document import Document
from mdvec.types.ids import DocumentId

# The real functions, from before anything stands for them.
_by_kind = terms._by_kind
_forms = terms._forms
_hiragana_in = terms._hiragana_in
_terms_of_chunks = prepare.terms_of_chunks
_expanded = lexical._expanded

# Shorter ones are a bigram already.
_KATAKANA_WORD = re.compile(rf"[{KATAKANA}]{{3,}}")

NO_MATCH = re.compile(r"(?!)")
"""Matches nothing."""


# --- English words -----------------------------------------------------------------------------


def word_as_written(word: str) -> tuple[str, str]:
    """Take an English word as it is, without its stem."""
    return ("", word) if word in STOP_WORDS else (word, "")


def stem_alone(word: str) -> tuple[str, str]:
    """Take the stem of an English word, and not the word."""
    if word in STOP_WORDS:
        return "", word
    return stem(word) if is_english(word) else word, ""


def function_word_as_any(word: str) -> tuple[str, str]:
    """Take a function word as any other English word."""
    stemmed, written = _forms(word)
    return stemmed or stem(word), written


# --- Japanese ----------------------------------------------------------------------------------


def pair_is_bigram(bigram: str) -> int:
    """Treat a bigram of hiragana and something else as an informative one."""
    return 2 if _hiragana_in(bigram) == 2 else 0


def with_katakana_words(text: str) -> terms._TermsByKind:
    """Add whole katakana words to the bigrams they are made of."""
    found = _by_kind(text)
    found.bigrams += _KATAKANA_WORD.findall(normalise(text))
    return found


def terms_one_by_one(texts: Sequence[str]) -> list[Terms]:
    """Return the terms of texts as those of a question are found, which variants can change."""
    return [
        Terms(
            main=" ".join((*found.words, *found.bigrams)),
            words=" ".join((*found.written, *found.stop_words)),
            pairs=" ".join((*found.pairs, *found.particles)),
            singles=" ".join(found.singles),
        )
        for found in (terms._by_kind(text) for text in texts)
    ]


def repeated(found: str) -> str:
    """Keep terms as often as they occur in the title, the headings and the text."""
    return found


def expanded_with_all_singles(
    query: QueryTerms, frequencies: DocumentFrequencies, times: int
) -> Iterator[QueryTerm]:
    """Look for single kanji though none of their bigrams occurs."""
    yield from _expanded(replace(query, singles=()), frequencies, times)
    yield from (QueryTerm(term, reach=lexical._MINOR_REACH) for term in query.singles)


# --- folding -----------------------------------------------------------------------------------


def fold_width_and_case(text: str) -> str:
    """Leave long vowels as they are written."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def fold_case(text: str) -> str:
    """Leave widths and compatibility forms too."""
    return unicodedata.normalize("NFC", text).casefold()


# --- fields, names, context --------------------------------------------------------------------


def terms_without_headings(
    names: Sequence[str], headings: Sequence[str], texts: Sequence[Prose]
) -> Iterator[ChunkTerms]:
    """Leave the heading paths away; a chunk's own headings are in its text."""
    return _terms_of_chunks(names, [""] * len(headings), texts)


def title_alone(names: Sequence[str]) -> tuple[str, ...]:
    """Take a document's title, the first of its names, for its only one."""
    return first_names(names)[:1]


def nothing_is_called_so(_view: object, _folded: str, _where: object) -> list[DocumentId]:
    """Find no document by its exact name."""
    return []


def no_context(_document: Document, _heading_path: object) -> str:
    """Embed a chunk's text alone."""
    return ""


def title_as_context(document: Document, _heading_path: object) -> str:
    """Embed a chunk under its document's title, without headings and tags."""
    return context_line(replace(document, tags=()), ())


def no_properties(_frontmatter: object) -> str:
    """Find no document by the words of its properties."""
    return ""
