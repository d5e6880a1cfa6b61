"""The plan of an import: compares the listing of a source with the known documents, without any I/O.

It takes two steps, so that most files with unchanged time and size are not opened: :func:`compare` returns
the files to hash, and :func:`resolve` makes the plan from their hashes. If the source identifies contents
itself, times and sizes do not matter. Otherwise a file can change without a new time or size, so each import
checks a :func:`sample` of the files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from mdvec.types.change import KnownDocument, Listing, Move, Plan, SourceEntry

_SAMPLE_FILES = 50
_SAMPLE_BYTES = 4_000_000  # about 10 ms of reading and hashing


class ListingComparison(Struct, frozen=True):
    """The differences that names, times and sizes show.

    Attributes:
        to_hash: Entries whose content may be known, and the sample, sorted by path.
        looks_as_known: The paths of the sample.
        differing: Entries that are new or changed, whatever their content, sorted by path.
        unchanged: The number of entries without differences.
        missing: Known documents that the source no longer lists, sorted by path, without unreadable ones.
        known: The known documents at the paths of ``to_hash`` and ``differing``.
        fingerprint: How documents are prepared now.
    """

    to_hash: tuple[SourceEntry, ...]
    looks_as_known: frozenset[str]
    differing: tuple[SourceEntry, ...]
    unchanged: int
    missing: tuple[KnownDocument, ...]
    known: Mapping[str, KnownDocument]
    fingerprint: str


def sample(listing: Listing, after: str) -> tuple[str, ...]:
    """Return the paths of the next files to check, whatever their time and size: a few, up to a total size.

    Args:
        listing: The listing of the source.
        after: The last path of the previous sample, which may be gone; empty for the first sample. The first
            file follows the last, so that all files are checked in turn.
    """
    files = sorted((entry for entry in listing.entries if entry.content_hash is None), key=_path)
    start = bisect_right(files, after, key=_path)
    chosen: list[str] = []
    size = 0
    for entry in chain(files[start:], files[:start]):
        size += entry.size
        if chosen and (len(chosen) == _SAMPLE_FILES or size > _SAMPLE_BYTES):
            break
        chosen.append(entry.path)
    return tuple(chosen)


def compare(
    listing: Listing,
    known: Mapping[str, KnownDocument],
    fingerprint: str,
    *,
    look_at: Collection[str] = (),
) -> ListingComparison:
    """Compare a listing with the known documents by spelling, fingerprint, and content hash or time and size.

    Args:
        listing: The listing of the source, in any order.
        known: The documents in the store, by path.
        fingerprint: The current fingerprint.
        look_at: Paths to hash even if time and size are unchanged.

    Returns:
        The known differences, and the entries to hash. Known paths that are unreadable, or below an
        unreadable folder, are in neither: they stay as they are.
    """
    if listing.pushed:
        return ListingComparison((), frozenset(), (), len(known), (), {}, fingerprint)
    missing = _missing(listing, known)
    missing_sizes = {item.size for item in missing}
    to_hash: list[SourceEntry] = []
    differing: list[SourceEntry] = []
    looks_as_known: set[str] = set()
    for entry in listing.entries:
        document = known.get(entry.path)
        if not _is_as_known(entry, document, fingerprint):
            sizes = missing_sizes if document is None else {document.size}
            is_cut_anew = document is not None and document.fingerprint != fingerprint
            (to_hash if _may_be_known(entry, sizes) and not is_cut_anew else differing).append(entry)
        elif entry.content_hash is None and entry.path in look_at:
            to_hash.append(entry)
            looks_as_known.add(entry.path)
    to_hash.sort(key=_path)
    differing.sort(key=_path)
    return ListingComparison(
        to_hash=tuple(to_hash),
        looks_as_known=frozenset(looks_as_known),
        differing=tuple(differing),
        unchanged=len(listing.entries) - len(to_hash) - len(differing),
        missing=missing,
        known={entry.path: known[entry.path] for entry in (*to_hash, *differing) if entry.path in known},
        fingerprint=fingerprint,
    )


def resolve(comparison: ListingComparison, hashes: Mapping[str, bytes | None]) -> Plan:
    """Make the plan.

    Args:
        comparison: From :func:`compare`.
        hashes: The content hash of each entry in ``comparison.to_hash``, by path; None if it could not be
            read.

    Returns:
        The plan, every part sorted by path, without unreadable entries. An entry with another content hash or
        fingerprint is changed. A new entry with the content of a missing document is a move of it; of several
        such documents, one with the same file name comes first, then the first by path, each once.
    """
    new: list[SourceEntry] = []
    changed: list[SourceEntry] = []
    touched: list[SourceEntry] = []
    unchanged = comparison.unchanged
    for entry in comparison.to_hash:
        content_hash = hashes[entry.path]
        document = comparison.known.get(entry.path)
        if content_hash is None:
            continue
        if document is None:
            new.append(entry)
        elif document.content_hash == content_hash and document.fingerprint == comparison.fingerprint:
            if entry.path in comparison.looks_as_known:
                unchanged += 1
            else:
                touched.append(entry)
        else:
            changed.append(entry)
    moves = _pair(new, comparison.missing, hashes)
    moved_from = {move.old_path for move in moves}
    moved_to = {move.entry.path for move in moves}
    new = [entry for entry in new if entry.path not in moved_to]
    for entry in comparison.differing:
        (changed if entry.path in comparison.known else new).append(entry)
    return Plan(
        new=tuple(sorted(new, key=_path)),
        changed=tuple(sorted(changed, key=_path)),
        touched=tuple(touched),
        moved=tuple(moves),
        deleted=tuple(item.path for item in comparison.missing if item.path not in moved_from),
        unchanged=unchanged,
    )


def altered(plan: Plan, known: Mapping[str, KnownDocument]) -> list[str]:
    """Return the known documents whose files changed, moved or are gone, by path."""
    changed = [
        entry.path
        for entry in plan.changed
        if (document := known.get(entry.path)) is not None
        and not _is_as_known(entry, document, document.fingerprint)
    ]
    return sorted({*changed, *plan.deleted, *(move.old_path for move in plan.moved)})


def file_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def _is_as_known(entry: SourceEntry, document: KnownDocument | None, fingerprint: str) -> bool:
    if document is None or document.dirty_since_ms is not None:
        return False
    # A rename from NFD to NFC keeps path, time and size.
    if document.locator != entry.locator or document.fingerprint != fingerprint:
        return False
    if entry.content_hash is not None:
        return document.content_hash == entry.content_hash
    return document.mtime_ns == entry.mtime_ns and document.size == entry.size


def _may_be_known(entry: SourceEntry, sizes: Collection[int | None]) -> bool:
    """Return False if no document that an entry may equal has its size."""
    return entry.content_hash is not None or entry.size in sizes or None in sizes


def _path(item: SourceEntry | KnownDocument) -> str:
    return item.path


def _missing(listing: Listing, known: Mapping[str, KnownDocument]) -> tuple[KnownDocument, ...]:
    listed = {entry.path for entry in listing.entries}
    unreadable = {item.path for item in listing.unreadable}
    folders = tuple(path for path in unreadable if path.endswith("/"))
    return tuple(
        known[path]
        for path in sorted(known.keys() - listed - unreadable)
        if not (folders and path.startswith(folders))
    )


def _pair(
    new: Sequence[SourceEntry], missing: Iterable[KnownDocument], hashes: Mapping[str, bytes | None]
) -> list[Move]:
    """Pair new entries with missing documents of the same content; both are sorted by path."""
    candidates: dict[bytes, list[KnownDocument]] = defaultdict(list)
    for document in missing:
        candidates[document.content_hash].append(document)
    arrivals: dict[bytes, list[SourceEntry]] = defaultdict(list)
    for entry in new:
        content_hash = hashes[entry.path]
        if content_hash in candidates:
            arrivals[content_hash].append(entry)
    moves = [
        move
        for content_hash, entries in arrivals.items()
        for move in _pair_equal(entries, candidates[content_hash])
    ]
    return sorted(moves, key=lambda move: move.entry.path)


def _pair_equal(entries: Sequence[SourceEntry], documents: Sequence[KnownDocument]) -> list[Move]:
    """Pair entries and documents that all have one content: by file name first, then in order."""
    by_name: dict[str, list[KnownDocument]] = defaultdict(list)
    for document in reversed(documents):
        by_name[file_name(document.path)].append(document)
    moves: list[Move] = []
    renamed: list[SourceEntry] = []
    for entry in entries:
        same_name = by_name[file_name(entry.path)]
        if same_name:
            moves.append(Move(same_name.pop().path, entry))
        else:
            renamed.append(entry)
    left = sorted((document for same_name in by_name.values() for document in same_name), key=_path)
    moves += [Move(document.path, entry) for entry, document in zip(renamed, left, strict=False)]
    return moves
