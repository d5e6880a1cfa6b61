"""Other spellings and translations of words, from dictionaries: 家賃 for やちん and rent, Kyoto for 京都.

The tables are constants of the package. Each line has a word and its others, and lines are sorted, so few
of them are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice, product
from mmap import ACCESS_READ, mmap

from mdvec.text.folding import normalise
from mdvec.text.scripts import HAN, HIRAGANA, KATAKANA, compiled

SPELLINGS = "spellings.txt"
"""Japanese words with their other spellings; see ``scripts/dictionary.py``."""
TRANSLATIONS = "translations.txt"
"""Words with their translations, of English ones the stems; see ``scripts/dictionary.py``."""

SYNONYMS = "synonyms.txt"
"""Words, or the stems of English ones, with synonyms as they are written; see ``scripts/dictionary.py``."""

_RUN = f"[{HAN}{HIRAGANA}{KATAKANA}]+"
_HIRAGANA_RUN = f"[{HIRAGANA}ー]{{2,}}"
_SHORTEST, _LONGEST = 2, 12
# A question has ten to thirty words; of a pasted text the first ones are looked up.
_MOST_FOUND = 64

# They stand between words, and few words of hiragana begin or end with them.
_PARTICLES = frozenset("のをはがにでともやへか")

# A foreign word is typed in either kana. Of hiragana it is a whole run but for a particle, or a run up to を.
# Shorter runs are particles, and longer ones sentences.
_BEGIN = f"(?<![{HIRAGANA}{HAN}ー])"
_END = f"(?=[{''.join(sorted(_PARTICLES))}]?(?![{HIRAGANA}ー])|を)"
_KANA_WORD = (
    f"(?<![{KATAKANA}])(?:[ァ-ヶ][ァ-ヶー]{{2,5}})(?![{KATAKANA}])|{_BEGIN}[ぁ-ゖ][ぁ-ゖー]{{2,6}}?{_END}"
)
# けっこんしき is けっこん and しき, of which the dictionary has 結婚 and 式.
_COMPOUND = f"{_BEGIN}[ぁ-ゖ]{{4,10}}?{_END}"
_MOST_COMPOUNDS = 96
# The dictionary has no words that only follow others.
_LAST_WORDS = (
    "い医位 いん員院 えき駅 えん園円 か科課化 かい会 かん館間 き機 けん券件 さい祭 しき式 しつ室 しゃ者車社 "
    "しょ書所 しょう証省 じょう場状 だい代台 てん店点 ば場 ひ費日 び日 ひょう表票 ひん品 ぶ部 や屋 "
    "りょう料 ろく録"
)

_TO_HIRAGANA = {code: code - 0x60 for code in range(ord("ァ"), ord("ヶ") + 1)}
_TO_KATAKANA = {kana: code for code, kana in _TO_HIRAGANA.items()}

# Stems of one key of the table of translations.
_JOINED = "_"
_MOST_WORDS = 2


def has_hiragana(text: str) -> bool:
    """Return True if a text has hiragana."""
    return compiled(f"[{HIRAGANA}]").search(text) is not None


def is_hiragana(text: str) -> bool:
    """Return True if a text is in hiragana alone, without ー."""
    return compiled(f"[{HIRAGANA}]+").fullmatch(text) is not None


def in_hiragana(text: str) -> str:
    """Return a text with hiragana in place of katakana."""
    return text.translate(_TO_HIRAGANA)


@lru_cache(maxsize=16)  # each step of a search looks for the same words
def other_spellings(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words of a text that are written in several ways, folded, each with its other spellings.

    The kinds of characters and particles tell where a word begins and ends; the longest word is taken.
    """
    if text.isascii():
        return {}
    folded = normalise(text)
    found: dict[str, tuple[str, ...]] = {
        word: (normalise(word.translate(_TO_HIRAGANA | _TO_KATAKANA)),)
        for word in compiled(_KANA_WORD).findall(folded)
    }
    for word in _japanese_words(folded, SPELLINGS):
        others = dict.fromkeys((*spellings_of(word), *found.get(word, ())))
        found[word] = tuple(each for each in others if each != word)
    for word in compiled(_COMPOUND).findall(folded):
        if not others_of(word, SPELLINGS) and (compounds := [*islice(_compounds(word), _MOST_COMPOUNDS)]):
            found[word] = (*found.get(word, ()), *compounds)
    return found


def _compounds(word: str) -> Iterator[str]:
    """Yield the spellings in kanji of two words that are written together, long first words first."""
    for at in range(len(word) - 1, _SHORTEST - 1, -1):
        first, last = (
            [*filter(compiled(f"[{HAN}]+").fullmatch, others_of(each, SPELLINGS))]
            for each in (word[:at], word[at:])
        )
        yield from map("".join, product(first, _last_words().get(word[at:]) or last))


@cache
def _last_words() -> dict[str, str]:
    return dict(compiled(f"([{HIRAGANA}]+)([{HAN}]+)").findall(_LAST_WORDS))


def _japanese_words(folded: str, table: str) -> Iterator[str]:
    """Yield the first Japanese words of a folded text that a table has."""
    runs = [] if folded.isascii() else compiled(_RUN).findall(folded)
    return islice((word for run in runs for word in _words_of(run, table)), _MOST_FOUND)


def _words_of(run: str, table: str) -> Iterator[str]:
    """Yield the words of a run of Japanese that a table has, the longest ones."""
    at = 0
    while at < len(run):
        ends = range(min(len(run), at + _LONGEST), at + _SHORTEST - 1, -1)
        words = (run[at:end] for end in ends if _is_whole(run, at, end))
        word = next((each for each in words if others_of(in_hiragana(each), table)), "")
        if word:
            yield word
        at += len(word) or 1


def _is_whole(run: str, start: int, end: int) -> bool:
    """Return True if a part of a run may be a word."""
    first, last = _kind(run[start]), _kind(run[end - 1])
    before, after = run[start - 1 : start], run[end : end + 1]
    # Hiragana right after kanji may be the end of a verb.
    begins = not before or before in _PARTICLES or _kind(before) not in {first, HAN}
    return begins and (not after or (last == HIRAGANA and after in _PARTICLES) or _kind(after) != last)


@lru_cache(1 << 12)
def _kind(character: str) -> str:
    return next(kind for kind in (HIRAGANA, KATAKANA, HAN) if compiled(f"[{kind}]").match(character))


@lru_cache(1 << 12)
def spellings_of(word: str) -> Sequence[str]:
    """Return a folded word and its spellings in the dictionary, those with two kana or more in both kinds."""
    key = in_hiragana(word)
    found = [key, *others_of(key, SPELLINGS)]
    both = compiled(_HIRAGANA_RUN)
    return [*found, *(both.sub(lambda kana: kana[0].translate(_TO_KATAKANA), each) for each in found)]


def translations(folded: str, stems: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the words of a query that have translations, each with these.

    Args:
        folded: The folded query.
        stems: Its English words as stems, in order; words that are not translated are empty.

    Returns:
        Japanese words with the stems of English ones, and stems with Japanese words in all spellings; a space
        separates the stems of two words.
    """
    found: list[tuple[str, list[str]]] = []
    for word in _japanese_words(folded, TRANSLATIONS):
        others = others_of(in_hiragana(word), TRANSLATIONS)
        found.append((word, [each.replace(_JOINED, " ") for each in others]))
    at = 0
    while at < len(stems) and len(found) < _MOST_FOUND:
        ends = range(min(len(stems), at + _MOST_WORDS), at, -1)
        keys = [_JOINED.join(stems[at:end]) for end in ends if all(stems[at:end])]
        known = [(key, others) for key in keys if (others := others_of(key, TRANSLATIONS))]
        for key, others in known[:1]:
            spelled = [spelling for each in others for spelling in spellings_of(each)]
            found.append((key.replace(_JOINED, " "), list(dict.fromkeys(spelled))))
        at += known[0][0].count(_JOINED) + 1 if known else 1
    return found


@lru_cache(1 << 12)
def others_of(word: str, name: str) -> Sequence[str]:
    """Return the others of a word in a table; nothing if the table does not have it.

    Args:
        word: A word as the table writes it, with hiragana in place of katakana.
        name: The file of the table.
    """
    key, table = f"{word} ".encode(), _table(name)
    start, stop = 0, len(table)  # of the lines among which it is
    while start < stop:
        line = table.rfind(b"\n", start, (start + stop) // 2) + 1 or start
        end = table.find(b"\n", line)
        if table[line:end] < key:
            start = end + 1
        else:
            stop = line
    found = table[start : table.find(b"\n", start) + 1]
    return found.decode().split()[1:] if found.startswith(key) else []


@cache
def _table(name: str) -> mmap:
    with files(__package__).joinpath(name).open("rb") as file:  # processes share its pages
        return mmap(file.fileno(), 0, access=ACCESS_READ)
