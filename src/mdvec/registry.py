"""Adapters by name: a table of our own, entry points for everybody else's.

Nothing is imported until it is named, so a broken plug-in cannot stop the program.
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import Any

from mdvec.errors import ConfigError

_BUILTIN = {
    "sources": {
        "folder": "mdvec.sources.folder:FolderSource",
        "github": "mdvec.sources.github.source:GithubSource",
        "git": "mdvec.sources.git.source:GitSource",
    },
    "chunking": {
        "sections": "mdvec.chunking.sections:SectionChunker",
        "headings": "mdvec.chunking.headings:HeadingChunker",
        "vault": "mdvec.chunking.vault:VaultChunker",
        "windows": "mdvec.chunking.windows:WindowChunker",
    },
    "embedding": {
        "builtin": "mdvec.embedding.builtin.embedder:make_builtin",
        "sentence-transformers": "mdvec.embedding.local.sentence_transformers:make_sentence_transformers",
        "plamo": "mdvec.embedding.local.plamo:make_plamo",
        "gemini": "mdvec.embedding.gemini:make_gemini",
        "voyage": "mdvec.embedding.voyage:make_voyage",
        "openai": "mdvec.embedding.openai:make_openai",
    },
    "stores": {"sqlite": "mdvec.stores.sqlite.store:SqliteStore"},
    # Doors do not know each other; the command line opens the others by name.
    "doors": {
        "mcp-stdio": "mdvec.interfaces.mcp.stdio:serve_stdio",
        "mcp-http": "mdvec.interfaces.mcp.http:serve_http",
    },
}


def names(stage: str) -> list[str]:
    """Return the adapters a stage can use, ours first.

    Args:
        stage: ``sources``, ``chunking``, ``embedding``, ``stores`` or ``doors``.
    """
    others = sorted({point.name for point in metadata.entry_points(group=f"mdvec.{stage}")})
    return [*_BUILTIN[stage], *(name for name in others if name not in _BUILTIN[stage])]


def load(stage: str, name: str) -> Any:
    """Import the factory of an adapter.

    Args:
        stage: ``sources``, ``chunking``, ``embedding``, ``stores`` or ``doors``.
        name: As written in the configuration.

    Returns:
        The adapter's class or factory function.

    Raises:
        ConfigError: If the stage has no adapter of that name, or it cannot be imported.
    """
    target = _BUILTIN[stage].get(name)
    if target is not None:
        module, _, attribute = target.partition(":")
        return getattr(importlib.import_module(module), attribute)
    for point in metadata.entry_points(group=f"mdvec.{stage}", name=name):
        try:
            return point.load()
        except (ImportError, AttributeError) as error:
            msg = f"the {stage} adapter {name!r} cannot be loaded: {error}"
            raise ConfigError(msg, hint=f"It comes from {point.value!r}; install it again.") from error
    msg = f"there is no {stage} adapter named {name!r}"
    raise ConfigError(msg, hint=f"Known: {', '.join(names(stage))}.")
