"""Selects the files to index: extensions, folder names, globs and the size limit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from mdvec import registry
from mdvec.text.globs import compile_glob, is_bare, literal_prefix
from mdvec.text.links import CONVERTERS, DOCUMENT_SUFFIXES, converter_of
from mdvec.types.change import NEEDS_FILES

DEFAULT_EXTENSIONS: tuple[str, ...] = (*DOCUMENT_SUFFIXES, *CONVERTERS)
"""The extensions that are indexed by default."""

OWN_FOLDER = ".mdvec"
"""The folder of an index among documents; nobody put it there, so it is not reported as excluded."""

# Folders of programs, without anything that a user wrote. Words that people use for their own folders (build,
# dist, data, env, vendor) are not here: ignore files are for these. Other hidden folders are searched, since
# .github, .claude and others contain documents.
DEFAULT_EXCLUDED_DIRECTORIES: tuple[str, ...] = (
    *(".git", ".hg", ".svn", ".bzr", ".jj"),
    *("node_modules", "bower_components", ".yarn", ".pnpm-store", ".next", ".nuxt", ".svelte-kit"),
    *(".astro", ".docusaurus", ".vitepress", ".vuepress", ".parcel-cache", ".turbo"),
    *("__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", ".ipynb_checkpoints"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"),
    *(".idea", ".vscode", ".vs", ".history", ".quarto", ".gradle", ".terraform", ".bundle", ".cache"),
    *(".obsidian", ".trash", ".smart-env", ".logseq", ".recycle"),
    *(".Trash", ".Trash-*", ".Trashes", "$RECYCLE.BIN", "#recycle", "lost+found"),
    *(".dropbox.cache", ".stversions", ".stfolder", ".sync", ".tmp.driveupload", ".tmp.drivedownload"),
    *(".Spotlight-V100", ".fseventsd", "@eaDir", "__MACOSX", ".AppleDouble", "System Volume Information"),
    *(OWN_FOLDER, ".rag-index", ".search-docs"),
)
"""Folders that are not entered by default, wherever they are."""

VAULT_FOLDER = ".obsidian"
"""The extensions in an Obsidian vault besides notes."""

# Logseq's own files, with a backup of each page.
_LOGSEQ = "logseq"
_LOGSEQ_FOLDERS = frozenset({_LOGSEQ, "pages"})

DEFAULT_MAX_FILE_BYTES = 10_000_000
"""The largest file that is indexed by default."""

_LOCKS = (".#", "~$")  # of Emacs and Office
_LARGER_THAN_TEXT = 20  # a file that is converted holds pictures and fonts
_SIZES = {"": 1.0, "csv": 0.1}  # of text as it is, and of a table; a larger table is data
_NOT_INCLUDED = "not matched by --include"


class ScanSettings(Struct, frozen=True):
    """The settings ``[scanner]``: which files of a source are documents.

    Attributes:
        extensions: Extensions of file names, regardless of case and with or without the dot.
        exclude_dirs: Names of folders that are not entered, wherever they are; they may have ``*``.
        max_file_bytes: The largest file to take.
        gitignore: Whether what ``.gitignore`` names is left out of a folder.
        follow: Paths of links that are followed although they lead out of the folder.
    """

    extensions: tuple[str, ...] = DEFAULT_EXTENSIONS
    exclude_dirs: tuple[str, ...] = DEFAULT_EXCLUDED_DIRECTORIES
    max_file_bytes: int = DEFAULT_MAX_FILE_BYTES
    gitignore: bool = True
    follow: tuple[str, ...] = ()


class Glob(Struct, frozen=True):
    """A glob from the user.

    Attributes:
        pattern: The pattern as given.
        matches: See :func:`mdvec.text.globs.compile_glob`.
        prefix: The folder that contains every match.
        is_bare: Whether it is matched against names.
    """

    pattern: str
    matches: Callable[[str], bool]
    prefix: str
    is_bare: bool

    @classmethod
    def parse(cls, pattern: str) -> Glob:
        """Compile a pattern."""
        return cls(pattern, compile_glob(pattern), literal_prefix(pattern), is_bare(pattern))


class Selection(Struct, frozen=True):
    """The files of a folder that a user wants.

    Attributes:
        extensions: In lower case, with the dot.
        excluded_dirs: Names of folders that are not entered.
        include: If there are any, a file must match one of them.
        exclude: A file that matches one of them is excluded, as is a whole folder whose name matches a
            pattern without ``/``.
        scan: The settings as they were given.
        follow: Paths of links that are followed although they lead out of the folder, without outer slashes.
        is_vault: Whether it is an Obsidian vault, in which hidden folders contain no notes.
    """

    extensions: tuple[str, ...]
    excluded_dirs: frozenset[str]
    include: tuple[Glob, ...]
    exclude: tuple[Glob, ...]
    scan: ScanSettings
    follow: frozenset[str]
    is_vault: bool = False

    @classmethod
    def parse(cls, scan: ScanSettings, *, include: Sequence[str], exclude: Sequence[str]) -> Selection:
        """Return the selection that the user's settings describe."""
        return cls(
            extensions=tuple(f".{extension.lower().removeprefix('.')}" for extension in scan.extensions),
            excluded_dirs=frozenset(name.removesuffix("/") for name in scan.exclude_dirs),
            include=tuple(map(Glob.parse, include)),
            exclude=tuple(map(Glob.parse, exclude)),
            scan=scan,
            follow=frozenset(path.strip("/") for path in scan.follow),
        )

    def for_root(self, names: Collection[str]) -> Selection:
        """Return the selection for a folder, given the names of its contents."""
        if _LOGSEQ_FOLDERS.issubset(names):
            return replace(self, exclude=(*self.exclude, Glob.parse(f"{_LOGSEQ}/")))
        return replace(self, is_vault=True) if VAULT_FOLDER in names else self

    def name_rule(self, name: str) -> str | None:
        """Return why a folder of this name is not entered; None if it is."""
        if self.is_vault and name.startswith(".") and name not in self.excluded_dirs:
            return "hidden folder of a vault"
        is_excluded = name in self.excluded_dirs or any(
            fnmatchcase(name, each) for each in self.excluded_dirs if "*" in each
        )
        return f"excluded folder name: {name}" if is_excluded else None

    def extension_rule(self, name: str) -> str | None:
        """Return why a file of this name is not indexed; None if it is."""
        if name.startswith(_LOCKS):
            return "lock file of a program"
        if name.lower().endswith(self.extensions):
            return _converter_rule(converter_of(name))
        stem, dot, extension = name.rpartition(".")
        return f"extension .{extension} is not indexed" if stem and dot else "no extension"

    def max_bytes(self, path: str) -> int:
        """Return the size of the largest file of this kind."""
        return int(self.scan.max_file_bytes * _SIZES.get(converter_of(path), _LARGER_THAN_TEXT))

    def exclude_rule(self, path: str) -> str | None:
        """Return the ``--exclude`` that excludes a path, if any; a folder's path ends in ``/``."""
        for glob in self.exclude:
            if glob.matches(path) or (glob.is_bare and path.endswith("/") and glob.matches(path[:-1])):
                return f"--exclude: {glob.pattern}"
        return None

    def include_rule(self, path: str) -> str | None:
        """Return why a file, or a whole folder (its path ends in ``/``), is not included; None if it is."""
        if not self.include:
            return None
        if path.endswith("/"):
            wanted = any(
                glob.prefix.startswith(path) or path.startswith(glob.prefix) for glob in self.include
            )
        else:
            wanted = any(glob.matches(path) for glob in self.include)
        return None if wanted else _NOT_INCLUDED


@functools.cache
def _converter_rule(name: str) -> str | None:
    """Return why files that a converter reads are not indexed; None if they are."""
    return None if not name or registry.is_installed("converters", name) else NEEDS_FILES
