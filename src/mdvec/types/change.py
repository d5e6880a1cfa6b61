"""The listing of a source, the documents a store knows, and the differences."""

from __future__ import annotations

from msgspec import Struct

from mdvec.types.ids import DocumentId


class SourceEntry(Struct, frozen=True):
    """A file that a source offers for indexing.

    Attributes:
        path: Relative to the root, with ``/``, in NFC; unique in a listing.
        locator: The name as the file system spells it (``os.fsdecode`` form), relative to the root.
        mtime_ns: Time of the last change, in nanoseconds since 1970; 0 when the source knows no times.
        size: In bytes.
        content_hash: Identity of the content, where the source knows it without reading (a git blob's
            id); None otherwise, and for files of which only the bytes can tell.
    """

    path: str
    locator: str
    mtime_ns: int
    size: int
    content_hash: bytes | None = None


NEEDS_FILES = "needs pip install 'mdvec[files]'"
"""The rule under which files are excluded whose converter is not installed."""


class Exclusion(Struct, frozen=True, order=True):
    """A file or folder that a source does not offer, and the rule that excludes it.

    Attributes:
        path: As in :class:`SourceEntry`; a folder ends in ``/`` and stands for all below it.
        rule: For people, such as ``larger than 10 MB`` or ``.gitignore: *.tmp``.
    """

    path: str
    rule: str


class Unreadable(Struct, frozen=True, order=True):
    """A file or folder that should be offered but cannot be read.

    Attributes:
        path: As in :class:`SourceEntry`; a folder ends in ``/`` and stands for all below it.
        reason: For people, such as ``Permission denied``.
    """

    path: str
    reason: str


class Listing(Struct, frozen=True):
    """The files of a source.

    Attributes:
        entries: Files that can be indexed, sorted by path.
        exclusions: Files and folders that are left out, sorted by path.
        unreadable: Files and folders that could not be read, sorted by path.
        revision: The revision listed, where the source has revisions, such as a commit; else empty.
        pushed: The documents come from clients alone: all that are known stay as they are.
        context_files: Files that say what their folder holds, sorted by path.
    """

    entries: tuple[SourceEntry, ...]
    exclusions: tuple[Exclusion, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    revision: str = ""
    pushed: bool = False
    context_files: tuple[SourceEntry, ...] = ()


class KnownDocument(Struct, frozen=True):
    """The facts about a stored document that comparing needs.

    Attributes:
        id: In the store.
        path: Relative path.
        locator: The name as the file system spelt it when last seen.
        mtime_ns: As last seen; None forces a comparison by content.
        size: In bytes; as last seen.
        content_hash: Identity of the content that is indexed now: that of its source, else the SHA-256 of the
            raw bytes.
        fingerprint: Versions of parser and chunker; a different one means the document is cut again.
        dirty_since_ms: Since when it is marked as changed, in milliseconds since 1970; None when it is not.
            A mark forces a comparison by content.
    """

    id: DocumentId
    path: str
    locator: str
    mtime_ns: int | None
    size: int | None
    content_hash: bytes
    fingerprint: str
    dirty_since_ms: int | None = None


class Move(Struct, frozen=True):
    """A document whose content is at another path now.

    Attributes:
        old_path: Where the store has it.
        entry: Where the source has it.
    """

    old_path: str
    entry: SourceEntry


class Plan(Struct, frozen=True):
    """The work of an import. Every listed and every known path is in exactly one place.

    Attributes:
        new: Not known, and no known content.
        changed: Known, with other content (or to be cut again).
        touched: Known and equal, but with another time or spelling: only that is written down.
        moved: Known content under a new path.
        deleted: Known paths that are gone.
        unchanged: How many entries need nothing.
    """

    new: tuple[SourceEntry, ...] = ()
    changed: tuple[SourceEntry, ...] = ()
    touched: tuple[SourceEntry, ...] = ()
    moved: tuple[Move, ...] = ()
    deleted: tuple[str, ...] = ()
    unchanged: int = 0
