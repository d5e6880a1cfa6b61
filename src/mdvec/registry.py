"""Adapters by name: a table of our own, and entry points of other packages (``mdvec.sources`` and so on).

Nothing is imported until it is named, so a broken plug-in cannot stop the program. The arguments
of a factory are in the ``interface`` module of its stage; its own settings in :mod:`mdvec.settings`.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdvec.errors import ConfigError
from mdvec.text.addresses import scheme_of, without_password
from mdvec.types.collection import DEFAULT_SOURCE

if TYPE_CHECKING:
    from importlib import metadata

_BUILTIN = {
    "sources": {
        "folder": "mdvec.sources.folder:FolderSource",
        "github": "mdvec.sources.github.github_source:GithubSource",
        "git": "mdvec.sources.git.git_source:GitSource",
        "s3": "mdvec.sources.s3:S3Source",
        "push": "mdvec.sources.push:PushSource",
    },
    # They turn the bytes of a file into Markdown.
    "converters": {
        "pdf": "mdvec.documents.converters.pdf:convert_pdf",
        "docx": "mdvec.documents.converters.office:convert_docx",
        "pptx": "mdvec.documents.converters.office:convert_pptx",
        "spreadsheet": "mdvec.documents.converters.office:convert_spreadsheet",
        "csv": "mdvec.documents.converters.office:convert_csv",
        "rtf": "mdvec.documents.converters.office:convert_rtf",
        "html": "mdvec.documents.converters.web:convert_html",
        "epub": "mdvec.documents.converters.web:convert_epub",
        "enex": "mdvec.documents.converters.web:convert_enex",
        "opendocument": "mdvec.documents.converters.opendocument:convert_opendocument",
        "eml": "mdvec.documents.converters.mail:convert_mail",
        "mbox": "mdvec.documents.converters.mail:convert_mailbox",
        "ipynb": "mdvec.documents.converters.notebook:convert_notebook",
        "org": "mdvec.documents.converters.markup:convert_org",
        "rst": "mdvec.documents.converters.markup:convert_rst",
        "adoc": "mdvec.documents.converters.markup:convert_adoc",
        "latex": "mdvec.documents.converters.latex:convert_latex",
    },
    "chunking": {
        "sections": "mdvec.chunking.sections:SectionChunker",
        "headings": "mdvec.chunking.headings:HeadingChunker",
        "vault": "mdvec.chunking.vault:VaultChunker",
        "windows": "mdvec.chunking.windows:WindowChunker",
    },
    "embedding": {
        "builtin": "mdvec.embedding.builtin.embedder:make_builtin",
        "gemini": "mdvec.embedding.gemini:make_gemini",
        "voyage": "mdvec.embedding.voyage:make_voyage",
        "openai": "mdvec.embedding.openai:make_openai",
        "ollama": "mdvec.embedding.openai:make_ollama",
        "lmstudio": "mdvec.embedding.openai:make_lmstudio",
        "vllm": "mdvec.embedding.openai:make_vllm",
        "sentence-transformers": "mdvec.embedding.local.sentence_transformers:make_sentence_transformers",
        "plamo": "mdvec.embedding.local.plamo:make_plamo",
    },
    "rerankers": {
        "voyage": "mdvec.embedding.voyage:make_voyage_reranker",
        "cohere": "mdvec.embedding.cohere:make_cohere",
        "jina": "mdvec.embedding.cohere:make_jina",
        "vllm": "mdvec.embedding.cohere:make_vllm",
        "tei": "mdvec.embedding.cohere:make_tei",
        "transformers": "mdvec.embedding.local.cross_encoder:make_cross_encoder",
    },
    "stores": {
        "sqlite": "mdvec.stores.sqlite.store:SqliteStore",
        "postgres": "mdvec.stores.postgres.store:PostgresStore",
        "published": "mdvec.stores.published.reader:PublishedStore",
    },
    "vector_indexes": {
        "sqlite-vec": "mdvec.stores.vectors.sqlite_vec:SqliteVecIndex",
        "lancedb": "mdvec.stores.vectors.lancedb:LanceVectorIndex",
        "chroma": "mdvec.stores.vectors.chroma:ChromaVectorIndex",
    },
    # They hold the objects of sources and of published workspaces.
    "buckets": {"s3": "mdvec.net.buckets:Bucket"},
    # They embed in place of this machine.
    "clusters": {"ray": "mdvec.embedding.ray_cluster:RayCluster"},
}
# Built-in adapters that need more packages: the extra that installs them, and modules to look for.
_EXTRAS: dict[tuple[str, str], tuple[str, ...]] = {
    ("buckets", "s3"): ("s3",),
    ("clusters", "ray"): ("ray",),
    ("stores", "postgres"): ("postgres", "psycopg"),
    ("vector_indexes", "sqlite-vec"): ("sqlite-vec", "sqlite_vec"),
    ("vector_indexes", "lancedb"): ("lancedb", "lancedb", "pyarrow"),
    ("vector_indexes", "chroma"): ("chroma", "chromadb"),
    ("converters", "pdf"): ("files", "pypdfium2"),
    ("converters", "docx"): ("files", "mammoth", "markdownify"),
    ("converters", "pptx"): ("files", "pptx"),
    ("converters", "rtf"): ("files", "striprtf"),
    ("converters", "spreadsheet"): ("files", "python_calamine"),
    **{
        ("converters", name): ("files", "markdownify")
        for name in ("html", "epub", "eml", "mbox", "enex", "opendocument")
    },
}
_NOUNS = {"chunking": "chunker", "embedding": "embedding provider", "vector_indexes": "vector index"}
_STORES_BY_SCHEME = {"postgresql": "postgres", "s3": "published"}

_NAMED = re.compile(r"([a-z][a-z0-9_-]+)[:+](.*)", re.DOTALL)


def names(stage: str) -> list[str]:
    """Return the adapters a stage can use, ours first.

    Args:
        stage: ``sources``, ``chunking``, ``embedding``, ``rerankers``, ``stores``, ``vector_indexes``,
            ``buckets`` or ``clusters``.
    """
    return [*dict.fromkeys((*_BUILTIN[stage], *sorted(point.name for point in _entry_points(stage))))]


def builtin_names(stage: str) -> list[str]:
    """Return the adapters that come with mdvec and need no further package."""
    return [name for name in _BUILTIN[stage] if (stage, name) not in _EXTRAS]


def has(stage: str, name: str) -> bool:
    """Return True if a stage has an adapter of that name; it is not loaded."""
    return name in _BUILTIN[stage] or any(point.name == name for point in _entry_points(stage))


def is_installed(stage: str, name: str) -> bool:
    """Return True if the packages of an adapter are there; it is not imported."""
    _, *modules = _EXTRAS.get((stage, name), ("",))
    return all(importlib.util.find_spec(each) is not None for each in modules)


def load(stage: str, name: str) -> Any:
    """Import the class or function that makes an adapter; of a stage as :func:`names` knows it.

    Returns:
        The adapter's class or factory function.

    Raises:
        ConfigError: If the stage has no adapter of that name, or it cannot be imported.
    """
    if name in _BUILTIN[stage]:
        return _load_builtin(stage, name)
    point = next((each for each in _entry_points(stage) if each.name == name), None)
    if point is None:
        msg = f"there is no {_noun(stage)} {name!r}"
        raise ConfigError(msg, hint=f"Known: {', '.join(names(stage)) or 'none'}.")
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        msg = f"the {_noun(stage)} {name!r} cannot be loaded: {error}"
        raise ConfigError(msg, hint=f"It comes from {point.value!r}; install it again.") from error


def named_source(location: str) -> tuple[str, str]:
    """Return the name of the source that a location is for, and what that source has to parse.

    ``NAME:PLACE`` and ``NAME+ADDRESS`` are for the source ``NAME``, if there is one; all else is a folder.
    """
    found = _NAMED.match(location)
    return (found[1], found[2]) if found and has("sources", found[1]) else (DEFAULT_SOURCE, location)


def named_store(location: str) -> str:
    """Return the name of the store for a location: a path, or an address whose scheme is the store's name.

    A folder is a place where something is published.

    Raises:
        ConfigError: If it is an address that no store is for. The message holds no password.
    """
    scheme = scheme_of(location)
    if not scheme:
        return "published" if location and Path(location).is_dir() else "sqlite"
    name = _STORES_BY_SCHEME.get(scheme, scheme)
    # Two are named by a path.
    if scheme in ("sqlite", "published") or not has("stores", name):
        msg = f"there is no store for {without_password(location)}"
        others = (each for each in names("stores") if each not in ("sqlite", *_STORES_BY_SCHEME.values()))
        known = ", ".join(f"{each}://" for each in (*_STORES_BY_SCHEME, *others))
        raise ConfigError(msg, hint=f"Write the path of a file, or an address: {known}.")
    return name


def install_command(extra: str) -> str:
    """Return the command that installs what an extra of mdvec needs, wherever mdvec comes from."""
    import shlex
    from importlib import metadata

    try:
        required = [each.partition(";") for each in metadata.requires("mdvec") or ()]
    except metadata.PackageNotFoundError:  # it runs from a folder
        required = []
    marker = rf"extra == ['\"]{re.escape(extra)}['\"]"
    packages = [name.strip() for name, _, condition in required if re.search(marker, condition)]
    return f"pip install {shlex.join(packages or [f'mdvec[{extra}]'])}"


@cache
def _entry_points(stage: str) -> tuple[metadata.EntryPoint, ...]:
    # Reading those of all packages takes tens of milliseconds, and loads a parser of mail, which a search
    # that a daemon answers does without.
    from importlib import metadata

    return tuple(metadata.entry_points(group=f"mdvec.{stage}"))


def _noun(stage: str) -> str:
    return _NOUNS.get(stage, stage.removesuffix("s"))


def _load_builtin(stage: str, name: str) -> Any:
    module, _, attribute = _BUILTIN[stage][name].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        if (stage, name) not in _EXTRAS:
            raise
        extra = _EXTRAS[stage, name][0]
        msg = f"the {_noun(stage)} {name!r} is not installed"
        raise ConfigError(msg, hint=f"Install it: {install_command(extra)}") from error
