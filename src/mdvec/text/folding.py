"""One form for what readers take for the same."""

from __future__ import annotations

import re
import unicodedata

from mdvec.text.scripts import HIRAGANA, KATAKANA

# The prolonged sound mark is typed in many ways; between kana they all mean ー.
_KANA = HIRAGANA + KATAKANA
_DASHES = "-\u2010-\u2015\u2212\u2500\uff0d\uff70~\u301c\uff5e"
_DASH_AFTER_KANA = re.compile(rf"(?<=[{_KANA}])[{_DASHES}](?=[{_KANA}])")
# サーバー and サーバ are one word: a final ー is dropped when at least three characters stand before it.
_FINAL_LONG_VOWEL = re.compile(rf"(?<=[{KATAKANA}]{{3}})ー(?![{KATAKANA}])")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


def normalise(text: str) -> str:
    """Fold width, case, compatibility forms and long vowels.

    Returns:
        NFKC, case folded; dashes between kana become ``ー``, a final ``ー`` of a katakana word is dropped.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _FINAL_LONG_VOWEL.sub("", _DASH_AFTER_KANA.sub("ー", folded))


def fold_name(name: str) -> str:
    """Return a name as it is compared with others: ``Daily-Notes`` and ``daily notes`` are one.

    Returns:
        Words between single spaces; a name of signs alone stays as it is, without outer space.
    """
    folded = normalise(name)
    return _BETWEEN_WORDS.sub(" ", folded).strip() or folded.strip()
