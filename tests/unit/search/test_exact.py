"""Exact evidence: what is looked for in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from mdvec.search.exact import _with_all_words
from mdvec.stores.interface import View
from mdvec.types.ids import ChunkId
from mdvec.types.query import Where


class _Recording:
    """Remembers the groups of terms that a chunk has to hold."""

    groups: Sequence[Sequence[str]] = ()

    def holding(self, groups: Sequence[Sequence[str]], _: Where, *, limit: int) -> list[ChunkId]:
        assert limit > 0
        self.groups = groups
        return []

    def chunks(self, _: Sequence[ChunkId]) -> dict[ChunkId, Any]:
        return {}


def test_a_word_is_looked_up_once_however_often_a_query_repeats_it() -> None:
    """A pasted log of 5,000 words took SQLite eight seconds."""
    view = _Recording()
    _with_all_words("error: retry failed " * 500, Where(()), cast("View", view))
    assert len(view.groups) == 3
