"""Imports a collection: claims it, brings its texts and vectors up to date, and resumes a change of model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from mdvec import run
from mdvec.errors import EmbeddingError, UsageError, WriterBusyError, sentences
from mdvec.indexing.work import Work
from mdvec.stores.interface import Store, View, Writer
from mdvec.stores.vectors.follower import update_vector_index
from mdvec.types.collection import ChunkingSpec, Collection, EmbeddingSpec
from mdvec.types.report import ImportOptions, ImportReport
from mdvec.workspace.collections import Collections
from mdvec.workspace.database import DatabasePlace
from mdvec.workspace.stages import Model, ModelPool, Stages, set_only

# What the log says of an import.
_COUNTS = ("added", "updated", "moved", "deleted", "failed", "embedded_chunks", "pending_chunks")


def import_into(
    name: str, options: ImportOptions, *, collections: Collections, stages: Stages
) -> ImportReport:
    """Bring a collection up to date; see :meth:`mdvec.workspace.Workspace.import_collection`.

    A change of model that is under way is resumed. Until it is complete the old model's vectors stay
    complete, too, if they were.
    """
    from mdvec.indexing.imports import run_import

    store = collections.store()
    collection = collections.named(name)
    with store.claim(collection, f"importing {name}", wait_s=options.wait_s) as claim:
        collection = collections.named(name)  # it may have changed while we waited
        chunking = chunking_of(collection, options)
        model, cutter = stages.model(collection), stages.cutting_model(collection)
        next_model = stages.next_model(collection)
        resuming = options.embed and next_model is not None and next_model.embedder is not None
        pinned = _pinned(collection, model, embed=options.embed)
        with store.read() as view:
            was_pending = model.counts(collection, view).pending_chunks
        report = run_import(
            Work(replace(collection, chunking=chunking, embedding=pinned), store, claim),
            replace(options, embed=options.embed and not (resuming and was_pending)),
            source=stages.source(collection.source),
            recipe=stages.recipe(chunking, cutter),
            embedder=None if pinned is None else model.embedder,
            processes=stages.processes(chunking, cutter, options.processes),
        )
        if model.embedder is None:  # what it embedded before is not pending
            with store.read() as view:
                report = replace(report, pending_chunks=model.counts(collection, view).pending_chunks)
        report = _with_warnings(report, stages.size_warnings(chunking, cutter))
        if resuming and report.failure is None:
            collection = collections.named(name)
            try:
                report = resume_change(Work(collection, store, claim), report, stages)
            except EmbeddingError as error:
                report = replace(report, failure=error)
                if (left := stages.next_model(collection)) is not None:
                    with store.read() as view:
                        report = replace(report, pending_chunks=left.counts(collection, view).pending_chunks)
    started = time.perf_counter()
    report = _with_warnings(report, update_vector_index(store))
    report = replace(report, elapsed_ms=report.elapsed_ms + (time.perf_counter() - started) * 1000)
    if report.failure is not None and not options.accept_pending:
        raise report.failure
    if not options.embed:
        return report
    return _with_warnings(report, tuple(_model_warnings(collections.named(name), stages, collections.place)))


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


def configured_otherwise(collection: Collection, stages: Stages, place: DatabasePlace) -> tuple[str, ...]:
    """Return a warning when the configuration names another model than the collection has."""
    models, own = stages.models, collection.embedding
    if own is None or not models.is_chosen:
        return ()
    wanted = models.configured
    if wanted.provider == own.provider and (
        _means(wanted, own) or models.for_(wanted).space == models.for_(own).space
    ):
        return ()
    return (
        f"the configured model is {wanted}, but {collection.name} uses {own}: "
        f"'{place.command('model', 'use', str(wanted), '-n', collection.name)}' changes it",
    )


def _model_warnings(collection: Collection, stages: Stages, place: DatabasePlace) -> Iterator[str]:
    model, next_model = stages.model(collection), stages.next_model(collection)
    if model.problem is not None:
        yield sentences(model.problem, model.problem.hint)
    if next_model is not None and next_model.problem is not None:
        problem = sentences(next_model.problem, next_model.problem.hint)
        yield f"the change to {next_model.spec} waits: {problem}"
    if model.embedder is not None:
        yield from model.embedder.warnings
    if next_model is None:
        yield from configured_otherwise(collection, stages, place)


def _pinned(collection: Collection, model: Model, *, embed: bool) -> EmbeddingSpec | None:
    """Return the model that a collection keeps from now on, even if the configuration changes.

    Raises:
        EmbeddingError: If a service that is to make the vectors does not say how long they are.
    """
    if collection.embedding is not None or model.embedder is None:
        return collection.embedding
    try:
        return model.pinned()
    except EmbeddingError:
        if embed:
            raise
        return None


def _means(wanted: EmbeddingSpec, own: EmbeddingSpec) -> bool:
    """Return True if one specification only leaves open what the other names."""
    return wanted.model in ("", own.model) and wanted.dimension in (None, own.dimension)


def choose_model(work: Work, wanted: EmbeddingSpec, models: ModelPool) -> Collection:
    """Write which model a collection will have; :func:`resume_change` makes its vectors.

    A collection without any vector has it at once. What an earlier change to another model has made is
    dropped.

    Returns:
        The collection afterwards; ``next_embedding`` is set if vectors remain to be made.
    """
    collection = work.collection
    target = models.for_(wanted).space
    with work.store.read() as view:
        in_use = _has_vectors(collection, view, models)
    same = in_use and target == models.for_(collection.embedding).space
    next_model = collection.next_embedding
    resuming = next_model is not None and target == models.for_(next_model).space

    def changed(now: Collection) -> Collection:
        if same:
            return replace(now, embedding=now.embedding or wanted, next_embedding=None)
        if not in_use:
            return replace(now, embedding=wanted, next_embedding=None)
        return now if resuming else replace(now, next_embedding=wanted)

    with work.write() as writer:
        after = writer.collections.change(collection.id, changed)
        _drop_left_behind(collection, writer, models)
    return after


def resume_change(work: Work, report: ImportReport, stages: Stages) -> ImportReport:
    """Make the vectors of the next model, and then take it into use in one transaction.

    Stopping at any moment loses at most the current batch and the requests in flight.

    Returns:
        That report, with the work done here added.

    Raises:
        EmbeddingError: If the model fails; what it made stays.
    """
    from mdvec.indexing.embed import embed_pending

    started = time.perf_counter()
    collection, models = work.collection, stages.models
    next_model = stages.next_model(collection)
    if next_model is None or next_model.embedder is None:  # cancelled in the meantime
        return report
    wanted = collection.next_embedding
    with work.write() as writer:
        space_id = writer.spaces.open(next_model.embedder.space)
    embedded = embed_pending(
        work, next_model.embedder, space_id, wanted=lambda view: _next_spec(collection, view) == wanted
    )
    if embedded.failure is not None:
        raise embedded.failure
    with work.write() as writer:
        switched = not embedded.stopped and _next_spec(collection, writer) == wanted
        if switched:
            writer.collections.change(
                collection.id, lambda now: replace(now, embedding=wanted, next_embedding=None)
            )
        _drop_left_behind(collection, writer, models)
    if not switched:
        warning = f"the change to {next_model.spec} was cancelled"
        return replace(report, warnings=(*report.warnings, warning))
    with work.store.read() as view:
        pending = next_model.counts(collection, view).pending_chunks
    return replace(
        report,
        embedded_chunks=report.embedded_chunks + embedded.texts,
        embedded_names=report.embedded_names + embedded.names,
        pending_chunks=pending,
        new_model=str(next_model.spec),
        elapsed_ms=report.elapsed_ms + (time.perf_counter() - started) * 1000,
    )


def cancel_change(collection: Collection, store: Store, models: ModelPool) -> bool:
    """Cancel a change of the model, and drop its vectors; return whether there was one."""
    before: list[Collection] = []

    def forget(now: Collection) -> Collection:
        before.append(now)
        return replace(now, next_embedding=None)

    with store.write() as writer:
        writer.collections.change(collection.id, forget)
        _drop_left_behind(before[0], writer, models)
    return before[0].next_embedding is not None


def _has_vectors(collection: Collection, view: View, models: ModelPool) -> bool:
    """Return True if a search by meaning finds anything in the collection now.

    A model that cannot be used finds nothing, but may be repaired: what it made stays until all is new.
    """
    model = models.for_(collection.embedding)
    if model.embedder is None:
        return collection.embedding is not None
    counts = model.counts(collection, view)
    return counts.pending_chunks < counts.chunks


def _next_spec(collection: Collection, view: View) -> EmbeddingSpec | None:
    now = next((each for each in view.collections.all() if each.id == collection.id), None)
    return None if now is None else now.next_embedding


def _drop_left_behind(before: Collection, writer: Writer, models: ModelPool) -> None:
    """Drop the vectors of the spaces a collection was in, where no collection is in them any more."""
    used = {models.for_(spec).space for spec in _specs(writer, models)}
    if None in used:  # what is not known may be any of them
        return
    for spec in (before.embedding or models.configured, before.next_embedding):
        space = None if spec is None else models.for_(spec).space
        if space is not None and space not in used:
            space_id = writer.spaces.find(space)
            if space_id is not None:
                writer.spaces.drop(space_id)


def _specs(view: View, models: ModelPool) -> Iterator[EmbeddingSpec]:
    """Yield the models whose vectors may be searched, now or later."""
    for each in view.collections.all():
        if each.embedding is not None or view.collections.counts(each.id, None).chunks:
            yield each.embedding or models.configured
        if each.next_embedding is not None:
            yield each.next_embedding
