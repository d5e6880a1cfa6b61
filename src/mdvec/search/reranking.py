"""Lets a reranker order the first passages.

Evidence decides which passages are plausible, how many are shown, and how sure that is: a place in the answer
keeps its score. The reranker decides which passage is at which place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from mdvec import run
from mdvec.embedding.interface import ConfiguredReranker
from mdvec.errors import EmbeddingError, sentences
from mdvec.search.passages import RankedPassage
from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk
from mdvec.types.hit import NOT_RERANKED, Reranking
from mdvec.types.query import MIN_SCORE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SEPARATOR = " › "


class Reranked(Struct, frozen=True):
    """Passages in the order of a reranker.

    Attributes:
        order: Positions of passages, best first; as many as before.
        report: What it has read; None if the order is as before.
        warnings: Why it could not be used.
    """

    order: Sequence[int]
    report: Reranking | None = None
    warnings: tuple[str, ...] = ()


def rerank(
    query: str,
    passages: Sequence[RankedPassage],
    shown: Sequence[int],
    probable: Sequence[float],
    named: NDArray[np.bool_],
    configured: ConfiguredReranker,
    view: View,
) -> Reranked:
    """Order the first passages by a reranker, as far as they are plausible by evidence.

    Passages that the query names take places from each other alone: they are found by a name or a number,
    whatever a model thinks of their texts. Those that hardly answer keep their places.

    Args:
        query: As it is embedded.
        passages: By evidence, best first.
        shown: Positions of those that are not left out.
        probable: The probability of each passage, by evidence.
        named: Which candidates the query names, as a whole or by a part of it.
        configured: The reranker.
        view: The snapshot.
    """
    first = [
        at
        for at in shown
        if at < configured.passages and probable[at] >= MIN_SCORE and not passages[at].best.is_folded
    ]
    groups = [
        [at for at in first if bool(named[passages[at].best.at]) is is_named] for is_named in (True, False)
    ]
    groups = [group for group in groups if len(group) > 1]
    read = sorted(at for group in groups for at in group)
    if not read:
        return Reranked(shown)
    chunks = view.chunks.get([place.id for at in read for place in passages[at].chunks])
    texts = [_text([chunks[place.id] for place in passages[at].chunks]) for at in read]
    try:
        with run.current().step("rerank", passages=len(texts)):
            found = configured.reranker.relevance(query, texts)
    except EmbeddingError as error:
        hint = "" if error.hint == error.default_hint else error.hint
        return Reranked(shown, warnings=(f"{NOT_RERANKED}: {sentences(error, hint)}",))
    scores = dict(zip(read, found.scores, strict=True))
    moved: dict[int, int] = {}
    for group in groups:
        best_first = sorted(group, key=lambda at: -scores[at])  # equal ones stay
        moved.update(zip(group, best_first, strict=True))
    price = configured.price
    report = Reranking(
        model=configured.name,
        passages=len(texts),
        tokens=found.tokens,
        usd=None if price is None else found.tokens * price.usd_per_million_tokens / 1_000_000,
    )
    return Reranked([moved.get(at, at) for at in shown], report)


def total_of(reranked: Sequence[Reranked]) -> Reranking | None:
    """Return what a reranker has read for all queries; None if it changed none of their orders."""
    reports = [each.report for each in reranked if each.report is not None]
    if not reports:
        return None
    costs = [each.usd for each in reports if each.usd is not None]
    return Reranking(
        reports[0].model,
        sum(each.passages for each in reports),
        sum(each.tokens for each in reports),
        sum(costs) if costs else None,
    )


def _text(chunks: Sequence[StoredChunk]) -> str:
    """Return a passage below its title and headings, without which it may not say what it is about."""
    first = chunks[0]
    headings = (each for each in first.heading_path if each != first.title)
    above = _SEPARATOR.join(filter(None, (first.title, *headings)))
    return "\n".join(filter(None, (above, *(each.text for each in chunks))))
