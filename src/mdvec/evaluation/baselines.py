"""Other ways to search, over the very chunks that are searched: what our own ranking is held against."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial

from mdvec.evaluation.model import Question, Ranker
from mdvec.evaluation.runner import scope_filters
from mdvec.text.scripts import HAN, HANGUL, HIRAGANA, KATAKANA
from mdvec.text.undecodable import spelled
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import Workspace

GREP = "grep"
FTS5_WORDS = "fts5-words"
FTS5_CHARACTERS = "fts5-characters"
RRF_60 = "rrf-60"

NAMES = (GREP, FTS5_WORDS, FTS5_CHARACTERS, RRF_60)
"""Every baseline, in the order of reports."""

# More than any measure looks at, and few enough to keep the text of.
_MAX_DOCUMENTS = 100

# Reciprocal rank fusion: the constant of the paper and of most who build it, and how far down both
# rankings are read.
_RRF_K = 60
_RRF_DEPTH = 100

_GREP_TERM = re.compile(rf"[{KATAKANA}]+|[{HAN}]+|[{HIRAGANA}]+|[^\W{KATAKANA}{HAN}{HIRAGANA}]+")
_HIRAGANA_ONLY = re.compile(rf"[{HIRAGANA}]+")

# As in qmd: Han, Hiragana, Katakana and Hangul.
_CJK_RUN = re.compile(rf"[{HAN}{HIRAGANA}{KATAKANA}{HANGUL}]+")
_NOT_IN_A_TERM = re.compile(r"[^\w']")


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What a baseline knows of a chunk."""

    collection: str
    path: str
    text: str


@contextmanager
def baselines(workspace: Workspace, collections: Sequence[str] = ()) -> Iterator[dict[str, Ranker]]:
    """Read all chunks and prepare the baselines over them.

    Args:
        workspace: What holds the chunks. Vectors come from it too, so it must stay open.
        collections: Names; all enabled ones when empty.

    Yields:
        A ranker for each name of :data:`NAMES`, in that order, to be used inside the ``with`` and in the
        same thread. Without FTS5 in Python's own SQLite its two are left out: see :func:`missing`.
    """
    chunks = [_Chunk(chunk.collection, chunk.path, chunk.text) for chunk in workspace.chunks(collections)]
    rankers: dict[str, Ranker] = {GREP: partial(_grep, [(chunk, chunk.text.casefold()) for chunk in chunks])}
    with closing(sqlite3.connect(":memory:")) as connection:
        if _has_fts5(connection):
            _fill(connection, "words", (chunk.text for chunk in chunks))
            _fill(connection, "characters", (_spaced(chunk.text) for chunk in chunks))
            rankers[FTS5_WORDS] = partial(_fts5, connection, "words", all_words, chunks)
            rankers[FTS5_CHARACTERS] = partial(_fts5, connection, "characters", all_phrases, chunks)
        rankers[RRF_60] = partial(_rrf, workspace, tuple(collections))
        yield rankers


def missing() -> str | None:
    """Say which baselines cannot be run here and why; None when all can."""
    with closing(sqlite3.connect(":memory:")) as connection:
        if _has_fts5(connection):
            return None
    return f"{FTS5_WORDS} and {FTS5_CHARACTERS} are left out: this Python's SQLite was built without FTS5"


# --- grep --------------------------------------------------------------------------------------


def grep_terms(query: str) -> list[str]:
    """Return what a person would grep for, in order, each once, case folded.

    Words, split at white space and punctuation; of Japanese the runs of one script, without the hiragana
    between them (particles and endings). Terms of one character are dropped. When that leaves nothing,
    all runs are kept.
    """
    runs = list(dict.fromkeys(_GREP_TERM.findall(query.casefold())))
    telling = [run for run in runs if len(run) > 1 and not _HIRAGANA_ONLY.fullmatch(run)]
    return telling or runs


def _grep(chunks: Sequence[tuple[_Chunk, str]], question: Question) -> list[tuple[str, str]]:
    """Count terms, as somebody does who runs ``grep -i -c`` for each and opens what has most of them.

    Stands for an agent or a person with a shell and no index: substrings count, whatever their weight;
    first the number of distinct terms, then of all occurrences.
    """
    terms = grep_terms(question.text)
    found: list[tuple[int, int, _Chunk]] = []
    for chunk, folded in chunks:
        counts = [folded.count(term) for term in terms]
        total = sum(counts)
        if total:
            found.append((-sum(map(bool, counts)), -total, chunk))
    found.sort(key=lambda entry: entry[:2])
    return _best_of_each((chunk for _, _, chunk in found), question)


# --- SQLite FTS5 -------------------------------------------------------------------------------


def all_words(query: str) -> str:
    """Return the FTS5 expression that asks for every word of a query; empty without any.

    What is between white space is a word, quoted, so that no character of it is an operator; the
    tokenizer takes it apart. A Japanese sentence is one word, which no text holds. So do
    pvliesdonk/markdown-vault-mcp (src/markdown_vault_mcp/fts_index.py) and many others.
    """
    words = [word.replace('"', '""') for word in _words(query) if re.search(r"[^\W_]", word)]
    return " AND ".join(f'"{word}"' for word in words)


def all_phrases(query: str) -> str:
    """Return the FTS5 expression that asks for every word of a query, Japanese ones as phrases.

    After tobi/qmd 2.8.3 (src/store.ts, ``buildFTS5Query``): a word with Chinese, Japanese or Korean
    characters is the phrase of its single characters, one with hyphens the phrase of its parts, one with
    dots each of its parts; every other word is a prefix; all are joined by AND. Left out are
    its operators for quoted phrases and negation: a question is plain text here.
    """
    parts: list[str] = []
    for word in _words(query):
        if _CJK_RUN.search(word):
            terms = [_term(piece) for piece in _spaced(word).split()]
            parts.append(_phrase(terms))
        elif re.fullmatch(r"[\w']+(?:-[\w']+)+", word):
            parts.append(_phrase([_term(piece) for piece in word.split("-")]))
        elif re.fullmatch(r"\w+(?:\.\w+)+", word):
            parts += [f'"{_term(piece)}"*' for piece in word.split(".")]
        elif term := _term(word):
            parts.append(f'"{term}"*')
    return " AND ".join(filter(None, parts))


def _words(query: str) -> list[str]:
    """Split at white space; a zero byte would end the expression for SQLite."""
    return spelled(query).replace("\x00", " ").split()


def _term(text: str) -> str:
    return _NOT_IN_A_TERM.sub("", text).lower()


def _phrase(terms: Iterable[str]) -> str:
    kept = " ".join(filter(None, terms))
    return f'"{kept}"' if kept else ""


def _spaced(text: str) -> str:
    """Put spaces between the characters of Chinese, Japanese and Korean runs."""
    return _CJK_RUN.sub(lambda run: f" {' '.join(run.group())} ", text)


def _has_fts5(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.probe USING fts5(text)")
    except sqlite3.OperationalError:
        return False
    connection.execute("DROP TABLE temp.probe")
    return True


def _fill(connection: sqlite3.Connection, table: str, texts: Iterable[str]) -> None:
    """Index texts in order: the first one's rowid is 1. Both peers stem English by Porter's rules."""
    connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(text, tokenize = 'porter unicode61')")
    connection.executemany(
        f"INSERT INTO {table} (rowid, text) VALUES (?, ?)",  # noqa: S608
        enumerate(texts, 1),
    )


def _fts5(
    connection: sqlite3.Connection,
    table: str,
    expression_of: Callable[[str], str],
    chunks: Sequence[_Chunk],
    question: Question,
) -> list[tuple[str, str]]:
    """Rank by FTS5's bm25."""
    expression = expression_of(question.text)
    if not expression:
        return []
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid"  # noqa: S608
    rows = connection.execute(sql, (expression,))
    return _best_of_each((chunks[rowid - 1] for (rowid,) in rows), question)


# --- reciprocal rank fusion --------------------------------------------------------------------


def _rrf(workspace: Workspace, collections: tuple[str, ...], question: Question) -> list[tuple[str, str]]:
    """Fuse our own two rankings by ranks alone, as most hybrid searches do.

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
            per_document=_RRF_DEPTH,
        )
        for hit in workspace.search(query).hits:
            key = (hit.collection, hit.path, hit.start, hit.end)
            texts[key] = hit.text
            scores[key] += 1 / (_RRF_K + hit.rank)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))
    return _best_of_each((_Chunk(key[0], key[1], texts[key]) for key in ranked), question)


def _best_of_each(ranked: Iterable[_Chunk], question: Question) -> list[tuple[str, str]]:
    """Keep the first chunk of each document that counts; reads no further than needed."""
    folder = f"{question.scope}/" if question.scope else ""
    best: dict[str, str] = {}
    for chunk in ranked:
        if question.collection and chunk.collection != question.collection:
            continue
        if not chunk.path.startswith(folder) or chunk.path in question.exclude:
            continue
        best.setdefault(chunk.path, chunk.text)
        if len(best) == _MAX_DOCUMENTS:
            break
    return list(best.items())
