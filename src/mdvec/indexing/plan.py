"""What an import has to do: a source's listing compared with what is known, without any I/O.

It takes two steps, so that a file whose time and size are as before is not even opened:
:func:`compare` says which contents have to be known, :func:`resolve` makes the plan of their hashes.
Where the source itself says what identifies a content, times and sizes do not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mdvec.types.change import KnownDocument, Listing, Move, Plan, SourceEntry


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences that names, times and sizes show.

    Attributes:
        to_hash: Entries that are new, have changed or may have, sorted by path.
        unchanged: How many entries are as known.
        missing: Known documents that the source does not offer any more, sorted by path. Those that it
            could not look at are not among them.
        known: What is known of the entries in ``to_hash``, by path; a new one has none.
        fingerprint: How documents are prepared now.
    """

    to_hash: tuple[SourceEntry, ...]
    unchanged: int
    missing: tuple[KnownDocument, ...]
    known: Mapping[str, KnownDocument]
    fingerprint: str


def compare(listing: Listing, known: Mapping[str, KnownDocument], fingerprint: str) -> Comparison:
    """Compare a listing with what is known: by spelling, fingerprint, and content hash or time and size.

    Args:
        listing: The source's answer, in any order.
        known: What the store knows, by path.
        fingerprint: How documents are prepared now.

    Returns:
        What is settled, and what has to be hashed. A known path that is, or lies below, an unreadable
        one is in neither: nothing can be said about it, so it stays as it is.
    """
    to_hash = [
        entry for entry in listing.entries if not _is_as_known(entry, known.get(entry.path), fingerprint)
    ]
    to_hash.sort(key=_path)
    return Comparison(
        to_hash=tuple(to_hash),
        unchanged=len(listing.entries) - len(to_hash),
        missing=_missing(listing, known),
        known={entry.path: known[entry.path] for entry in to_hash if entry.path in known},
        fingerprint=fingerprint,
    )


def resolve(comparison: Comparison, hashes: Mapping[str, bytes | None]) -> Plan:
    """Make the plan.

    Args:
        comparison: From :func:`compare`.
        hashes: What identifies the content of each entry in ``comparison.to_hash``, by path; None when
            it could not be read.

    Returns:
        The plan, every part sorted by path. An entry that could not be read is in none of them. One
        with other content, or prepared in another way, is changed. A new entry with the content of a
        missing document is that document, moved; of several, the one of the same file name is taken,
        then the first by path, each once.
    """
    new: list[SourceEntry] = []
    changed: list[SourceEntry] = []
    touched: list[SourceEntry] = []
    for entry in comparison.to_hash:
        content_hash = hashes[entry.path]
        document = comparison.known.get(entry.path)
        if content_hash is None:
            continue
        if document is None:
            new.append(entry)
        elif document.content_hash == content_hash and document.fingerprint == comparison.fingerprint:
            touched.append(entry)
        else:
            changed.append(entry)
    moves = _pair(new, comparison.missing, hashes)
    moved_from = {move.old_path for move in moves}
    moved_to = {move.entry.path for move in moves}
    return Plan(
        new=tuple(entry for entry in new if entry.path not in moved_to),
        changed=tuple(changed),
        touched=tuple(touched),
        moved=tuple(moves),
        deleted=tuple(item.path for item in comparison.missing if item.path not in moved_from),
        unchanged=comparison.unchanged,
    )


def _is_as_known(entry: SourceEntry, document: KnownDocument | None, fingerprint: str) -> bool:
    # A rename from NFD to NFC keeps path, time and size.
    if document is None or document.locator != entry.locator or document.fingerprint != fingerprint:
        return False
    if entry.content_hash is not None:
        return document.content_hash == entry.content_hash
    return document.mtime_ns == entry.mtime_ns and document.size == entry.size


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
        by_name[_name(document.path)].append(document)
    moves: list[Move] = []
    renamed: list[SourceEntry] = []
    for entry in entries:
        same_name = by_name[_name(entry.path)]
        if same_name:
            moves.append(Move(same_name.pop().path, entry))
        else:
            renamed.append(entry)
    left = sorted((document for same_name in by_name.values() for document in same_name), key=_path)
    moves += [Move(document.path, entry) for entry, document in zip(renamed, left, strict=False)]
    return moves


def _name(path: str) -> str:
    return path.rpartition("/")[2]
