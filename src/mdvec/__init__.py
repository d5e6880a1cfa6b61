"""Local-first search over Markdown and text, for people and AI agents, in Japanese and English."""

from __future__ import annotations

__version__ = "1.0.0rc1"

TYPE_CHECKING = False  # importing typing takes as long as asking a daemon
if TYPE_CHECKING:
    from mdvec.errors import MdvecError as MdvecError
    from mdvec.types.hit import SearchHit as SearchHit
    from mdvec.types.hit import SearchResult as SearchResult
    from mdvec.types.query import SearchQuery as SearchQuery
    from mdvec.workspace import Workspace as Workspace
    from mdvec.workspace import open_workspace as open_workspace

__all__ = ["MdvecError", "SearchHit", "SearchQuery", "SearchResult", "Workspace", "open_workspace"]

_HOMES = {
    "MdvecError": "mdvec.errors",
    "SearchHit": "mdvec.types.hit",
    "SearchQuery": "mdvec.types.query",
    "SearchResult": "mdvec.types.hit",
    "Workspace": "mdvec.workspace",
    "open_workspace": "mdvec.workspace",
}


def __getattr__(name: str) -> object:
    # Loaded on first use: `mdvec --version` must not pay for the engine.
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    msg = f"module 'mdvec' has no attribute {name!r}"
    raise AttributeError(msg)
