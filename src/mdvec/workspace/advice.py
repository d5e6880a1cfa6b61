"""Commands that people are told to run next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from mdvec.model.report import ImportMode


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
