"""What a query means: which passages its operators leave, and which words are looked for in them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mdvec.search.conditions import narrowed_by, words_of_prefixes
from mdvec.search.spelling import check_spelling
from mdvec.stores.interface import View
from mdvec.text.operators import parse_query
from mdvec.types.query import Where


class Interpretation(Struct, frozen=True):
    """A query that is understood.

    Attributes:
        text: What passages are ranked by; empty when all that meet the operators are listed.
        where: Where to look.
        searched: The query as it was typed, but for corrections.
        operators: As they were typed.
        corrections: Known words by the mistyped ones they replace.
        unknown_words: Words that no document of the searched collections holds.
    """

    text: str
    where: Where
    searched: str
    operators: tuple[str, ...] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)
    unknown_words: tuple[str, ...] = ()


def interpret(query: str, where: Where, view: View) -> Interpretation:
    """Return what a query means.

    Args:
        query: As it was typed.
        where: Where to look by its filters.
        view: The snapshot.
    """
    parsed = parse_query(query)
    spelling = check_spelling(parsed.plain, where, view)
    searched = parsed.changed(spelling.mended)
    parsed = parse_query(searched)
    where = narrowed_by(parsed.operators, where, view)
    words = [parsed.text, *words_of_prefixes(parsed.operators, where, view)]
    return Interpretation(
        text=" ".join(filter(None, words)),
        where=where,
        searched=searched,
        operators=tuple(each.typed for each in parsed.operators),
        corrections=spelling.corrections,
        unknown_words=spelling.unknown,
    )
