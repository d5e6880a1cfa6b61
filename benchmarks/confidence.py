"""Measures how well the confidence of an answer separates answerable questions from others.

    python -m benchmarks.confidence SETS_DIR --embed-cache DIR

Answerable are questions put to the documents they were written for; unanswerable are questions of another
set of the same language. Across languages the documents are the folder of the other language. Every set of
the tables below that lies in the folder takes part.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.harness import sets_parser, write_result
from mdvec import SearchQuery, open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import Indexing, indexed_set, temporary_folder
from mdvec.evaluation.judgements import Question, read_judged_set
from mdvec.evaluation.runner import scope_filters
from mdvec.text.hashing import text_hash
from mdvec.types.hit import Confidence
from mdvec.types.query import SearchMode

# Sets by the language of their questions. Two sets of one subject are never put to each other.
LANGUAGES = {
    "ja": ("ja_jsquad", "ja_localgovfaq", "ja_niilc", "ja_wikiqa", "docs_astro", "vault_obsidian_help"),
    "en": ("en_cisi", "en_cranfield", "en_stackfaq", "til_titles", "docs_astro", "vault_obsidian_help"),
}
# Sets whose answers are in the other language, by the language of their questions and the suffix of these.
_IN_BOTH = {"docs_astro": "_xl", "docs_glossary": "_xl", "vault_obsidian_help": "_xl"}
ACROSS = {"ja": {**_IN_BOTH, "xl_kyoto_ja2en": ""}, "en": {**_IN_BOTH, "xl_kyoto_en2ja": ""}}
SAME_SUBJECT = [{"ja_jsquad", "ja_niilc", "ja_wikiqa"}]

OWN_QUESTIONS = 150
OTHER_QUESTIONS = 60  # of each other set

RANKS = {level: rank for rank, level in enumerate(reversed(Confidence))}


def sampled(questions: Sequence[Question], language: str, count: int) -> list[Question]:
    """Return the same questions in every run: those whose hashes come first."""
    fitting = [each for each in questions if each.labels.get("lang", language) == language]
    return sorted(fitting, key=lambda each: text_hash(each.text))[:count]


def treat_other_subjects(one: str, other: str) -> bool:
    """Return whether two sets treat other subjects."""
    return one != other and not any({one, other} <= subject for subject in SAME_SUBJECT)


def auroc(answerable: Sequence[Confidence], unanswerable: Sequence[Confidence]) -> float:
    """Return how often an answerable question gets the higher level; half of the ties count."""
    above = Counter(RANKS[level] for level in answerable)
    below = Counter(RANKS[level] for level in unanswerable)
    won = sum(
        above[one] * below[other] * (1.0 if one > other else 0.5)
        for one, other in product(above, below)
        if one >= other
    )
    return won / (len(answerable) * len(unanswerable))


def searched(
    home: str, language: str, questions: dict[str, Sequence[Question]], folder: Path, cache: Path | None
) -> Iterator[tuple[bool, SearchMode, Confidence]]:
    """Search a set's documents for its own questions and for those of the other sets, in every mode."""
    judged = read_judged_set(folder / home)
    with (
        temporary_folder() as temporary,
        indexed_set(judged, Indexing(open_workspace, Config(), cache or temporary)) as corpus,
    ):
        for name, those in questions.items():
            if name != home and not treat_other_subjects(name, home):
                continue
            count = OWN_QUESTIONS if name == home else OTHER_QUESTIONS
            for question, mode in product(sampled(those, language, count), SearchMode):
                result = corpus.workspace.search(SearchQuery(question.text, mode=mode, limit=1))
                yield name == home, mode, result.confidence


def searched_across(
    home: str, language: str, questions: dict[str, Sequence[Question]], folder: Path, cache: Path | None
) -> Iterator[tuple[bool, SearchMode, Confidence]]:
    """Search documents of the other language for a set's own questions and for those of the other sets."""
    judged = read_judged_set(folder / home, suffix=ACROSS[language][home])
    own = [each for each in judged.set.questions if each.labels.get("lang", language) == language]
    with (
        temporary_folder() as temporary,
        indexed_set(judged, Indexing(open_workspace, Config(), cache or temporary)) as corpus,
    ):
        filters = scope_filters(own[0])
        others = [those for name, those in questions.items() if name != home]
        for those in (own, *others):
            count = OWN_QUESTIONS if those is own else OTHER_QUESTIONS
            for question, mode in product(sampled(those, language, count), SearchMode):
                query = SearchQuery(question.text, mode=mode, filters=filters, limit=1)
                yield those is own, mode, corpus.workspace.search(query).confidence


def measure(language: str, folder: Path, cache: Path | None, *, across: bool = False) -> dict[str, Any]:
    """Measure one language.

    Args:
        language: ``ja`` or ``en``.
        folder: Folder of the sets.
        cache: Folder of the indexes; None for a temporary one.
        across: Whether to search documents of the other language.

    Returns:
        AUROC of each mode, and how the levels of hybrid answers are spread.
    """
    names = [name for name in LANGUAGES[language] if (folder / name / "queries.jsonl").exists()]
    questions: dict[str, Sequence[Question]] = {
        name: read_judged_set(folder / name).set.questions for name in names
    }
    levels: dict[tuple[bool, SearchMode], list[Confidence]] = {
        key: [] for key in product((True, False), SearchMode)
    }
    homes = [name for name in ACROSS[language] if (folder / name).is_dir()] if across else names
    for home in homes:
        print(f"{language}: {home}", file=sys.stderr, flush=True)
        answers = (searched_across if across else searched)(home, language, questions, folder, cache)
        for is_own, mode, level in answers:
            levels[is_own, mode].append(level)
    spread = {
        level.value: {
            "answerable": levels[True, SearchMode.HYBRID].count(level),
            "unanswerable": levels[False, SearchMode.HYBRID].count(level),
        }
        for level in Confidence
    }
    return {
        "auroc": {
            mode.value: round(auroc(levels[True, mode], levels[False, mode]), 3) for mode in SearchMode
        },
        "levels": spread,
    }


def main() -> None:
    """Run from the command line."""
    arguments = sets_parser(__doc__).parse_args()
    result = {
        f"{name} across" if across else name: measure(
            name, arguments.folder, arguments.embed_cache, across=across
        )
        for name, across in product(LANGUAGES, (False, True))
    }
    for name, figures in result.items():
        print(name, " ".join(f"{mode} {value:.3f}" for mode, value in figures["auroc"].items()))
        for level, counts in figures["levels"].items():
            print(f"  {level:8} answerable {counts['answerable']:5} unanswerable {counts['unanswerable']:5}")
    print(write_result("confidence", result, arguments.output))


if __name__ == "__main__":
    main()
