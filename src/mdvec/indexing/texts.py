"""The first half of an import: brings documents and words up to date with the source.

From the end of each transaction on, the documents in it are found by words; vectors follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from mdvec import trace
from mdvec.errors import SourceEmptyError, SourceMissingError, UnreadableFileError
from mdvec.indexing.kept import DocumentSource, Texts, kept_texts, known_binaries, sized
from mdvec.indexing.plan import compare, resolve
from mdvec.indexing.prepare import Prepared, Recipe
from mdvec.types.change import Exclusion, KnownDocument, Listing, Plan, SourceEntry, Unreadable
from mdvec.types.collection import Collection
from mdvec.types.ids import SpaceId, TextHash
from mdvec.types.report import ImportStage, Progress
from mdvec.stores.interface import Catalog, Store
from mdvec.text.hashing import content_hash, text_hash

# One transaction holds this many chunks or documents at most: large enough to be fast, small enough
# that readers see progress and a killed run loses little.
_CHUNKS_PER_TRANSACTION = 500
_DOCUMENTS_PER_TRANSACTION = 100


@dataclass(slots=True)
class TextOutcome:
    """What was done to the documents; see :class:`mdvec.types.report.ImportReport`.

    ``revision`` is that of the source.
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
    warnings: list[str] = field(default_factory=list)


def list_source(source: DocumentSource, *, knows_documents: bool, allow_empty: bool) -> Listing:
    """Ask a source what is there, and distrust the answer "nothing".

    Args:
        source: The source.
        knows_documents: Whether the index holds documents of it.
        allow_empty: Whether nothing is a believable answer.

    Returns:
        The listing.

    Raises:
        SourceMissingError: If the root is not there.
        SourceEmptyError: If it is empty though documents are known: an unmounted disk looks so.
    """
    with trace.step("scan") as details:
        try:
            listing = source.list()
        except SourceMissingError:
            if not (allow_empty and knows_documents):
                raise
            listing = Listing(())
        details.update(files=len(listing.entries), excluded=len(listing.exclusions))
    if knows_documents and not listing.entries and not listing.unreadable and not allow_empty:
        msg = "the source holds no document, but the index does"
        raise SourceEmptyError(msg)
    return listing


def make_plan(
    listing: Listing, known: dict[str, KnownDocument], source: DocumentSource, fingerprint: str
) -> tuple[Plan, list[Unreadable]]:
    """Compare a source with what is known of it.

    Returns:
        The plan, and the files whose content could not be compared.
    """
    comparison = compare(listing, known, fingerprint)
    failures: list[Unreadable] = []
    hashes: dict[str, bytes | None] = {}
    with trace.step("hash", files=len(comparison.to_hash)):
        for entry in comparison.to_hash:
            try:
                hashes[entry.path] = entry.content_hash or content_hash(source.read(entry))
            except UnreadableFileError as error:
                hashes[entry.path] = None
                failures.append(Unreadable(entry.path, str(error)))
    return resolve(comparison, hashes), failures


def bring_texts_up_to_date(
    collection: Collection,
    *,
    store: Store,
    source: DocumentSource,
    recipe: Recipe,
    space_id: SpaceId | None,
    rebuild: bool,
    allow_empty: bool,
    progress: Progress,
) -> TextOutcome:
    """Write what is new, changed or moved, and remove what is gone.

    Args:
        collection: What to bring up to date.
        store: Where; its writer lease is held by the caller.
        source: What the collection is made from.
        recipe: How documents are prepared.
        space_id: Where vectors may be found already; None when there are none.
        rebuild: Prepare every document anew.
        allow_empty: Believe a source that holds nothing.
        progress: Is told of documents done.

    Returns:
        What was done. A file that could not be read is a failure, not an exception: what was known
        of it stays searchable.

    Raises:
        SourceMissingError: If the root is not there.
        SourceEmptyError: If it is empty though documents are known.
    """
    known = store.catalog.known_documents(collection.id)
    progress(ImportStage.SCAN, 0, 0)
    listing = list_source(source, knows_documents=bool(known), allow_empty=allow_empty)
    failures: list[Unreadable] = []
    binaries: list[Exclusion] = []
    if rebuild:
        plan = _plan_of_rebuild(listing, known, recipe.fingerprint)
    else:
        plan, failures = make_plan(listing, known, source, recipe.fingerprint)
        binaries = known_binaries(collection, listing, plan.new, store.catalog)
        skipped = {exclusion.path for exclusion in binaries}
        plan = replace(plan, new=tuple(entry for entry in plan.new if entry.path not in skipped))
    outcome = TextOutcome(
        unchanged=plan.unchanged + len(plan.touched),
        revision=listing.revision,
        exclusions=[*listing.exclusions, *binaries],
        failures=[*listing.unreadable, *failures],
    )
    kept = kept_texts(plan, known)
    entries = (*plan.new, *plan.changed, *(move.entry for move in plan.moved))
    # Before anything is written: who cannot be asked for new documents keeps the old ones.
    source.expect([entry for entry in entries if entry.path not in kept])
    _write_small_changes(collection, plan, known, outcome, store)
    total = len(plan.new) + len(plan.changed) + len(plan.moved)
    old_paths = {move.entry.path: move.old_path for move in plan.moved}
    new = {entry.path for entry in plan.new}
    contexts = kept_contexts(collection, plan, known, recipe.fingerprint, store.catalog)
    texts = Texts(collection, source, store.catalog, kept)
    done = 0
    for batch in _batches(_prepared(entries, contexts, texts, recipe, outcome)):
        _write(collection, batch, old_paths, recipe.fingerprint, space_id, outcome, store)
        outcome.added += sum(item.entry.path in new for item in batch)
        outcome.moved += sum(item.entry.path in old_paths for item in batch)
        done += len(batch)
        outcome.updated = done - outcome.added - outcome.moved
        progress(ImportStage.TEXT, done, total)
    _drop_excluded(collection, known, outcome, store)
    with store.transaction():
        store.catalog.set_outcome(
            collection.id, exclusions=sorted(outcome.exclusions), failures=sorted(outcome.failures)
        )
    return outcome


def _plan_of_rebuild(listing: Listing, known: dict[str, KnownDocument], fingerprint: str) -> Plan:
    """Treat everything as new; what could not be looked at stays."""
    missing = compare(listing, known, fingerprint).missing
    return Plan(new=listing.entries, deleted=tuple(document.path for document in missing))


def _write_small_changes(
    collection: Collection,
    plan: Plan,
    known: Mapping[str, KnownDocument],
    outcome: TextOutcome,
    store: Store,
) -> None:
    """Write what needs no reading: removals, new times and spellings."""
    if not (plan.deleted or plan.touched):
        return
    with trace.step("small_changes", deleted=len(plan.deleted)), store.transaction():
        for path in plan.deleted:
            store.catalog.delete_document(collection.id, path)
        for entry in plan.touched:
            store.catalog.touch_document(collection.id, sized(entry, known[entry.path].size))
    outcome.deleted = len(plan.deleted)


def kept_contexts(
    collection: Collection, plan: Plan, known: Mapping[str, KnownDocument], fingerprint: str, catalog: Catalog
) -> dict[str, list[str]]:
    """Look up the contexts under which moved documents were embedded, by new path.

    A file's name may be its title, and so part of what is embedded. A renamed document keeps the
    old one there until its content changes: a rename alone embeds its new name, and no text.
    """
    return {
        move.entry.path: catalog.contexts(collection.id, move.old_path)
        for move in plan.moved
        if known[move.old_path].fingerprint == fingerprint  # else it is cut into other chunks
    }


def _prepared(
    entries: Iterable[SourceEntry],
    contexts: Mapping[str, list[str]],
    texts: Texts,
    recipe: Recipe,
    outcome: TextOutcome,
) -> Iterator[Prepared]:
    for entry in entries:
        try:
            with trace.step("prepare", path=entry.path) as details:
                item = texts.prepared(entry, recipe, contexts.get(entry.path))
                if isinstance(item, Prepared):
                    details.update(chunks=len(item.chunks))
        except UnreadableFileError as error:
            outcome.failures.append(Unreadable(entry.path, str(error)))
            continue
        if isinstance(item, Prepared):
            yield item
        else:
            outcome.exclusions.append(item)


def _batches(items: Iterable[Prepared]) -> Iterator[list[Prepared]]:
    batch: list[Prepared] = []
    chunks = 0
    for item in items:
        batch.append(item)
        chunks += len(item.chunks)
        if chunks >= _CHUNKS_PER_TRANSACTION or len(batch) >= _DOCUMENTS_PER_TRANSACTION:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def _write(
    collection: Collection,
    batch: list[Prepared],
    old_paths: Mapping[str, str],
    fingerprint: str,
    space_id: SpaceId | None,
    outcome: TextOutcome,
    store: Store,
) -> None:
    hashes: list[TextHash] = [text_hash(chunk.embedded_text) for item in batch for chunk in item.chunks]
    if space_id is not None:
        cached = store.vectors.cached(space_id, hashes)
        outcome.cached_chunks += sum(digest in cached for digest in hashes)
    with trace.step("write", documents=len(batch), chunks=len(hashes)), store.transaction():
        for item in batch:
            # In one transaction with the new place: a document is never found twice, nor not at all.
            if item.entry.path in old_paths:
                store.catalog.delete_document(collection.id, old_paths[item.entry.path])
            ids = store.catalog.put_document(
                collection.id,
                item.document,
                item.chunks,
                entry=item.entry,
                content_hash=item.content_hash,
                fingerprint=fingerprint,
            )
            store.lexical.put(ids, item.fields)
            outcome.warnings.extend(f"{item.entry.path}: {warning}" for warning in item.warnings)


def _drop_excluded(collection: Collection, known: Iterable[str], outcome: TextOutcome, store: Store) -> None:
    """Remove documents whose files turned out to hold no text any more."""
    excluded = {exclusion.path for exclusion in outcome.exclusions}.intersection(known)
    if excluded:
        with store.transaction():
            for path in sorted(excluded):
                store.catalog.delete_document(collection.id, path)
