"""Decides which spaces a query is looked for in, and makes its vector in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mdvec import trace
from mdvec.embedding.interface import Embedder
from mdvec.errors import ConfigError, EmbeddingError, MdvecError
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.query import SearchMode
from mdvec.search.dense import AskedSpace
from mdvec.stores.interface import Store
from mdvec.text.writing import holds_unspaced
from mdvec.workspace.embedders import Model, known_space, searched_space
from mdvec.workspace.wiring import Parts


@dataclass(frozen=True, slots=True)
class Asking:
    """How a query is searched.

    Attributes:
        mode: ``lexical`` when no model can be used.
        spaces: Where by meaning, with the query's vector in each.
        space_of: The space of each collection; None when no vector of it can be used.
        warnings: What the asker should know about it.
    """

    mode: SearchMode
    spaces: tuple[AskedSpace, ...]
    space_of: Mapping[CollectionId, SpaceId | None]
    warnings: tuple[str, ...] = ()


def ask_models(
    text: str, mode: SearchMode, collections: Sequence[Collection], *, store: Store, parts: Parts
) -> Asking:
    """Embed a query once for each space that the collections are in.

    Args:
        text: The query.
        mode: As it was asked for.
        collections: Where to look.
        store: What holds them.
        parts: Makes their models.

    Returns:
        What can be searched. A model that cannot be used, or does not answer, leaves its collections to
        words.

    Raises:
        EmbeddingError: If the mode is ``dense`` and a model cannot be used or does not answer.
        ConfigError: If the configuration names a model that there is not.
    """
    models = {collection.id: parts.model(collection) for collection in collections}
    space_of = {each.id: known_space(each, models[each.id], store) for each in collections}
    if mode is SearchMode.LEXICAL:
        return Asking(mode, (), space_of)
    members: dict[SpaceId | None, list[Collection]] = {}
    silent: dict[str, list[str]] = {}
    for collection in collections:
        problem = _problem(collection, models[collection.id], space_of[collection.id], store)
        if problem is None:
            members.setdefault(space_of[collection.id], []).append(collection)
        elif mode is SearchMode.DENSE:
            raise problem
        else:
            silent.setdefault(str(problem), []).append(collection.name)
    spaces: list[AskedSpace] = []
    for space_id, inside in members.items():
        embedder = models[inside[0].id].embedder
        if space_id is None or embedder is None:
            continue  # nothing is embedded yet, which is told in another place
        try:
            spaces.append(_asked(text, space_id, inside, embedder, store))
        except EmbeddingError as error:
            if mode is SearchMode.DENSE:
                raise
            silent.setdefault(str(error), []).extend(each.name for each in inside)
    if sum(map(len, silent.values())) < len(collections) or not collections:
        warnings = [f"{', '.join(names)}: searched by words only: {why}" for why, names in silent.items()]
        return Asking(mode, tuple(spaces), space_of, tuple(warnings))
    warnings = [f"searched by words only: {why}" for why in silent]
    return Asking(SearchMode.LEXICAL, (), space_of, tuple(warnings))


def _problem(
    collection: Collection, model: Model, space_id: SpaceId | None, store: Store
) -> MdvecError | None:
    """Return why a collection cannot be searched by meaning; None when it can, or holds no vector yet."""
    if model.problem is not None or space_id is not None:
        return model.problem
    try:  # no vector yet, or a model whose files are gone, or whose server is away
        searched_space(collection, model, store)
    except (ConfigError, EmbeddingError) as error:
        return error
    return None


def _asked(
    text: str, space_id: SpaceId, collections: Sequence[Collection], embedder: Embedder, store: Store
) -> AskedSpace:
    with trace.step("embed_query"):
        vector = embedder.embed_query(text)
    chunks = sum(store.catalog.counts(each.id, space_id).chunks for each in collections)
    measured = store.vectors.unrelated(space_id)
    unrelated = None if measured is None else measured.written(unspaced=holds_unspaced(text))
    return AskedSpace(space_id, tuple(each.id for each in collections), vector, unrelated, chunks)
