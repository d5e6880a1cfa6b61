"""Collections as rows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from mdvec.errors import CollectionExistsError, CollectionNotFoundError
from mdvec.types.collection import ChunkingSpec, Collection, EmbeddingSpec, SearchDefaults, SourceSpec
from mdvec.types.ids import CollectionId
from mdvec.stores.sqlite.connection import Connection

# What is kept together in one column, because nothing is looked for by it.
_SETTINGS: Final[Mapping[str, Any]] = {
    "preset": str,
    "embedding": EmbeddingSpec | None,
    "next_embedding": EmbeddingSpec | None,
    "search": SearchDefaults,
    "revision": str,
}


def collections(connection: Connection) -> list[Collection]:
    """Return all collections, by name."""
    rows = connection.execute(
        """SELECT id, name, description, source, chunking, enabled, last_indexed_ms, settings
        FROM collections ORDER BY name"""
    )
    return [
        Collection(
            id=CollectionId(row_id),
            name=name,
            description=description,
            source=msgspec.convert(json.loads(source), SourceSpec),
            chunking=msgspec.convert(json.loads(chunking), ChunkingSpec),
            enabled=bool(enabled),
            last_indexed_ms=last_indexed_ms,
            **_settings(settings),
        )
        for row_id, name, description, source, chunking, enabled, last_indexed_ms, settings in rows
    ]


def add_collection(
    connection: Connection, name: str, description: str, source: SourceSpec, chunking: ChunkingSpec
) -> Collection:
    """Write a new, enabled collection.

    Raises:
        CollectionExistsError: If the name is taken.
    """
    if connection.execute("SELECT 1 FROM collections WHERE name = ?", (name,)).get is not None:
        msg = f"there is a collection named {name!r} already"
        raise CollectionExistsError(msg)
    connection.execute(
        "INSERT INTO collections(name, description, source, chunking, enabled) VALUES (?, ?, ?, ?, 1)",
        (name, description, _as_json(source), _as_json(chunking)),
    )
    return Collection(CollectionId(connection.last_insert_rowid()), name, description, source, chunking)


def change_collection(
    connection: Connection, collection_id: CollectionId, change: Callable[[Collection], Collection]
) -> Collection:
    """Rewrite a collection, given as it is now.

    Raises:
        CollectionNotFoundError: If it was deleted.
    """
    current = next((each for each in collections(connection) if each.id == collection_id), None)
    if current is None:
        msg = "the collection was deleted"
        raise CollectionNotFoundError(msg)
    changed = change(current)
    if changed != current:
        _save_collection(connection, changed)
    return changed


def _save_collection(connection: Connection, collection: Collection) -> None:
    connection.execute(
        """UPDATE collections SET name = ?, description = ?, source = ?, chunking = ?, enabled = ?,
        last_indexed_ms = ?, settings = ? WHERE id = ?""",
        (
            collection.name,
            collection.description,
            _as_json(collection.source),
            _as_json(collection.chunking),
            collection.enabled,
            collection.last_indexed_ms,
            json.dumps({name: _plain(getattr(collection, name)) for name in _SETTINGS}),
            collection.id,
        ),
    )


def delete_collection(connection: Connection, collection_id: CollectionId) -> None:
    """Remove a collection and all it holds."""
    connection.execute("DELETE FROM collections WHERE id = ?", (collection_id,))


def _as_json(spec: SourceSpec | ChunkingSpec) -> str:
    # Escaped: the location of a folder may hold bytes that are not UTF-8 (as lone surrogates).
    return json.dumps(dataclasses.asdict(spec), ensure_ascii=True)


def _settings(text: str) -> dict[str, Any]:
    written = json.loads(text)
    return {name: msgspec.convert(written[name], kind) for name, kind in _SETTINGS.items() if name in written}


def _plain(value: object) -> object:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value  # type: ignore[arg-type]
