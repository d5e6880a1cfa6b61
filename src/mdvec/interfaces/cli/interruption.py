"""Ctrl-C during an import: nothing is lost, and people are told what is left to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from mdvec.interfaces.cli.terminal import note

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""

SAME_COMMAND = "the same command again"
"""What goes on with a command that brings an index up to date by itself."""


@contextmanager
def saying_what_is_pending(
    workspace: Workspace, names: Sequence[str], *, go_on: str = SAME_COMMAND
) -> Iterator[None]:
    """End the program after Ctrl-C with a word on how far the index is.

    Args:
        workspace: Whose index was being written.
        names: Collections to speak of; empty for all.
        go_on: What to run to go on.

    Raises:
        Exit: With code 130, on Ctrl-C.
    """
    try:
        yield
    except BaseException as error:
        if not _is_interruption(error):
            raise
        note("\ninterrupted: what was written is kept")
        for each in workspace.status().collections:
            counts = each.counts
            if not names or each.collection.name in names:
                note(
                    f"{each.collection.name}: {counts.documents:,} documents searchable, "
                    f"{counts.pending_chunks:,} of {counts.chunks:,} chunks pending"
                )
        note(f"hint: Run {go_on} to go on.")
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from error


def _is_interruption(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: it may come in the middle of a clean-up, which then fails itself."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
