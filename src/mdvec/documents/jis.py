"""The Japanese encodings before Unicode: distinguishing them, and one mapping to Unicode for all.

Six characters of JIS X 0208 have two mappings. Here a wave dash is U+301C whatever the encoding, as
in the standard and in Python's ``euc_jp``; Microsoft's table for Shift_JIS has U+FF5E. The rows that NEC
and IBM added (``①``, ``㈱``, ``髙``) are known in every encoding, as they are in real files.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from functools import cache

_REPLACEMENT = "\ufffd"
# From Microsoft's characters to those of JIS X 0208 at the same places; and from what Python's codec returns
# for the five bytes that mean nothing in Shift_JIS.
_MICROSOFT_TO_JIS = str.maketrans("～∥－￠￡￢", "〜‖−¢£¬") | dict.fromkeys(
    map(ord, "\x80\uf8f0\uf8f1\uf8f2\uf8f3"), _REPLACEMENT
)

# Mean likeness per character outside ASCII: Japanese reads at .9 and more, the wrong encoding below .5.
_MIN_LIKENESS = 0.6
# Longer text without any kana has to be as likely as this: Chinese fits the pattern of EUC-JP too, but
# one in three of its characters is a rare one in Japanese.
_MAX_CHARS_WITHOUT_KANA = 40
_MIN_LIKENESS_WITHOUT_KANA = 0.9
# Kanji in EUC-JP can read as half-width kana alone in Shift_JIS, which fewer texts are made of; by
# chance that happens to four kanji in one text of five, and to twenty in one of three thousand.
_MIN_HALF_WIDTH_CHARS = 40
_HALF_WIDTH_SHARE = 0.8
_MIN_OTHERS = 2

_KANA = re.compile("[ぁ-ゖァ-ヶー]")
_HALF_WIDTH_RUN = re.compile("[｡-ﾟ]{2,}")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
# An accent or an apostrophe of a Western encoding as it reads in a Japanese one: one odd kanji in a word.
_LONE_IN_WORD = re.compile(r"(?<=[A-Za-z])[^\x00-\x7f](?![^\x00-\x7f])")

_JIS_PRINTABLE = bytes(range(0x21, 0x7F))
_JIS_TO_EUC = bytes.maketrans(_JIS_PRINTABLE, bytes(range(0xA1, 0xFF)))
_ESCAPE = re.compile(rb"(\x1b(?:\$[@B]|\$\([@BD]|\([BJHI]))")


_EUC_JP = "euc-jp"
_SHIFT_JIS = "shift_jis"


def guess_encoding(sample: bytes) -> str:
    """Find the encoding in which bytes read as Japanese.

    Args:
        sample: Bytes that are not all ASCII, best cut at line ends.

    Returns:
        ``euc-jp`` or ``shift_jis``; empty when neither makes sense of the bytes.
    """
    euc, shift_jis = decode_euc_jp(sample), decode_shift_jis(sample)
    if _is_half_width_kana(euc) and not _KANA.search(shift_jis):
        return _EUC_JP
    if _is_half_width_kana(shift_jis) and not _KANA.search(euc):
        length = len(_BEYOND_ASCII.findall(shift_jis))
        if length >= _MIN_HALF_WIDTH_CHARS or _REPLACEMENT in euc:
            return _SHIFT_JIS
    # Banks and shops write names in it. Other characters tell Japanese from Cyrillic, which reads as kana.
    others = _HALF_WIDTH_RUN.sub("", shift_jis) if _REPLACEMENT in euc else shift_jis
    others = others if len(_BEYOND_ASCII.findall(others)) >= _MIN_OTHERS else shift_jis
    likeness, text, encoding = max(
        (japanese_likeness(euc), euc, _EUC_JP),
        (japanese_likeness(others), shift_jis, _SHIFT_JIS),
    )
    is_long = len(_BEYOND_ASCII.findall(text)) > _MAX_CHARS_WITHOUT_KANA
    needed = _MIN_LIKENESS_WITHOUT_KANA if is_long and not _KANA.search(text) else _MIN_LIKENESS
    return encoding if likeness >= needed else ""


def decode_japanese(raw: bytes, encoding: str) -> str:
    """Decode with the encoding found by :func:`guess_encoding`; what is invalid becomes U+FFFD."""
    return decode_euc_jp(raw) if encoding == _EUC_JP else decode_shift_jis(raw)


def decode_shift_jis(raw: bytes) -> str:
    """Decode Shift_JIS with Microsoft's additions (CP932); what is invalid becomes U+FFFD."""
    return raw.decode("cp932", "replace").translate(_MICROSOFT_TO_JIS)


def decode_euc_jp(raw: bytes) -> str:
    """Decode EUC-JP with NEC's and IBM's additions; what is invalid becomes U+FFFD."""
    return raw.decode("euc_jp", _VENDOR_ROWS)


def decode_iso_2022_jp(raw: bytes) -> str:
    """Decode ISO-2022-JP, half-width kana and JIS X 0212 included; what is invalid becomes U+FFFD.

    Its character sets are those of EUC-JP without the high bits, so it is rewritten as EUC-JP. As the
    other encodings do, it keeps the backslash and the tilde of ASCII where JIS X 0201 has ``¥`` and ``‾``.
    """
    parts: list[bytes] = []
    escape = b""
    for index, piece in enumerate(_ESCAPE.split(raw)):
        if index % 2:
            escape = piece
        else:
            # A line that ends inside a two-byte set starts the next one in ASCII (RFC 1468).
            line, newline, rest = piece.partition(b"\n")
            parts += (_to_euc(line, escape), newline, rest if newline else b"")
            if newline:
                escape = b""
    return decode_euc_jp(b"".join(parts))


def _to_euc(text: bytes, escape: bytes) -> bytes:
    """Rewrite a run of one character set."""
    match escape:
        case b"\x1b$@" | b"\x1b$B" | b"\x1b$(@" | b"\x1b$(B":
            return text.translate(_JIS_TO_EUC)
        case b"\x1b$(D":
            return re.sub(rb"[\x21-\x7e]{2}", lambda pair: b"\x8f" + pair[0].translate(_JIS_TO_EUC), text)
        case b"\x1b(I":
            return re.sub(rb"[\x21-\x5f]", lambda kana: b"\x8e" + kana[0].translate(_JIS_TO_EUC), text)
        case _:
            return text


def _replace_vendor_character(error: UnicodeError) -> tuple[str, int]:
    """Decode one pair of EUC-JP that the standard does not define, as Microsoft's Shift_JIS has it."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    pair = error.object[error.start : error.start + 2]
    if len(pair) < 2 or min(pair) < 0xA1 or max(pair) > 0xFE:
        return _REPLACEMENT, error.start + 1
    row, column = pair[0] - 0x80, pair[1] - 0x80
    lead = ((row - 1) >> 1) + (0x71 if row <= 0x5E else 0xB1)
    trail = column + 0x7E if row % 2 == 0 else column + (0x1F if column < 0x60 else 0x20)
    return decode_shift_jis(bytes((lead, trail)))[0], error.start + 2


# Codecs find their error handlers by name, in a registry of the process.
_VENDOR_ROWS = "mdvec.euc-jp-vendor-rows"
codecs.register_error(_VENDOR_ROWS, _replace_vendor_character)


def _is_half_width_kana(text: str) -> bool:
    """Return True if nearly all that is not ASCII is half-width kana, two or more together."""
    total = len(_BEYOND_ASCII.findall(text))
    if total == 0 or _REPLACEMENT in text:
        return False
    return sum(map(len, _HALF_WIDTH_RUN.findall(text))) >= _HALF_WIDTH_SHARE * total


def japanese_likeness(text: str) -> float:
    """Return the mean weight of the characters outside ASCII: at most 1, negative for rubbish."""
    counts = Counter(_BEYOND_ASCII.findall(text))
    total = counts.total()
    if total == 0 or 2 * len(_LONE_IN_WORD.findall(text)) > total:
        return 0.0
    return sum(_weight(character) * count for character, count in counts.items()) / total


def _weight(character: str) -> float:
    """Return a weight for how common a character is in Japanese text."""
    code = ord(character)
    if 0x3000 <= code <= 0x30FF or 0xFF01 <= code <= 0xFF5E or character in _common_kanji():
        return 1.0
    if 0xFF61 <= code <= 0xFF9F:  # half-width kana, as which most bytes of EUC-JP read in Shift_JIS
        return 0.4
    if 0x4E00 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF:  # rare kanji, as which Western letters read
        return 0.2
    if 0x2010 <= code <= 0x33FF:  # symbols, arrows, lines, circled numbers
        return 0.8
    if code == 0xFFFD or 0x80 <= code < 0xA0:
        return -3.0
    if 0xE000 <= code < 0xF900:  # private use
        return -1.0
    return 0.5


@cache
def _common_kanji() -> frozenset[str]:
    """Return the 2,965 kanji of JIS X 0208's first level, the ones that are in everyday use."""
    pairs = (bytes((row, column)) for row in range(0xB0, 0xD0) for column in range(0xA1, 0xFF))
    return frozenset(b"".join(pairs).decode("euc_jp", "ignore"))
