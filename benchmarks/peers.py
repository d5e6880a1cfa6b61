"""The full-text rankings of other programs, rebuilt over the same chunks in SQLite's FTS5.

They are not those programs: titles, paths, reranking and query expansion are left out on every side.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

from mdvec.evaluation.baselines import BM25, GREP, RRF_60, Text, baselines, ranking, texts_of
from mdvec.evaluation.judgements import Question, Ranker
from mdvec.text.folding import spelled
from mdvec.text.scripts import HAN, HANGUL, HIRAGANA, KATAKANA
from mdvec.workspace import Workspace

FTS5_WORDS = "fts5-words"
FTS5_CHARACTERS = "fts5-characters"

NAMES = (GREP, FTS5_WORDS, FTS5_CHARACTERS, BM25, RRF_60)
"""All that mdvec is compared with, in the order of reports."""

# As in qmd: Han, Hiragana, Katakana and Hangul.
_CJK_RUN = re.compile(rf"[{HAN}{HIRAGANA}{KATAKANA}{HANGUL}]+")
_NOT_IN_A_TERM = re.compile(r"[^\w']")


@contextmanager
def peers_and_baselines(workspace: Workspace, collections: Sequence[str] = ()) -> Iterator[dict[str, Ranker]]:
    """Prepare the baselines of mdvec and these rankings; see :func:`mdvec.evaluation.baselines.baselines`.

    Yields:
        A ranker for each of :data:`NAMES`, in that order, to be used inside the ``with`` and in the same
        thread.
    """
    texts = texts_of(workspace, collections)
    with closing(sqlite3.connect(":memory:")) as connection, baselines(workspace, collections) as others:
        _fill(connection, "words", (each.text for each in texts))
        _fill(connection, "characters", (_spaced(each.text) for each in texts))
        rankers: dict[str, Ranker] = {
            **others,
            FTS5_WORDS: partial(_fts5, connection, "words", all_words, texts),
            FTS5_CHARACTERS: partial(_fts5, connection, "characters", all_phrases, texts),
        }
        yield {name: rankers[name] for name in NAMES}


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
    words = " ".join(filter(None, terms))
    return f'"{words}"' if words else ""


def _spaced(text: str) -> str:
    """Put spaces between the characters of Chinese, Japanese and Korean runs."""
    return _CJK_RUN.sub(lambda run: f" {' '.join(run.group())} ", text)


def _fill(connection: sqlite3.Connection, table: str, texts: Iterable[str]) -> None:
    """Index texts in order: the first one's rowid is 1. Both peers stem English by Porter's rules."""
    connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(text, tokenize = 'porter unicode61')")
    connection.executemany(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", enumerate(texts, 1))


def _fts5(
    connection: sqlite3.Connection,
    table: str,
    expression_of: Callable[[str], str],
    texts: Sequence[Text],
    question: Question,
) -> list[tuple[str, str]]:
    """Rank by FTS5's bm25."""
    expression = expression_of(question.text)
    if not expression:
        return []
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid"
    rows = connection.execute(sql, (expression,))
    return ranking((texts[rowid - 1] for (rowid,) in rows), question)
