"""The words of the page and of its errors, in English and Japanese, from ``words.toml``."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from operator import itemgetter
from typing import Any, NamedTuple

from mdvec.interfaces.errors import Failure

LANGUAGES = ("en", "ja")
"""The languages of the page; browsers that want another get the first."""

# A language and its weight in an Accept-Language header.
_ACCEPTED = re.compile(r"(?:^|,)\s*([a-z]+)(?:-[\w-]*)?\s*(?:;\s*q=(\d(?:\.\d*)?)\s*)?(?=,|$)")
_COMMAND = re.compile(r"\bmdvec |--\w|\b[Rr]un\b")
_BLANK = re.compile(r"\\{(\w+)\\}")

NO_PAGE = Failure("no_page", "there is nothing at this address", "")
"""An address that is not served."""

OLD_PAGE = Failure("old_page", "the page is out of date", "")
"""A form that no page of this process sent."""


class ShownFailure(NamedTuple):
    """An error as the page shows it.

    Attributes:
        sentence: The problem.
        step: The next step; empty when there is none.
        detail: The message of the error itself, in English; empty if the sentence is the same.
    """

    sentence: str
    step: str
    detail: str


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(
        resources.files("mdvec.interfaces.web").joinpath("words.toml").read_text(encoding="utf-8")
    )


def words_of(language: str) -> dict[str, str]:
    """Return the words of a language, by their keys."""
    index = LANGUAGES.index(language)
    return {key: each[index] for key, each in _tables()["words"].items()}


def preferred_language(accepted: str) -> str:
    """Return the language of the page that an Accept-Language header wants most."""
    known = (
        (float(weight or 1), name)
        for name, weight in _ACCEPTED.findall(accepted.lower())
        if name in LANGUAGES
    )
    return max((each for each in known if each[0]), default=(0, LANGUAGES[0]), key=itemgetter(0))[1]


def shown_failure(failure: Failure, language: str) -> ShownFailure:
    """Return an error in a language of the page, without commands."""
    sentence_ja, step, step_ja = _tables()["failures"].get(failure.code, ("処理できませんでした。", "", ""))
    hint = "" if _COMMAND.search(failure.hint) else failure.hint
    if language == "ja":
        # The refusals of the page itself need no further message.
        detail = "" if failure in (NO_PAGE, OLD_PAGE) else f"{failure.message} {hint}".strip()
        return ShownFailure(sentence_ja, step_ja, detail)
    return ShownFailure(failure.message, f"{hint} {step}".strip(), "")


def shown_hint(hint: str, language: str) -> str:
    """Return a hint of the search in a language of the page; in English where it has no other words."""
    for english, japanese in _tables()["hints"].items() if language == "ja" else ():
        if found := re.fullmatch(_BLANK.sub(r"(?P<\1>.*)", re.escape(english)), hint):
            return str(japanese.format(**found.groupdict()))
    return hint
