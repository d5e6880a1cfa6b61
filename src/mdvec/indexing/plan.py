"""Step 1 of an import: the differences between a source and the index; nothing is prepared or written.

:func:`compare` is the plan, without any I/O but the hashes it asks for: most files with unchanged time and
size are not opened. If the source identifies contents itself, times and sizes do not matter. Otherwise a file
can change without a new time or size, so each import checks a :func:`sample` of the files.

Searches use this before they answer, so it imports nothing that parses Markdown.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as Group
from contextlib import AbstractContextManager
from itertools import chain
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.documents.encodings import decode
from mdvec.errors import SourceEmptyError, SourceError, SourceMissingError, UnreadableFileError
from mdvec.indexing.work import BINARY_RULE, POINTER_RULE, Recipe
from mdvec.sources.interface import Source
from mdvec.stores.interface import View
from mdvec.text.folding import spelled
from mdvec.text.hashing import content_hash
from mdvec.types.change import Exclusion, KnownDocument, Listing, Move, Plan, SourceEntry, Unreadable
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState
from mdvec.types.folder_context import FolderContext, context_line
from mdvec.types.ids import CollectionId
from mdvec.types.report import ImportMode, ImportOptions

_SAMPLE_FILES = 50
_SAMPLE_BYTES = 4_000_000  # about 10 ms of reading and hashing
_LEFT_OUT = (
    "Check the ignore files and the patterns: 'mdvec tool update -n NAME --include GLOB' replaces those of "
    "--include ('' is for all files), and --exclude the others. "
    f"{SourceEmptyError.default_hint}"
)
_MAX_CONTEXT_FILES = 200  # contexts are stored with the collection, and read with it
_path = attrgetter("path")


class Changes(Struct, frozen=True):
    """The changes that an import has to make, and where to read the texts.

    Attributes:
        collection_id: The collection.
        source: Its source.
        recipe: How its documents are prepared.
        read: Opens a snapshot of its store.
        known: The documents in the store, by path.
        plan: The differences.
        exclusions: Excluded files.
        failures: Files that could not be examined, and why.
        revision: The revision of the source; empty where it has none.
        checked_up_to: The last path of the sample of checked files; empty if all were checked.
        stored: Documents to be written again whose content is in the store: their path in the store, by the
            path of the entry.
        pushed: Whether all documents come from clients.
        folder_contexts: The folder contexts that files of the source define.
    """

    collection_id: CollectionId
    source: Source
    recipe: Recipe
    read: Callable[[], AbstractContextManager[View]]
    known: Mapping[str, KnownDocument]
    plan: Plan
    exclusions: tuple[Exclusion, ...]
    failures: tuple[Unreadable, ...]
    revision: str
    checked_up_to: str
    stored: Mapping[str, str]
    pushed: bool = False
    folder_contexts: tuple[FolderContext, ...] = ()

    @property
    def entries(self) -> tuple[SourceEntry, ...]:
        """The entries that have to be prepared, those that have been dirty for longest first."""
        entries = (*self.plan.new, *self.plan.changed, *(move.entry for move in self.plan.moved))
        return tuple(sorted(entries, key=self._dirty_since))

    def prefetch(self, entries: Sequence[SourceEntry]) -> None:
        """Fetch the files of the entries that are read next, before anything is written."""
        self.source.prefetch([entry for entry in entries if entry.path not in self.stored])

    def _dirty_since(self, entry: SourceEntry) -> float:
        document = self.known.get(entry.path)
        return math.inf if document is None or document.dirty_since_ms is None else document.dirty_since_ms


def find_changes(
    collection: Collection,
    *,
    read: Callable[[], AbstractContextManager[View]],
    source: Source,
    recipe: Recipe,
    options: ImportOptions = ImportOptions(),  # noqa: B008 - frozen
    by_listing: bool = False,
) -> Changes:
    """Compare a source with the store; nothing is written.

    Args:
        collection: The collection.
        read: Opens a snapshot of its store.
        source: Its source.
        recipe: How its documents are prepared.
        options: Whether to prepare every document anew, to accept an empty source although documents are
            known, and to check every file, not only a sample of those that look unchanged.
        by_listing: Whether to read none of the files that look unchanged.

    Raises:
        SourceMissingError: If the root is not there.
        SourceEmptyError: If it is empty although documents are known, as an unmounted disk is.
    """
    rebuild = options.mode is ImportMode.REPLACE
    with read() as view:
        known = view.documents.known(collection.id)
    run.current().report(run.Stage.SCAN, 0, 0)
    try:
        listing = _list(source, knows_documents=bool(known), allow_empty=options.allow_empty)
    except SourceError as error:
        error.hint = error.hint.replace("-n NAME", f"-n {collection.name}")
        raise
    sampled = () if options.check or rebuild or by_listing else sample(listing, collection.checked_up_to)
    if rebuild:
        # Everything is new; documents that could not be examined stay.
        missing = () if listing.pushed else _missing(listing, known)
        plan = Plan(new=listing.entries, deleted=tuple(document.path for document in missing))
        failures: list[Unreadable] = []
    else:
        look_at = known.keys() if options.check else sampled
        with run.current().step("compare") as details:
            plan, failures = make_plan(listing, known, source, recipe.fingerprint, look_at=look_at)
            details.update(
                new=len(plan.new),
                changed=len(plan.changed),
                moved=len(plan.moved),
                deleted=len(plan.deleted),
                unchanged=plan.unchanged,
            )
    with read() as view:
        without_text = [] if rebuild else known_without_text(collection, listing, plan.new, view)
        skipped = {exclusion.path for exclusion in without_text}
        plan = replace(plan, new=tuple(entry for entry in plan.new if entry.path not in skipped))
    folder_contexts, too_many = read_contexts(collection, listing, source)
    return Changes(
        collection_id=collection.id,
        source=source,
        recipe=recipe,
        read=read,
        known=known,
        plan=plan,
        exclusions=(*listing.exclusions, *without_text, *too_many),
        failures=(*listing.unreadable, *failures),
        revision=listing.revision,
        checked_up_to=sampled[-1] if sampled else "",
        stored=stored_paths(plan, known),
        pushed=listing.pushed,
        folder_contexts=folder_contexts,
    )


def make_plan(
    listing: Listing,
    known: Mapping[str, KnownDocument],
    source: Source,
    fingerprint: str,
    *,
    look_at: Group[str],
) -> tuple[Plan, list[Unreadable]]:
    """Compare a listing with the known documents, reading what has to be hashed; see :func:`compare`.

    Returns:
        The plan, and the files whose content could not be compared.
    """
    failures: list[Unreadable] = []

    def hash_of(entry: SourceEntry) -> bytes | None:
        run.current().check()
        try:
            return entry.content_hash or content_hash(source.read(entry))
        except UnreadableFileError as error:
            failures.append(Unreadable(entry.path, str(error)))
            return None

    return compare(listing, known, fingerprint, hash_of, look_at=look_at), failures


def known_without_text(
    collection: Collection, listing: Listing, entries: Iterable[SourceEntry], view: View
) -> list[Exclusion]:
    """Return the new files that the last import found to hold no text.

    Only reading a file shows this, so they look new each time. In the same revision they need not be fetched
    again.
    """
    candidates = {entry.path for entry in entries}
    if not candidates or not listing.revision or listing.revision != collection.revision:
        return []
    return [
        Exclusion(file.path, file.reason)
        for file in view.collections.file_states(collection.id, None)
        if file.path in candidates
        and file.state is DocumentState.EXCLUDED
        and file.reason in (BINARY_RULE, POINTER_RULE)
    ]


def _list(source: Source, *, knows_documents: bool, allow_empty: bool) -> Listing:
    with run.current().step("scan") as details:
        try:
            listing = source.list()
        except SourceMissingError:
            if not (allow_empty and knows_documents):
                raise
            listing = Listing(())
        details.update(files=len(listing.entries), excluded=len(listing.exclusions))
    if knows_documents and not (listing.entries or listing.unreadable or listing.pushed or allow_empty):
        msg = "the source contains no documents, but the index does"
        if not listing.exclusions:
            raise SourceEmptyError(msg)
        first = listing.exclusions[0]
        msg = f"{msg}; {spelled(first.path)}, for one, is left out ({first.rule})"
        raise SourceEmptyError(msg, hint=_LEFT_OUT)
    return listing


def stored_paths(plan: Plan, known: Mapping[str, KnownDocument]) -> dict[str, str]:
    """Return the paths of documents whose content is in the store: by their hashes, it is the same."""
    cut_anew = {
        entry.path: entry.path
        for entry in plan.changed
        if entry.content_hash is not None and entry.content_hash == known[entry.path].content_hash
    }
    return cut_anew | {move.entry.path: move.old_path for move in plan.moved}


def sized(entry: SourceEntry, size: int) -> SourceEntry:
    """Set the size of the content, if the source identifies contents instead of comparing sizes."""
    return entry if entry.content_hash is None else replace(entry, size=size)


def read_contexts(
    collection: Collection, listing: Listing, source: Source
) -> tuple[tuple[FolderContext, ...], list[Exclusion]]:
    """Return the folder contexts in the files of a source, and the files above the limit.

    Files nearest to the root come first. For a revision that was imported, they are known.
    """
    if listing.pushed or (listing.revision and listing.revision == collection.revision):
        return contexts_of_files(collection), []
    files = sorted(listing.context_files, key=lambda each: (each.path.count("/"), each.path))
    if files:
        source.prefetch(files[:_MAX_CONTEXT_FILES])
    found = [
        context
        for entry in files[:_MAX_CONTEXT_FILES]
        if (context := _read_context(entry, source)) is not None
    ]
    rule = f"more than {_MAX_CONTEXT_FILES} folder contexts"
    return tuple(sorted(found)), [Exclusion(each.path, rule) for each in files[_MAX_CONTEXT_FILES:]]


def contexts_of_files(collection: Collection) -> tuple[FolderContext, ...]:
    """Return the contexts that files defined at the last import."""
    return tuple(each for each in collection.folder_contexts if each.from_file)


def with_contexts_of_files(collection: Collection, found: tuple[FolderContext, ...]) -> Collection:
    """Return a collection with these contexts from files; contexts that users set stay."""
    set_here = tuple(each for each in collection.folder_contexts if not each.from_file)
    return replace(collection, folder_contexts=(*set_here, *found))


def _read_context(entry: SourceEntry, source: Source) -> FolderContext | None:
    """Return the context in a file; None if it is empty or cannot be read."""
    try:
        decoded = decode(source.read(entry))
    except UnreadableFileError:
        return None
    text = context_line(decoded.text) if decoded is not None else ""
    return FolderContext(entry.path.rpartition("/")[0], text, from_file=True) if text else None


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
    hash_of: Callable[[SourceEntry], bytes | None],
    *,
    look_at: Group[str] = (),
) -> Plan:
    """Compare a listing with the known documents by spelling, fingerprint, and content hash or time and size.

    Args:
        listing: The listing of the source, in any order.
        known: The documents in the store, by path.
        fingerprint: How documents are prepared now.
        hash_of: Returns the content hash of an entry; None if it cannot be read, which leaves it as it is.
        look_at: Paths to hash even if time and size are unchanged.

    Returns:
        The plan, every part sorted by path. An entry with another content hash or fingerprint is changed. A
        new entry with the content of a missing document is a move of it; of several such documents, one with
        the same file name comes first, then the first by path, each once. Known paths that are unreadable, or
        below an unreadable folder, are in no part: they stay as they are.
    """
    if listing.pushed:
        return Plan(unchanged=len(known))
    missing = _missing(listing, known)
    missing_sizes = {item.size for item in missing}
    new: list[SourceEntry] = []
    changed: list[SourceEntry] = []
    touched: list[SourceEntry] = []
    arrivals: dict[bytes, list[SourceEntry]] = defaultdict(list)
    unchanged = 0
    for entry in sorted(listing.entries, key=_path):
        document = known.get(entry.path)
        as_known = _is_as_known(entry, document, fingerprint)
        if as_known and (entry.content_hash is not None or entry.path not in look_at):
            unchanged += 1
            continue
        # No document that it may equal has its size: then its content is not read.
        sizes = missing_sizes if document is None else {document.size}
        is_new_size = entry.content_hash is None and not sizes & {entry.size, None}
        is_cut_anew = document is not None and document.fingerprint != fingerprint
        if is_cut_anew or (is_new_size and not as_known):
            (new if document is None else changed).append(entry)
            continue
        digest = hash_of(entry)
        if digest is None:
            continue
        if document is None:
            new.append(entry)
            arrivals[digest].append(entry)
        elif document.content_hash != digest:
            changed.append(entry)
        elif as_known:
            unchanged += 1
        else:
            touched.append(entry)
    moves = _pair(arrivals, missing)
    moved_from = {move.old_path for move in moves}
    moved_to = {move.entry.path for move in moves}
    return Plan(
        new=tuple(entry for entry in new if entry.path not in moved_to),
        changed=tuple(changed),
        touched=tuple(touched),
        moved=tuple(moves),
        deleted=tuple(item.path for item in missing if item.path not in moved_from),
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


def _missing(listing: Listing, known: Mapping[str, KnownDocument]) -> tuple[KnownDocument, ...]:
    listed = {entry.path for entry in listing.entries}
    unreadable = {item.path for item in listing.unreadable}
    folders = tuple(path for path in unreadable if path.endswith("/"))
    return tuple(
        known[path]
        for path in sorted(known.keys() - listed - unreadable)
        if not (folders and path.startswith(folders))
    )


def _pair(arrivals: Mapping[bytes, list[SourceEntry]], missing: Iterable[KnownDocument]) -> list[Move]:
    """Pair new entries with missing documents of the same content; both are sorted by path."""
    gone: dict[bytes, list[KnownDocument]] = defaultdict(list)
    for document in missing:
        gone[document.content_hash].append(document)
    moves = (
        move
        for digest, entries in arrivals.items()
        if digest in gone
        for move in _pair_equal(entries, gone[digest])
    )
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


def marked_dirty(collection_id: CollectionId, view: View) -> list[KnownDocument]:
    """Return the documents of a collection that are marked as changed since they were indexed."""
    if not view.collections.counts(collection_id, None).dirty:
        return []
    known = view.documents.known(collection_id).values()
    return [each for each in known if each.dirty_since_ms is not None]
