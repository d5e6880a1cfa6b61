"""What GitHub answered last, on disk: with it an unchanged repository costs one call."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mdvec.sources.tree import TreeItem

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class State:
    """A ref as it was.

    Attributes:
        etag: Of the answer that named the commit.
        commit: Its id, in hex.
        items: What it holds.
    """

    etag: str
    commit: str
    items: tuple[TreeItem, ...]


def load_state(path: Path) -> State | None:
    """Read a state; None when there is none that can be used, which costs a call or two."""
    try:
        written = json.loads(path.read_bytes())
        if written["format"] != _FORMAT:
            return None
        items = tuple(
            TreeItem(name, mode, bytes.fromhex(blob), size) for name, mode, blob, size in written["items"]
        )
        return State(written["etag"], written["commit"], items)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save_state(path: Path, state: State) -> None:
    """Write a state so that others read the old one or the new one; a full disk is no reason to fail."""
    written = {
        "format": _FORMAT,
        "etag": state.etag,
        "commit": state.commit,
        "items": [(item.path, item.mode, item.blob_id.hex(), item.size) for item in state.items],
    }
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".partial")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(written).encode())
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
