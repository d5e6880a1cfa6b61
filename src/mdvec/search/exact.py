"""Exact evidence: documents and passages that the query names word for word, and those of a day in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mdvec import run
from mdvec.search.words import Words
from mdvec.stores.interface import View
from mdvec.stores.records import ChunkPlace, StoredChunk
from mdvec.text.dates import Date, find_date
from mdvec.text.dictionary import other_spellings
from mdvec.text.english import COMMON_WORDS
from mdvec.text.folding import compatible, fold_name, normalise
from mdvec.text.matches import fold_heading, phrase_finder
from mdvec.text.numbers import AMOUNT, plain_numbers
from mdvec.text.scripts import HAN, KATAKANA, UNSPACED, holds_unspaced
from mdvec.text.terms import phrase_terms, word_terms
from mdvec.types.ids import ChunkId, DocumentId
from mdvec.types.query import Where

# A passage with every term of the query is among the best by words. Only these are read.
_READ = 60

# A phrase that more documents hold is a term of the subject and no evidence for any of them. If more passages
# hold it, one of each document counts, so that a long document does not fill the answer.
_FEW = 10
# A value or an identifier of more documents is one of a kind of documents; a month has at most as many days.
_FEW_ALIKE = 31

# If the maximum score is this low, the words are common: many passages hold all of them, and BM25, which
# ignores their order, cannot rank those. Then up to this many passages are read.
_COMMON_WORDS = 16.0
_MAX_HOLDERS = 400

# Lines of frontmatter: a key with a value, or an item of a list.
_PROPERTY = re.compile(r"^(?:(?P<key>[^\W\d_][\w -]*):|[ \t]*-)[ \t]*(?P<value>[^\n]+)$", re.MULTILINE)
_HONORIFIC = re.compile("(?<=.)(?:さん|様|さま|氏|くん|君|ちゃん|先生|殿)$")
_LINK_MARKS = re.compile(r"[\[\]\"']")
_OF_PERSONS = re.compile(
    r"authors?|creators?|directors?|artists?|composers?|translators?|speakers?|cast|people"
)
_PERSON = re.compile(r"(?:[A-Z][\w.'-]* ){1,3}([A-Z][\w'-]{3,})")
_INITIALS = re.compile(r"\b(?:[a-z] )+(?=[a-z]{2})")
_HAN_NAME = re.compile(r"[\u3005\u4e00-\u9fff]{3,}")
# A letter or digit of a script with spaces: Japanese may follow a number without one.
_LETTER = rf"[^\W{UNSPACED}]"
_MIN_NAME, _MOST_WORDS = 3, 3  # letters of a value, and words of a name such as Ursula Le Guin

# A code, a name of several words, the number of a telephone or a machine: E142, CVE-2024-1234, read_file.
_CODE = re.compile(
    r"(?<![\w./-])"
    r"(?:(?=[\w./-]*[A-Za-z])(?:(?=[\w./-]*\d)|(?=\w{2,}[_.]\w\w))\w+(?:[./-]\w+)*"
    r"|\d{2,4}(?:-\d{2,4})?-\d{3,4}|\d{1,3}(?:\.\d{1,3}){3})(?![\w/-])",
    re.ASCII,
)
# Also a long number, and one that is counted in Japanese: 503, 47番, 3時間. Dates and hours of the day are
# written in many ways.
_IDENTIFIER = re.compile(
    rf"{_CODE.pattern}|(?<![\w./-])(?:{AMOUNT}|"
    rf"\d+(?:[.,]\d+)*(?:[時日]間|(?<!\d{{4}})年|(?![年月日時])[{HAN}])"
    rf"|\d{{1,2}}[{KATAKANA}]|\d{{3,}}(?![{HAN}])|\d{{1,3}}(?:,\d{{3}})+(?![{HAN}])"
    r")(?![\w/-])",
    re.ASCII,
)

_ANCHOR = re.compile(r"\{\s*[#.:][^{}]*\}\s*$")
_CLAUSE = re.compile(r"\n|[.,!?:;|](?=\s)")
_SECTION = re.compile(r"(?<![\w.,])\d+(?:\.\d+)+(?![\w.,])", re.ASCII)
# A number that is no year, and that nothing is counted by.
_LONG_NUMBER = re.compile(rf"(?<![\w.,/-])(?!(?:19|20)\d\d\b)\d{{4,}}(?![.,/-]?\w|[{HAN}])", re.ASCII)
# A name with a number: lecture 9, version 3.0, E05, 内線 4444, 第40条.
_NUMBERED = re.compile(
    rf"(?P<name>第|(?<!{_LETTER})[^\W\d_]+)[ \u3000#]?(?P<number>\d+(?:\.\d+)*)(?P<unit>[{HAN}]?)"
    rf"(?!{_LETTER}|[{HAN}{KATAKANA}])"
)
# What Japanese names by a number alone: 6班, 302号室, 3年生.
_COUNTED = re.compile(
    r"(?<![\d.第])(?P<name>)(?P<number>\d+)(?P<unit>号室|号棟|班|組|章|話|条|丁目|年生|学期|期生)"
)

# The largest probability where no chunk has the date, a long code, or this one of several numbered things;
# and where none has a short code.
_WITHOUT, _WITHOUT_SHORT = 0.2, 0.6
# A code that is no usual word: of three digits or more, SESSION_MAX, or a number that begins with 0.
_NAME_OF_ONE = re.compile(r"(?=(?:\D*\d){3})(?!\d+\Z).+|.+_.+|0\d{3,}", re.ASCII)

# Words of a query in which every code counts; a pasted message has more.
_MOST_TYPED = 10
_MOST_SPELLINGS = 8  # of a word, each looked for by itself

_Named: TypeAlias = ChunkPlace | StoredChunk


class Missed(Struct, frozen=True):
    """The things that a query asks for and no chunk has.

    Attributes:
        words: The date, the codes or the word, as typed.
        most: The largest probability of a chunk.
        most_across: That of a chunk in another language.
    """

    words: tuple[str, ...] = ()
    most: float = 1.0
    most_across: float = 1.0


class Exact(Struct, frozen=True):
    """The chunks that a query names.

    Attributes:
        whole: Those that the whole query names.
        parts: Those with a property whose value is the query; or, if it as a whole names nothing, those that
            a date, a value or an identifier in it names.
        missed: The date or the codes in the query that no chunk has.
    """

    whole: frozenset[ChunkId] = frozenset()
    parts: frozenset[ChunkId] = frozenset()
    missed: Missed = Missed()


def find_exact(text: str, words: Words, where: Where, view: View) -> Exact:
    """Return the chunks that the query names, if they are in few documents.

    The whole query may be the name of documents; or else the heading of sections; or else a phrase that
    passages hold, as it is typed or with other signs between its words, or that their properties hold. A part
    of it may be a day or a month, the value of a property, a folder, or an identifier. If it names nothing in
    these ways, headings or else passages may have its words in a row in other forms.

    Args:
        text: The query.
        words: The evidence of words.
        where: Which chunks may be found.
        view: The snapshot.
    """
    with run.current().step("exact") as details:
        spellings = _spellings(text)
        if called := view.documents.called([*map(fold_name, spellings)], where):
            return Exact(_in_few(view.chunks.places_in(called, where, _MAX_HOLDERS), _FEW))
        holds, dated = _finder(spellings), find_date(text)
        if holds is None or not (words.scores or dated):
            return Exact(missed=_missed(text, dated, (), (), is_named=False))
        chunks = [*view.chunks.get([*words.scores][:_READ]).values()]
        fronts = _properties(chunks, view)
        heading, name = fold_heading(text), fold_name(text)
        whole: list[StoredChunk] = []
        valued: list[StoredChunk] = []
        is_date = dated is not None and dated[1].group() == text.strip()  # a phrase would find one notation
        if not is_date and (words.matched_weight or words.all_known):
            texts = [each for each in chunks if each.token_count]
            titled = [each for each in texts if fold_name(_heading_of(each)) == name]
            if not titled and _IDENTIFIER.fullmatch(text.strip()):
                # A document with a code in its name comes before others that mention the code.
                coded = [each for each in texts if holds(each.path.rpartition("/")[2])]
                titled = coded if _in_few(coded, _FEW) else []
            whole = titled or _holding(text, holds, texts)
            whole = whole or _holding(text, holds, _with_all_words(text, words, where, view))
            valued = [] if titled else [each for each, front in fronts if holds(front)]
            if valued and text.startswith("#"):  # a tag, and not the word
                whole = [each for each in whole if text.casefold() in each.text.casefold()]
        parts = valued if whole or valued else _parts(text, words, dated, chunks, fronts, where, view)
        if not (whole or parts or is_date) and (" " in heading or " " not in text.strip()):
            # In other forms. Of a question with a single word of its own, many texts hold a form.
            held = [each for each in chunks if each.token_count and each.id in words.holding]
            headed = [each for each in held if fold_heading(_heading_of(each)) == heading]
            whole = headed or [
                each
                for each in held
                if any(f" {heading} " in f" {fold_heading(clause)} " for clause in _CLAUSE.split(each.text))
            ]
        is_whole = bool(valued) or is_date
        is_found = bool(whole or (parts and dated))
        missed = Missed() if is_found else _missed(text, dated, chunks, fronts, is_named=bool(parts))
        details.update(read=len(chunks), whole=len(whole), parts=len(parts), missed=len(missed.words))
    named = _in_few(parts, _FEW_ALIKE)
    return Exact(_in_few(whole, _FEW) | (named if is_whole else frozenset()), named, missed)


def _parts(
    text: str,
    words: Words,
    dated: tuple[Date, re.Match[str]] | None,
    chunks: Sequence[StoredChunk],
    fronts: Sequence[tuple[StoredChunk, str]],
    where: Where,
    view: View,
) -> Sequence[_Named]:
    """Return the chunks that a date in a query names, else a heading, value or folder, else identifiers."""
    if dated is not None:
        return _of_date(dated[0], chunks, {each.id: front for each, front in fronts}, where, view)
    spoken = _CODE.sub(" ", text)  # the numbers inside a code name nothing
    valued = [each for each, front in fronts if _names_value(spoken, front)]
    headed = [each for each in chunks if _names_heading(spoken, each)]
    named = [*headed, *valued, *_in_named_folders(spoken, chunks)]
    return named or _with_identifiers(text, chunks, words)


def _spellings(text: str) -> list[str]:
    """Return a query as it was typed, in other spellings if it is a single word, and a name without さん."""
    folded = normalise(text)
    others = other_spellings(folded).get(folded, ())[:_MOST_SPELLINGS]
    return [text, *others, *_HONORIFIC.split(folded)[:-1]]


def _finder(spellings: Sequence[str]) -> Callable[[str], bool] | None:
    """Return a predicate: True for a text that holds a query in one of its spellings."""
    typed, *others = map(phrase_finder, spellings)
    if not others:
        return typed
    # A kanji for a word in kana is a word; 電車 is no 車.
    alone = [re.compile(f"(?<![{HAN}]){each}(?![{HAN}])") for each in spellings[1:] if len(each) == 1]
    finders = [typed, *(each for each, name in zip(others, spellings[1:], strict=True) if len(name) > 1)]
    return lambda each: (
        any(finder is not None and finder(each) for finder in finders)
        or any(form.search(each) for form in alone)
    )


def _in_few(found: Sequence[_Named], most: int) -> frozenset[ChunkId]:
    """Return chunks if they are in few documents, one of each document if they are many."""
    one_of_each = {each.document_id: each for each in reversed(found)}
    if len(one_of_each) > most:
        return frozenset()
    return frozenset(each.id for each in (found if len(found) <= most else one_of_each.values()))


def _holding(text: str, holds: Callable[[str], bool], chunks: Sequence[StoredChunk]) -> list[StoredChunk]:
    """Return the chunks that hold the query; if any hold it as it is typed, those alone."""
    found = [each for each in chunks if holds(each.text)]
    typed = text.casefold()
    return [each for each in found if typed in each.text.casefold()] or found


def _heading_of(chunk: StoredChunk) -> str:
    """Return the heading of a chunk without an anchor such as ``{#name}``; empty above the first."""
    return _ANCHOR.sub("", "".join(chunk.heading_path[-1:]))


def _with_identifiers(text: str, chunks: Sequence[StoredChunk], words: Words) -> list[StoredChunk]:
    """Return the chunks that hold every identifier in a query; those with all its words if there are any."""
    finders = [*filter(None, map(phrase_finder, _IDENTIFIER.findall(text)))]
    found = [
        each for each in chunks if finders and all(holds(f"{each.path}\n{each.text}") for holds in finders)
    ]
    return [each for each in found if each.id in words.holding] or found


def _missed(
    text: str,
    dated: tuple[Date, re.Match[str]] | None,
    chunks: Sequence[StoredChunk],
    fronts: Sequence[tuple[StoredChunk, str]],
    *,
    is_named: bool,
) -> Missed:
    """Return the date or the codes in a query that no chunk has.

    Texts on another day or about another invoice hardly answer, nor do those of lecture 3 a question about
    lecture 9. A short code, such as A4, or a number alone is also a word that a text need not have.
    """
    is_typed = len(text.split()) <= _MOST_TYPED
    whole = plain_numbers(text, "x") if is_typed else ""
    codes = [*_CODE.findall(whole), *_LONG_NUMBER.findall(whole)]
    # "Section 5.2" may be named by the number before a line, and others in the text with the word.
    one_width = compatible(text) if is_typed and not is_named else ""
    numbered = [*_NUMBERED.finditer(one_width), *_COUNTED.finditer(one_width)]
    if not (dated or codes or numbered):
        return Missed()
    front = {each.id: properties for each, properties in fronts}
    texts = [
        "\n".join((each.path, each.title, *each.heading_path, front.get(each.id, ""), each.text))
        for each in chunks
    ]
    if dated is not None:
        is_there = any(map(dated[0].may_be_in, texts))
        return Missed() if is_there else Missed((dated[1].group(),), _WITHOUT, _WITHOUT)
    joined = compatible("\n".join(texts)) if numbered else ""
    others = [found[0] for found in numbered if _has_others(found, joined)]
    missed = [code for code in codes if (holds := phrase_finder(code)) and not any(map(holds, texts))]
    is_sure = others or any(map(_NAME_OF_ONE.fullmatch, missed))
    most = _WITHOUT if is_sure else _WITHOUT_SHORT if missed else 1.0
    return Missed(tuple(dict.fromkeys((*missed, *others))), most, most)


def _has_others(numbered: re.Match[str], text: str) -> bool:
    """Return True if a text has several things of a name with numbers, and none with that of a query."""
    name, unit = numbered["name"], numbered["unit"]
    if fold_name(name) in COMMON_WORDS or (name and bool(unit) is not (name == "第")):
        return False
    before = rf"(?<!{_LETTER}){re.escape(name)}s?[ \u3000#:：._-]{{0,3}}" if name else r"(?<![\d.])"
    alike = re.compile(rf"{before}(\d+(?:\.\d+)*){unit}", re.IGNORECASE)
    numbers = {each.lstrip("0") for each in alike.findall(text)}
    wanted = numbered["number"].lstrip("0")
    return len(numbers) > 1 and not any(each == wanted or each.startswith(f"{wanted}.") for each in numbers)


def _properties(chunks: Sequence[StoredChunk], view: View) -> list[tuple[StoredChunk, str]]:
    """Return the first chunks of documents, each with the frontmatter above it."""
    first = {each.document_id: each for each in chunks if not each.ordinal and each.start}
    bodies = view.documents.texts([*first]) if first else {}
    # The text of a document of properties alone is its frontmatter, behind the line that opens it.
    return [
        (
            each,
            bodies[document][
                : each.end if "\n" not in bodies[document][: each.start].strip() else each.start
            ],
        )
        for document, each in first.items()
    ]


def _names_value(text: str, front: str) -> bool:
    """Return True if a query names a value of a property, with or without the initials in a name.

    A value of several words, a number or a Japanese name counts, and the last name of a person; another word,
    such as a tag, is too common, unless the query names its key, too.
    """
    folded = fold_name(text)
    asked = {folded, _INITIALS.sub("", folded)}
    key = ""
    for found in _PROPERTY.finditer(front):
        key = found["key"] or key
        has_key = _holds_name(folded, fold_name(key))
        for value in found["value"].strip("[]").split(","):
            bare = _LINK_MARKS.sub("", value).strip()
            name = fold_name(bare)
            person = _PERSON.fullmatch(bare) if _OF_PERSONS.fullmatch(fold_name(key)) else None
            names = {name, _INITIALS.sub("", name), fold_name(person[1]) if person else ""}
            held = {each for each in names if any(_holds_name(q, each) for q in asked)}
            is_named = bool(held) if person else any(map(_is_name, held))
            if is_named or (has_key and _holds_name(folded, name, least=1)):
                return True
    return False


def _in_named_folders(text: str, chunks: Sequence[StoredChunk]) -> list[StoredChunk]:
    """Return the chunks in a folder whose name is the query, or is in it and no common word or year."""
    folded = fold_name(text)
    folders = [each.path.split("/")[:-1] for each in chunks]
    distinct = {name: fold_name(name) for name in {*chain.from_iterable(folders)}}
    named = {
        name
        for name, each in distinct.items()
        if each == folded or (_is_name(each) and not each.isdecimal() and _holds_name(folded, each))
    }
    return [each for each, names in zip(chunks, folders, strict=True) if not named.isdisjoint(names)]


def _is_name(folded: str) -> bool:
    """Return True for several words, a number or a Japanese name."""
    return 0 < folded.count(" ") < _MOST_WORDS or folded.isdecimal() or bool(_HAN_NAME.fullmatch(folded))


def _names_heading(text: str, chunk: StoredChunk) -> bool:
    """Return True if a query names a section by its number: "Part 40", a heading, or 5.2, before a line."""
    numbers = "|".join(map(re.escape, _SECTION.findall(text)))
    if numbers and re.search(rf"^[#\s]*(?:{numbers})[.)]?\s", chunk.text, re.MULTILINE):
        return True
    name = fold_name(chunk.heading_path[-1]) if chunk.heading_path else ""
    is_numbered = any(map(str.isdecimal, name)) and not name.isdecimal() and name != fold_name(chunk.title)
    return is_numbered and _holds_name(fold_name(text), name)


def _holds_name(text: str, name: str, *, least: int = _MIN_NAME) -> bool:
    """Return True if a text holds a name: as whole words, but a number may have Japanese around it.

    A name has some least number of characters.
    """
    if len(name) < least or name not in text:
        return False
    is_alone = f" {name} " in f" {text} " or holds_unspaced(name)
    return is_alone or (name.isdecimal() and bool(re.search(f"(?<!{_LETTER}){name}(?!{_LETTER})", text)))


def _of_date(
    date: Date, chunks: Sequence[StoredChunk], fronts: dict[ChunkId, str], where: Where, view: View
) -> list[_Named]:
    """Return the chunks of documents that are named after a date, and passages or properties that name it."""
    documents: dict[DocumentId, None] = {}
    for glob in date.globs:
        if where.filters.path is None:
            inside = replace(where, filters=replace(where.filters, path=glob))
            documents.update(dict.fromkeys(view.documents.newest(inside)))
    named = view.chunks.places_in([*documents], where, _MAX_HOLDERS)
    wanted = [[tuple(chain.from_iterable(map(word_terms, each))) for each in day] for day in date.words]
    held = {*chain(*view.words.holding(wanted, where, limit=_MAX_HOLDERS))}
    others = [*view.chunks.get(sorted(held.difference(each.id for each in chunks))).values()]
    fronts |= {each.id: front for each, front in _properties(others, view)}
    naming = (each for each in (*chunks, *others) if date.is_in(fronts.get(each.id, "") + each.text))
    return [*named, *(each for each in naming if each.document_id not in documents)]


def _with_all_words(text: str, words: Words, where: Where, view: View) -> list[StoredChunk]:
    """Return the chunks that hold all words of a query of common words; none if there are too many."""
    groups = phrase_terms(text).groups
    if len(groups) <= 1 or not words.all_known or words.max_score >= _COMMON_WORDS:
        return []
    distinct = [*dict.fromkeys(groups)]  # each takes time, and a pasted text repeats its words
    [ids] = view.words.holding([distinct], where, limit=_MAX_HOLDERS + 1)
    return [*view.chunks.get(ids).values()] if len(ids) <= _MAX_HOLDERS else []
