"""The folder of ``--docs-dir``: the one collection of its database, registered as its user chooses."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mdvec.clock import now_ms
from mdvec.config.paths import DATA_DIR
from mdvec.stores.interface import Store, View
from mdvec.text.undecodable import spelled
from mdvec.types.collection import DEFAULT_SOURCE, ChunkingSpec, Collection, EmbeddingSpec, SourceSpec
from mdvec.workspace.wiring.parts import Parts

if TYPE_CHECKING:
    from mdvec.config.presets import Preset


DOCS_COLLECTION = "docs"
"""Name of the one collection of a folder that is used without registering it."""


class FolderChoice(Struct, frozen=True):
    """The user's choices for the index of such a folder; the rest stays as it was.

    Attributes:
        include: Globs of files to take, in place of those before; None for no choice.
        exclude: Globs of files to leave out, likewise.
        chunker: How documents are cut; empty for no choice.
        embedding: What makes the vectors.
        preset: Holds for what is left out.
    """

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    chunker: str = ""
    embedding: EmbeddingSpec | None = None
    preset: Preset | None = None


def register_folder(folder: Path, store: Store, parts: Parts, choice: FolderChoice) -> None:
    """Make a folder the only collection of its database, at its present place, indexed as chosen.

    The next import does what another choice changes; until then nothing counts as imported.

    Raises:
        ConfigError: If there is no such chunker or model.
        EmbeddingError: If the model cannot be used here; the hint says how to fix that.
    """
    with store.read() as view:
        docs = _docs(view)
    source = SourceSpec(DEFAULT_SOURCE, str(folder))
    change = _checked(docs, choice, parts)

    def changed(now: Collection) -> Collection:
        placed = replace(now, source=replace(now.source, kind=source.kind, location=source.location))
        after = _chosen(placed, change)
        same = after == placed or after == replace(placed, search=after.search, preset=after.preset)
        return after if same else replace(after, last_indexed_ms=None, updated_ms=now_ms())

    if docs is not None and changed(docs) == docs:
        return
    with store.write() as writer:
        docs = _docs(writer)  # another process may have been faster
        if docs is None:
            description = f"Documents in {spelled(str(folder))}"
            docs = writer.add_collection(DOCS_COLLECTION, description, source, parts.configured_chunking)
            made_ms = now_ms()
            writer.change_collection(
                docs.id, lambda now: replace(now, created_ms=made_ms, updated_ms=made_ms)
            )
        writer.change_collection(docs.id, changed)


def hide_from_git(directory: Path) -> None:
    """Keep an index that lies among documents out of their repository."""
    rules = directory / ".gitignore"
    if directory.name == DATA_DIR:
        # What has that name stays, a link too; and a place that can only be read is no reason to fail.
        with contextlib.suppress(OSError):
            descriptor = os.open(rules, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(b"*\n")


def _checked(docs: Collection | None, choice: FolderChoice, parts: Parts) -> FolderChoice:
    """Return a choice whose model was tried; without a model where the folder has it, or is to have it."""
    if choice.chunker:
        parts.check_chunking(ChunkingSpec(choice.chunker))
    elif choice.preset is not None:
        parts.check_chunking(choice.preset.chunking)
    wanted = choice.embedding or (choice.preset.embedding if choice.preset else None)
    own = None if docs is None else docs.next_embedding or docs.embedding
    space = parts.embedders.space_of(wanted) if wanted else None
    if wanted is None or wanted == own or (own and space and space == parts.embedders.space_of(own)):
        return replace(choice, embedding=None)
    return replace(choice, embedding=parts.embedders.checked(wanted))


def _chosen(now: Collection, choice: FolderChoice) -> Collection:
    """Return a collection as it was chosen; a model that is in use is replaced once the new one is done."""
    preset = choice.preset
    if preset is not None:
        source = replace(now.source, include=preset.include, exclude=preset.exclude)
        now = replace(now, source=source, chunking=preset.chunking, search=preset.search, preset=preset.name)
    if choice.include is not None:
        now = replace(now, source=replace(now.source, include=choice.include))
    if choice.exclude is not None:
        now = replace(now, source=replace(now.source, exclude=choice.exclude))
    if choice.chunker and choice.chunker != now.chunking.strategy:
        now = replace(now, chunking=ChunkingSpec(choice.chunker))
    if choice.embedding is None:
        return now
    if now.embedding is None:
        return replace(now, embedding=choice.embedding)
    return replace(now, next_embedding=choice.embedding)


def _docs(view: View) -> Collection | None:
    return next((each for each in view.collections() if each.name == DOCS_COLLECTION), None)
