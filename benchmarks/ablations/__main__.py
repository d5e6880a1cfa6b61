"""Measures what every step of the ranking is worth: the search with one thing changed, again and again.

    python -m benchmarks.ablations SETS_DIR --embed-cache DIR     measures, prints a table, writes JSON
    python -m benchmarks.ablations                                prints the table of that JSON

Differences are of nDCG@10 to the search as it is shipped, on the same questions; folds are halves of each
set's questions, by a hash of their ids. docs/explanation/ranking.md has the results.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.ablations.measuring import Scores
from benchmarks.ablations.report import result_of, table
from benchmarks.ablations.running import by_documents, measure
from benchmarks.ablations.variant import Variant
from benchmarks.ablations.variants import all_variants
from benchmarks.harness import RESULTS, write_result
from benchmarks.quality import MIN_GRADES, find_sets
from mdvec.config import Config
from mdvec.evaluation.judgements import JudgedSet
from mdvec.workspace.wiring.parts import Parts

# Measured when they are named alone: eight thousand documents for a few dozen questions.
NAMED_ALONE = frozenset({"docs_tldr_xl"})


def chosen_variants(only: Sequence[str], *, slow: bool) -> list[Variant]:
    """Return the variants of some names; without names all, the slow ones on request.

    Raises:
        ValueError: If there is no variant of a name.
    """
    known = {variant.name: variant for variant in all_variants()}
    unknown = [name for name in only if name not in known]
    if unknown:
        msg = f"no variant is called {unknown[0]}; there are {', '.join(known)}"
        raise ValueError(msg)
    return [each for each in known.values() if (each.name in only if only else slow or not each.slow)]


def chosen_sets(folder: Path, only: Sequence[str]) -> list[JudgedSet]:
    """Read the sets below a folder; all but :data:`NAMED_ALONE` without names."""
    return [
        judged
        for judged in find_sets(folder, list(only), MIN_GRADES)
        if only or judged.set.name not in NAMED_ALONE
    ]


def run(
    sets: Sequence[JudgedSet], variants: Sequence[Variant], cache: Path | None, output: Path | None
) -> dict[str, Any]:
    """Measure and return the figures, as they are written after each body of documents."""
    embedder = Parts(Config()).embedders.model(None).embedder
    if embedder is None:
        sys.exit("there is no embedding model here: run 'mdvec doctor'")
    result: dict[str, Any] = {}
    scores: dict[str, dict[str, Scores]] = {}
    questions = {each.set.name: each.set.questions for each in sets}
    for group in by_documents(sets):
        scores |= measure(group, variants, embedder=embedder, cache=cache, say=_say)
        result = result_of(scores, questions, {each.name: each.change for each in variants})
        if output is not None:
            write_result("ablations", result, output)
    return result


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.ablations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, nargs="?", metavar="SETS_DIR")
    parser.add_argument("--only", nargs="+", default=[], metavar="VARIANT", help="these variants alone")
    parser.add_argument("--only-set", nargs="+", default=[], metavar="NAME", help="these sets alone")
    parser.add_argument("--slow", action="store_true", help="also what embeds all documents again")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the indexes here")
    parser.add_argument(
        "--output", type=Path, metavar="F", help="not written with --only and --only-set, unless named"
    )
    parser.add_argument("--list", action="store_true", help="say what each variant changes")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(f"{each.name:20} {each.change}" for each in all_variants()))
        return
    part = bool(arguments.only or arguments.only_set)
    output: Path | None = arguments.output or (None if part else RESULTS / "ablations.json")
    if arguments.folder is None:
        recorded = output or RESULTS / "ablations.json"
        result = json.loads(recorded.read_text(encoding="utf-8"))["result"]
    else:
        try:
            variants = chosen_variants(arguments.only, slow=arguments.slow)
        except ValueError as error:
            parser.error(str(error))
        sets = chosen_sets(arguments.folder, arguments.only_set)
        if not sets:
            parser.error(f"no set in {arguments.folder}: a set is a folder with queries.jsonl")
        result = run(sets, variants, arguments.embed_cache, output)
    print(table(result))


if __name__ == "__main__":
    main()
