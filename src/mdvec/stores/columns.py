"""How values are written in the columns of a database, the same in every store that has tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from mdvec.text.folding import fold_characters
from mdvec.types.collection import (
    Boilerplate,
    ChunkingSpec,
    Collection,
    EmbeddingSpec,
    SearchDefaults,
    SourceSpec,
)
from mdvec.types.folder_context import FolderContext
from mdvec.types.ids import CollectionId

_SURROGATES = re.compile("[\ud800-\udfff]")

# What is kept together in one column, because no query looks for it.
_SETTINGS: Final[Mapping[str, Any]] = {
    "preset": str,
    "embedding": EmbeddingSpec | None,
    "next_embedding": EmbeddingSpec | None,
    "search": SearchDefaults,
    "folder_contexts": tuple[FolderContext, ...],
    "boilerplate": Boilerplate,
    "revision": str,
    "checked_up_to": str,
    "created_ms": int | None,
    "updated_ms": int | None,
}

_LAST_MS: Final = 250_000_000_000_000  # in the year 9892


class LabelKind(StrEnum):
    """The kinds of rows in the labels table."""

    TAG = "tag"
    ALIAS = "alias"


def storable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold; an escape in YAML can make one."""
    return text if text.isascii() else _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def fold_label(label: str) -> str:
    """Return the form that two labels share if they differ only in width, case or encoding."""
    return fold_characters(label)


def locator_bytes(locator: str) -> bytes:
    """Return the name of a file as it is stored; it may hold undecodable bytes as lone surrogates."""
    return locator.encode("utf-8", "surrogatepass")


def locator_of(stored: bytes) -> str:
    """Return the name of a file as Python spells it."""
    return stored.decode("utf-8", "surrogatepass")


def prefix_end(prefix: str) -> str | None:
    """Return the first string after all that start with a prefix, by code point; None if there is none."""
    for length in range(len(prefix), 0, -1):
        following = ord(prefix[length - 1]) + 1
        if following > 0x10FFFF:
            continue
        return prefix[: length - 1] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)
    return None


COLLECTION_COLUMNS: Final = (
    "id, name, description, source, chunking, enabled, last_indexed_ms, settings"  # of collection_of
)


def collection_of(row: tuple[Any, ...]) -> Collection:
    """Return the collection in a row of ``COLLECTION_COLUMNS``."""
    row_id, name, description, source, chunking, enabled, last_indexed_ms, settings = row
    written = json.loads(settings)
    return Collection(
        id=CollectionId(row_id),
        name=name,
        description=description,
        source=msgspec.convert(json.loads(source), SourceSpec),
        chunking=msgspec.convert(json.loads(chunking), ChunkingSpec),
        enabled=bool(enabled),
        # Damage can leave a year that no calendar has: then the next import writes it anew.
        last_indexed_ms=last_indexed_ms if 0 <= (last_indexed_ms or 0) < _LAST_MS else None,
        **{name: msgspec.convert(written[name], kind) for name, kind in _SETTINGS.items() if name in written},
    )


def spec_json(spec: SourceSpec | ChunkingSpec) -> str:
    """Return a source or a chunking as it is stored."""
    # Escaped: the location of a folder may hold bytes that are not UTF-8 (as lone surrogates).
    return json.dumps(msgspec.structs.asdict(spec), ensure_ascii=True)


def settings_json(collection: Collection) -> str:
    """Return the settings of a collection as they are stored."""
    return json.dumps({name: msgspec.to_builtins(getattr(collection, name)) for name in _SETTINGS})
