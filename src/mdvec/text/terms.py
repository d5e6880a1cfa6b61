"""From text to the terms of lexical search: stems, bigrams in scripts without spaces, and other spellings."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import add
from typing import TypeVar

import Stemmer
from msgspec import Struct, field
from msgspec.structs import asdict

from mdvec.text.dictionary import other_spellings, translations
from mdvec.text.english import COMMON_WORDS, STOP_WORDS, WORD_OF_FORM
from mdvec.text.folding import DASH_IN_NUMBER, ascii_words, compatible, normalise
from mdvec.text.numbers import numbers_in, plain_numbers
from mdvec.text.scripts import (
    HAN,
    HIRAGANA,
    KATAKANA,
    SPACED_WORD,
    UNSPACED,
    compiled,
    holds_unspaced,
    is_english,
    is_unspaced,
)

STEMMER_VERSION: str = Stemmer.version()
"""The version of the stemmer; another one may give other stems."""

TERMS_VERSION = f"17-{STEMMER_VERSION}"
"""Changes whenever the same text gives other terms, so that outdated indexes are recognised."""

MARKS = "\u0300-\u036f\u0900-\u0dff\u0f00-\u0fff"
"""Vowel signs and accents that regular expressions do not count as letters, yet stand inside words."""
LETTER = rf"[^\W_{UNSPACED}]"
"""The expression for a letter or digit of a spaced script."""
WORD = rf"{LETTER}+(?:[{MARKS}]+{LETTER}*)*"
"""The expression for a word."""

_ASCII_RUN = re.compile(r"((?!))|[^\W_]+")
_RUN = rf"([{UNSPACED}]+)|{WORD}"
_UNSPACED_RUN = rf"[{UNSPACED}]+"
_HAN = rf"[{HAN}]"
_HIRAGANA = rf"[{HIRAGANA}]"
_HIRAGANA_ONLY = rf"[{HIRAGANA}ー]+"

# Marks a word as written, which has a stem, too. No text gives a term with this character.
_AS_WRITTEN = "="

ANY_END = "*"
"""Ends a term that stands for all terms with this prefix. No text gives a term with this character."""

_BIGRAM = 2

# Words and bigrams recur: a few thousand of them make up most texts. About 15 MB each when full.
_REMEMBERED = 1 << 16

V = TypeVar("V")

_WORD_OR_NUMBER = rf"[^\W_{UNSPACED}]+"
# Japanese right before and after a word is no part of it.
_BOUND = rf"[^\W{UNSPACED}]"
_HYPHENATED = rf"(?<!{_BOUND})(?<!-){_WORD_OR_NUMBER}(?:-{_WORD_OR_NUMBER})+(?!{_BOUND})(?!-)"
# Parts a word that is wrapped: a hyphen, one that is seen only there, or a sign of old programs.
_LINE_END = re.compile(r"[-\u2010\u00ad¬](?<=[^\W\d_].)[ \t]*\n[ \t>]*(?=[^\W\d_])")

# U.S.A. and Ph.D.
_POINTED = rf"(?<!{_BOUND})(?<!\.)(?:[A-Z][a-z]?\.){{2,}}"
# What both have; found quickly, since it begins with a rare character.
_POINT = re.compile(r"\.(?:(?<=[A-Z]\.)|(?<=[A-Z][a-z]\.))[A-Z]")
# Japanese is wrapped anywhere, and foreign names are written with and without ・ between their parts.
_PARTED = rf"([{HAN}{KATAKANA}])(?:・|\n[ \t\u3000>]*)(?=([{HAN}{KATAKANA}]))"

# A code or a long number in groups, such as SE4 1QJ and +44 (0)20 7946 0456; longer rows are data.
_CODE_GROUP = rf"[A-Z\d]+(?!{_BOUND})"
_DIVIDED = rf"(?<!{_BOUND})(?<![.,/-])\+?\(?{_CODE_GROUP}(?:(?:\) ?| ?\(| - |[ ./-]){_CODE_GROUP})*+"
_DIVIDED_SIGN = re.compile(r"\d[ ./()-]{1,3}[A-Z\d]|[A-Z][ ./()-]{1,3}\d|\b0\d{8}")
_BEFORE_UNIT = re.compile(r"(?<=\d) ?(?=[A-Za-z]{1,3}(?![^\W_]))")
_LABEL = re.compile(r"(?<![A-Z])(?:TEL|FAX)(?=[+\d])", re.IGNORECASE)
_GROUP = re.compile(r"[A-Z\d]+")
_MOST_GROUPS = 6
_CODE_CHARS, _NUMBER_CHARS = range(4, 21), range(7, 21)
_SNAKE_CASE = rf"(?<!{_BOUND}){LETTER}{{2,}}(?:_{LETTER}{{2,}}){{1,4}}(?!{_BOUND}|_)"

# Four letters or more with a space after each, as designers of headings and some PDF files set them. Two of
# them with three spaces are found at once, and are rare.
_LETTER = rf"[^\W\d_{UNSPACED}]"
_TWO_SPACED_OUT = r"[ \u3000][^\W\d_][ \u3000][^\W\d_][ \u3000]"
_SPACED_OUT = (
    rf"(?<!\w){_LETTER}(?: {_LETTER}){{3,}}(?!\w)"
    rf"|(?<!\w)[{UNSPACED}](?:[ \u3000][{UNSPACED}]){{3,}}(?!\w)"
)
# What is no letter is no term, so each gives a word of letters and digits.
_PICTOGRAM = "[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff]"

# A single function word may be part of a name, such as "Subsystem for Linux".
_FUNCTION_WORDS_OF_PROSE = 2


class Memory(dict[str, V]):
    """A cache of a function's results.

    Args:
        function: A function whose result depends on its argument alone.
    """

    def __init__(self, function: Callable[[str], V]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, key: str) -> V:
        """Call the function."""
        if len(self) >= _REMEMBERED:
            self.clear()
        value = self[key] = self._function(key)
        return value


class _TermsByKind(Struct):
    """The terms of a text, repeated as often as they occur; see :class:`QueryTerms`."""

    words: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    stop_words: list[str] = field(default_factory=list)
    bigrams: list[str] = field(default_factory=list)
    pairs: list[str] = field(default_factory=list)
    particles: list[str] = field(default_factory=list)
    singles: list[str] = field(default_factory=list)
    spellings: list[str] = field(default_factory=list)


class PhraseTerms(Struct, frozen=True):
    """The terms of a phrase.

    Attributes:
        groups: A text with the phrase contains a term of each group; a term that ends in ``ANY_END`` stands
            for all with this prefix. Empty if there is nothing to look for.
        exact: Whether every text with a term of each group contains the phrase; True for a single word.
    """

    groups: tuple[tuple[str, ...], ...]
    exact: bool


class WordForms(Struct, frozen=True):
    """The terms of a word as typed, and those of each of its other spellings, or translations."""

    typed: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]


class QueryTerms(Struct, frozen=True):
    """The terms of a query, each once.

    Attributes:
        words: Stems of English words, and other words.
        bigrams: Bigrams without hiragana, and characters that stand alone.
        written: The English words among ``words``, as written.
        pairs: Bigrams of hiragana and something else.
        singles: Chinese characters out of longer runs.
        particles: Bigrams of hiragana alone, which carry no subject.
        stop_words: English function words, as written.
        spellings: Terms of other spellings of its words (see :mod:`mdvec.text.terms`).
        spelled: Its Japanese words that have other spellings (see :mod:`mdvec.text.dictionary`).
        translated: Its words with their translations.
    """

    words: tuple[str, ...] = ()
    bigrams: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    singles: tuple[str, ...] = ()
    particles: tuple[str, ...] = ()
    stop_words: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    spelled: tuple[WordForms, ...] = ()
    translated: tuple[WordForms, ...] = ()


@lru_cache(maxsize=16)  # spelling, ranking and excerpts need those of the same query
def query_terms(text: str, *, limit: int) -> QueryTerms:
    """Return the terms of a query.

    Args:
        text: A question or keywords.
        limit: Most terms of each kind.
    """
    found = _by_kind(text)
    other = _by_kind(" ".join(indexed_spellings(text)))
    found.spellings = [*other.words, *other.written, *other.bigrams, *other.pairs]
    found.particles += other.particles
    spelled = [
        WordForms(bigrams_of(word), tuple(map(bigrams_of, others)))
        for word, others in other_spellings(text).items()
    ]
    # Words of another language in a query are names of things there.
    words = [] if is_unspaced_query(text) else compiled(WORD).findall(normalise(text))
    stems = ["" if word in COMMON_WORDS else forms_of[word][0] for word in words]
    translated = [
        WordForms(_terms_of(word), tuple(map(_terms_of, others)))
        for word, others in translations(normalise(text), stems)
    ]
    kinds = {kind: tuple(dict.fromkeys(terms))[:limit] for kind, terms in asdict(found).items()}
    return QueryTerms(**kinds, spelled=tuple(spelled[:limit]), translated=tuple(translated[:limit]))


@lru_cache(1 << 12)
def _terms_of(words: str) -> tuple[str, ...]:
    """Return the terms of a Japanese word, or of stems that a space separates."""
    return tuple(words.split()) if words.isascii() else bigrams_of(words)


def bigrams_of(word: str) -> tuple[str, ...]:
    """Return the bigrams of a folded word of a script without spaces; a single character gives itself."""
    return tuple(map(add, word, word[1:])) or (word,)


def run_pattern(text: str) -> re.Pattern[str]:
    """Return the expression for the runs of unspaced script (group 1) and the words of a text."""
    return _ASCII_RUN if text.isascii() else compiled(_RUN)


def word_terms(word: str) -> tuple[str, ...]:
    """Return every term by which a folded word of a spaced script is found."""
    return tuple(filter(None, forms_of[word]))


def written_term(word: str) -> str:
    """Return the term of a folded English word in exactly this form."""
    return _AS_WRITTEN + word


def phrase_spellings(phrase: str) -> list[str]:
    """Return a phrase as it is, with words with hyphens as one, and with other kana after the same kanji.

    If it is a code in groups, also as a single one; a number with a unit also with and without a space, and
    each number of several parts as one word.
    """
    whole = without_hyphens(phrase)
    numbers = [plain_numbers(phrase, sign) for sign in ("x", " x ", " ")]  # × is no letter
    units = [_BEFORE_UNIT.sub(joint, phrase) for joint in ("", " ")]
    bare = "".join(filter(str.isalnum, phrase))
    whole_codes = (parts for parts in codes_in(phrase) if "".join(parts) == bare)
    codes = [code for parts in whole_codes for code in _as_code(parts, is_end=True)]
    folded = "" if phrase.isascii() else normalise(phrase)
    kanji = compiled(rf"[^{HAN}]")
    found = [
        folded.replace(word, each)
        for word, others in other_spellings(phrase).items()
        for each in others
        if (same := kanji.sub("", each)) == kanji.sub("", word) and same
    ]
    return list(dict.fromkeys((phrase, whole, *numbers, *units, *codes, *found)))


def without_hyphens(text: str) -> str:
    """Return a text in which words with hyphens are one word, and names with underscores: ``email``."""
    text = compiled(_HYPHENATED).sub(lambda found: found[0].replace("-", ""), text) if "-" in text else text
    return compiled(_SNAKE_CASE).sub(lambda found: found[0].replace("_", ""), text) if "_" in text else text


def phrase_terms(phrase: str, *, prefix: bool = False) -> PhraseTerms:
    """Return the terms that find the texts that may contain a phrase word for word.

    Args:
        phrase: Words in order.
        prefix: Whether the last word is only a prefix.
    """
    normalised = normalise(phrase)
    runs = list(run_pattern(normalised).finditer(normalised))
    groups: list[tuple[str, ...]] = []
    for run in runs:
        word = run.group()
        if run.lastindex is not None:
            groups += _unspaced_groups(word)
        elif prefix and run is runs[-1]:
            groups.append((f"{_AS_WRITTEN}{word}{ANY_END}", word + ANY_END))
        else:
            stemmed, written = forms_of[word]
            # A word inside an address is indexed by its stem alone.
            forms = (written, stemmed) if len(runs) > 1 else (written or stemmed,)
            groups.append(tuple(filter(None, forms)))
    alone = len(runs) == 1 and not prefix
    unspaced = alone and runs[0].lastindex is not None
    return PhraseTerms(tuple(groups), alone and (not unspaced or len(runs[0].group()) <= _BIGRAM))


def _unspaced_groups(run: str) -> list[tuple[str, ...]]:
    """Return groups of bigrams: a text with the run contains a bigram of each group.

    A line break inside the run costs one bigram, so each group has two if there are two.
    """
    if len(run) == 1:
        return [(run,)] if compiled(_HAN).match(run) else []  # others are not indexed alone
    bigrams = [first + second for first, second in pairwise(run)]
    last = bigrams[-2:]
    return [*zip(bigrams[::2], bigrams[1::2], strict=False), *([tuple(last)] if len(bigrams) % 2 else [])]


def _by_kind(text: str) -> _TermsByKind:
    found = _TermsByKind()
    folded = normalise(text)
    if folded.isascii():
        _add_words(ascii_words(folded), found)
        return found
    _add_words(compiled(WORD).findall(folded), found)
    runs = compiled(_UNSPACED_RUN).findall(folded)
    bigrams = [each for run in runs for each in (map(add, run, run[1:]) if len(run) > 1 else run)]
    kinds = list(map(_hiragana_of.__getitem__, bigrams))
    for kind, terms in enumerate((found.bigrams, found.pairs, found.particles)):
        terms += [bigram for bigram, held in zip(bigrams, kinds, strict=True) if held == kind]
    found.singles += compiled(_HAN).findall("".join(run for run in runs if len(run) > 1))
    return found


def _add_words(words: Sequence[str], found: _TermsByKind) -> None:
    known = list(map(forms_of.__getitem__, words))
    found.words += [stemmed for stemmed, _ in known if stemmed]
    found.written += [written for stemmed, written in known if stemmed and written]
    found.stop_words += [written for stemmed, written in known if not stemmed]


def _forms(word: str) -> tuple[str, str]:
    """Return the stem of a word and its written form.

    A function word has no stem. A word that is not English is its own stem, without a written form.
    """
    if not is_english(word):
        return word, ""
    return "" if word in STOP_WORDS else stem(word), _AS_WRITTEN + word


def _hiragana_in(bigram: str) -> int:
    """Return 2 for hiragana alone (ー included), 1 for hiragana and something else, otherwise 0.

    A single character is not a bigram, and gives 0.
    """
    if len(bigram) == 1 or compiled(_HIRAGANA).search(bigram) is None:
        return 0
    return 2 if compiled(_HIRAGANA_ONLY).fullmatch(bigram) else 1


forms_of = Memory(_forms)
"""The stem and the written form of a folded word; either may be empty."""
_hiragana_of = Memory(_hiragana_in)


def indexed_spellings(text: str) -> list[str]:
    """Return the other spellings of words by which a text is found, in no particular order.

    Returns:
        ``email`` for ``e-mail``, ``USA`` for ``U.S.A.``, ``02079460456`` for ``020 7946 0456``, ``165000``
        for ``165,000`` and ``16万5千``, ``readfile`` for ``read_file``, ``Summary`` for ``S u m m a r y``, a
        word for each pictogram.
    """
    text = compatible(text)
    found: list[str] = []
    if not text.isascii():
        text = DASH_IN_NUMBER.sub("-", _LINE_END.sub("-", text).replace("\u2010", "-"))
    if "-" in text:
        # A line may end after a hyphen, as in texts that were taken from PDF files.
        words = [word for word in _LINE_END.sub("-", text).split() if "-" in word]
        found += [each.replace("-", "") for each in compiled(_HYPHENATED).findall(" ".join(words))]
    if _POINT.search(text):
        found += " ".join(compiled(_POINTED).findall(text)).replace(".", "").split()
    found += (each.plain for each in numbers_in(text) if each.plain != text[slice(*each.span)])
    for parts in codes_in(text):
        found += dict.fromkeys(
            code
            for start in range(len(parts))
            for end in range(min(start + 2, len(parts)), len(parts) + 1)
            for code in _as_code(parts[start:end], is_end=end == len(parts))
        )
    if "_" in text:
        named = " ".join(word for word in text.split() if "_" in word)
        found += [each.replace("_", "") for each in compiled(_SNAKE_CASE).findall(named)]
    if compiled(_TWO_SPACED_OUT).search(text):
        found += ["".join(each.split()) for each in compiled(_SPACED_OUT).findall(text)]
    if not text.isascii():
        found += map("".join, compiled(_PARTED).findall(text))
        found += [f"u{ord(each):x}" for each in compiled(_PICTOGRAM).findall(text)]
    return found


def codes_in(text: str) -> list[list[str]]:
    """Return the groups of what may be a code or a long number in several groups."""
    lines = _LABEL.sub("", "\n".join(_lines_with(_DIVIDED_SIGN, text)))
    runs = (_GROUP.findall(each) for each in compiled(_DIVIDED).findall(lines))
    # One group is a telephone number without signs, which is found without its zero.
    runs = (parts for parts in runs if len(parts) > 1 or (parts[0][0] == "0" and parts[0].isdigit()))
    return [parts for parts in runs if len(parts) <= _MOST_GROUPS and not "".join(parts).isalpha()]


def _lines_with(sign: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the lines that a quick expression finds, so that a slow one passes over the others."""
    end = 0
    while found := sign.search(text, end):
        start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        end = len(text) if end < 0 else end
        yield text[start:end]


def _as_code(parts: Sequence[str], *, is_end: bool) -> Iterator[str]:
    """Yield the code that some groups are, in one; nothing if they are other text.

    Of a telephone number, what comes first may be left out: the code of the country or the town, and a zero.
    """
    joined = "".join(parts)
    if joined.isdigit():
        if is_end and len(joined) in _NUMBER_CHARS:
            yield joined
            if joined[0] == "0":
                yield joined[1:]
    elif len(joined) in _CODE_CHARS and not parts[-1].isalpha():
        yield joined


def joined_words(text: str) -> str:
    """Return a text in which words are whole that a line end or spaces between their letters part."""
    text = _LINE_END.sub("", text)
    if compiled(_TWO_SPACED_OUT).search(text) is None:
        return text
    return compiled(_SPACED_OUT).sub(lambda found: "".join(found[0].split()), text)


def whole_words(text: str) -> dict[str, list[str]]:
    """Return the folded parts of each word with hyphens, code in groups and number, by the whole word."""
    found = compiled(_HYPHENATED).findall(normalise(text)) if "-" in text else ()
    whole = {each.replace("-", ""): each.split("-") for each in found}
    whole |= {number.plain: number.parts for number in numbers_in(compatible(text))}
    codes = (parts for parts in codes_in(text) if len(parts) > 1 and any(_as_code(parts, is_end=True)))
    return whole | {"".join(parts).lower(): [each.lower() for each in parts] for parts in codes}


class _Stemmers(threading.local):
    """A stemmer for each thread: it has state while it works."""

    def __init__(self) -> None:
        # Its own cache is slower than stemming; ours is forms_of.
        self.english = Stemmer.Stemmer("english", 0)


_stemmers = _Stemmers()


def stem(word: str) -> str:
    """Return the stem that the forms of a word share: ``connect`` of ``connecting``, ``swim`` of ``swam``.

    References:
        Porter, "Snowball: A language for stemming algorithms", 2001; the English stemmer.
    """
    stemmed: str = _stemmers.english.stemWord(WORD_OF_FORM.get(word, word))
    return stemmed


def is_unspaced_query(text: str) -> bool:
    """Return True if a query is in a script without spaces, even if it contains names in other scripts.

    Names are not prose, however long. An English question about a Japanese word has function words; then the
    larger share decides.
    """
    if not holds_unspaced(text):
        return False
    if is_unspaced(text):
        return True
    words = compiled(SPACED_WORD).findall(text)
    return sum(word.lower() in STOP_WORDS for word in words) < _FUNCTION_WORDS_OF_PROSE
