"""Step 3 of an import: writes documents and terms, as the source has them now.

After each transaction, its documents are found by words; vectors follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from mdvec import run
from mdvec.indexing.plan import Changes, sized
from mdvec.indexing.prepare import Item, Processes, prepared
from mdvec.indexing.work import Work
from mdvec.stores.records import DocumentRecord
from mdvec.types.change import Exclusion, Unreadable
from mdvec.types.ids import SpaceId

# One transaction holds this many chunks or documents at most: large enough to be fast, small enough
# that readers see progress and a killed run loses little.
_CHUNKS_PER_TRANSACTION = 500
_DOCUMENTS_PER_TRANSACTION = 100


class WriteOutcome(Struct):
    """The outcome for the documents; see :class:`mdvec.types.report.ImportReport`.

    ``warnings`` maps each warning to the paths of its documents.
    """

    added: int = 0
    updated: int = 0
    moved: int = 0
    deleted: int = 0
    unchanged: int = 0
    cached_chunks: int = 0
    exclusions: list[Exclusion] = field(default_factory=list)
    failures: list[Unreadable] = field(default_factory=list)
    warnings: dict[str, list[str]] = field(default_factory=dict)


def write_changes(
    work: Work, changes: Changes, *, space_id: SpaceId | None, processes: Processes | None = None
) -> WriteOutcome:
    """Write new, changed and moved documents, and remove deleted ones.

    Args:
        work: The collection and the claim on it.
        changes: The changes.
        space_id: The space in which to count known vectors; None for none.
        processes: Processes that may be started to prepare documents; None for none.

    Returns:
        The outcome. An unreadable file is a failure, not an exception: its indexed version stays searchable.
    """
    plan = changes.plan
    outcome = WriteOutcome(
        unchanged=plan.unchanged + len(plan.touched),
        exclusions=list(changes.exclusions),
        failures=list(changes.failures),
    )
    changes.prefetch(changes.entries)  # if new documents cannot be fetched, the old ones stay
    _write_small_changes(work, changes, outcome)
    total = len(changes.entries)
    new = {entry.path for entry in plan.new}
    old_paths = {move.entry.path: move.old_path for move in plan.moved}
    done, left_out = 0, len(outcome.exclusions) + len(outcome.failures)
    for batch in _batches(prepared(changes, changes.entries, processes), outcome):
        _write_batch(work, batch, old_paths, space_id, outcome)
        paths = [record.entry.path for record in batch]
        added = sum(path in new for path in paths)
        moved = sum(path in old_paths for path in paths)
        outcome.added += added
        outcome.moved += moved
        outcome.updated += len(batch) - added - moved
        done += len(batch)
        read = done + len(outcome.exclusions) + len(outcome.failures) - left_out
        work.report(run.Stage.TEXT, read, total)
    # Files that turned out to hold no text any more.
    excluded = {exclusion.path for exclusion in outcome.exclusions}.intersection(changes.known)
    with work.write() as writer:
        writer.documents.delete(work.collection.id, sorted(excluded))
        writer.documents.finish(
            work.collection.id, exclusions=sorted(outcome.exclusions), failures=sorted(outcome.failures)
        )
    return outcome


def _batches(items: Iterable[Item], outcome: WriteOutcome) -> Iterator[list[DocumentRecord]]:
    """Yield what can be written, some at a time; the rest goes to the outcome."""
    batch: list[DocumentRecord] = []
    chunks = 0
    for item in items:
        match item:
            case DocumentRecord():
                batch.append(item)
                chunks += len(item.chunks)
            case Exclusion():
                outcome.exclusions.append(item)
            case Unreadable():
                outcome.failures.append(item)
        is_full = chunks >= _CHUNKS_PER_TRANSACTION or len(batch) >= _DOCUMENTS_PER_TRANSACTION
        if batch and (is_full or run.current().cancelled):  # what was prepared is not lost
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def _write_small_changes(work: Work, changes: Changes, outcome: WriteOutcome) -> None:
    """Write what needs no reading: removals, new times and spellings."""
    plan = changes.plan
    if not (plan.deleted or plan.touched):
        return
    with run.current().step("small_changes", deleted=len(plan.deleted)), work.write() as writer:
        writer.documents.delete(work.collection.id, plan.deleted)
        touched = [sized(entry, changes.known[entry.path].size or 0) for entry in plan.touched]
        writer.documents.touch(work.collection.id, touched)
    outcome.deleted = len(plan.deleted)


def _write_batch(
    work: Work,
    records: Sequence[DocumentRecord],
    old_paths: Mapping[str, str],
    space_id: SpaceId | None,
    outcome: WriteOutcome,
) -> None:
    hashes = [each for record in records for each in record.text_hashes]
    with run.current().step("write", documents=len(records), chunks=len(hashes)), work.write() as writer:
        if space_id is not None:
            cached = writer.vectors.known(space_id, hashes)
            outcome.cached_chunks += sum(digest in cached for digest in hashes)
        # In the transaction that writes the new path: a moved document is always found exactly once.
        moved = [old_paths[each.entry.path] for each in records if each.entry.path in old_paths]
        writer.documents.delete(work.collection.id, moved)
        writer.documents.put(work.collection.id, records)
    for record in records:
        for warning in record.document.warnings:
            outcome.warnings.setdefault(warning, []).append(record.entry.path)
