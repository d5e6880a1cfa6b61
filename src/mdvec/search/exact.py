"""Exact evidence: passages that hold the whole query word for word, or are headed by it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mdvec import run
from mdvec.search.fusion import LexicalEvidence
from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk
from mdvec.text.links import resolve
from mdvec.text.phrases import is_heading, lists_name, phrase_finder
from mdvec.text.prose import is_fragment
from mdvec.text.terms import phrase_terms
from mdvec.types.ids import ChunkId
from mdvec.types.query import Where

# A passage with every term of the query is among the best by words. Only these are read.
_READ = 60

# A phrase that more documents hold is a term of the subject and no evidence for any of them. If more passages
# hold it, one of each document counts, so that a long document does not fill the answer.
_FEW = 10

# If the maximum score is this low, the words are common: many passages hold all of them, and BM25, which
# ignores their order, cannot rank those. Then up to this many passages are read.
_LITTLE = 16.0
_MAX_HOLDERS = 400

# A name of several words, such as external_docs. A phrase is found whatever signs stand in it, so many texts
# may hold its words side by side; those that write it so come first.
_JOINED = re.compile(r"_*[^\W_]+(?:[_.:/-]+[^\W_]+)+_*", re.ASCII)

# A section of at most this many tokens may only point to the answer: it does if it links to a passage with at
# least this share of its own BM25 score.
_SHORT = 120
_AS_GOOD = 0.6


def exact_matches(text: str, words: LexicalEvidence, where: Where, view: View) -> frozenset[ChunkId]:
    """Return the chunks with exact evidence, if they are in few documents.

    Chunks whose heading is the query come first, then chunks whose heading lists it among other names, then
    chunks that hold it. If a section with such a heading only points to another document, the chunk of that
    document is returned instead.

    Args:
        text: The query.
        words: The candidates by words.
        where: Which chunks may be found.
        view: The snapshot.
    """
    holds = phrase_finder(text)
    if holds is None or not words.ranking or not (words.matched_weight or words.all_known):
        return frozenset()
    with run.current().step("exact") as details:
        scores = dict(words.ranking[:_READ])
        stored = view.chunks([*scores])
        chunks = [stored[chunk] for chunk in scores if chunk in stored]
        sections = [each for each in chunks if each.heading_path and not is_fragment(each.text)]
        headed = [each for each in sections if is_heading(text, each.heading_path[-1])]
        headed = headed or [each for each in sections if lists_name(text, each.heading_path[-1])]
        found = [_pointed_at(each, chunks, scores, view) for each in headed]
        if not found and _JOINED.fullmatch(text):
            found = _written(text, chunks)
            if not found and words.all_known:
                found = _written(text, _with_all_words(text, where, view))
        found = found or [each for each in chunks if holds(each.text)]
        if not found and words.all_known and words.max_score < _LITTLE:
            chunks = _with_all_words(text, where, view)
            found = [each for each in chunks if holds(each.text)]
        one_of_each = {each.document_id: each for each in reversed(found)}
        details.update(read=len(chunks), found=len(found), documents=len(one_of_each))
    if len(one_of_each) > _FEW:
        return frozenset()
    return frozenset(each.id for each in (found if len(found) <= _FEW else one_of_each.values()))


def _written(name: str, chunks: Sequence[StoredChunk]) -> list[StoredChunk]:
    """Return the chunks that hold a name with its signs, whole."""
    written = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    return [each for each in chunks if written.search(each.text)]


def _with_all_words(text: str, where: Where, view: View) -> list[StoredChunk]:
    """Return the chunks that hold all words of a query; none for one word, or if there are too many."""
    groups = phrase_terms(text).groups
    distinct = [*dict.fromkeys(groups)]  # each takes time, and a pasted text repeats its words
    ids = view.holding(distinct, where, limit=_MAX_HOLDERS + 1) if len(groups) > 1 else ()
    return [*view.chunks(ids).values()] if len(ids) <= _MAX_HOLDERS else []


def _pointed_at(
    section: StoredChunk, chunks: Sequence[StoredChunk], scores: Mapping[ChunkId, float], view: View
) -> StoredChunk:
    """Return the chunk that a short section points to; the section itself if it points to none.

    Args:
        section: A section whose heading is the query.
        chunks: The possible targets, best first.
        scores: Their BM25 scores.
        view: The snapshot.
    """
    if section.token_count > _SHORT:
        return section
    least = _AS_GOOD * scores[section.id]
    others = {
        each.path: each
        for each in reversed(chunks)
        if each.collection_id == section.collection_id
        and each.document_id != section.document_id
        and scores[each.id] >= least
    }
    links = view.links_of(section.document_id) if others else ()
    inside = (each for each in links if section.start_line <= each.line <= section.end_line)
    targets = (resolve(each, section.path, others) for each in inside)
    return next((others[target] for target in targets if target in others), section)
