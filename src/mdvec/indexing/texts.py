"""The first half of an import: brings documents and words up to date with the source.

From the end of each transaction on, the documents in it are found by words; vectors follow.
"""

from __future__ import annotations

import math
from collections.abc import Collection as Paths
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mdvec import run
from mdvec.errors import SourceEmptyError, SourceMissingError, UnreadableFileError
from mdvec.indexing.folder_contexts import read_contexts
from mdvec.indexing.plan import compare, resolve, sample
from mdvec.indexing.prepare import BINARY_RULE, Prepared, Recipe, prepare, prepare_text
from mdvec.indexing.work import Work
from mdvec.sources.interface import Source
from mdvec.stores.interface import Store, View
from mdvec.stores.versions import read_versions
from mdvec.text.hashing import content_hash, text_hash
from mdvec.types.change import Exclusion, KnownDocument, Listing, Plan, SourceEntry, Unreadable
from mdvec.types.collection import Collection
from mdvec.types.document import DocumentState, with_comments
from mdvec.types.folder_context import FolderContext
from mdvec.types.ids import CollectionId, SpaceId, TextHash

# One transaction holds this many chunks or documents at most: large enough to be fast, small enough
# that readers see progress and a killed run loses little.
_CHUNKS_PER_TRANSACTION = 500
_DOCUMENTS_PER_TRANSACTION = 100
_MOST_SIZES = 50  # of the chunks of one document, in the details of a step


@dataclass(slots=True)
class TextOutcome:
    """The outcome for the documents; see :class:`mdvec.types.report.ImportReport`.

    ``revision`` is that of the source; ``warnings`` has the paths of the documents for each warning.
    """

    added: int = 0
    updated: int = 0
    moved: int = 0
    deleted: int = 0
    unchanged: int = 0
    cached_chunks: int = 0
    revision: str = ""
    exclusions: list[Exclusion] = field(default_factory=list)
    failures: list[Unreadable] = field(default_factory=list)
    warnings: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that an import has to make, and where it reads the texts.

    Attributes:
        collection_id: The collection.
        source: What it is made from.
        recipe: How its documents are prepared.
        store: What holds it.
        known: What is known of its documents, by path.
        plan: What differs.
        exclusions: Files that are left out.
        failures: Files that could not be looked at, and why.
        revision: The revision of the source; empty where it has none.
        checked_up_to: The last path of the sample of files that were looked at; empty where all were.
        stored: Documents whose content the store has already, though they have to be written again: the path
            it is stored at, by the path of the entry.
        contexts: The contexts under which moved documents were embedded, by new path.
        pushed: The documents come from clients alone.
        folder_contexts: What files say of their folders.
    """

    collection_id: CollectionId
    source: Source
    recipe: Recipe
    store: Store
    known: Mapping[str, KnownDocument]
    plan: Plan
    exclusions: tuple[Exclusion, ...]
    failures: tuple[Unreadable, ...]
    revision: str
    checked_up_to: str
    stored: Mapping[str, str]
    contexts: Mapping[str, Sequence[str]]
    pushed: bool = False
    folder_contexts: tuple[FolderContext, ...] = ()

    @property
    def entries(self) -> tuple[SourceEntry, ...]:
        """The entries that have to be prepared, those that have been dirty for longest first."""
        entries = (*self.plan.new, *self.plan.changed, *(move.entry for move in self.plan.moved))
        return tuple(sorted(entries, key=self._dirty_since))

    def prefetch(self) -> None:
        """Let the source fetch what is read next, before anything is written."""
        self.source.expect([entry for entry in self.entries if entry.path not in self.stored])

    def prepared(self) -> Iterator[Prepared | Exclusion | Unreadable]:
        """Prepare the entries, one after the other."""
        for entry in self.entries:
            try:
                with run.current().step("prepare", path=entry.path) as details:
                    item = self._prepared(entry)
                    if isinstance(item, Prepared):
                        sizes = [len(chunk.text) for chunk in item.record.chunks[:_MOST_SIZES]]
                        details.update(chunks=len(item.record.chunks), chars=sizes)
            except UnreadableFileError as error:
                yield Unreadable(entry.path, str(error))
            else:
                yield item

    def _dirty_since(self, entry: SourceEntry) -> float:
        document = self.known.get(entry.path)
        return math.inf if document is None or document.dirty_since_ms is None else document.dirty_since_ms

    def _prepared(self, entry: SourceEntry) -> Prepared | Exclusion:
        contexts = self.contexts.get(entry.path)
        if entry.content_hash is not None and entry.path in self.stored:
            with self.store.read() as view:
                stored = view.find_document(self.collection_id, self.stored[entry.path])
            if stored is not None:
                text = with_comments(stored.body, stored.comments)
                sized = _sized(entry, stored.size)
                identity = entry.content_hash
                return prepare_text(sized, text, self.recipe, content_hash=identity, contexts=contexts)
        raw = self.source.read(entry)
        return prepare(_sized(entry, len(raw)), raw, self.recipe, contexts=contexts)


def find_changes(
    collection: Collection,
    *,
    store: Store,
    source: Source,
    recipe: Recipe,
    rebuild: bool = False,
    allow_empty: bool = False,
    check: bool = False,
) -> Changes:
    """Compare a source with what is known of it; nothing is written.

    Args:
        collection: The collection.
        store: What holds it.
        source: What it is made from.
        recipe: How its documents are prepared.
        rebuild: Whether to prepare every document anew.
        allow_empty: Whether to believe a source that holds nothing though documents are known.
        check: Whether to look at every file, and not only at a sample of those that look unchanged.

    Raises:
        SourceMissingError: If the root is not there.
        SourceEmptyError: If it is empty though documents are known: an unmounted disk looks so.
    """
    with store.read() as view:
        known = view.known_documents(collection.id)
    run.current().report(run.Stage.SCAN, 0, 0)
    listing = _list(source, knows_documents=bool(known), allow_empty=allow_empty)
    failures: list[Unreadable] = []
    binaries: list[Exclusion] = []
    sampled = () if check or rebuild else sample(listing, collection.checked_up_to)
    if rebuild:
        # Everything is new; what could not be looked at stays.
        missing = compare(listing, known, recipe.fingerprint).missing
        plan = Plan(new=listing.entries, deleted=tuple(document.path for document in missing))
    else:
        look_at = known.keys() if check else sampled
        with run.current().step("compare") as details:
            plan, failures = make_plan(listing, known, source, recipe.fingerprint, look_at=look_at)
            details.update(
                new=len(plan.new),
                changed=len(plan.changed),
                moved=len(plan.moved),
                deleted=len(plan.deleted),
                unchanged=plan.unchanged,
            )
    with store.read() as view:
        if not rebuild:
            binaries = known_binaries(collection, listing, plan.new, view)
            skipped = {exclusion.path for exclusion in binaries}
            plan = replace(plan, new=tuple(entry for entry in plan.new if entry.path not in skipped))
        contexts = _stored_contexts(collection, plan, known, recipe.fingerprint, view)
    folder_contexts, too_many = read_contexts(collection, listing, source)
    return Changes(
        collection_id=collection.id,
        source=source,
        recipe=recipe,
        store=store,
        known=known,
        plan=plan,
        exclusions=(*listing.exclusions, *binaries, *too_many),
        failures=(*listing.unreadable, *failures),
        revision=listing.revision,
        checked_up_to=sampled[-1] if sampled else "",
        stored=_stored_texts(plan, known),
        contexts=contexts,
        pushed=listing.pushed,
        folder_contexts=folder_contexts,
    )


def make_plan(
    listing: Listing,
    known: Mapping[str, KnownDocument],
    source: Source,
    fingerprint: str,
    *,
    look_at: Paths[str],
) -> tuple[Plan, list[Unreadable]]:
    """Compare a listing with what is known; see :func:`mdvec.indexing.plan.compare`.

    Returns:
        The plan, and the files whose content could not be compared.
    """
    comparison = compare(listing, known, fingerprint, look_at=look_at)
    failures: list[Unreadable] = []
    hashes: dict[str, bytes | None] = {}
    with run.current().step("hash", files=len(comparison.to_hash)):
        for entry in comparison.to_hash:
            run.current().check()
            try:
                hashes[entry.path] = entry.content_hash or content_hash(source.read(entry))
            except UnreadableFileError as error:
                hashes[entry.path] = None
                failures.append(Unreadable(entry.path, str(error)))
    return resolve(comparison, hashes), failures


def known_binaries(
    collection: Collection, listing: Listing, entries: Iterable[SourceEntry], view: View
) -> list[Exclusion]:
    """Return the new files that the last import read and found to hold no text.

    Only reading shows that, so they look new every time. In a revision that was imported they need not
    be fetched again.
    """
    candidates = {entry.path for entry in entries}
    if not candidates or not listing.revision or listing.revision != collection.revision:
        return []
    return [
        Exclusion(file.path, file.reason)
        for file in view.file_states(collection.id, None)
        if file.path in candidates and file.state is DocumentState.EXCLUDED and file.reason == BINARY_RULE
    ]


def write_changes(work: Work, changes: Changes, *, space_id: SpaceId | None) -> TextOutcome:
    """Write what is new, changed or moved, and remove what is gone.

    Args:
        work: Where and under which claim.
        changes: What to do.
        space_id: Where vectors may be found already; None when there are none.

    Returns:
        What was done. A file that could not be read is a failure, not an exception: what was known
        of it stays searchable.
    """
    plan = changes.plan
    outcome = TextOutcome(
        unchanged=plan.unchanged + len(plan.touched),
        revision=changes.revision,
        exclusions=list(changes.exclusions),
        failures=list(changes.failures),
    )
    changes.prefetch()  # when new documents cannot be fetched, the old ones stay
    _write_small_changes(work, changes, outcome)
    total = len(changes.entries)
    new = {entry.path for entry in plan.new}
    old_paths = {move.entry.path: move.old_path for move in plan.moved}
    done, left_out = 0, len(outcome.exclusions) + len(outcome.failures)
    for batch in _batches(_ready(changes, outcome)):
        _write_batch(work, batch, old_paths, space_id, outcome)
        paths = [item.record.entry.path for item in batch]
        outcome.added += sum(path in new for path in paths)
        outcome.moved += sum(path in old_paths for path in paths)
        done += len(batch)
        outcome.updated = done - outcome.added - outcome.moved
        read = done + len(outcome.exclusions) + len(outcome.failures) - left_out
        work.report(run.Stage.TEXT, read, total)
    # Files that turned out to hold no text any more.
    excluded = {exclusion.path for exclusion in outcome.exclusions}.intersection(changes.known)
    with work.write() as writer:
        writer.delete_documents(work.collection.id, sorted(excluded))
        writer.set_outcome(
            work.collection.id, exclusions=sorted(outcome.exclusions), failures=sorted(outcome.failures)
        )
        writer.set_superseded(work.collection.id, read_versions(work.collection.id, writer).superseded)
    return outcome


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
        msg = "the source holds no document, but the index does"
        raise SourceEmptyError(msg)
    return listing


def _stored_texts(plan: Plan, known: Mapping[str, KnownDocument]) -> dict[str, str]:
    """Return the documents that need not be read, since the source says that the store has their content."""
    stored = {
        entry.path: entry.path
        for entry in plan.changed  # only in how they are cut
        if entry.content_hash is not None and entry.content_hash == known[entry.path].content_hash
    }
    moved = {move.entry.path: move.old_path for move in plan.moved if move.entry.content_hash is not None}
    return stored | moved


def _stored_contexts(
    collection: Collection, plan: Plan, known: Mapping[str, KnownDocument], fingerprint: str, view: View
) -> dict[str, list[str]]:
    """Return the contexts under which moved documents were embedded, by new path.

    A file's name may be its title, and so part of what is embedded. A renamed document keeps the
    old one there until its content changes: a rename alone embeds its new name, and no text.
    """
    return {
        move.entry.path: view.contexts(collection.id, move.old_path)
        for move in plan.moved
        if known[move.old_path].fingerprint == fingerprint  # else it is cut into other chunks
    }


def _sized(entry: SourceEntry, size: int) -> SourceEntry:
    """Add the size of what was read, where the source compares by identity instead of times and sizes."""
    return entry if entry.content_hash is None else replace(entry, size=size)


def _ready(changes: Changes, outcome: TextOutcome) -> Iterator[Prepared]:
    for item in changes.prepared():
        match item:
            case Prepared():
                yield item
            case Exclusion():
                outcome.exclusions.append(item)
            case Unreadable():
                outcome.failures.append(item)


def _batches(items: Iterable[Prepared]) -> Iterator[list[Prepared]]:
    batch: list[Prepared] = []
    chunks = 0
    for item in items:
        batch.append(item)
        chunks += len(item.record.chunks)
        is_full = chunks >= _CHUNKS_PER_TRANSACTION or len(batch) >= _DOCUMENTS_PER_TRANSACTION
        if is_full or run.current().cancelled:  # what was prepared is kept
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def _write_small_changes(work: Work, changes: Changes, outcome: TextOutcome) -> None:
    """Write what needs no reading: removals, new times and spellings."""
    plan = changes.plan
    if not (plan.deleted or plan.touched):
        return
    with run.current().step("small_changes", deleted=len(plan.deleted)), work.write() as writer:
        writer.delete_documents(work.collection.id, plan.deleted)
        touched = [_sized(entry, changes.known[entry.path].size or 0) for entry in plan.touched]
        writer.touch_documents(work.collection.id, touched)
    outcome.deleted = len(plan.deleted)


def _write_batch(
    work: Work,
    batch: Sequence[Prepared],
    old_paths: Mapping[str, str],
    space_id: SpaceId | None,
    outcome: TextOutcome,
) -> None:
    records = [item.record for item in batch]
    hashes: list[TextHash] = [text_hash(chunk.embedded_text) for each in records for chunk in each.chunks]
    with run.current().step("write", documents=len(batch), chunks=len(hashes)), work.write() as writer:
        if space_id is not None:
            cached = writer.cached(space_id, hashes)
            outcome.cached_chunks += sum(digest in cached for digest in hashes)
        # In one transaction with the new place: a document is never found twice, nor not at all.
        moved = [old_paths[each.entry.path] for each in records if each.entry.path in old_paths]
        writer.delete_documents(work.collection.id, moved)
        writer.put_documents(work.collection.id, records)
    for item in batch:
        for warning in item.warnings:
            outcome.warnings.setdefault(warning, []).append(item.record.entry.path)
