"""Interprets a query: which chunks its operators allow, and which words rank them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from mdvec.search.conditions import narrowed_by, words_of_prefixes
from mdvec.search.spelling import check_spelling
from mdvec.stores.interface import View
from mdvec.text.operators import parse_query
from mdvec.types.query import Where


class Interpretation(Struct, frozen=True):
    """A query whose operators are applied and whose spelling is corrected.

    Attributes:
        text: The words that rank passages; empty to list everything that meets the operators.
        typed: The same without corrections. It is embedded, since a model sees through a typo.
        where: Which chunks may be found.
        searched: The query as typed, with corrections.
        operators: The operators as typed.
        corrections: From mistyped words to the known words that replace them.
        unknown_words: Words that no document of the searched collections contains.
        as_text: What would be operators in a shorter query, as typed.
        is_document: Whether it is the text of a document, in which nothing is an operator or a name.
    """

    text: str
    typed: str
    where: Where
    searched: str
    operators: tuple[str, ...] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)
    unknown_words: tuple[str, ...] = ()
    as_text: tuple[str, ...] = ()
    is_document: bool = False


def interpret(query: str, where: Where, view: View, is_word: Callable[[str], bool]) -> Interpretation:
    """Correct the spelling of a query and apply its operators.

    Args:
        query: The query as typed.
        where: Which chunks the filters allow.
        view: The snapshot.
        is_word: Returns True for a word that is surely none mistyped.
    """
    parsed = parse_query(query)
    typed = parsed.text
    spelling = check_spelling(parsed.plain, where, view, is_word)
    searched = parsed.changed(spelling.mended)
    parsed = parse_query(searched)
    where = narrowed_by(parsed.operators, where, view)
    prefixed = words_of_prefixes(parsed.operators, where, view)
    return Interpretation(
        text=" ".join(filter(None, (parsed.text, *prefixed))),
        typed=" ".join(filter(None, (typed, *prefixed))),
        where=where,
        searched=searched,
        operators=tuple(each.typed for each in parsed.operators),
        corrections=spelling.corrections,
        unknown_words=spelling.unknown,
        as_text=parsed.as_text,
    )
