"""Imports collections: claims one, then brings its texts and vectors up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from mdvec import run
from mdvec.errors import EmbeddingError, UsageError, WriterBusyError, sentences
from mdvec.indexing.work import Work
from mdvec.stores.vectors.follower import update_vector_index
from mdvec.types.collection import ChunkingSpec, Collection, EmbeddingSpec
from mdvec.types.report import ImportOptions, ImportReport
from mdvec.workspace.collections import Collections
from mdvec.workspace.model_change import resume_change
from mdvec.workspace.storage.database import Place
from mdvec.workspace.wiring.embedders import Model
from mdvec.workspace.wiring.parts import Parts, set_only

# What the log says of an import.
_COUNTS = ("added", "updated", "moved", "deleted", "failed", "embedded_chunks", "pending_chunks")


def import_into(name: str, options: ImportOptions, *, collections: Collections, parts: Parts) -> ImportReport:
    """Bring a collection up to date; see :meth:`mdvec.workspace.Workspace.import_collection`.

    A change of model that is under way is resumed. Until it is complete the old model's vectors are kept
    complete, too, if they were.
    """
    from mdvec.indexing.imports import run_import

    store = collections.store()
    collection = collections.named(name)
    with store.claim(collection, f"importing {name}", wait_s=options.wait_s) as claim:
        collection = collections.named(name)  # it may have changed while we waited
        chunking = chunking_of(collection, options)
        model, cutter = parts.model(collection), parts.cutting_model(collection)
        following = parts.next_model(collection)
        resuming = options.embed and following is not None and following.embedder is not None
        pinned = _pinned(collection, model, parts, embed=options.embed)
        with store.read() as view:
            was_pending = model.counts(collection, view).pending_chunks
        report = run_import(
            Work(replace(collection, chunking=chunking, embedding=pinned), store, claim),
            replace(options, embed=options.embed and not (resuming and was_pending)),
            source=parts.source(collection.source),
            recipe=parts.recipe(chunking, cutter),
            embedder=None if pinned is None else model.embedder,
            processes=parts.processes(chunking, cutter, options.processes),
        )
        if model.embedder is None:  # what it embedded before is not pending
            with store.read() as view:
                report = replace(report, pending_chunks=model.counts(collection, view).pending_chunks)
        report = _with_warnings(report, parts.size_warnings(chunking, cutter))
        if resuming and report.failure is None:
            collection = collections.named(name)
            try:
                report = resume_change(Work(collection, store, claim), report, parts)
            except EmbeddingError as error:
                report = replace(report, failure=error)
                if (left := parts.next_model(collection)) is not None:
                    with store.read() as view:
                        report = replace(report, pending_chunks=left.counts(collection, view).pending_chunks)
    report = _with_warnings(report, update_vector_index(store))
    if report.failure is not None and not options.accept_pending:
        raise report.failure
    if not options.embed:
        return report
    return _with_warnings(report, tuple(_model_warnings(collections.named(name), parts, collections.place)))


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


def chunking_of(collection: Collection, options: ImportOptions) -> ChunkingSpec:
    """Return how a collection is cut with the sizes in the options."""
    sizes = set_only(max_tokens=options.max_tokens, overlap_tokens=options.overlap_tokens)
    chunking = replace(collection.chunking, **sizes)
    if chunking.max_tokens is not None and (chunking.overlap_tokens or 0) >= chunking.max_tokens:
        sizes_in_words = f"{chunking.overlap_tokens:,} tokens in chunks of {chunking.max_tokens:,}"
        msg = f"an overlap of {sizes_in_words} leaves no room for text"
        raise UsageError(msg, hint="Make the overlap smaller than the chunks.")
    return chunking


def _with_warnings(report: ImportReport, warnings: tuple[str, ...]) -> ImportReport:
    """Add warnings to a report."""
    return replace(report, warnings=(*report.warnings, *warnings)) if warnings else report


def configured_otherwise(collection: Collection, parts: Parts, place: Place) -> tuple[str, ...]:
    """Return a warning when the configuration names another model than the collection has."""
    embedders, own = parts.embedders, collection.embedding
    if own is None or not embedders.is_chosen:
        return ()
    wanted = embedders.configured
    if wanted.provider == own.provider and (
        _means(wanted, own) or embedders.space_of(wanted) == embedders.space_of(own)
    ):
        return ()
    return (
        f"the configured model is {wanted}, but {collection.name} uses {own}: "
        f"'{place.command('model', 'use', str(wanted), '-n', collection.name)}' changes it",
    )


def _model_warnings(collection: Collection, parts: Parts, place: Place) -> Iterator[str]:
    model, following = parts.model(collection), parts.next_model(collection)
    if model.problem is not None:
        yield sentences(model.problem, model.problem.hint)
    if following is not None and following.problem is not None:
        problem = sentences(following.problem, following.problem.hint)
        yield f"the change to {following.spec} waits: {problem}"
    if model.embedder is not None:
        yield from model.embedder.warnings
    if following is None:
        yield from configured_otherwise(collection, parts, place)


def _pinned(collection: Collection, model: Model, parts: Parts, *, embed: bool) -> EmbeddingSpec | None:
    """Return the model that a collection keeps from now on, even if the configuration changes.

    Raises:
        EmbeddingError: If a service that is to make the vectors does not say how long they are.
    """
    if collection.embedding is not None or model.embedder is None:
        return collection.embedding
    try:
        return parts.embedders.pinned(None)
    except EmbeddingError:
        if embed:
            raise
        return None


def _means(wanted: EmbeddingSpec, own: EmbeddingSpec) -> bool:
    """Return True if one specification only leaves open what the other names."""
    return wanted.model in ("", own.model) and wanted.dimension in (None, own.dimension)
