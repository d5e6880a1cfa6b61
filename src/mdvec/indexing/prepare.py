"""Step 2 of an import: reads, parses, cuts and tokenises changed documents, in this process or in several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from functools import partial
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.documents.conversion import convert
from mdvec.documents.encodings import Decoded, decode
from mdvec.errors import DamagedDatabaseError, FileTooLargeError, UnreadableFileError
from mdvec.indexing.plan import Changes, sized
from mdvec.indexing.work import BINARY_RULE, POINTER_RULE, Recipe
from mdvec.processes import submitted, worker_pool
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkTerms, DocumentRecord, StoredDocument, first_names
from mdvec.text.hashing import content_hash, text_hash
from mdvec.text.indexed_terms import once, terms_of
from mdvec.text.links import converter_of
from mdvec.text.properties import property_text
from mdvec.text.prose import Prose, is_form, is_unspaced_prose, prose_of, skeletons
from mdvec.types.change import Exclusion, SourceEntry, Unreadable
from mdvec.types.chunk import Chunk
from mdvec.types.document import Document, with_comments
from mdvec.types.ids import CollectionId

# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
_POINTER_START = b"version https://git-lfs.github.com/spec/v1\n"
_MAX_POINTER_BYTES = 1024

_MAX_CONTEXT_CHARS = 400  # of a document without text
_FENCES = ("---", "+++")

_MAX_SIZES = 50  # of the chunks of one document, in the details of a step
# Starting a process takes a second of CPU time, caches included; less work than this is done here.
_MIN_BYTES = 8_000_000
_MIN_DOCUMENTS = 100
# The fixed cost of a document, in bytes of text.
_BYTES_OF_DOCUMENT = 1_000
# The size of a task: large enough to send cheaply, small enough to keep all processes busy to the end.
_TASK_BYTES = 250_000
_WAITING_PER_PROCESS = 2  # bounds the memory


class Processes(Struct, frozen=True):
    """Processes that prepare documents for this one.

    Attributes:
        number: How many.
        make_recipe: Makes the recipe there; it can be pickled.
    """

    number: int
    make_recipe: Callable[[], Recipe]


Item = DocumentRecord | Exclusion | Unreadable
"""The outcome for a file of the source."""


class _Task(Struct, frozen=True):
    """A document that was read.

    Attributes:
        entry: What the source listed.
        content: The bytes of a file, or a text that the store had.
        contexts: See :func:`mdvec.indexing.prepare.prepare`.
    """

    entry: SourceEntry
    content: bytes | str
    contexts: Sequence[str] | None


def prepared(
    changes: Changes, entries: Sequence[SourceEntry], processes: Processes | None = None
) -> Iterator[Item]:
    """Prepare documents that changed, in order, in other processes where there are some and that pays."""
    if processes is None or not processes_pay([each.size for each in entries]):
        return map(partial(_prepared, changes), entries)
    return _prepared_elsewhere(changes, entries, processes)


def processes_pay(sizes: Sequence[int]) -> bool:
    """Return True if preparing documents of these sizes takes much longer than starting processes."""
    cost = sum(sizes) + _BYTES_OF_DOCUMENT * len(sizes)
    return cost >= _MIN_BYTES and len(sizes) >= _MIN_DOCUMENTS


def _prepared(changes: Changes, entry: SourceEntry) -> Item:
    try:
        with run.current().step("prepare", path=entry.path) as details:
            task = _read(changes, entry)
            item = prepare(task.entry, task.content, changes.recipe, contexts=task.contexts)
            if isinstance(item, DocumentRecord):
                sizes = [len(chunk.text) for chunk in item.chunks[:_MAX_SIZES]]
                details.update(chunks=len(item.chunks), chars=sizes)
    except UnreadableFileError as error:
        return _not_read(entry, error)
    return item


def _not_read(entry: SourceEntry, error: UnreadableFileError) -> Exclusion | Unreadable:
    """Return what becomes of a file; a large one is left out as where a listing shows its size."""
    kind = Exclusion if isinstance(error, FileTooLargeError) else Unreadable
    return kind(entry.path, str(error))


def _read(changes: Changes, entry: SourceEntry) -> _Task:
    """Read a document: from the store if its hash is known there, else from the source.

    Raises:
        UnreadableFileError: If it cannot be read; the message is the reason alone.
    """
    contexts: Sequence[str] | None = None
    if (path := changes.stored.get(entry.path)) is not None:
        with changes.read() as view:
            stored = _intact(view, changes.collection_id, path)
            is_cut_alike = changes.known[path].fingerprint == changes.recipe.fingerprint
            if stored is not None and path != entry.path and is_cut_alike:
                # The name of a file may be its title, and so part of the context. A renamed document keeps
                # the old context until its content changes, so that its new name is embedded and no text.
                contexts = [each.context for each in view.chunks.of_document(stored.id)]
        # A file on this machine is read. Only a file can say why it has no text, or what was lost or guessed.
        if stored is not None and entry.content_hash is not None and stored.body and not stored.warnings:
            text = with_comments(stored.body, stored.comments)
            return _Task(sized(entry, stored.size), text, contexts)
    raw = changes.source.read(entry)
    return _Task(sized(entry, len(raw)), raw, contexts)


def _intact(view: View, collection_id: CollectionId, path: str) -> StoredDocument | None:
    """Return the document at a path; None if what the store has of it is damaged."""
    with suppress(DamagedDatabaseError, ValueError, TypeError):
        return view.documents.find(collection_id, path, verified=True)
    return None


def prepare(
    entry: SourceEntry, content: bytes | str, recipe: Recipe, *, contexts: Sequence[str] | None = None
) -> Item:
    """Decode, parse, cut and tokenise a document.

    Args:
        entry: The entry of the source's listing.
        content: The bytes of the file, or its text as the store has it.
        recipe: How it is parsed and cut.
        contexts: Replace the contexts of the chunks, if there are as many and the document has text.

    Returns:
        The record to write, an exclusion if the file is binary or only names a file of Git LFS, or the
        reason why it cannot be converted.
    """
    from mdvec.documents.parse import parse_document  # what reads Markdown, for the first document

    try:
        decoded = Decoded(content, "") if isinstance(content, str) else text_or_rule(entry.path, content)
    except UnreadableFileError as error:
        return Unreadable(entry.path, str(error))
    if isinstance(decoded, str):
        return Exclusion(entry.path, decoded)
    identity = entry.content_hash or (b"" if isinstance(content, str) else content_hash(content))
    document = parse_document(entry.path, decoded.text, versions=recipe.versions)
    if decoded.warning:
        document = replace(document, warnings=(decoded.warning, *document.warnings))
    cut = recipe.chunker.chunk(document)
    document = replace(document, warnings=(*document.warnings, *cut.warnings))
    chunks = cut.chunks
    if not chunks and cut.is_found:
        chunks = (metadata_chunk(document),)  # it says little but the name of the document
    elif contexts is not None and len(contexts) == len(chunks):
        chunks = tuple(
            replace(chunk, context=context) for chunk, context in zip(chunks, contexts, strict=True)
        )
    if not document.is_plain:
        is_empty = is_form(document.body[document.content_start :])
        chunks = tuple(
            replace(each, token_count=0) if is_empty or is_form(each.text) else each for each in chunks
        )
    return make_record(entry, identity, recipe.fingerprint, document, chunks)


def text_or_rule(path: str, raw: bytes) -> Decoded | str:
    """Return the text of a file, converted where its name says so, or the rule why it is excluded.

    Raises:
        UnreadableFileError: If it cannot be converted.
    """
    if len(raw) < _MAX_POINTER_BYTES and raw.startswith(_POINTER_START):
        return POINTER_RULE
    return convert(path, raw) if converter_of(path) else decode(raw) or BINARY_RULE


def make_record(
    entry: SourceEntry, content_hash: bytes, fingerprint: str, document: Document, chunks: tuple[Chunk, ...]
) -> DocumentRecord:
    """Return the record of a document and its chunks, with their terms."""
    # Bounded, since the terms are written with every chunk.
    names = first_names(document.names)
    headings = ["\n".join(chunk.heading_path) for chunk in chunks]
    # A document without text has one chunk, its frontmatter, or none.
    is_text = bool(chunks) and chunks[0].end > document.content_start
    if is_text and (properties := property_text(document.frontmatter)):
        # The words of its properties count as another heading of its first chunk.
        headings[0] = "\n".join((*chunks[0].heading_path, properties))
    texts = [prose_of(chunk.text) for chunk in chunks]
    bare = skeletons([each.text for each in texts], names) if is_text else [""] * len(chunks)
    return DocumentRecord(
        entry=entry,
        content_hash=content_hash,
        fingerprint=fingerprint,
        document=document,
        chunks=chunks,
        text_hashes=tuple(text_hash(each.embedded_text) for each in chunks),
        terms=tuple(_terms_of_chunks((*names, *entry.path.split("/")[:-1]), headings, texts)),
        unspaced=is_unspaced_prose(document.title, document.body[document.content_start :]),
        skeletons=tuple(text_hash(each) if each else b"" for each in bare),
        names=names if chunks else (),
    )


def _terms_of_chunks(
    names: Sequence[str], headings: Sequence[str], texts: Sequence[Prose]
) -> Iterator[ChunkTerms]:
    """Yield the terms of a document's chunks.

    Args:
        names: Those of the document and of its folders.
        headings: Of each chunk, those above it, a line each.
        texts: Of each chunk.
    """
    others = ["\n".join(names), *dict.fromkeys(headings)]
    title, *found = terms_of([*map(prose_of, others), *texts])
    of_heading = dict(zip(others[1:], found, strict=False))
    above = map(of_heading.__getitem__, headings)
    for heading, body in zip(above, found[len(of_heading) :], strict=True):
        every = (title, heading, body)
        # How often a particle follows a noun carries no meaning, so each pair counts once.
        pairs = once(" ".join(each.pairs for each in every))
        singles = once(" ".join(each.singles for each in every))
        main, words = (" ".join(map(attrgetter(kind), every)) for kind in ("main", "words"))
        yield ChunkTerms(main, f"{words} {pairs} {singles}")


# --- several processes -----------------------------------------------------------------------------------


def _prepared_elsewhere(
    changes: Changes, entries: Sequence[SourceEntry], processes: Processes
) -> Iterator[Item]:
    """Prepare documents in processes, in order; the tasks of a process that dies are done here."""
    recipe = changes.recipe
    pool = worker_pool(processes.number, partial(_checked_recipe, processes.make_recipe, recipe.fingerprint))
    waiting: deque[tuple[Future[list[Item]] | None, list[_Task]]] = deque()
    try:
        for tasks in _tasks(changes, entries):
            if not isinstance(tasks, list):
                yield tasks
                continue
            try:
                waiting.append((submitted(pool, _prepare_all, tasks), tasks))
            except BrokenExecutor:
                waiting.append((None, tasks))
            if len(waiting) > _WAITING_PER_PROCESS * processes.number:
                yield from _results(*waiting.popleft(), recipe)
        while waiting:
            yield from _results(*waiting.popleft(), recipe)
    finally:
        pool.shutdown(cancel_futures=True)


def _tasks(
    changes: Changes, entries: Sequence[SourceEntry]
) -> Iterator[list[_Task] | Exclusion | Unreadable]:
    """Yield the documents, read, in tasks for one process each."""
    tasks: list[_Task] = []
    size = 0
    for entry in entries:
        try:
            tasks.append(_read(changes, entry))
        except UnreadableFileError as error:
            yield _not_read(entry, error)
            continue
        size += len(tasks[-1].content) + _BYTES_OF_DOCUMENT
        if size >= _TASK_BYTES:
            yield tasks
            tasks, size = [], 0
    if tasks:
        yield tasks


def _results(future: Future[list[Item]] | None, tasks: list[_Task], recipe: Recipe) -> list[Item]:
    with run.current().step("prepare_elsewhere"):
        try:
            if future is not None:
                return future.result()
        except BrokenExecutor:  # for example, out of memory
            pass
    return _prepare_all(recipe, tasks)


def _checked_recipe(make_recipe: Callable[[], Recipe], fingerprint: str) -> Recipe:
    """Make the recipe of a worker process.

    Raises:
        RuntimeError: If it has another fingerprint.
    """
    recipe = make_recipe()
    if recipe.fingerprint != fingerprint:
        msg = f"documents are prepared as {recipe.fingerprint} here, and as {fingerprint} there"
        raise RuntimeError(msg)
    return recipe


def _prepare_all(recipe: Recipe, tasks: Sequence[_Task]) -> list[Item]:
    found = (prepare(each.entry, each.content, recipe, contexts=each.contexts) for each in tasks)
    return [_without_structure(each) for each in found]


def _without_structure(item: Item) -> Item:
    """Drop the structure, which only the chunker needs and which is slow to send."""
    if not isinstance(item, DocumentRecord):
        return item
    return replace(item, document=replace(item.document, sections=(), blocks=()))


def metadata_chunk(document: Document) -> Chunk:
    """Return the one chunk of a document that has no text of its own.

    Its text is the inside of the frontmatter, which may be empty; its context names the title, the file, the
    aliases and the tags, so that the document is found by them.
    """
    start, end = _metadata_span(document.body, document.content_start)
    text = document.body[start:end]
    first_line = document.body.count("\n", 0, start) + 1
    names = " › ".join(document.names)
    labels = " ".join((names, *(f"#{tag}" for tag in document.tags)))
    return Chunk(
        ordinal=0,
        parent=None,
        depth=0,
        heading_path=(),
        start=start,
        end=end,
        start_line=first_line,
        end_line=first_line + text.count("\n"),
        token_count=0,  # it has no text
        text=text,
        context=" ".join(labels.split())[:_MAX_CONTEXT_CHARS],
    )


def _metadata_span(body: str, content_start: int) -> tuple[int, int]:
    """Return the span between the fences of the frontmatter, without outer white space."""
    lines = body[:content_start].rstrip().split("\n")
    if len(lines) < 2 or not lines[0].startswith(_FENCES):
        return 0, 0
    start, end = len(lines[0]) + 1, sum(map(len, lines[:-1])) + len(lines) - 1
    inside = body[start:end]
    stripped = inside.strip()
    start += len(inside) - len(inside.lstrip()) if stripped else 0
    return start, start + len(stripped)
