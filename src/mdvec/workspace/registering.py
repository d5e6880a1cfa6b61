"""Writes down what is to be searched, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mdvec.types.collection import ChunkingSpec, Collection, EmbeddingSpec, SearchDefaults, SourceSpec
from mdvec.types.ids import CollectionId
from mdvec.types.names import check_collection_name
from mdvec.stores.interface import Store
from mdvec.text.undecodable import spelled
from mdvec.workspace.locations import source_spec
from mdvec.workspace.model_list import checked
from mdvec.workspace.wiring import Parts, given

if TYPE_CHECKING:
    from mdvec.config.presets import Preset


def add(
    name: str,
    description: str,
    location: str,
    *,
    include: Sequence[str],
    exclude: Sequence[str],
    chunking: ChunkingSpec | None,
    embedding: EmbeddingSpec | None,
    search: SearchDefaults | None,
    preset: Preset | None,
    store: Store,
    parts: Parts,
) -> Collection:
    """Register a source; see :meth:`mdvec.workspace.Workspace.add_collection`.

    What cannot be used is told here: a chunker, a model, a key, a server.
    """
    check_collection_name(name)
    if preset is not None:
        include, exclude = include or preset.include, exclude or preset.exclude
        chunking, embedding = chunking or preset.chunking, embedding or preset.embedding
        search = search or preset.search
    source = source_spec(location, include, exclude)
    chunking = chunking or parts.configured_chunking
    parts.check_chunking(chunking)
    if embedding is not None:
        embedding = checked(embedding, parts)
    elif parts.embedders.is_chosen:
        checked(parts.embedders.configured, parts)  # it stays the configuration's until the first import
    settings = given(embedding=embedding, search=search, preset=preset.name if preset else None)
    with store.transaction():
        made = store.catalog.add_collection(name, spelled(description), source, chunking)
        return store.catalog.change_collection(made.id, lambda now: replace(now, **settings))


def update(
    collection_id: CollectionId,
    *,
    description: str | None,
    location: str | None,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    chunking: ChunkingSpec | None,
    search: SearchDefaults | None,
    enabled: bool | None,
    store: Store,
    parts: Parts,
) -> Collection:
    """Change what is registered; see :meth:`mdvec.workspace.Workspace.update_collection`."""
    if chunking is not None:
        parts.check_chunking(chunking)
    changes = given(
        description=None if description is None else spelled(description),
        enabled=enabled,
        chunking=chunking,
        search=search,
    )
    place = None if location is None else source_spec(location, (), ())
    globs = given(
        include=None if include is None else tuple(include),
        exclude=None if exclude is None else tuple(exclude),
    )
    with store.transaction():
        return store.catalog.change_collection(
            collection_id, lambda now: replace(_moved(now, place, globs), **changes)
        )


def delete(collection: Collection, store: Store, *, wait_s: float) -> None:
    """Remove a collection; see :meth:`mdvec.workspace.Workspace.delete_collection`."""
    with store.writer(f"delete {collection.name}", wait_s=wait_s), store.transaction():
        store.catalog.delete_collection(collection.id)


def _moved(now: Collection, place: SourceSpec | None, globs: dict[str, Any]) -> Collection:
    source = replace(now.source, **globs)
    if place is not None:
        source = replace(source, kind=place.kind, location=place.location)
    # Of another place nothing is imported yet.
    return replace(now, source=source, revision=now.revision if source == now.source else "")
