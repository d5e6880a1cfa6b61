"""Bytes to text: detects the encoding of a file, or that it is binary.

Tried in this order: byte order marks; zero bytes, which mean UTF-16 or UTF-32 without a mark; the escape
sequences of ISO-2022-JP; strict UTF-8, which other encodings hardly ever satisfy by chance; UTF-8 with
damage; those of Cyrillic, by the commonest letters; EUC-JP and Shift_JIS, by how Japanese the result reads;
without kana also the encodings of Korean and Chinese; windows-1252.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter

from msgspec import Struct

from mdvec.documents.jis import decode_iso_2022_jp, decode_japanese, guess_encoding, japanese_likeness

_REPLACEMENT = "\ufffd"

# Guessing looks at this many bytes, from the first line that is not ASCII on; decoding takes all.
_SAMPLE_BYTES = 65_536
# Text has next to no control characters; a tenth of them is more than any log or terminal recording.
_MAX_CONTROL_SHARE = 0.1
# More zeros than this are no accident: they are the upper halves of UTF-16, or the file is binary.
_MAX_STRAY_NULS = 4
_MAX_STRAY_NUL_SHARE = 0.01
# Most zeros in a file as short as that, so that "a\n" in UTF-16 is not taken for UTF-8.
_MAX_NUL_SHARE_SHORT = 0.25
# Mean plausibility per character: UTF-16 in the right byte order is near 1, rubbish is negative.
_MIN_PLAUSIBILITY = 0.6
# Western words have at most two accented letters in a row; in random bytes half of those above
# 0x7F have more of their kind next to them, as have the letters of Cyrillic or Greek.
_MIN_WESTERN_SHARE = 0.8
# If only ASCII can be read, this share of other bytes may be lost.
_MAX_LOST_SHARE = 0.02

_CONTROLS = bytes(set(range(1, 32)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"
_NOT_CONTROLS = bytes(set(range(256)) - set(_CONTROLS))
_ASCII = bytes(range(128))
_TWO_BYTE_ESCAPE = re.compile(rb"\x1b(?:\$[@B]|\$\([@BD]|\(I)")
_KANA = re.compile("[ぁ-ヿｦ-ﾟ]")
# Encodings of pairs of bytes: first and last byte of the signs, last one of the everyday characters, and the
# least share of these. In Chinese one character in four is where Japanese has rare kanji; Korean uses only a
# part of the places of everyday kanji.
_PAIR = re.compile(rb"([\x81-\xfe])[\x40-\x7e\x80-\xfe]")
_PAIRED = (
    ("cp949", 0xA1, 0xAF, 0xC8, 0.99),
    ("gb18030", 0xA1, 0xAF, 0xD7, 0.9),
    ("big5", 0xA1, 0xA3, 0xC6, 0.9),
)
_PRIVATE = re.compile("[\ue000-\uf8ff]")  # at places of GB18030 without a character
_MIN_PAIRS = 12
_MIN_JAPANESE = 0.9
# Encodings of Cyrillic have the same letters at other places. Words are small letters after at most one
# capital, or capitals; in every language written so, more than half of the letters are among these.
_CYRILLIC = ("windows-1251", "koi8-u", "cp866", "iso8859-5")
_CYRILLIC_WORD = re.compile(r"(?<!\w)(?:[А-ЯЁЂ-Џ]?[а-яёђ-џґ]+|[А-ЯЁЂ-ЏҐ]+)(?!\w)")
_COMMON_CYRILLIC = frozenset("оеаинтсрвлОЕАИНТСРВЛ")
_MIN_CYRILLIC, _MIN_CYRILLIC_SHARE, _MIN_COMMON_SHARE = 10, 0.9, 0.5
_LONG_RUN_BEYOND_ASCII = re.compile(rb"[\x80-\xff]{3,}")
_UNDEFINED_IN_WINDOWS_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")

# The UTF-32 mark starts with that of UTF-16, so it comes first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE_ENCODINGS = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# Formats that may start with, or consist of, bytes that could be text.
_SIGNATURES = (b"%PDF-", b"GIF87a", b"GIF89a", b"\x89PNG\r\n", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b")


class Decoded(Struct, frozen=True):
    """The text of a file.

    Attributes:
        text: The text without byte order mark. Every line end is a line feed, every NUL is U+FFFD (as in
            CommonMark), and no lone surrogate occurs.
        encoding: The name of the encoding, such as ``utf-8``, ``utf-16-le``, ``shift_jis`` or
            ``windows-1252``.
        warning: A message about what was lost or guessed; empty if nothing was.
    """

    text: str
    encoding: str
    warning: str = ""


def decode(raw: bytes) -> Decoded | None:
    """Decode a file, in time linear in its size.

    Args:
        raw: All of its bytes.

    Returns:
        Its text; None when the bytes are binary.
    """
    if raw.startswith(_SIGNATURES):
        return None
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _decode_marked(raw[len(mark) :], encoding)
    if b"\0" in raw and not _has_only_stray_nuls(raw):
        return _decode_wide(raw)
    if len(raw.translate(None, _NOT_CONTROLS)) > _MAX_CONTROL_SHARE * len(raw):
        return None
    if raw.isascii() and _TWO_BYTE_ESCAPE.search(raw):
        return _finish(decode_iso_2022_jp(raw), "iso-2022-jp")
    return _decode_utf8(raw) or _decode_legacy(raw)


def _decode_marked(raw: bytes, encoding: str) -> Decoded | None:
    """Decode what follows a byte order mark; that of UTF-16 may be a coincidence."""
    text = raw.decode(encoding, "replace")
    sample = Counter(text[:_SAMPLE_BYTES])
    rubbish = sum(count for character, count in sample.items() if not _is_text(character))
    return None if rubbish > _MAX_CONTROL_SHARE * sample.total() + 1 else _finish(text, encoding)


def _has_only_stray_nuls(raw: bytes) -> bool:
    nuls = raw.count(0)
    most = max(_MAX_STRAY_NULS, int(_MAX_STRAY_NUL_SHARE * len(raw)))
    return nuls <= most and nuls <= _MAX_NUL_SHARE_SHORT * len(raw) and _is_utf8(raw)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode_wide(raw: bytes) -> Decoded | None:
    """Decode UTF-16 or UTF-32 without a byte order mark, whichever reads most like text, if any does."""
    plausibility, encoding = max((_plausibility(raw[:_SAMPLE_BYTES], name), name) for name in _WIDE_ENCODINGS)
    return None if plausibility < _MIN_PLAUSIBILITY else _finish(raw.decode(encoding, "replace"), encoding)


def _plausibility(sample: bytes, encoding: str) -> float:
    """Return the mean plausibility of bytes as text in a wide encoding: at most 1, negative for rubbish."""
    try:
        counts = Counter(codecs.getincrementaldecoder(encoding)("strict").decode(sample))
    except UnicodeDecodeError:
        return -1.0
    if not counts:
        return -1.0
    return sum(_plausibility_of(character) * count for character, count in counts.items()) / counts.total()


def _plausibility_of(character: str) -> float:
    code = ord(character)
    if not _is_text(character):
        return -3.0
    if code < 0x530 or 0x3000 <= code < 0x3100:  # Latin, Greek, Cyrillic; kana
        return 1.0
    if 0x4E00 <= code < 0xA000 or 0xAC00 <= code < 0xD7A4 or code >= 0xFF00:
        return 0.8
    return 0.4


def _is_text(character: str) -> bool:
    """Return True if a character may occur in text: no control, unassigned or private character."""
    if character in "\t\n\v\f\r":
        return True
    return character != _REPLACEMENT and unicodedata.category(character) not in {"Cc", "Cn", "Co", "Cs"}


def _decode_utf8(raw: bytes) -> Decoded | None:
    """Decode UTF-8, surrogate pairs (as Java and MySQL may write them) included."""
    try:
        return Decoded(_normalise(raw.decode()), "utf-8")
    except UnicodeDecodeError:
        pass
    try:
        text = raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return _finish(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), "utf-8")


def _decode_legacy(raw: bytes) -> Decoded | None:
    """Decode bytes that are no valid UTF-8, in the encoding that fits best."""
    sample = _sample(raw)
    valid, damaged = _count_utf8(sample)
    if valid > 2 * damaged:
        return _finish(raw.decode("utf-8", "replace"), "utf-8")
    if cyrillic := _cyrillic(sample):
        return _guessed(raw.decode(cyrillic, "replace"), cyrillic)
    japanese = guess_encoding(sample)
    found = _finish(decode_japanese(raw, japanese), japanese) if japanese else None
    # Chinese and Korean encodings have other characters at the places of kanji, and hardly any kana.
    if found is not None and _KANA.search(found.text):
        return found
    if other := _chinese_or_korean(sample, "" if found is None else found.text[:_SAMPLE_BYTES]):
        return _guessed(raw.decode(other, "replace"), other)
    if found is not None:
        return _guessed(found.text, found.encoding)
    if valid >= damaged:
        return _finish(raw.decode("utf-8", "replace"), "utf-8")
    if _is_western(sample) and not _UNDEFINED_IN_WINDOWS_1252.search(raw):
        return _guessed(raw.decode("windows-1252"), "windows-1252")
    if len(raw.translate(None, _ASCII)) <= _MAX_LOST_SHARE * len(raw):
        return _finish(raw.decode("utf-8", "replace"), "utf-8")
    return None


def _cyrillic(sample: bytes) -> str:
    """Return the encoding in which nearly all of a text reads as Cyrillic; empty if there is none."""
    shares = {}
    for encoding in _CYRILLIC:
        text = sample.decode(encoding, "replace")
        letters = "".join(_CYRILLIC_WORD.findall(text))
        beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
        if len(letters) >= max(_MIN_CYRILLIC, _MIN_CYRILLIC_SHARE * beyond_ascii):
            shares[encoding] = sum(letter in _COMMON_CYRILLIC for letter in letters) / len(letters)
    best = max(shares, key=shares.__getitem__, default="")
    return best if shares.get(best, 0) >= _MIN_COMMON_SHARE else ""


def _chinese_or_korean(sample: bytes, japanese: str) -> str:
    """Return the encoding in which nearly all characters are everyday ones; empty if there is none.

    Args:
        sample: Whole lines.
        japanese: How they read in Japanese without kana; empty if they do not.
    """
    leads = [pair[0] for pair in _PAIR.findall(sample)]
    for encoding, first_sign, last_sign, last, share in _PAIRED:
        letters = [lead for lead in leads if not first_sign <= lead <= last_sign]
        everyday = sum(last_sign < lead <= last for lead in letters)
        is_japanese = encoding != "cp949" and japanese_likeness(japanese) >= _MIN_JAPANESE
        if len(letters) >= _MIN_PAIRS and everyday >= share * len(letters) and not is_japanese:
            try:
                text = sample.decode(encoding)
            except UnicodeDecodeError:
                continue
            if _PRIVATE.search(text) is None:
                return encoding
    return ""


def _is_western(sample: bytes) -> bool:
    """Return True if the bytes above 0x7F are where accented letters and typographic quotes would be."""
    total = len(sample.translate(None, _ASCII))
    in_runs = sum(map(len, _LONG_RUN_BEYOND_ASCII.findall(sample)))
    return 2 * total <= len(sample) + 1 and total - in_runs >= _MIN_WESTERN_SHARE * total


def _sample(raw: bytes) -> bytes:
    """Return whole lines from the first one that is not ASCII on."""
    first = len(raw) - len(raw.lstrip(_ASCII))
    start = max(raw.rfind(b"\n", 0, first) + 1, first - _SAMPLE_BYTES // 2)
    if len(raw) - start <= _SAMPLE_BYTES:
        return raw[start:]
    end = raw.rfind(b"\n", start, start + _SAMPLE_BYTES)
    return raw[start : end if end > start else start + _SAMPLE_BYTES]


def _count_utf8(sample: bytes) -> tuple[int, int]:
    """Count the characters outside ASCII that are valid in UTF-8, and the places that are not."""
    text = sample.decode("utf-8", "replace")
    damaged = text.count(_REPLACEMENT)
    beyond_ascii = len(text) - (len(sample) - len(sample.translate(None, _ASCII)))
    return beyond_ascii - damaged, damaged


def _finish(text: str, encoding: str) -> Decoded:
    """Normalise the text, with a warning that counts what could not be decoded."""
    lost = text.count(_REPLACEMENT)
    places = "1 place is" if lost == 1 else f"{lost} places are"
    return Decoded(_normalise(text), encoding, f"{places} not valid {encoding}" if lost else "")


def _guessed(text: str, encoding: str) -> Decoded:
    warning = f"the encoding is a guess: {encoding}; save the file as UTF-8 if its text is garbled"
    return Decoded(_normalise(text), encoding, warning)


def _normalise(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.lstrip("\ufeff").replace("\0", _REPLACEMENT)
