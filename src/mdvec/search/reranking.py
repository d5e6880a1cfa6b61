"""Lets a reranker order the first passages.

It decides which passages are shown first. How many are shown and how sure that is stays with the evidence: a
position keeps its score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from mdvec import run
from mdvec.embedding.interface import Reranker
from mdvec.errors import EmbeddingError, sentences
from mdvec.search.passages import RankedPassage
from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk
from mdvec.types.hit import NOT_RERANKED, Reranking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SEPARATOR = " › "


class ConfiguredReranker(Struct, frozen=True):
    """A reranker, and how it is used.

    Attributes:
        spec: The model as ``PROVIDER:MODEL``.
        reranker: The model.
        passages: How many passages it reads.
        usd_per_million_tokens: Its price; None when it has none, or that is not known.
    """

    spec: str
    reranker: Reranker
    passages: int
    usd_per_million_tokens: float | None = None


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
    exact: NDArray[np.bool_],
    configured: ConfiguredReranker,
    view: View,
) -> Reranked:
    """Choose by a reranker which of the first passages are shown, and in which order.

    A passage that the whole query names keeps its place: it is found by its name, whatever a model thinks of
    its text. So do passages beyond the first ones.

    Args:
        query: As it is embedded.
        passages: By evidence, best first.
        shown: Positions of those that are shown without a reranker.
        exact: Which candidates the whole query names.
        configured: The reranker.
        view: The snapshot.
    """
    first = [
        at
        for at, each in enumerate(passages[: configured.passages])
        if not each.best.is_folded and not exact[each.best.at]
    ]
    if len(first) < 2 or not {*first} & {*shown}:
        return Reranked(shown)
    chunks = view.chunks.get([place.id for at in first for place in passages[at].chunks])
    texts = [_text([chunks[place.id] for place in passages[at].chunks]) for at in first]
    try:
        with run.current().step("rerank", passages=len(texts)):
            found = configured.reranker.relevance(query, texts)
    except EmbeddingError as error:
        hint = "" if error.hint == error.default_hint else error.hint
        return Reranked(shown, warnings=(f"{NOT_RERANKED}: {sentences(error, hint)}",))
    best_first = sorted(range(len(first)), key=lambda number: -found.scores[number])  # equal ones stay
    places, chosen = {*first}, (first[number] for number in best_first)
    price = configured.usd_per_million_tokens
    report = Reranking(
        model=configured.spec,
        passages=len(texts),
        tokens=found.tokens,
        usd=None if price is None else found.tokens * price / 1_000_000,
    )
    return Reranked([next(chosen) if at in places else at for at in shown], report)


def _text(chunks: Sequence[StoredChunk]) -> str:
    """Return a passage below its title and headings, without which it may not say what it is about."""
    first = chunks[0]
    headings = (each for each in first.heading_path if each != first.title)
    above = _SEPARATOR.join(filter(None, (first.title, *headings)))
    return "\n".join(filter(None, (above, *(each.text for each in chunks))))
