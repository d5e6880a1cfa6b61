"""Other spellings of words, by which a search finds a text, too: minor terms of texts and queries."""

from __future__ import annotations

import re

from mdvec.text.folding import compatible
from mdvec.text.scripts import HAN, KATAKANA, UNSPACED, compiled

_WORD_OR_NUMBER = rf"[^\W_{UNSPACED}]+"
_HYPHENATED = rf"(?<![\w-]){_WORD_OR_NUMBER}(?:-{_WORD_OR_NUMBER})+(?![\w-])"
LINE_END = re.compile(r"(?<=[^\W\d_])-\n[ \t>]*(?=[^\W\d_])")
"""Parts a word that is wrapped."""

# U.S.A., and 1,234,567.
_POINTED = r"(?<![\w.])(?:[A-Z]\.){2,}|(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])"
# Japanese is wrapped anywhere, and foreign names are written with and without ・ between their parts.
_PARTED = rf"([{HAN}{KATAKANA}])(?:・|\n[ \t\u3000>]*)(?=([{HAN}{KATAKANA}]))"

# Kana that end a verb inside a compound: 打ち合わせ is also written 打合わせ, 打ち合せ and 打合せ. Particles,
# which stand between words, are no such kana.
_STEM_END = "[いきぎしちびみりえけげせべめれっ]|[かがこさたなばまらろわ][いきしせりえけれめ]"
_OKURIGANA = f"([{HAN}])(?:{_STEM_END})(?=([{HAN}]))"

# Names of animals and plants are written in both kana, and are short; words with ー are foreign.
_SHORT_KATAKANA = f"(?<![{KATAKANA}])[ァ-ヶ]{{2,4}}(?![{KATAKANA}])"
_TO_HIRAGANA = {code: code - 0x60 for code in range(ord("ァ"), ord("ヶ") + 1)}

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


def other_spellings(text: str) -> list[str]:
    """Return other spellings of words of a text, in no particular order.

    Returns:
        ``email`` for ``e-mail``, ``USA`` for ``U.S.A.``, ``打合`` for ``打ち合わせ``, ``ねこ`` for ``ネコ``,
        ``Summary`` for ``S u m m a r y``, and a word for each pictogram.
    """
    text = compatible(text)
    found: list[str] = []
    if "-" in text:
        # A line may end after a hyphen, as in texts that were taken from PDF files.
        words = [word for word in LINE_END.sub("-", text).split() if "-" in word]
        found += [each.replace("-", "") for each in compiled(_HYPHENATED).findall(" ".join(words))]
    if "." in text or "," in text:
        found += " ".join(compiled(_POINTED).findall(text)).replace(".", "").replace(",", "").split()
    if compiled(_TWO_SPACED_OUT).search(text):
        found += ["".join(each.split()) for each in compiled(_SPACED_OUT).findall(text)]
    if not text.isascii():
        found += map("".join, compiled(_OKURIGANA).findall(text))
        found += map("".join, compiled(_PARTED).findall(text))
        found += [each.translate(_TO_HIRAGANA) for each in compiled(_SHORT_KATAKANA).findall(text)]
        found += [f"u{ord(each):x}" for each in compiled(_PICTOGRAM).findall(text)]
    return found
