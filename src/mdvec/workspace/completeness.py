"""How complete the index behind an answer is, and what completes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId
from mdvec.types.query import SearchMode
from mdvec.types.report import Activity, CollectionCounts, ImportMode
from mdvec.workspace.collections import PUBLISH_AGAIN, Collections


class Completeness(Struct, frozen=True):
    """The state of the collections that were searched.

    Attributes:
        searched: The collections.
        counts: What each of them holds, in the space in which it was searched.
    """

    searched: Sequence[Collection]
    counts: Sequence[CollectionCounts]

    @property
    def chunks(self) -> int:
        """All chunks."""
        return sum(each.chunks for each in self.counts)

    @property
    def pending_chunks(self) -> int:
        """Those without a vector."""
        return sum(each.pending_chunks for each in self.counts)

    @property
    def lacks_anything(self) -> bool:
        """Whether documents or vectors are missing, as far as is known."""
        return bool(self.pending_chunks or self._partial())

    def last_indexed_ms(self, checked_ms: Mapping[CollectionId, int]) -> int | None:
        """Return since when nothing is missing, in milliseconds since 1970; None if that is not known.

        Args:
            checked_ms: When sources were last found to be as indexed.
        """
        known = [
            max(each.last_indexed_ms, checked_ms.get(each.id, 0))
            for each in self.searched
            if each.last_indexed_ms is not None
        ]
        return min(known) if known and len(known) == len(self.searched) else None

    def hint(self, mode: SearchMode, collections: Collections) -> str:
        """Return what to do before anything can be found; empty if something can."""
        if not self.chunks:
            empty = "There is no text to search: the folders contain no document to index."
            return collections.first_step(self.searched) or empty
        if mode is SearchMode.DENSE and self.pending_chunks == self.chunks:
            return "There is no vector yet. Search in mode hybrid or lexical."
        return ""

    def warnings(
        self, mode: SearchMode, collections: Collections, activities: Sequence[Activity], *, importing: bool
    ) -> Iterator[str]:
        """Yield what is missing, and what completes it.

        Args:
            mode: How was searched.
            collections: Name the commands.
            activities: What processes are doing.
            importing: Whether this process is making the missing vectors.
        """
        working = {each.collection: str(each) for each in activities}

        def next_step(names: Sequence[str], verb: str) -> str:
            if importing:
                return "they are being made"
            if all(name in working for name in names):
                return "; ".join(working[name] for name in names)
            if collections.is_published:
                return PUBLISH_AGAIN
            return f"'{collections.place.import_command(names, ImportMode.UPDATE)}' {verb}"

        unread = self._names(lambda count: not count.documents)
        partial = self._partial() if self.chunks and not importing else []
        if names := [name for name in partial if name in unread]:
            yield f"not imported yet: {', '.join(names)}; {next_step(names, 'imports the documents')}"
        if names := [name for name in partial if name not in unread]:
            state = "not imported to the end, so documents may be missing"
            yield f"{state}: {', '.join(names)}; {next_step(names, 'resumes')}"
        if self.pending_chunks and mode is not SearchMode.LEXICAL:
            names = self._names(lambda count: count.pending_chunks > 0)
            count = f"{self.pending_chunks:,} of {self.chunks:,} chunks"
            step = next_step(names, "makes them")
            yield f"{count} have no vector yet and are found by words only; {step}"

    def _partial(self) -> list[str]:
        """Return the collections whose import was stopped, or whose index was rebuilt."""
        return [each.name for each in self.searched if each.last_indexed_ms is None]

    def _names(self, meets: Callable[[CollectionCounts], bool]) -> list[str]:
        """Return the collections whose counts meet a condition."""
        return [each.name for each, count in zip(self.searched, self.counts, strict=True) if meets(count)]
