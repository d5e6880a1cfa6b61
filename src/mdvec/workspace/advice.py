"""Commands that people are told to run next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from mdvec.types.collection import Collection
from mdvec.types.report import ImportMode


def import_command(names: Sequence[str], mode: ImportMode, *, docs_dir: Path | None = None) -> str:
    """Spell the command that imports some collections.

    Args:
        names: The collections.
        mode: What to do with what is there already.
        docs_dir: The folder of a workspace that has no other: it is named instead.
    """
    if docs_dir is not None:
        return f"mdvec import --docs-dir {shlex.quote(str(docs_dir))}"
    named = " ".join(f"-n {name}" for name in names)
    return f"mdvec import {named}" + ("" if mode is ImportMode.NEW else f" -m {mode.value}")


def first_step(collections: Sequence[Collection], *, docs_dir: Path | None = None) -> str:
    """Say how to get something to look at; empty when all collections were imported.

    Args:
        collections: Those that were asked for something.
        docs_dir: The folder of a workspace that has no other.
    """
    if not collections:
        return (
            "No collection is enabled. Add one with 'mdvec tool add -n NAME -d TEXT -s DIR'; "
            "'mdvec tool ls --all' shows those that are disabled."
        )
    new = [collection.name for collection in collections if collection.last_indexed_ms is None]
    if not new:
        return ""
    return f"Nothing is indexed yet. Run '{import_command(new, ImportMode.NEW, docs_dir=docs_dir)}'."
