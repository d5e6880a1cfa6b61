"""Compares judged sets with themselves as ``benchmarks.altered`` changes them: mixed, or with repeated text.

    python -m benchmarks.altered_quality SETS_DIR --embed-cache DIR

The answers stay the same, so search is as good as it can be where an altered set has the nDCG@10 of its
original, no added document is among the hits, and no hit consists of repeated text.
docs/decisions/ranking.md and like-texts.md have the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.altered import ADDED_PREFIX, BOILERPLATES, make_sets
from benchmarks.harness import sets_parser, write_result
from mdvec import SearchQuery, open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import Corpus, Indexing, indexed_set, judged_task, temporary_folder
from mdvec.evaluation.judgements import JudgedSet, read_judged_set
from mdvec.evaluation.metrics import PRIMARY
from mdvec.evaluation.runner import Options, evaluate

SUFFIXES = {"vault_jzhao": "_link"}
"""Of the questions, where it is not empty."""

HITS = 5
DIGITS = 4

_PAGE = re.compile(r"page-\d+")
_REPEATED_LINES = frozenset(
    line for each in BOILERPLATES for text in (each.before, each.after) for line in text.splitlines()
)


def measure(sets: Path, altered: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of an altered set and of its original.

    Args:
        sets: Folder of the originals.
        altered: The folder of the altered set.
        cache: Folder of the indexes.
    """
    name, _, kind = altered.name.rpartition("_")
    suffix = SUFFIXES.get(name, "")
    indexing = Indexing(open_workspace, Config(), cache)
    judged = [read_judged_set(folder, suffix=suffix) for folder in (sets / name, altered)]
    report = evaluate([judged_task(each, indexing) for each in judged], Options())
    own, changed = (
        {each.system: round(each.metrics[PRIMARY].mean, DIGITS) for each in of.systems} for of in report.sets
    )
    is_wrong = _is_added if kind == "mixed" else _is_repeated
    with indexed_set(judged[1], indexing) as corpus:
        return {
            "questions": len(judged[0].set.questions),
            "original": own,
            "altered": changed,
            "added" if kind == "mixed" else "repeated": shares(judged[1], corpus, is_wrong),
        }


def shares(judged: JudgedSet, corpus: Corpus, is_wrong: Callable[[str, str], bool]) -> dict[str, float]:
    """Return the share of wrong hits: of first hits, and of the next four.

    Args:
        judged: The set.
        corpus: Its documents.
        is_wrong: Judges a hit by the name of its document and its text.
    """
    first: list[bool] = []
    next_four: list[bool] = []
    for question in judged.set.questions:
        hits = corpus.workspace.search(SearchQuery(question.text, limit=HITS)).hits
        wrong = [is_wrong(corpus.naming.name_of(hit.path), hit.text) for hit in hits]
        first += wrong[:1]
        next_four += wrong[1:]
    return {"first": _share(first), "2-5": _share(next_four)}


def _is_added(name: str, _text: str) -> bool:
    return name.startswith(ADDED_PREFIX)


def _is_repeated(_name: str, text: str) -> bool:
    return all(_PAGE.sub("{name}", line) in _REPEATED_LINES for line in text.splitlines())


def _share(found: Iterable[bool]) -> float:
    every = list(found)
    return round(sum(every) / len(every), DIGITS)


def main() -> None:
    """Run from the command line."""
    arguments = sets_parser(__doc__).parse_args()
    result: dict[str, Any] = {}
    with temporary_folder() as temporary:
        for altered in make_sets(arguments.folder, temporary / "sets"):
            result[altered.name] = measure(arguments.folder, altered, arguments.embed_cache or temporary)
            print(altered.name, result[altered.name], flush=True)
    print(write_result("altered", result, arguments.output))


if __name__ == "__main__":
    main()
