"""Exact evidence: passages that hold the whole query word for word, or are headed by it."""

from __future__ import annotations

from collections.abc import Sequence

from mdvec import run
from mdvec.stores.interface import View
from mdvec.text.phrases import is_heading, phrase_finder
from mdvec.types.ids import ChunkId

# A passage with every term of the query is among the best by words: so many are read.
_READ = 60

# What more passages than this hold is a word of the subject, no evidence for one of them.
_FEW = 10


def exact_matches(text: str, ranking: Sequence[tuple[ChunkId, float]], view: View) -> frozenset[ChunkId]:
    """Return the chunks that say exactly what the query does, where these are few.

    Those whose heading is the query come before those that hold it.

    Args:
        text: The query.
        ranking: Chunks by words, best first.
        view: The snapshot.
    """
    holds = phrase_finder(text)
    if holds is None or not ranking:
        return frozenset()
    with run.current().step("exact") as details:
        chunks = view.chunks([chunk for chunk, _ in ranking[:_READ]]).values()
        headed = {each.id for each in chunks if each.heading_path and is_heading(text, each.heading_path[-1])}
        found = headed or {each.id for each in chunks if holds(each.text)}
        details.update(read=len(chunks), found=len(found))
    return frozenset(found) if len(found) <= _FEW else frozenset()
