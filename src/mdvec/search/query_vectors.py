"""Embeds queries in the space of each collection that is searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from msgspec import Struct

from mdvec import run
from mdvec.embedding.interface import Embedder
from mdvec.errors import EmbeddingError, MdvecError
from mdvec.search.meaning import QuerySpace
from mdvec.stores.interface import View
from mdvec.text.terms import is_unspaced_query
from mdvec.types.change import SourceEntry
from mdvec.types.collection import Collection
from mdvec.types.ids import SpaceId
from mdvec.types.query import SearchMode

if TYPE_CHECKING:
    from mdvec.embedding.interface import Vector


# A page asks as one types, and agents ask again: a query is embedded once by each model in memory.
_MAX_RECENT = 256
_MAX_RECENT_CHARS = 1_000
_recent: WeakKeyDictionary[Embedder, dict[str, Vector]] = WeakKeyDictionary()


class SearchedCollection(Struct, frozen=True):
    """A collection with the model that it is searched by.

    Attributes:
        collection: The collection.
        embedder: Its model; None if that cannot be used.
        space_id: The space of its vectors; None if it holds none of that model.
        problem: The reason why it cannot be searched by meaning; None if it can, or holds no vector yet.
        differs: Returns True if a file of its source has changed since it was indexed.
    """

    collection: Collection
    embedder: Embedder | None
    space_id: SpaceId | None
    problem: MdvecError | None = None
    differs: Callable[[SourceEntry], bool] = lambda _: False


class QueryVectors(Struct, frozen=True):
    """Queries in the spaces of the collections.

    Attributes:
        mode: ``lexical`` if no model can be used.
        spaces: Each query in each space that is searched.
        warnings: Which collections are searched by words only, and why.
    """

    mode: SearchMode
    spaces: Sequence[tuple[QuerySpace, ...]]
    warnings: tuple[str, ...] = ()


def tokens_in(word: str, searched: Sequence[SearchedCollection]) -> int:
    """Count the tokens of a word in the model that has the fewest: 1 for common words; 0 without a model."""
    counters = [each.embedder.tokens for each in searched if each.embedder is not None]
    return min((len(each.ends(word.lower())) for each in counters if each.is_exact), default=0)


@contextmanager
def embedding(
    texts: Sequence[str], mode: SearchMode, searched: Sequence[SearchedCollection], view: View
) -> Iterator[Callable[[], QueryVectors]]:
    """Embed queries in threads, all of them at once for each space.

    Args:
        texts: The queries; nothing is embedded if all are empty.
        mode: The search mode.
        searched: The collections.
        view: The snapshot.

    Yields:
        Waits for the vectors and returns them. A model that does not answer leaves its collections to words.

    Raises:
        EmbeddingError: If the mode is ``dense`` and a model cannot be used or does not answer.
        ConfigError: If the mode is ``dense`` and a model's files are gone.
    """
    if not any(texts) or mode is SearchMode.LEXICAL:
        yield lambda: _by_words(texts)
        return
    if mode is SearchMode.DENSE:
        for each in searched:
            if each.problem is not None:
                raise each.problem
    members: dict[SpaceId, list[SearchedCollection]] = {}
    for each in searched:
        # Without a space nothing is embedded yet, which the answer says elsewhere.
        if each.problem is None and each.space_id is not None and each.embedder is not None:
            members.setdefault(each.space_id, []).append(each)
    with ThreadPoolExecutor(max(1, len(members)), thread_name_prefix="mdvec-query") as pool:
        started = {
            space_id: pool.submit(copy_context().run, _embedded, texts, inside[0].embedder)
            for space_id, inside in members.items()
        }
        yield lambda: _query_vectors(texts, mode, searched, members, started, view)


def _by_words(texts: Sequence[str], warnings: Iterable[str] = ()) -> QueryVectors:
    return QueryVectors(SearchMode.LEXICAL, ((),) * len(texts), tuple(warnings))


def _embedded(texts: Sequence[str], embedder: Embedder | None) -> Mapping[str, Vector] | EmbeddingError:
    assert embedder is not None  # noqa: S101 - members have one
    recent = _recent.setdefault(embedder, {})
    known = {text: recent[text] for text in texts if text in recent}
    new = [*dict.fromkeys(text for text in texts if text and text not in known)]
    if not new:
        return known
    try:
        with run.current().step("embed_query"):
            made = dict(zip(new, embedder.embed_queries(new), strict=True))
    except EmbeddingError as error:
        return error
    if len(recent) + len(made) > _MAX_RECENT:
        recent.clear()
    recent.update((text, vector) for text, vector in made.items() if len(text) <= _MAX_RECENT_CHARS)
    return known | made


def _query_vectors(
    texts: Sequence[str],
    mode: SearchMode,
    searched: Sequence[SearchedCollection],
    members: Mapping[SpaceId, Sequence[SearchedCollection]],
    started: Mapping[SpaceId, Future[Mapping[str, Vector] | EmbeddingError]],
    view: View,
) -> QueryVectors:
    silent: dict[str, list[str]] = {}
    for each in searched:
        if each.problem is not None:
            silent.setdefault(str(each.problem), []).append(each.collection.name)
    spaces: list[list[QuerySpace]] = [[] for _ in texts]
    for space_id, inside in members.items():
        made = started[space_id].result()
        if not isinstance(made, EmbeddingError):
            ids = tuple(each.collection.id for each in inside)
            chunks = sum(view.collections.counts(each, space_id).chunks for each in ids)
            unrelated = view.spaces.unrelated(space_id)
            for own, text in zip(spaces, texts, strict=True):
                if text:
                    unspaced = is_unspaced_query(text)
                    own.append(QuerySpace(space_id, ids, made[text], unrelated, chunks, unspaced))
        elif mode is SearchMode.DENSE:
            raise made
        else:
            silent.setdefault(str(made), []).extend(each.collection.name for each in inside)
    if searched and sum(map(len, silent.values())) == len(searched):
        return _by_words(texts, (f"searched by words only: {why}" for why in silent))
    warnings = (f"{', '.join(names)}: searched by words only: {why}" for why, names in silent.items())
    return QueryVectors(mode, [*map(tuple, spaces)], tuple(warnings))
