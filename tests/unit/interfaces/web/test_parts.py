"""The parts of the page that compute: excerpts, speeds, the map of tags, the words of both languages."""

from __future__ import annotations

import itertools
import re
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.interfaces.fake_workspace import HIT, RESULT

from mdvec.errors import CollectionNotFoundError, DocumentNotFoundError, SourceEmptyError, UsageError
from mdvec.interfaces.errors import translate
from mdvec.interfaces.excerpt import excerpt_of
from mdvec.interfaces.present import similar_line, weaker_line
from mdvec.interfaces.web.frame import Speeds
from mdvec.interfaces.web.status_page import treemap
from mdvec.interfaces.web.strings import LANGUAGES, NO_PAGE, shown_failure, shown_hint, words_of
from mdvec.run import Stage
from mdvec.types.document import DocumentState
from mdvec.types.hit import Confidence
from mdvec.types.query import SearchMode
from mdvec.types.report import TagCount


def shown(query: str, text: str) -> list[str]:
    hit = replace(HIT, chunk_text=text, text="", title="", path="", heading="")
    return ["".join(part.text for part in line) for line in excerpt_of(query, hit, width=260, lines=2)]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("## Limits\n\nFive **retries** at most.", "Five retries at most."),
        ("See [the guide](a/b.md) or [[note|that note]] or [[京都]].", "See the guide or that note or 京都."),
        ("- [ ] call `retry()`\n", "• [ ] call retry()"),
        ("> [!tip] Title\n", "Title"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a · b"),
        ("![[map.png]] Here", "Here"),
        ("snake_case_names and 2 * 3 * 4", "snake_case_names and 2 * 3 * 4"),
        ("<b>bold</b> and _soft_ *words*", "bold and soft words"),
    ],
)
def test_an_excerpt_reads_without_markup(text: str, plain: str) -> None:
    """Marks of Markdown are left out, what they mark stays."""
    assert shown("", text)[0].strip() == plain


def test_an_excerpt_of_nothing_but_headings_shows_them() -> None:
    """A passage is never shown empty."""
    assert shown("", "# Only a heading") == ["# Only a heading"]


def test_speed_is_measured_over_the_last_seconds() -> None:
    """It needs a second at least, forgets what is long ago, and begins anew with the step."""
    clock = iter([0.0, 0.5, 2.0, 40.0, 41.0, 42.0])
    speeds = Speeds(lambda: next(clock))
    key = ("notes", "embed")
    assert speeds.of(key, 0) is None
    assert speeds.of(key, 50) is None
    assert speeds.of(key, 100) == 50
    assert speeds.of(key, 200) is None  # nothing else was seen in the last seconds
    assert speeds.of(key, 230) == 30
    assert speeds.of(key, 10) is None


@given(st.lists(st.integers(1, 10_000), max_size=60), st.sampled_from([(960, 300), (360, 480)]))
def test_the_map_is_filled_by_area(counts: list[int], size: tuple[int, int]) -> None:
    """Cells lie inside, do not overlap, and are as large as their documents."""
    tags = [TagCount(str(number), count) for number, count in enumerate(sorted(counts, reverse=True))]
    cells = treemap(tags, *size)
    assert [each.tag for each in cells] == [each.tag for each in tags]
    scale = size[0] * size[1] / max(1, sum(counts))
    for cell in cells:
        assert cell.width * cell.height == pytest.approx(cell.documents * scale, rel=1e-6)
        assert cell.x >= -1e-6
        assert cell.x + cell.width <= size[0] + 1e-6
        assert cell.y >= -1e-6
        assert cell.y + cell.height <= size[1] + 1e-6
    for one, other in itertools.combinations(cells, 2):
        apart = min(one.x + one.width, other.x + other.width) - max(one.x, other.x) < 1e-6
        below = min(one.y + one.height, other.y + other.height) - max(one.y, other.y) < 1e-6
        assert apart or below


def test_both_languages_say_everything_with_the_same_blanks() -> None:
    """No word is missing in a language, and each has the same places to fill in."""
    english, japanese = map(words_of, LANGUAGES)
    for key, words in english.items():
        assert words
        assert japanese[key]
        assert set(re.findall(r"{\w+}", words)) == set(re.findall(r"{\w+}", japanese[key])), key


def test_templates_use_known_words_and_none_is_left_over() -> None:
    """Each word stands in a template, and each that a template wants is there."""
    folder = resources.files("mdvec.interfaces.web") / "templates"
    text = "".join(each.read_text(encoding="utf-8") for each in folder.iterdir())
    used = set(re.findall(r"\bt\.(\w+)", text))
    families = tuple(re.findall(r't\["(\w+_)" ~', text))
    words = set(words_of(LANGUAGES[0]))
    assert used <= words
    assert {each for each in words - used if not each.startswith(families)} == set()


def test_every_state_has_words() -> None:
    """Steps, states of files, modes and confidences that the engine knows can be shown."""
    words = words_of(LANGUAGES[0])
    families = {"stage": Stage, "state": DocumentState, "mode": SearchMode, "confidence": Confidence}
    missing = [
        f"{family}_{member.value}"
        for family, kind in families.items()
        for member in kind
        if f"{family}_{member.value}" not in words
    ]
    assert missing == []


def test_the_page_counts_in_the_words_of_the_other_doors() -> None:
    """In English, passages that are folded or left out are named as on the command line."""
    words = words_of("en")
    assert words["like_it"].format(n="1,059") == similar_line(replace(HIT, similar=1059))
    for number, key in ((1, "weaker_1"), (1059, "weaker")):
        shown = weaker_line(replace(RESULT, weaker=number), "shown here")
        assert f"{words[key].format(n=f'{number:,}')} (shown here)" == shown


@pytest.mark.parametrize(
    ("hint", "japanese"),
    [
        (
            "No document has the tag 'a.b'; did you mean 'a' or '{b}'?",
            "タグ 'a.b' の文書はありません。'a' or '{b}' でしょうか。",
        ),
        ("No document has the tag 'a'.", "タグ 'a' の文書はありません。"),
        ("No document has a number.", "No document has a number."),
    ],
)
def test_a_hint_keeps_its_names_in_japanese(hint: str, japanese: str) -> None:
    """What stands in the blanks of a hint is repeated; a hint without Japanese words stays English."""
    assert shown_hint(hint, "ja") == japanese
    assert shown_hint(hint, "en") == hint


def test_no_command_is_advised_to_a_browser() -> None:
    """A hint that names a command is left out; another one stays beside the step of the page."""
    for error in (DocumentNotFoundError(), UsageError(), SourceEmptyError(), CollectionNotFoundError()):
        for language in LANGUAGES:
            shown = shown_failure(translate(error), language)
            assert not re.search("mdvec|--|command", shown.step + shown.detail)
    near = translate(DocumentNotFoundError(hint="Did you mean a.md?"))
    assert shown_failure(near, "en").step == "Did you mean a.md? Search for it."
    assert shown_failure(near, "ja").detail == "There is no such document. Did you mean a.md?"
    assert shown_failure(NO_PAGE, "ja").detail == ""
