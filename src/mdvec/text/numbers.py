"""Numbers that are written in several ways: 16万5千 is 165,000, and 1920 × 1080 is 1920x1080."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

from mdvec.text.scripts import HAN, UNSPACED, compiled

_SMALL = {"": 1, "百": 100, "千": 1_000}
_LARGE = {"": 1, "万": 10**4, "億": 10**8, "兆": 10**12}

# Of six groups at most: longer rows are data.
_GROUPS = r"\d{1,3}(?:[,，]\d{3}){1,5}(?![\d,，])"
_DIGITS = rf"(?:{_GROUPS}|\d{{1,15}})(?:[.．]\d+)?"
_PART = re.compile(rf"({_DIGITS})([百千]?)([万億兆]?)")
AMOUNT = rf"(?:{_DIGITS}(?:[百千][万億兆]?|[万億兆]))+(?:\d{{1,4}}(?![\d.,．，]))?"
"""The expression for a number with Japanese multiples."""
_WITH_COMMAS = rf"(?P<commas>{_GROUPS})"
_SIZE = rf"(?P<size>\d+(?: ?[xX×] ?\d+)+)(?![^\W{UNSPACED}])"
_NUMBER = (
    rf"(?<![^\W_{UNSPACED}])(?<![.,．，])(?:(?P<amount>{AMOUNT})(?P<noun>[{HAN}]?)|{_WITH_COMMAS}|{_SIZE})"
)
# All of them have one of these signs, which is found quickly.
_SIGN = re.compile(r"[,，](?<=\d.)\d{3}|[百千万億兆](?<=\d.)|[xX×](?:(?<=\d.)|(?<=\d .)) ?\d")


class WrittenNumber(Struct, frozen=True):
    """A number of several parts in a text.

    Attributes:
        plain: The number in one word: ``165000``, ``1920x1080``.
        parts: Its words and pairs of characters in the text.
        span: Where it begins and ends in the text.
    """

    plain: str
    parts: list[str]
    span: tuple[int, int]


def numbers_in(text: str) -> Iterator[WrittenNumber]:
    """Yield the numbers of several parts: with commas, with Japanese multiples, and sizes."""
    if _SIGN.search(text) is None:
        return
    for found in compiled(_NUMBER).finditer(text):
        typed = found["amount"] or found["commas"] or found["size"]
        signs = compiled(rf"[{HAN}]+").findall(found["amount"] + found["noun"] if found["amount"] else "")
        pairs = [run[at : at + 2] for run in signs for at in range(max(1, len(run) - 1))]
        digits = re.findall(r"\d+", typed)
        plain = "x".join(digits) if found["size"] else str(_value(typed))
        yield WrittenNumber(plain, [*digits, *pairs], (found.start(), found.start() + len(typed)))


def plain_numbers(text: str, size_sign: str = "") -> str:
    """Return a text with its amounts in digits alone, and a sign between the numbers of its sizes.

    Without a sign, sizes stay as they are.
    """
    end = 0
    parts: list[str] = []
    for number in numbers_in(text):
        if size_sign or number.plain.isdigit():
            parts += text[end : number.span[0]], number.plain.replace("x", size_sign)
            end = number.span[1]
    return "".join((*parts, text[end:]))


def _value(typed: str) -> int:
    """Return the value of an amount, without what is less than one."""
    total = below = Decimal()
    for digits, small, large in _PART.findall(typed):
        below += Decimal(re.sub("[,，]", "", digits).replace("．", ".")) * _SMALL[small]
        if large:
            total, below = total + below * _LARGE[large], Decimal()
    return int(total + below)
