"""One import, from the source to searchable vectors.

The way of a changed file: :mod:`mdvec.indexing.plan` finds it in the source and says what became of it;
:mod:`mdvec.indexing.prepare` parses and cuts it;
:mod:`mdvec.indexing.write` commits its text, found by words from then on; :mod:`mdvec.indexing.embed`
makes the vectors that are missing. :func:`run_import` calls them in this order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from mdvec import run
from mdvec.clock import now_ms
from mdvec.embedding.interface import Embedder
from mdvec.errors import CollectionNotEmptyError, DamagedDatabaseError, WriterBusyError
from mdvec.indexing.embed import EmbedOutcome, embed_pending, known_boilerplate
from mdvec.indexing.plan import Changes, altered, find_changes, with_contexts_of_files
from mdvec.indexing.prepare import Processes
from mdvec.indexing.pushed import refresh_pushed
from mdvec.indexing.work import Recipe, Work, drop_unused_vectors, named_documents
from mdvec.indexing.write import WriteOutcome, write_changes
from mdvec.sources.interface import Source
from mdvec.stores.records import DamagedRows
from mdvec.text.quantity import quantity
from mdvec.types.change import NEEDS_FILES
from mdvec.types.ids import SpaceId
from mdvec.types.report import ImportMode, ImportOptions, ImportReport

# Unused vectors stay, so that checking out another branch and back embeds nothing; beyond this number the
# oldest are removed.
_MAX_UNUSED_VECTORS = 50_000

# The counts of an import that the log has.
_COUNTS = ("added", "updated", "moved", "deleted", "failed", "embedded_chunks", "pending_chunks")

_SEND_AGAIN = "Delete its sections and send them again."


@contextmanager
def recorded_import(name: str, options: ImportOptions) -> Iterator[Callable[[ImportReport], ImportReport]]:
    """Record an import; one that changed nothing is worth a line only with ``debug``.

    So is one that does not wait and finds another process at work: a server tries again and again.

    Yields:
        Takes the report, and returns it.
    """
    with (
        run.logged("reindex", collection=name) as line,
        run.current().step("reindex_total", collection=name) as step,
    ):

        def record(report: ImportReport) -> ImportReport:
            done = {each: getattr(report, each) for each in _COUNTS}
            changes = sum(done.values()) - report.failed - report.pending_chunks
            line.update(done, level="info" if changes else "debug")
            step.update(done)
            return report

        try:
            yield record
        except WriterBusyError:
            if not options.wait_s:
                line["level"] = "debug"
            raise


def run_import(
    work: Work,
    options: ImportOptions,
    *,
    source: Source,
    recipe: Recipe,
    embedder: Embedder | None,
    processes: Processes | None = None,
) -> ImportReport:
    """Bring a collection up to date.

    Args:
        work: The collection and the claim on it; its chunking and embedding settings are saved.
        options: What to do; sizes, waiting and what is accepted are the caller's.
        source: Its source.
        recipe: How documents are prepared.
        embedder: Makes the vectors, in the space of the collection; None without a model.
        processes: Processes that may be started to prepare documents; None for none.

    Returns:
        The report. If the embedder fails, the texts and the vectors made so far stay and are searchable, and
        ``failure`` is the reason why the rest is pending.

    Raises:
        CollectionNotEmptyError: If the mode is ``new`` and the collection was imported before.
        SourceMissingError: If the source is not there.
        SourceEmptyError: If it is empty although documents are known.
        ImportStoppedError: If the run is cancelled.
    """
    started = time.perf_counter()
    collection, rebuild = work.collection, options.mode is ImportMode.REPLACE
    if options.mode is ImportMode.NEW:
        _check_is_new(work)
    with work.write() as writer:
        # Saved before anything is cut, so that an interrupted import resumes with the same settings.
        writer.collections.change(
            collection.id,
            lambda now: replace(now, chunking=collection.chunking, embedding=collection.embedding),
        )
        space_id = None if embedder is None else writer.spaces.open(embedder.space)
        damaged = writer.vectors.discard_damaged(collection.id) if options.check else DamagedRows()
    # 1. Plan: what is new, changed, moved and deleted.
    changes = find_changes(collection, read=work.store.read, source=source, recipe=recipe, options=options)
    if dirty := altered(changes.plan, changes.known):
        with work.write() as writer:
            writer.documents.mark_dirty(collection.id, dirty)
    # 2 and 3. Prepare each changed document, and write it: words find it from then on.
    outcome = write_changes(work, changes, space_id=space_id, processes=processes)
    lost = refresh_pushed(work, rebuild=rebuild) if changes.pushed else []
    _set_imported(work, changes)
    # 4. Embed what has no vector.
    embedded = EmbedOutcome()
    if options.embed and embedder is not None and space_id is not None:
        embedded = _embed(work, embedder, space_id, lost)
    else:  # excerpts leave these lines out; learned again only when the documents have doubled
        with work.store.read() as view:
            counts = view.collections.counts(collection.id, space_id)
        known_boilerplate(work, replace(counts, pending_chunks=0))
    report = _report(work, space_id, outcome, embedded, started)
    notes = (*_about_damage(damaged, pushed=changes.pushed, lost=lost), *report.warnings)
    return replace(report, warnings=notes)


def _check_is_new(work: Work) -> None:
    collection = work.collection
    if collection.last_indexed_ms is None:
        return
    with work.store.read() as view:
        documents = view.collections.counts(collection.id, None).documents
    if documents:
        msg = f"collection {collection.name!r} already has {quantity(documents, 'document')}"
        raise CollectionNotEmptyError(msg)


def _embed(work: Work, embedder: Embedder, space_id: SpaceId, lost: Sequence[str]) -> EmbedOutcome:
    """Make the missing vectors, and remove the oldest of those that nothing uses.

    Raises:
        DamagedDatabaseError: If a text cannot be read; it names the first of the documents that are lost.
    """
    try:
        embedded = embed_pending(work, embedder, space_id)
    except DamagedDatabaseError as error:
        if not lost:
            raise
        raise DamagedDatabaseError(_about_lost(lost[0]), hint=_SEND_AGAIN) from error
    if embedded.names or embedded.texts:
        with work.write() as writer:
            drop_unused_vectors(writer, keep=_MAX_UNUSED_VECTORS)
    return embedded


def _about_damage(damaged: DamagedRows, *, pushed: bool, lost: Sequence[str]) -> Iterator[str]:
    """Yield messages about damage in the index and its repair.

    Args:
        damaged: The damaged rows.
        pushed: Whether clients write the documents, so that there is no source to read again.
        lost: Pushed documents whose sections cannot be read any more.
    """
    yield from (f"{_about_lost(path)}. {_SEND_AGAIN}" for path in lost)
    found = [path for path in damaged.paths if path not in lost]
    if found and pushed:
        yield (
            f"{', '.join(found)}: damaged in the index, and made anew from its own sections; "
            "send them again to be sure"
        )
    elif found:
        yield f"{named_documents(found)}: damaged in the index, and read again"
    if damaged.vectors:
        yield f"{damaged.vectors:,} vectors were damaged in the index; they are removed, and made anew"
    if damaged.elsewhere:
        yield f"other collections need 'mdvec import --check', too: {', '.join(damaged.elsewhere)}"


def _about_lost(path: str) -> str:
    return f"{path} is damaged in the index, and only the program that wrote it has it"


def _set_imported(work: Work, changes: Changes) -> None:
    imported_ms = now_ms()
    source = work.collection.source
    with work.write() as writer:
        writer.collections.change(
            work.collection.id,
            lambda now: replace(
                with_contexts_of_files(now, changes.folder_contexts),
                last_indexed_ms=imported_ms,
                # If the source was changed meanwhile, nothing of the new one is imported yet.
                revision=changes.revision if now.source == source else "",
                checked_up_to=changes.checked_up_to,
            ),
        )


def _report(
    work: Work, space_id: SpaceId | None, outcome: WriteOutcome, embedded: EmbedOutcome, started: float
) -> ImportReport:
    with work.store.read() as view:
        counts = view.collections.counts(work.collection.id, space_id)
    return ImportReport(
        collection=work.collection.name,
        added=outcome.added,
        updated=outcome.updated,
        moved=outcome.moved,
        deleted=outcome.deleted,
        unchanged=outcome.unchanged,
        failed=len(outcome.failures),
        excluded=len(outcome.exclusions),
        total_documents=counts.documents,
        total_chunks=counts.chunks,
        embedded_chunks=embedded.texts,
        embedded_names=embedded.names,
        cached_chunks=outcome.cached_chunks,
        pending_chunks=counts.pending_chunks,
        superseded=counts.superseded,
        warnings=(
            *(f"{failure.path}: {failure.reason}" for failure in sorted(outcome.failures)),
            *(f"{named_documents(paths)}: {warning}" for warning, paths in outcome.warnings.items()),
            *(_about_converters(outcome) if outcome.exclusions else ()),
        ),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        failure=embedded.failure,
    )


def _about_converters(outcome: WriteOutcome) -> Iterator[str]:
    """Yield which files need more packages; not with each import that finds nothing new."""
    paths = sorted(each.path for each in outcome.exclusions if each.rule == NEEDS_FILES)
    if paths and outcome.added:
        yield f"{named_documents(paths)}: {NEEDS_FILES}"
