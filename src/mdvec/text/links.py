"""Links between documents, resolved as Obsidian resolves them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from urllib.parse import unquote

from mdvec.text.folding import nfc
from mdvec.types.document import Link, LinkKind
from mdvec.types.links import LinkState

# One letter and a colon is a drive, not a scheme.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
# The folder of a site's contents, as Zola and Docusaurus write it, or a vault of Dendron's.
_ROOT = re.compile(r"^(?:@(?:site)?|dendron://[^/]+)/")
_QUERY = re.compile(r"(?<=\.md)\?[\w=&]+\Z", re.IGNORECASE)  # how to show a file, on a forge
MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx", ".mdown", ".qmd", ".rmd")
"""How the names of Markdown files end."""

DOCUMENT_SUFFIXES = (*MARKDOWN_SUFFIXES, ".txt", ".canvas", ".vtt", ".srt")
"""How the names of documents end."""

CONVERTERS: Mapping[str, str] = {
    **{
        suffix: suffix[1:]
        for suffix in (".pdf", ".docx", ".pptx", ".rtf", ".epub", ".eml", ".mbox", ".enex", ".ipynb")
    },
    **{suffix: suffix[1:] for suffix in (".org", ".rst", ".adoc")},
    ".asciidoc": "adoc",
    ".tex": "latex",
    **dict.fromkeys((".xlsx", ".xlsm", ".xls", ".ods"), "spreadsheet"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".odt", ".odp"), "opendocument"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
}
"""The name of the converter that makes Markdown of a file, by how its name ends."""

# The suffixes that links leave out.
_SUFFIXES = (*MARKDOWN_SUFFIXES, ".txt")
_LOGSEQ_SLASH = re.compile("___|%2f", re.IGNORECASE)

# Spaces that nobody types, such as those in the names of screenshots on a Mac.
_SPACES = str.maketrans("\u00a0\u202f\u3000", "   ")
# The id at the beginning of a Zettelkasten note's name, by which others link to it.
_NOTE_ID = re.compile(r"(?:\d{12}|\d{14})(?=[ _-])")
# Files that Obsidian embeds, and others that people have in the same folders.
_OTHER_SUFFIXES = (
    *(".avif", ".bmp", ".gif", ".heic", ".ico", ".jpeg", ".jpg", ".png", ".svg", ".tif", ".tiff", ".webp"),
    *(".3gp", ".aac", ".flac", ".m4a", ".mp3", ".ogg", ".opus", ".wav"),
    *(".mkv", ".mov", ".mp4", ".ogv", ".webm"),
    *(".base", ".canvas", ".excalidraw", ".epub", ".pdf"),
    *(".csv", ".ipynb", ".json", ".toml", ".tsv", ".xml", ".yaml", ".yml"),
    *(".css", ".htm", ".html", ".js", ".py", ".sh", ".sql", ".ts"),
    *(".doc", ".docx", ".odp", ".ods", ".odt", ".ppt", ".pptx", ".rtf", ".xls", ".xlsx", ".gz", ".zip"),
)


def file_key(path: str) -> str:
    """Return the key that a file and the links to its name share.

    Args:
        path: A path, or the target of a link; only the last name in it counts.

    Returns:
        The name without the suffix of a document, in NFC and case folded; of a Zettelkasten note, its id.
    """
    name = _without_suffix(_folded(path).rstrip("/").rpartition("/")[2].strip())
    note_id = _NOTE_ID.match(name)
    return note_id[0] if note_id else name


def without_codes(name: str) -> str:
    """Return a name with the "/" that Logseq writes in another way in the name of a page's file."""
    return _LOGSEQ_SLASH.sub("/", name) if "_" in name or "%" in name else name


def is_markdown(path: str) -> bool:
    """Return True if a file is Markdown by its name, or converted to it."""
    return path.lower().endswith(MARKDOWN_SUFFIXES) or bool(converter_of(path))


def converter_of(path: str) -> str:
    """Return the name of the converter that makes Markdown of a file; empty if it is read as it is."""
    return CONVERTERS.get(path[path.rfind(".") :].lower(), "")


def linked_path(link: Link) -> str | None:
    """Return the path that a link names, with percent escapes decoded.

    Returns:
        A path, possibly partial or relative; empty for a place in the document itself; None for an external
        address.
    """
    target = _ROOT.sub("", link.target)
    if _SCHEME.match(target) and (link.kind is LinkKind.MARKDOWN or "://" in target):
        return None
    # A file's name may contain a percent sign; a Markdown link spells it %25.
    target = unquote(_QUERY.sub("", target)) if link.kind is LinkKind.MARKDOWN else target
    return nfc(target.replace("\\", "/")).strip()


def link_key(link: Link) -> str:
    """Return the key of the file that a link points at; empty for the document itself and for addresses."""
    return file_key(linked_path(link) or "")


def link_state(link: Link, path: str | None, *, is_file: bool) -> LinkState:
    """Return the kind of target of a link.

    Args:
        link: The link.
        path: The document that it leads to, or None.
        is_file: Whether another file of the collection is there.
    """
    if path is not None:
        return LinkState.DOCUMENT
    wanted = linked_path(link)
    if wanted is None:
        return LinkState.OUTSIDE
    return LinkState.FILE if is_file and names_other_file(wanted) else LinkState.UNRESOLVED


def resolve(link: Link, from_path: str, candidates: Collection[str]) -> str | None:
    """Find the document that a link leads to.

    A path that starts with ``./`` or ``../`` is relative to the document's folder, one with ``/`` to the
    root, or in Markdown, to a folder that is the root of a web site. Any other is matched against the ends of
    paths. Of the documents that match, the one at exactly that path from the root comes first, then those
    below the document's own folder, then the one with the shortest path. A Markdown link, and a link to an
    older version, is first tried relative to the document's folder: so Markdown means it everywhere, and
    older versions often share their names with others elsewhere.

    Case does not count, except between paths that are equal otherwise. The suffix may be left out; Markdown
    then comes before plain text. Aliases are not targets, as in Obsidian.

    Args:
        link: The link.
        from_path: Path of the document with the link; empty for a link outside any document.
        candidates: The paths of all documents whose :func:`file_key` is that of the link;
            where many files have one name, a mapping or set is quicker.

    Returns:
        One of the candidates; None when none of them is meant.
    """
    wanted = linked_path(link)
    if wanted is None:
        return None
    if not wanted:
        return from_path or None
    folder = from_path.rpartition("/")[0]
    rooted = wanted.startswith("/")
    if wanted.startswith(("./", "../")):
        joined = _joined(folder, wanted)
        if joined is None:
            return None
        wanted, rooted = joined, True
    wanted = wanted.strip("/")
    counts_from_folder = link.kind in {LinkKind.MARKDOWN, LinkKind.PREVIOUS} and not rooted
    beside = _joined(folder, wanted) if counts_from_folder else None
    # Comes before all others, and spares looking at every README of a collection.
    place = wanted if beside is None else beside
    for spelled_out in (place, f"{place}.md"):
        if spelled_out in candidates:
            return spelled_out
    fitting = [path for path in candidates if _ends_so(path, wanted, whole=rooted)]
    if not fitting and link.kind is LinkKind.MARKDOWN and link.target.startswith("/"):
        # The root of a web site is often a folder of its repository.
        fitting = [path for path in candidates if _ends_so(path, wanted, whole=False)]
    return min(fitting, key=lambda path: _order(path, wanted, folder, beside), default=None)


def names_other_file(path: str) -> bool:
    """Return True if a path names a file that is not a document, such as an image, by its suffix."""
    return path.lower().endswith(_OTHER_SUFFIXES)


def _joined(folder: str, path: str) -> str | None:
    """Return a path relative to a folder as one relative to the root; None if it leads outside the root."""
    parts = folder.split("/") if folder else []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def _ends_so(path: str, wanted: str, *, whole: bool) -> bool:
    end = _folded(wanted)
    spellings = [_folded(path), _folded(_without_suffix(path))]
    folder, slash, name = spellings[0].rpartition("/")
    if note_id := _NOTE_ID.match(name):
        spellings.append(f"{folder}{slash}{note_id[0]}")
    return any(each == end or (not whole and each.endswith(f"/{end}")) for each in spellings)


def _order(
    path: str, wanted: str, folder: str, beside: str | None
) -> tuple[bool, bool, bool, bool, int, bool, str]:
    """Return the sort key of a candidate: the smallest is the one that the link means."""
    written = path if _folded(path).endswith(_folded(wanted)) else _without_suffix(path)
    return (
        written != path and not is_markdown(path),
        beside is None or _folded(written) != _folded(beside),
        _folded(written) != _folded(wanted),
        not _folded(path).startswith(_folded(f"{folder}/") if folder else ""),
        len(path),
        not written.endswith(wanted),
        path,
    )


def _without_suffix(path: str) -> str:
    suffix = next((suffix for suffix in _SUFFIXES if path.lower().endswith(suffix)), "")
    return path[: len(path) - len(suffix)] or path


def _folded(path: str) -> str:
    folded = path.lower() if path.isascii() else nfc(nfc(path).casefold())
    return without_codes(folded.translate(_SPACES))
