"""The meaning of a query: which chunks its operators allow, and which words rank them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mdvec.search.conditions import narrowed_by, words_of_prefixes
from mdvec.search.spelling import check_spelling
from mdvec.stores.interface import View
from mdvec.text.operators import parse_query
from mdvec.types.query import Where


class Interpretation(Struct, frozen=True):
    """A query after its operators and its spelling were resolved.

    Attributes:
        text: The text that ranks passages; empty to list everything that meets the operators.
        where: Where to look.
        searched: The query as typed, with corrections.
        operators: As they were typed.
        corrections: Known words by the mistyped words that they replace.
        unknown_words: Words that no document of the searched collections holds.
    """

    text: str
    where: Where
    searched: str
    operators: tuple[str, ...] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)
    unknown_words: tuple[str, ...] = ()


def interpret(query: str, where: Where, view: View) -> Interpretation:
    """Resolve the spelling and the operators of a query.

    Args:
        query: As it was typed.
        where: Where to look, from the filters.
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
