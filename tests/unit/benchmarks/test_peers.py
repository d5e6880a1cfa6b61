"""The rankings of other programs that benchmarks compare ours with."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest
from benchmarks.peers import (
    FTS5_CHARACTERS,
    FTS5_WORDS,
    NAMES,
    all_phrases,
    all_words,
    peers_and_baselines,
)
from hypothesis import given
from hypothesis import strategies as st
from tests.workspaces import workspace_of, written

from mdvec.evaluation.baselines import GREP
from mdvec.evaluation.judgements import Question, Ranker

DOCUMENTS = {
    "en/password.md": "# Passwords\n\nReset your password on the account page.\n",
    "en/[old] notes/reset.md": "# Resetting\n\nThe reset button resets the password of the router.\n",
    "ja/password.md": "# パスワード\n\nパスワードの再設定はアカウント画面で行います。\n",
    "ja/invoice.md": "# 請求書\n\n請求書は毎月一日にアカウント宛てに送ります。\n",
}


@pytest.fixture(scope="module")
def rankers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Ranker]]:
    """All rankings over a few documents in two languages."""
    root = tmp_path_factory.mktemp("peers")
    docs = written(root / "docs", DOCUMENTS)
    with (
        workspace_of(root / "index.sqlite", {"docs": docs}) as workspace,
        peers_and_baselines(workspace) as made,
    ):
        yield made


def paths(ranker: Ranker, text: str) -> list[str]:
    return [path for path, _ in ranker(Question("q", text, {"x": 1}))]


def test_all_are_there_in_the_order_of_reports(rankers: Mapping[str, Ranker]) -> None:
    """Peers stand among the baselines of ``mdvec eval``."""
    assert tuple(rankers) == NAMES


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("reset password", '"reset" AND "password"'),
        ('say "hi" OR -x', '"say" AND """hi""" AND "OR" AND "-x"'),
        ("パスワードの再設定 ？", '"パスワードの再設定"'),
        ("... ?", ""),
    ],
)
def test_words_are_all_required(query: str, expression: str) -> None:
    """Each word is quoted and none is an operator; punctuation alone asks for nothing."""
    assert all_words(query) == expression


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("Reset password!", '"reset"* AND "password"*'),
        ("再設定 password", '"再 設 定" AND "password"*'),
        ("APIキーを使う", '"api キ ー を 使 う"'),
        ("multi-agent memory", '"multi agent" AND "memory"*'),
        ("v2026.4.10", '"v2026"* AND "4"* AND "10"*'),
        ("don't", '"don\'t"*'),
        ("... ？", ""),
    ],
)
def test_characters_are_phrases(query: str, expression: str) -> None:
    """A Japanese word is the phrase of its characters, as qmd builds it; any other word is a prefix."""
    assert all_phrases(query) == expression


@given(st.text(max_size=40) | st.text("\"'*-.^:()+{}ORaあ漢\x00 ", max_size=20))
def test_no_question_is_a_wrong_expression(text: str) -> None:
    """FTS5 takes whatever is made of a question."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
        for expression in filter(None, (all_words(text), all_phrases(text))):
            found = connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,))
            assert found.fetchall() == []


def test_word_indexes_find_no_japanese_sentence(rankers: Mapping[str, Ranker]) -> None:
    """Characters find a Japanese word, words do not; a whole question finds nothing in either."""
    assert paths(rankers[FTS5_CHARACTERS], "再設定") == ["ja/password.md"]
    assert paths(rankers[FTS5_WORDS], "再設定") == []
    for name in (FTS5_CHARACTERS, FTS5_WORDS):
        assert paths(rankers[name], "パスワードを再設定するにはどうしますか") == []
    assert paths(rankers[GREP], "パスワードを再設定するにはどうしますか") == ["ja/password.md"]


def test_english_words_are_stemmed(rankers: Mapping[str, Ranker]) -> None:
    """Porter's rules make resets and resetting one word, and every word is needed."""
    assert paths(rankers[FTS5_WORDS], "resetting passwords") == ["en/[old] notes/reset.md", "en/password.md"]
    assert paths(rankers[FTS5_WORDS], "resetting passwords quickly") == []


@pytest.mark.parametrize("name", [FTS5_WORDS, FTS5_CHARACTERS])
def test_what_cannot_be_found_is_not_an_error(name: str, rankers: Mapping[str, Ranker]) -> None:
    """Punctuation, operators, zero bytes and undecodable bytes give an empty answer."""
    for text in ("?!", "\x00", "xyzzy\x00AND", "\udcff", '"', "NEAR("):
        assert paths(rankers[name], text) == []
