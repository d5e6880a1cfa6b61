"""Reads and prepares what has changed, in this process or in several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mdvec import run
from mdvec.errors import UnreadableFileError
from mdvec.indexing.changes import Changes, sized
from mdvec.indexing.prepare import Prepared, prepare, prepare_text
from mdvec.indexing.recipe import Recipe
from mdvec.types.change import Exclusion, SourceEntry, Unreadable
from mdvec.types.document import with_comments

_MOST_SIZES = 50  # of the chunks of one document, in the details of a step


@dataclass(frozen=True, slots=True)
class _Task:
    """A document that was read.

    Attributes:
        entry: What the source listed.
        content: The bytes of a file, or a text that the store had.
        contexts: See :func:`mdvec.indexing.prepare.prepare`.
    """

    entry: SourceEntry
    content: bytes | str
    contexts: Sequence[str] | None


def prepared(changes: Changes) -> Iterator[Prepared | Exclusion | Unreadable]:
    """Prepare the documents that changed, in order."""
    for entry in changes.entries:
        try:
            with run.current().step("prepare", path=entry.path) as details:
                item = _prepare(_read(changes, entry), changes.recipe)
                if isinstance(item, Prepared):
                    sizes = [len(chunk.text) for chunk in item.record.chunks[:_MOST_SIZES]]
                    details.update(chunks=len(item.record.chunks), chars=sizes)
        except UnreadableFileError as error:
            yield Unreadable(entry.path, str(error))
        else:
            yield item


def _read(changes: Changes, entry: SourceEntry) -> _Task:
    """Read a document from the store if the source says that it is there unchanged, else from the source.

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
