"""Advice in an answer: what the index lacks, what was left out, and the next step where nothing was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Protocol

from msgspec import Struct

from mdvec.search.interpretation import Interpretation
from mdvec.search.passages import ScoredPassage
from mdvec.text.dates import without_date
from mdvec.text.operators import QUOTES, parse_query
from mdvec.text.quantity import quantity
from mdvec.text.scripts import holds_unspaced
from mdvec.types.collection import Collection
from mdvec.types.hit import Confidence
from mdvec.types.ids import CollectionId
from mdvec.types.query import Filters, SearchMode, SearchQuery
from mdvec.types.report import Activity, CollectionCounts

# More than a person types.
_MAX_AS_TEXT = 3
_MAX_WORDS = 10

# What other programs read as operators, and operators without a value.
_OPERATOR_ELSEWHERE = re.compile(
    r"(?<!\S)(?:(?:AND|OR|NOT)(?!\S)|-?(?i:tags|titles|name|file|filename|folder|dir|author|date|type)(?=:(?!//)\S)"
    r"|-?(?i:path|tag|title):(?!\S))"
)


class Commands(Protocol):
    """The next steps of a person, as the database at hand needs them."""

    def first_step(self, searched: Sequence[Collection]) -> str:
        """Return how to get something to search; empty when all that was searched was imported."""

    def completed_by(self, names: Sequence[str], effect: str) -> str:
        """Return what completes some collections.

        Args:
            names: The collections.
            effect: What an import does then, such as "makes them".
        """


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
        return sum(map(attrgetter("chunks"), self.counts))

    @property
    def pending_chunks(self) -> int:
        """Those without a vector."""
        return sum(map(attrgetter("pending_chunks"), self.counts))

    @property
    def partial(self) -> list[str]:
        """The collections whose import was stopped, or whose index was rebuilt."""
        return [each.name for each in self.searched if each.last_indexed_ms is None]

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

    def hint(self, mode: SearchMode, commands: Commands) -> str:
        """Return what to do before anything can be found; empty if something can."""
        if not self.chunks:
            name = self.searched[0].name if self.searched else "NAME"
            empty = (
                "There is no text to search: no document was found to index. "
                f"'mdvec status -n {name}' lists what is left out, and why."
            )
            return commands.first_step(self.searched) or empty
        if mode is SearchMode.DENSE and self.pending_chunks == self.chunks:
            return "There is no vector yet. Search in mode hybrid or lexical."
        return ""

    def warnings(
        self, mode: SearchMode, commands: Commands, activities: Sequence[Activity], *, importing: bool
    ) -> Iterator[str]:
        """Yield what is missing, and what completes it.

        Args:
            mode: How was searched.
            commands: Name the commands.
            activities: What processes are doing.
            importing: Whether this process is making the missing vectors.
        """
        working = {each.collection: str(each) for each in activities}

        def next_step(names: Sequence[str], effect: str) -> str:
            if importing:
                return "they are being made"
            if all(name in working for name in names):
                return "; ".join(working[name] for name in names)
            return commands.completed_by(names, effect)

        read = self._names(attrgetter("documents"))
        partial = self.partial if self.chunks and not importing else []
        if names := [name for name in partial if name not in read]:
            yield f"not imported yet: {', '.join(names)}; {next_step(names, 'imports the documents')}"
        if names := [name for name in partial if name in read]:
            state = "not imported to the end, so documents may be missing"
            yield f"{state}: {', '.join(names)}; {next_step(names, 'resumes')}"
        if self.pending_chunks and mode is not SearchMode.LEXICAL:
            names = self._names(attrgetter("pending_chunks"))
            count = f"{self.pending_chunks:,} of {self.chunks:,} chunks"
            step = next_step(names, "makes them")
            yield f"{count} have no vector yet and are found by words only; {step}"

    def _names(self, number: Callable[[CollectionCounts], int]) -> list[str]:
        """Return the collections in which a number is not 0."""
        return [each.name for each, count in zip(self.searched, self.counts, strict=True) if number(count)]


def too_long(query: SearchQuery, left_out: int) -> tuple[str, ...]:
    """Return a warning about hits that did not fit into the tokens wanted, if there are any."""
    if not left_out:
        return ()
    hits = "1 more hit is" if left_out == 1 else f"{left_out:,} more hits are"
    return (f"{hits} left out: max_tokens is {query.max_tokens:,}; raise it, or lower the limit",)


def not_operators(query: str, as_text: Sequence[str]) -> Iterator[str]:
    """Yield warnings about what looks like an operator and is plain text, unless the query is pasted."""
    if "\n" in query:
        return
    if 0 < len(as_text) <= _MAX_AS_TEXT:
        yield f"a whole sentence has no operators, so this is plain text: {' '.join(as_text)}"
    meant = _OPERATOR_ELSEWHERE.findall(query) if len(query.split()) <= _MAX_WORDS else ()
    if meant:
        words = ", ".join(f"'{each}'" for each in dict.fromkeys(meant))
        yield f'no operators here, but words: {words}; operators are "a phrase" -word word* path: tag: title:'


def hidden(query: SearchQuery, similarities: Sequence[float]) -> str:
    """Return a hint about passages below the threshold, given their similarities."""
    if not similarities:
        return ""
    return (
        f"The threshold of {query.threshold:g} hides {quantity(len(similarities), 'passage')}; "
        f"the nearest has a similarity of {max(similarities):.3f}. Take a lower threshold."
    )


def missed_words(
    meant: Interpretation, passages: Sequence[ScoredPassage], confidence: Confidence
) -> tuple[str, ...]:
    """Return the words of a query that no document contains and that the answer lacks.

    A code is named as a whole: 300 may be in a document, and HX-300 in none.
    """
    unknown, first = meant.unknown_words, next(iter(passages), None)
    if first is not None and first.candidates is not None and (missed := first.candidates.missed.words):
        return (*missed, *(word for word in unknown if not any(word in each for each in missed)))
    if first is None or not unknown:
        return unknown
    if meant.is_foreign and confidence in {Confidence.MEDIUM, Confidence.HIGH}:
        # Latin script has many languages. A text without spaces is in the same one as such a query.
        return unknown if holds_unspaced(meant.typed) and not first.is_in_other_language else ()
    if first.is_named:  # a date, which texts may write otherwise
        left = without_date(meant.typed)
        return tuple(word for word in unknown if word in left)
    return unknown


def unmatched(query: SearchQuery) -> str:
    """Return a hint for a query whose words, or operators, nothing matches."""
    parsed = parse_query(query.text)
    match [each.typed for each in parsed.operators]:
        case []:
            fewer = ", or fewer filters" if query.filters != Filters() else ""
            return f"Nothing matches. Try other words{fewer}."
        case [phrase] if phrase[:1] in QUOTES:
            return f"Nothing matches {phrase}. Without quotation marks, its words are searched for."
        case [operator] if any(map(str.strip, parsed.plain)):
            return f"Nothing matches {operator} and the words. Try other words, or leave it out."
        case [operator]:
            return f"Nothing matches {operator}. Leave it out."
        case several:
            return f"Nothing matches all of {' '.join(several)}. Leave some of them out."
