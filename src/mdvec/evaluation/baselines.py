"""Simple ways to search the same chunks, to compare the ranking of mdvec with."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec import Struct

from mdvec.evaluation.judgements import Question, Ranker
from mdvec.evaluation.runner import best_of_each, scope_filters
from mdvec.text.scripts import HAN, HANGUL, HIRAGANA, KATAKANA
from mdvec.text.terms import stem
from mdvec.types.query import Expansion, SearchMode, SearchQuery
from mdvec.workspace import Workspace

GREP = "grep"
BM25 = "bm25"
RRF_60 = "rrf-60"

# More than any metric looks at, and few enough to keep their texts.
_MAX_DOCUMENTS = 100

# The usual constants of BM25, as in Lucene.
_K1 = 1.2
_B = 0.75

# Reciprocal rank fusion: the constant of the paper and of most implementations, and the depth to which both
# rankings are read.
_RRF_K = 60
_RRF_DEPTH = 100

_GREP_TERM = re.compile(rf"[{KATAKANA}]+|[{HAN}]+|[{HIRAGANA}]+|[^\W{KATAKANA}{HAN}{HIRAGANA}]+")
_HIRAGANA_ONLY = re.compile(rf"[{HIRAGANA}]+")
_CJK = f"{HAN}{HIRAGANA}{KATAKANA}{HANGUL}"
_CJK_RUN_OR_WORD = re.compile(rf"([{_CJK}]+)|[^\W_{_CJK}]+")


class Text(Struct, frozen=True):
    """The part of a chunk that a baseline searches."""

    collection: str
    path: str
    text: str


@contextmanager
def baselines(workspace: Workspace, collections: Sequence[str] = ()) -> Iterator[dict[str, Ranker]]:
    """Read all chunks and prepare the baselines over them.

    Args:
        workspace: Holds the chunks and the vectors. It must stay open.
        collections: Names; all enabled ones when empty.

    Yields:
        A ranker for each name: :data:`GREP`, :data:`BM25` and :data:`RRF_60`, in this order.
    """
    texts = texts_of(workspace, collections)
    yield {
        GREP: partial(_grep, [(each, each.text.casefold()) for each in texts]),
        BM25: _Bm25(texts).rank,
        RRF_60: partial(_rrf, workspace, tuple(collections)),
    }


def texts_of(workspace: Workspace, collections: Sequence[str]) -> list[Text]:
    """Return the chunks of some collections, or of all enabled ones, in their order."""
    return [Text(chunk.collection, chunk.path, chunk.text) for chunk in workspace.chunks(collections)]


def ranking(texts: Iterable[Text], question: Question) -> list[tuple[str, str]]:
    """Return the path and best text of each document that counts, of chunks that are ranked."""
    here = ((each.path, each.text) for each in texts if question.collection in ("", each.collection))
    return list(best_of_each(here, question, most=_MAX_DOCUMENTS).items())


def grep_terms(query: str) -> list[str]:
    """Return the terms that a person would grep for, in order, each once, case folded.

    These are words, split at white space and punctuation; in Japanese the runs of one script, without
    hiragana (particles and endings). Terms of one character are dropped. When that leaves nothing, all runs
    are terms.
    """
    runs = list(dict.fromkeys(_GREP_TERM.findall(query.casefold())))
    return [run for run in runs if len(run) > 1 and not _HIRAGANA_ONLY.fullmatch(run)] or runs


def _grep(texts: Sequence[tuple[Text, str]], question: Question) -> list[tuple[str, str]]:
    """Rank by the number of distinct terms, then of all occurrences: ``grep -i -c`` for each term."""
    terms = grep_terms(question.text)
    found: list[tuple[int, int, Text]] = []
    for each, folded in texts:
        counts = [folded.count(term) for term in terms]
        total = sum(counts)
        if total:
            found.append((-sum(map(bool, counts)), -total, each))
    found.sort(key=lambda entry: entry[:2])
    return ranking((each for _, _, each in found), question)


def bm25_terms(text: str) -> list[str]:
    """Return the words of a text, stemmed; of Chinese, Japanese and Korean runs the pairs of characters."""
    terms: list[str] = []
    for match in _CJK_RUN_OR_WORD.finditer(text.casefold()):
        run: str | None = match[1]
        if run is None:
            terms.append(stem(match[0]))
        else:
            terms += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
    return terms


class _Bm25:
    """Okapi BM25 over all terms of a question, joined by OR: the usual full-text search.

    References:
        Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; the weight of
        a term is Lucene's, which is never negative.
    """

    def __init__(self, texts: Sequence[Text]) -> None:
        self._texts = texts
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths: list[int] = []
        for number, each in enumerate(texts):
            counts = Counter(bm25_terms(each.text))
            lengths.append(counts.total())
            for term, count in counts.items():
                self._postings[term].append((number, count))
        mean = max(1.0, sum(lengths) / max(1, len(lengths)))
        self._norms = [_K1 * (1 - _B + _B * length / mean) for length in lengths]

    def rank(self, question: Question) -> list[tuple[str, str]]:
        """Rank by the sum of the weights of all terms that a chunk holds."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term, repeats in Counter(bm25_terms(question.text)).items():
            postings = self._postings.get(term, ())
            weight = repeats * math.log(1 + (len(self._texts) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                scores[number] += weight * count * (_K1 + 1) / (count + self._norms[number])
        ranked = sorted(scores, key=lambda number: (-scores[number], number))
        return ranking((self._texts[number] for number in ranked), question)


def _rrf(workspace: Workspace, collections: tuple[str, ...], question: Question) -> list[tuple[str, str]]:
    """Fuse the lexical and the dense ranking of mdvec by ranks alone, as most hybrid searches do.

    Raises:
        EmbedderUnavailableError: If there is no model.

    References:
        Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
        Learning Methods", SIGIR 2009.
    """
    scores: defaultdict[tuple[str, str, int, int], float] = defaultdict(float)
    texts: dict[tuple[str, str, int, int], str] = {}
    for mode in (SearchMode.LEXICAL, SearchMode.DENSE):
        query = SearchQuery(
            question.text,
            mode=mode,
            collections=(question.collection,) if question.collection else collections,
            filters=scope_filters(question),
            limit=_RRF_DEPTH,
            min_score=0,  # it fuses rankings, down to their ends
            expand=Expansion.CHUNK,
            rerank=False,
        )
        for hit in workspace.search(query, wait_for_vectors=True).hits:
            key = (hit.collection, hit.path, hit.start, hit.end)
            texts[key] = hit.text
            scores[key] += 1 / (_RRF_K + hit.rank)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))
    return ranking((Text(key[0], key[1], texts[key]) for key in ranked), question)
