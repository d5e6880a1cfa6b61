"""The models of a workspace: which there are, what an import would cost, and which a collection uses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager

from msgspec.structs import replace

from mdvec import registry
from mdvec.config.known_models import known_models, price_of
from mdvec.config.schema import PriceSettings
from mdvec.embedding.interface import Cluster
from mdvec.errors import ConfigError, EmbeddingError, SourceError, UsageError, sentences
from mdvec.indexing.work import Work
from mdvec.settings import set_only
from mdvec.stores.interface import View, Writer
from mdvec.types.collection import ChunkingSpec, Collection, EmbeddingSpec, parse_embedding_spec
from mdvec.types.model_report import ImportEstimate, ListedModel, ModelChange, ModelChangeOutcome
from mdvec.types.report import ImportMode, ImportOptions, ImportReport
from mdvec.types.space import EmbeddingSpace
from mdvec.workspace.collections import Collections
from mdvec.workspace.stages import Model, ModelPool, Stages


class Models:
    """The models of a workspace. A part of :class:`mdvec.workspace.Workspace`.

    Attributes:
        reranker: The reranker, as it is configured; empty for none.
    """

    def __init__(
        self,
        collections: Collections,
        prices: PriceSettings,
        *,
        importing: Callable[[str, ImportOptions], ImportReport],
        running: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._collections = collections
        self._stages = collections.stages
        self.reranker = self._stages.models.reranker_spec
        self._prices = prices
        self._import = importing
        self._running = running

    def known(self) -> list[ListedModel]:
        """Return the models that are known, and those that collections use besides."""
        users: dict[EmbeddingSpec, list[str]] = {}
        for each in self._collections.chosen((), include_disabled=True):
            users.setdefault(each.embedding or self._stages.models.configured, []).append(each.name)
        listed: list[ListedModel] = []
        for known in known_models():
            using = [spec for spec in users if _is(spec, known.provider, known.model)]
            names = [name for spec in using for name in users.pop(spec)]
            listed.append(self._listed(known, parse_embedding_spec(known.spec), names))
        for spec, names in users.items():
            dimensions = () if spec.dimension is None else (spec.dimension,)
            unknown = ListedModel(str(spec), spec.provider, spec.model, dimensions)
            listed.append(self._listed(unknown, spec, names))
        return listed

    def estimate(
        self,
        name: str,
        options: ImportOptions = ImportOptions(),  # noqa: B008 - frozen
    ) -> ImportEstimate:
        """Return what an import would embed, and what that would cost; nothing is written.

        The mode ``new`` is like ``update``.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            SourceError: If its source cannot be read.
            ConfigError: If the collection or the configuration names a model that does not exist.
            ImportStoppedError: If the run is cancelled.
        """
        from mdvec.indexing.estimate import estimate_import
        from mdvec.indexing.plan import find_changes

        with self._running():
            collection, read = self._collections.named(name), self._collections.read
            model = self._stages.cutting_model(collection)
            embedder = model.known()  # counting needs no key, and no weights
            chunking = chunking_of(collection, options)
            space = model.space
            with read() as view:
                space_id = None if space is None else view.spaces.find(space)
            source, recipe = self._stages.source(collection.source), self._stages.recipe(chunking, model)
            changes = find_changes(collection, read=read, source=source, recipe=recipe, options=options)
            rebuild = options.mode is ImportMode.REPLACE
            found = estimate_import(collection, changes, embedder, space_id, rebuild=rebuild)
        problems = () if model.problem is None else (sentences(model.problem, model.problem.hint),)
        try:
            spec = model.pinned()
        except (ConfigError, EmbeddingError):
            spec = model.spec
        price = price_of(spec, self._prices)
        return replace(
            found,
            model=str(spec),
            usd=None if price is None else found.tokens * price.usd_per_million_tokens / 1_000_000,
            price=price,
            warnings=(*problems, *found.warnings, *self._stages.size_warnings(chunking, model)),
        )

    def load(self) -> EmbeddingSpace:
        """Load the configured model, so that the next search need not, and return its space.

        Raises:
            ConfigError: If there is no such model.
            EmbeddingError: If it cannot be used here, or does not answer; the hint says what to do.
        """
        models = self._stages.models
        models.check(models.configured)
        return models.for_(None).known().space

    def use(
        self, spec: EmbeddingSpec, names: Sequence[str] = (), *, wait_s: float = 60.0
    ) -> Iterator[ModelChange]:
        """Change the model of collections, one after the other.

        The new vectors are made in a space of their own; the old ones are searched until all are there.
        Stopping early loses nothing: this, or the next import, resumes it.

        Args:
            spec: The model; it is tried before anything is changed.
            names: The collections; all of them when empty.
            wait_s: How long to wait for another process that works on a collection, in seconds.

        Yields:
            What was done with each collection.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
            ConfigError: If there is no such provider, or it does not offer this.
            EmbeddingError: If the model cannot be used here; the hint says how to fix that.
            WriterBusyError: If another process works on a collection for longer than ``wait_s``.
            ImportStoppedError: If the run is cancelled, or the workspace is closed.
        """
        chosen = self._collections.chosen(names, include_disabled=True)
        with self._running():
            wanted = self._stages.models.check(spec)
            for each in chosen:
                yield self._change(each.name, wanted, wait_s)

    def cancel(self, names: Sequence[str] = ()) -> list[ModelChange]:
        """Cancel the change to another model, and drop its vectors.

        The process that works on it, whichever it is, stops after a batch.

        Raises:
            CollectionNotFoundError: If one of them does not exist.
        """
        changes: list[ModelChange] = []
        for each in self._collections.chosen(names, include_disabled=True):
            started = time.perf_counter()
            with self._collections.store().write() as writer:
                before = self._collections.named(each.name, writer)
                writer.collections.change(each.id, lambda now: replace(now, next_embedding=None))
                _drop_left_behind(before, writer, self._stages.models)
            was_changing = before.next_embedding is not None
            outcome = ModelChangeOutcome.CANCELLED if was_changing else ModelChangeOutcome.SAME
            changes.append(self._changed(each, outcome, started))
        return changes

    def _change(self, name: str, wanted: EmbeddingSpec, wait_s: float) -> ModelChange:
        started = time.perf_counter()
        before, store = self._collections.named(name), self._collections.store()
        models = self._stages.models
        with store.claim(before, f"changing the model of {name}", wait_s=wait_s) as claim:
            before = self._collections.named(name)
            after = choose_model(Work(before, store, claim), wanted, models)
        with store.read() as view:
            chunks = view.collections.counts(before.id, None).chunks
        warnings: tuple[str, ...] = ()
        embedded = 0
        if after.embedding == before.embedding and after.next_embedding is None:
            outcome = ModelChangeOutcome.SAME
            if before.next_embedding is not None:
                warnings = (f"the change to {before.next_embedding} was cancelled",)
        elif not chunks:
            outcome = ModelChangeOutcome.CHOSEN
        else:
            report = self._resume(name, wait_s)
            embedded, warnings = report.embedded_chunks, report.warnings
            done = models.for_(self._collections.named(name).embedding).space == models.for_(wanted).space
            outcome = ModelChangeOutcome.CHANGED if done else ModelChangeOutcome.CANCELLED
        now = self._collections.named(name)
        return self._changed(now, outcome, started, embedded=embedded, warnings=warnings)

    def _resume(self, name: str, wait_s: float) -> ImportReport:
        """Import with the new model; if the source cannot be read, embed the indexed documents."""
        try:
            return self._import(name, ImportOptions(wait_s=wait_s))
        except SourceError as error:
            warning = f"the source cannot be read, so the indexed documents are embedded: {error}"
        collection, store = self._collections.named(name), self._collections.store()
        with store.claim(collection, f"changing the model of {name}", wait_s=wait_s) as claim:
            collection = self._collections.named(name)
            report = ImportReport(collection.name, warnings=(warning,))
            return resume_change(Work(collection, store, claim), report, self._stages)

    @contextmanager
    def embedding_on(self, address: str | None, *, shows_output: bool = False) -> Iterator[None]:
        """Embed passages on a cluster for as long as the context lasts; disconnect at its end.

        Args:
            address: Begins with the name of the kind of cluster, such as ``ray`` or ``ray://HOST:PORT``; None
                for none.
            shows_output: Whether to show what its machines print.

        Raises:
            ConfigError: If there is no such kind, or it is not installed.
        """
        if address is None:
            yield
            return
        kind = registry.load("clusters", address.partition("://")[0])
        cluster: Cluster = kind(address, shows_output=shows_output)
        self._stages.models.use_cluster(cluster)
        with closing(cluster):
            yield

    def _changed(
        self,
        collection: Collection,
        outcome: ModelChangeOutcome,
        started: float,
        *,
        embedded: int = 0,
        warnings: tuple[str, ...] = (),
    ) -> ModelChange:
        with self._collections.read() as view:
            chunks = view.collections.counts(collection.id, None).chunks
        return ModelChange(
            collection=collection.name,
            outcome=outcome,
            model="" if collection.embedding is None else str(collection.embedding),
            embedded_chunks=embedded,
            total_chunks=chunks,
            warnings=warnings,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def _listed(self, model: ListedModel, spec: EmbeddingSpec, names: list[str]) -> ListedModel:
        """Return a model with its price, why it cannot be used here, and the collections that use it."""
        problem = self._stages.models.problem_of(spec)
        return replace(
            model,
            price=price_of(EmbeddingSpec(model.provider, model.model), self._prices),
            problem="" if problem is None else str(problem),
            hint="" if problem is None else problem.hint,
            collections=tuple(sorted(names)),
        )


def _is(spec: EmbeddingSpec, provider: str, model: str) -> bool:
    names = {model, model.rpartition("/")[2]}
    return spec.provider == provider and (
        spec.model.rpartition("/")[2] in names or (provider == "builtin" and not spec.model)
    )


def chunking_of(collection: Collection, options: ImportOptions) -> ChunkingSpec:
    """Return how a collection is cut with the sizes in the options."""
    sizes = set_only(max_tokens=options.max_tokens, overlap_tokens=options.overlap_tokens)
    chunking = replace(collection.chunking, **sizes)
    if chunking.max_tokens is not None and (chunking.overlap_tokens or 0) >= chunking.max_tokens:
        sizes_in_words = f"{chunking.overlap_tokens:,} tokens in chunks of {chunking.max_tokens:,}"
        msg = f"an overlap of {sizes_in_words} leaves no room for text"
        raise UsageError(msg, hint="Make the overlap smaller than the chunks.")
    return chunking


def configured_otherwise(collection: Collection, collections: Collections) -> tuple[str, ...]:
    """Return a warning when the configuration names another model than the collection has."""
    models, own = collections.stages.models, collection.embedding
    if own is None or not models.is_chosen:
        return ()
    wanted = models.configured
    # It may only leave open what the other one names.
    is_open = wanted.model in ("", own.model) and wanted.dimension in (None, own.dimension)
    if wanted.provider == own.provider and (is_open or models.for_(wanted).space == models.for_(own).space):
        return ()
    return (
        f"the configured model is {wanted}, but {collection.name} uses {own}: "
        f"'{collections.place.command('model', 'use', str(wanted), '-n', collection.name)}' changes it",
    )


def model_warnings(collection: Collection, collections: Collections) -> Iterator[str]:
    """Yield what is wrong with the models of a collection."""
    stages = collections.stages
    model, next_model = stages.model(collection), stages.next_model(collection)
    if model.problem is not None:
        yield sentences(model.problem, model.problem.hint)
    if next_model is not None and next_model.problem is not None:
        problem = sentences(next_model.problem, next_model.problem.hint)
        yield f"the change to {next_model.spec} waits: {problem}"
    if model.embedder is not None:
        yield from model.embedder.warnings
    if next_model is None:
        yield from configured_otherwise(collection, collections)


def pinned_model(collection: Collection, model: Model, *, embed: bool) -> EmbeddingSpec | None:
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


def choose_model(work: Work, wanted: EmbeddingSpec, models: ModelPool) -> Collection:
    """Write which model a collection will have; :func:`resume_change` makes its vectors.

    A collection without any vector has it at once. The vectors of an earlier change to another model are
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
    return replace(
        report,
        embedded_chunks=report.embedded_chunks + embedded.texts,
        embedded_names=report.embedded_names + embedded.names,
        pending_chunks=next_model.pending(collection, work.store),
        new_model=str(next_model.spec),
        elapsed_ms=report.elapsed_ms + (time.perf_counter() - started) * 1000,
    )


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
