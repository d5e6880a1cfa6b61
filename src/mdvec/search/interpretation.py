"""Interprets a query: which chunks its operators allow, and which words rank them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from mdvec import run
from mdvec.search.filters import at_path, folder_or_glob, tagged_alike
from mdvec.search.spelling import check_spelling
from mdvec.stores.interface import View
from mdvec.stores.records import StoredChunk
from mdvec.text.folding import normalise
from mdvec.text.matches import phrase_finder
from mdvec.text.operators import Field, Operator, parse_query
from mdvec.text.properties import property_text
from mdvec.text.terms import phrase_spellings, phrase_terms, run_pattern
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Filters, Where

# Chunks that are read into memory at a time.
_BATCH = 500

# In the ranking, the most common words that start with a prefix stand for it.
_WORDS_OF_PREFIX = 3
_READ_FOR_WORDS = 100


class Interpretation(Struct, frozen=True):
    """A query whose operators are applied and whose spelling is corrected.

    Attributes:
        text: The words that rank passages; empty to list everything that meets the operators.
        typed: The same without corrections. It is embedded, since a model sees through a typo.
        where: Which chunks may be found.
        searched: The query as typed, with corrections.
        corrections: From mistyped words to the known words that replace them.
        unknown_words: Words that no document of the searched collections contains.
        is_foreign: Whether these are all of several words.
        is_strange: Whether there is one word, which the model reads letter by letter.
        as_text: What would be operators in a shorter query, as typed.
        is_document: Whether it is the text of a document, in which nothing is an operator or a name.
    """

    text: str
    typed: str
    where: Where
    searched: str
    corrections: Mapping[str, str] = field(default_factory=dict)
    unknown_words: tuple[str, ...] = ()
    is_foreign: bool = False
    is_strange: bool = False
    as_text: tuple[str, ...] = ()
    is_document: bool = False


def interpret(query: str, where: Where, view: View, count_tokens: Callable[[str], int]) -> Interpretation:
    """Correct the spelling of a query and apply its operators.

    Args:
        query: The query as typed.
        where: Which chunks the filters allow.
        view: The snapshot.
        count_tokens: Counts the tokens of a word in the model; 0 without a model.
    """
    parsed = parse_query(query)
    typed = parsed.text
    spelling = check_spelling(parsed.plain, where, view, count_tokens)
    searched = parsed.changed(spelling.mended)
    parsed = parse_query(searched)
    where = _narrowed_by(parsed.operators, where, view)
    prefixed = _words_of_prefixes(parsed.operators, where, view)
    return Interpretation(
        text=" ".join(filter(None, (parsed.text, *prefixed))),
        typed=" ".join(filter(None, (typed, *prefixed))),
        where=where,
        searched=searched,
        corrections=spelling.corrections,
        unknown_words=spelling.unknown,
        is_foreign=spelling.is_foreign,
        is_strange=spelling.is_strange,
        as_text=parsed.as_text,
    )


def _narrowed_by(operators: Iterable[Operator], where: Where, view: View) -> Where:
    """Return where to look: only chunks that meet every operator.

    Args:
        operators: The operators of the query.
        where: Where to look without them.
        view: The snapshot.
    """
    # Required words come last, so that their chunks meet all other operators.
    for operator in sorted(operators, key=lambda each: each.is_evidence):
        with run.current().step("operator", typed=operator.typed) as details:
            if operator.field is None:
                chunks = frozenset(_chunks_with(operator, where, view))
                where = _among_chunks(where, chunks, negated=operator.negated)
                details.update(chunks=len(chunks))
            else:
                documents = frozenset(_documents_with(operator, where, view))
                where = _among_documents(where, documents, negated=operator.negated)
                details.update(documents=len(documents))
    return where


def _words_of_prefixes(operators: Iterable[Operator], where: Where, view: View) -> list[str]:
    """Return the words that stand for ``word*`` in the ranking: the most common ones."""
    found: list[str] = []
    for operator in operators:
        if operator.prefix and operator.is_evidence:
            ids = _chunks_with(operator, where, view)[:_READ_FOR_WORDS]
            begun = Counter(
                word
                for chunk in view.chunks.get(ids).values()
                for part in _searched_texts(chunk)
                for word in _words_with(normalise(operator.text), part)
            )
            found += [word for word, _ in begun.most_common(_WORDS_OF_PREFIX)]
    return found


def _among_chunks(where: Where, chunks: frozenset[ChunkId], *, negated: bool) -> Where:
    if negated:
        return replace(where, hidden_chunks=where.hidden_chunks | chunks)
    return replace(where, chunks=chunks if where.chunks is None else where.chunks & chunks)


def _among_documents(where: Where, documents: frozenset[DocumentId], *, negated: bool) -> Where:
    if negated:
        return replace(where, hidden=where.hidden | documents)
    return replace(where, only=documents if where.only is None else where.only & documents)


def _chunks_with(operator: Operator, where: Where, view: View) -> Sequence[ChunkId]:
    """Return the chunks inside ``where`` that hold the words of an operator."""
    terms = [phrase_terms(each, prefix=operator.prefix) for each in phrase_spellings(operator.text)]
    found = view.words.holding([each.groups for each in terms], where)
    sure = [*chain(*(ids for each, ids in zip(terms, found, strict=True) if each.exact))]
    ids = [*{*chain(*found)}.difference(sure)]
    if not ids:
        return sure
    holds = _text_finder(operator)
    named: dict[DocumentId, bool] = {}  # whether aliases, or properties, hold the words

    def is_named(chunk: StoredChunk) -> bool:
        if chunk.document_id not in named:
            named[chunk.document_id] = any(map(holds, _names(chunk, view)))
        return named[chunk.document_id]

    return sure + [
        chunk.id
        for at in range(0, len(ids), _BATCH)
        for chunk in view.chunks.get(ids[at : at + _BATCH]).values()
        if any(map(holds, _searched_texts(chunk))) or is_named(chunk)
    ]


def _documents_with(operator: Operator, where: Where, view: View) -> Sequence[DocumentId]:
    """Return the documents of the collections whose path, tags or title an operator names."""
    everywhere = Where(where.collections)
    match operator.field:
        case Field.PATH:
            asked = replace(everywhere, filters=Filters(path=folder_or_glob(operator.text)))
            # Mostly it matches as it is typed; a bracket may be part of a name.
            found = {} if "[" in operator.text else view.documents.newest(asked)
            return [*(found or view.documents.newest(at_path(asked, view)))]
        case Field.TAG:
            asked = replace(everywhere, filters=Filters(tags=(operator.text,)))
            if tagged := view.documents.newest(asked):
                return [*tagged]
            filters = Filters(tags=tagged_alike((operator.text,), everywhere, view))
            return [*view.documents.newest(replace(everywhere, filters=filters))]
        case _:
            terms = [phrase_terms(each, prefix=operator.prefix) for each in phrase_spellings(operator.text)]
            held = chain(*view.words.holding([each.groups for each in terms], everywhere))
            candidates = replace(everywhere, chunks=frozenset(held))
            holds = _text_finder(operator)
            return [key for key, each in view.documents.newest(candidates).items() if holds(each.title)]


def _searched_texts(chunk: StoredChunk) -> Iterator[str]:
    """Yield the texts in which a phrase may occur; it does not cross from one to the next."""
    yield chunk.text
    yield chunk.title
    yield from chunk.heading_path
    yield chunk.path.rpartition("/")[2].rpartition(".")[0]


def _names(chunk: StoredChunk, view: View) -> Iterator[str]:
    """Yield the aliases of a chunk's document and the values of its properties."""
    document = view.documents.get([chunk.document_id])[chunk.document_id]
    yield from document.aliases
    yield from property_text(document.frontmatter).splitlines()


def _words_with(prefix: str, text: str) -> Iterator[str]:
    """Yield the words of a text that start with the last word of a folded prefix."""
    last = [match.group() for match in run_pattern(prefix).finditer(prefix)][-1]
    normalised = normalise(text)
    words = (match.group() for match in run_pattern(normalised).finditer(normalised))
    return (word for word in words if word.startswith(last))


def _text_finder(operator: Operator) -> Callable[[str], bool]:
    """Return a predicate: True for a text that contains the words of an operator.

    Raises:
        ValueError: If it has no words; parsed operators always have some.
    """
    finder = phrase_finder(operator.text, prefix=operator.prefix)
    if finder is None:
        msg = f"no words in {operator.typed!r}"
        raise ValueError(msg)
    return finder
