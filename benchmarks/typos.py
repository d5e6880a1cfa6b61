"""Measures what a typo costs, and what its correction brings back.

    python -m benchmarks.typos SETS_DIR --embed-cache DIR

One word of each English question gets one letter too many, one missing, another one, or two exchanged: the
same in every run. Hybrid nDCG@10 of the questions as they are and mistyped, without and with corrections.
"""

from __future__ import annotations

import argparse
import random
import re
import string
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from benchmarks.harness import Patch, applied, write_result
from benchmarks.quality import find_sets
from mdvec import open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import Indexing, judged_task, temporary_folder
from mdvec.evaluation.judgements import JudgedSet, Question
from mdvec.evaluation.metrics import PRIMARY
from mdvec.evaluation.runner import Options, evaluate
from mdvec.search import interpretation
from mdvec.search.spelling import Spelling
from mdvec.text.english import STOP_WORDS
from mdvec.text.scripts import holds_unspaced
from mdvec.types.query import SearchMode

SETS = ("docs_astro", "en_cisi", "en_cranfield", "en_stackfaq", "vault_jzhao_link", "vault_obsidian_help")
"""Sets with questions in English."""

MAX_QUESTIONS = 300

_WORD = re.compile(r"\b[A-Za-z]{5,}\b")
_UNCORRECTED = (Patch(interpretation, "check_spelling", lambda *_: Spelling()),)


def mistyped(text: str, seed: str) -> str:
    """Return a question with one typo in one of its words of five letters or more; as it is without one."""
    chance = random.Random(seed)
    words = [match for match in _WORD.finditer(text) if match[0].lower() not in STOP_WORDS]
    if not words:
        return text
    word = chance.choice(words)
    at = chance.randrange(word.start() + 1, word.end() - 1)
    letter = chance.choice(string.ascii_lowercase.replace(text[at].lower(), ""))
    here, after = text[at], text[at + 1]
    typo = chance.choice((after, letter + after, letter + here + after, after + here))
    return text[:at] + typo + text[at + 2 :]


def measure(judged: JudgedSet, cache: Path | None) -> dict[str, float]:
    """Return hybrid nDCG@10 of a set in four ways, and the number of its questions."""
    english = [each for each in judged.set.questions if not holds_unspaced(each.text)][:MAX_QUESTIONS]
    typos = [replace(each, text=mistyped(each.text, each.id)) for each in english]
    figures: dict[str, float] = {"questions": len(english)}
    for name, questions in (("clean", english), ("typo", typos)):
        figures[name] = _ndcg(judged, questions, cache)
        with applied(_UNCORRECTED):
            figures[f"{name}_uncorrected"] = _ndcg(judged, questions, cache)
    return figures


def _ndcg(judged: JudgedSet, questions: Sequence[Question], cache: Path | None) -> float:
    asked = replace(judged, set=replace(judged.set, questions=tuple(questions)))
    with temporary_folder() as folder:
        task = judged_task(asked, Indexing(open_workspace, Config(), cache or folder))
        [report] = evaluate([task], Options(modes=(SearchMode.HYBRID,), all_modes=False)).sets
    return round(report.systems[0].metrics[PRIMARY].mean, 4)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="SETS_DIR")
    parser.add_argument("--only", nargs="+", default=list(SETS), metavar="NAME", help="these sets alone")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the indexes here")
    parser.add_argument("--output", type=Path, metavar="F")
    arguments = parser.parse_args()
    results = {}
    for judged in find_sets(arguments.folder, arguments.only, {}):
        results[judged.set.name] = measure(judged, arguments.embed_cache)
        print(judged.set.name, results[judged.set.name], flush=True)
    write_result("typos", results, arguments.output)


if __name__ == "__main__":
    main()
