"""Reads and prepares changed documents, in this process or in several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.errors import FileTooLargeError, UnreadableFileError
from mdvec.indexing.changes import Changes, sized
from mdvec.indexing.prepare import Prepared, prepare, prepare_text
from mdvec.indexing.recipe import Recipe
from mdvec.types.change import Exclusion, SourceEntry, Unreadable
from mdvec.types.document import with_comments

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

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
    """Processes that prepare documents beside this one.

    Attributes:
        number: How many.
        make_recipe: Makes the recipe there; it can be pickled.
    """

    number: int
    make_recipe: Callable[[], Recipe]


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
) -> Iterator[Prepared | Exclusion | Unreadable]:
    """Prepare documents that changed, in order, in other processes where that pays.

    Args:
        changes: The changes.
        entries: Those of its entries to prepare.
        processes: Processes that may be started; None for none.
    """
    if processes is None or processes.number < 2 or not processes_pay([each.size for each in entries]):
        for entry in entries:
            yield _prepared(changes, entry)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    executor = ProcessPoolExecutor(
        processes.number,
        get_context("spawn"),  # a fork would lack the threads of this process
        _begin,
        (processes.make_recipe, changes.recipe.fingerprint),
    )
    try:
        yield from _prepared_by(
            executor, changes, entries, most_waiting=_WAITING_PER_PROCESS * processes.number
        )
    finally:
        executor.shutdown(cancel_futures=True)


def processes_pay(sizes: Sequence[int]) -> bool:
    """Return True if preparing documents of these sizes takes much longer than starting processes."""
    cost = sum(sizes) + _BYTES_OF_DOCUMENT * len(sizes)
    return cost >= _MIN_BYTES and len(sizes) >= _MIN_DOCUMENTS


def _prepared(changes: Changes, entry: SourceEntry) -> Prepared | Exclusion | Unreadable:
    try:
        with run.current().step("prepare", path=entry.path) as details:
            item = _prepare(_read(changes, entry), changes.recipe)
            if isinstance(item, Prepared):
                sizes = [len(chunk.text) for chunk in item.record.chunks[:_MAX_SIZES]]
                details.update(chunks=len(item.record.chunks), chars=sizes)
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
    contexts = changes.contexts.get(entry.path)
    if entry.content_hash is not None and entry.path in changes.stored:
        with changes.store.read() as view:
            stored = view.find_document(changes.collection_id, changes.stored[entry.path])
        if stored is not None:
            text = with_comments(stored.body, stored.comments)
            return _Task(sized(entry, stored.size), text, contexts)
    raw = changes.source.read(entry)
    return _Task(sized(entry, len(raw)), raw, contexts)


def _prepare(task: _Task, recipe: Recipe) -> Prepared | Exclusion:
    entry, content, contexts = task.entry, task.content, task.contexts
    if isinstance(content, bytes):
        return prepare(entry, content, recipe, contexts=contexts)
    return prepare_text(entry, content, recipe, content_hash=entry.content_hash or b"", contexts=contexts)


# --- several processes -----------------------------------------------------------------------------------


def _prepared_by(
    executor: Executor, changes: Changes, entries: Sequence[SourceEntry], *, most_waiting: int
) -> Iterator[Prepared | Exclusion | Unreadable]:
    """Prepare documents in processes; the tasks of a process that dies are done here."""
    waiting: deque[tuple[Future[list[Prepared | Exclusion]] | None, list[_Task]]] = deque()
    for tasks in _tasks(changes, entries):
        if not isinstance(tasks, list):
            yield tasks
            continue
        waiting.append((_submitted(executor, tasks), tasks))
        if len(waiting) > most_waiting:
            yield from _results(*waiting.popleft(), changes.recipe)
    while waiting:
        yield from _results(*waiting.popleft(), changes.recipe)


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


def _submitted(executor: Executor, tasks: Sequence[_Task]) -> Future[list[Prepared | Exclusion]] | None:
    """Submit tasks; return None if no process is left."""
    from concurrent.futures import BrokenExecutor

    try:
        return executor.submit(_prepare_all, tasks)
    except BrokenExecutor:
        return None


def _results(
    future: Future[list[Prepared | Exclusion]] | None, tasks: Iterable[_Task], recipe: Recipe
) -> Iterator[Prepared | Exclusion]:
    from concurrent.futures import BrokenExecutor

    with run.current().step("prepare_elsewhere"):
        try:
            found = None if future is None else future.result()
        except BrokenExecutor:  # for example, out of memory
            found = None
    if found is None:
        found = [_prepare(task, recipe) for task in tasks]
    yield from found


_recipes: list[Recipe] = []  # in a worker process: its one recipe


def _begin(make_recipe: Callable[[], Recipe], fingerprint: str) -> None:
    """Initialise a worker process.

    Raises:
        RuntimeError: If its recipe has another fingerprint.
    """
    from mdvec.processes import end_with_parent

    end_with_parent()
    recipe = make_recipe()
    if recipe.fingerprint != fingerprint:
        msg = f"documents are prepared as {recipe.fingerprint} here, and as {fingerprint} there"
        raise RuntimeError(msg)
    _recipes.append(recipe)


def _prepare_all(tasks: Sequence[_Task]) -> list[Prepared | Exclusion]:
    [recipe] = _recipes
    return [_without_structure(_prepare(task, recipe)) for task in tasks]


def _without_structure(item: Prepared | Exclusion) -> Prepared | Exclusion:
    """Drop the structure, which only the chunker needs and which is slow to send."""
    if isinstance(item, Exclusion):
        return item
    document = replace(item.record.document, sections=(), blocks=())
    return replace(item, record=replace(item.record, document=document))
