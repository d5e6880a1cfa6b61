"""Measures retrieval on every judged set below a folder: all modes, all baselines, the same chunks.

    python -m benchmarks.quality SETS_DIR --embed-cache DIR     measures, prints a table, writes JSON
    python -m benchmarks.quality --markdown                     prints the table of all sets from that JSON

A set is a folder with ``queries*.jsonl`` (see docs/how-to/measure-retrieval.md); each of its suffixes is a
set of its own. With a cache, an interrupted run resumes: only what is not embedded yet is embedded.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, write_result
from benchmarks.peers import NAMES, peers_and_baselines
from mdvec import open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import Indexing, judged_task, temporary_folder
from mdvec.evaluation.judgements import JudgedSet, read_judged_set
from mdvec.evaluation.metrics import METRICS, PRIMARY
from mdvec.evaluation.report import Interval, SetReport, SystemComparison, SystemReport
from mdvec.evaluation.runner import Options, evaluate
from mdvec.types.query import SearchMode

# Grade from which a document counts, where it is not 1. Both grades of docs_astro are about the same thing:
# 2 is the page in the question's language, 1 its translation.
MIN_GRADES: Mapping[str, int] = {"docs_astro": 2}

# Groups are reported by these labels, where a set has more than one value of them.
GROUPED_BY = ("lang", "subset")

# Columns of the table: the peers' ways first, ours last.
COLUMNS = (*NAMES, *(mode.value for mode in (SearchMode.LEXICAL, SearchMode.DENSE, SearchMode.HYBRID)))

DIGITS = 4


def find_sets(folder: Path, only: list[str], min_grades: Mapping[str, int]) -> Iterator[JudgedSet]:
    """Read the sets directly below a folder, in order of their names.

    Args:
        folder: Their folder.
        only: Names, suffixes included; all when empty.
        min_grades: Grade from which a document counts, by name; 1 for the others.

    Yields:
        Each set, its documents not read yet.
    """
    for queries in sorted(folder.glob("*/queries*.jsonl")):
        suffix = queries.stem.removeprefix("queries")
        name = queries.parent.name + suffix
        if not only or name in only:
            yield read_judged_set(queries.parent, suffix=suffix, min_grade=min_grades.get(name, 1))


def labels_to_group_by(judged: JudgedSet) -> tuple[str, ...]:
    """Return those of :data:`GROUPED_BY` with several values in a set."""
    return tuple(
        label
        for label in GROUPED_BY
        if len({question.labels.get(label) for question in judged.set.questions}) > 1
    )


def measure(judged: JudgedSet, cache: Path | None) -> dict[str, Any]:
    """Measure one set.

    Args:
        judged: The set.
        cache: Folder of its index; None to make and delete one.

    Returns:
        Its figures, as they are written.
    """
    options = Options(by=labels_to_group_by(judged), baselines=peers_and_baselines)
    with temporary_folder() as folder:
        task = judged_task(judged, Indexing(open_workspace, Config(), cache or folder))
        report = evaluate([task], options, say=lambda line: print(line, file=sys.stderr, flush=True))
    return {
        **set_figures(report.sets[0]),
        "min_grade": judged.set.min_grade,
        "model": report.model,
        "seconds": round(report.elapsed_ms / 1000, 1),
    }


def measure_named(
    name: str, folder: Path, cache: Path | None, min_grades: Mapping[str, int]
) -> dict[str, Any]:
    """Measure the set of a name; see :func:`measure`. A process of its own can do it."""
    [judged] = find_sets(folder, [name], min_grades)
    return measure(judged, cache)


def set_figures(report: SetReport) -> dict[str, Any]:
    """Return the figures of one set; latencies as multiples of hybrid's, which hold on other machines too."""
    hybrid_ms = next((each.p50_ms for each in report.systems if each.system == SearchMode.HYBRID), None)
    return {
        "questions": len(report.set.questions),
        "documents": report.documents,
        "chunks": report.chunks,
        "systems": {each.system: _system_figures(each, hybrid_ms) for each in report.systems},
        "hybrid_against": {each.other: _comparison_figures(each) for each in report.comparisons},
        "warnings": list(report.warnings),
    }


def _system_figures(report: SystemReport, hybrid_ms: float | None) -> dict[str, Any]:
    return {
        **_interval_figures(report.metrics),
        "groups": {
            each.name: {"questions": each.questions, **_interval_figures(each.metrics)}
            for each in report.groups
        },
        "p50_to_hybrid": round(report.p50_ms / hybrid_ms, 2) if hybrid_ms else None,
        "tokens": round(report.tokens),
    }


def _interval_figures(metrics: Mapping[str, Interval]) -> dict[str, list[float]]:
    """Return mean, low and high end of each metric."""
    return {
        name: [round(value, DIGITS) for value in (each.mean, each.low, each.high)]
        for name, each in metrics.items()
    }


def _comparison_figures(comparison: SystemComparison) -> dict[str, Any]:
    difference = comparison.difference
    return {
        PRIMARY: [round(value, DIGITS) for value in (difference.mean, difference.low, difference.high)],
        "p": round(comparison.p_value, DIGITS),
        "better": comparison.wins,
        "worse": comparison.losses,
    }


def plain_table(name: str, figures: Mapping[str, Any]) -> str:
    """Return all systems and metrics of one set, aligned."""
    questions, documents, chunks = (figures[key] for key in ("questions", "documents", "chunks"))
    lines = [f"{name}: {questions:,} questions, {documents:,} documents, {chunks:,} chunks"]
    heads = [*METRICS, "time", "tokens"]
    lines.append(f"  {'':16}" + "".join(f"{head:>9}" for head in heads))
    for system, values in figures["systems"].items():
        shown = "".join(f"{values[metric][0]:9.3f}" for metric in METRICS)
        lines.append(f"  {system:16}{shown}{values['p50_to_hybrid'] or 0:8.2f}x{values['tokens']:9,}")
    return "\n".join(lines)


def markdown_table(sets: Mapping[str, Mapping[str, Any]], *, with_groups: bool = False) -> str:
    """Return nDCG@10 of every set, the best of each row in bold.

    Args:
        sets: The figures by set, as they are written.
        with_groups: Also a row for each language or subset, as docs/explanation/quality.md shows them.
    """
    columns = [column for column in COLUMNS if any(column in each["systems"] for each in sets.values())]
    lines = [
        f"| set | questions | {' | '.join(columns)} |",
        f"|---|---:|{'---:|' * len(columns)}",
    ]
    for name, figures in sets.items():
        systems = figures["systems"]
        lines.append(_markdown_row(f"`{name}`", figures["questions"], systems, columns))
        groups = next(iter(systems.values()))["groups"] if with_groups else {}
        for group, values in groups.items():
            members = {system: each["groups"][group] for system, each in systems.items()}
            lines.append(_markdown_row(f"`{name}`, {group}", values["questions"], members, columns))
    return "\n".join(lines)


def _markdown_row(
    name: str, questions: int, systems: Mapping[str, Mapping[str, Any]], columns: Sequence[str]
) -> str:
    shown = {column: f"{systems[column][PRIMARY][0]:.3f}" for column in columns if column in systems}
    best = max(shown.values())
    cells = [
        f"**{value}**" if value == best else value for value in (shown.get(column, "–") for column in columns)
    ]
    return f"| {name} | {questions:,} | {' | '.join(cells)} |"


def _graded(text: str) -> tuple[str, int]:
    name, _, grade = text.rpartition("=")
    return name, int(grade)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", metavar="SETS_DIR")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these sets alone")
    parser.add_argument("--min-grade", type=_graded, action="append", default=[], metavar="NAME=N")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the indexes here")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="measure N sets at a time")
    parser.add_argument("--output", type=Path, metavar="F", help="not written with --only, unless named")
    parser.add_argument("--markdown", action="store_true", help="print the table of all sets")
    parser.add_argument("--groups", action="store_true", help="print the table with languages and subsets")
    arguments = parser.parse_args()
    output: Path | None = arguments.output or (None if arguments.only else RESULTS / "quality.json")
    if arguments.folder is None:
        recorded = output or RESULTS / "quality.json"
        sets = json.loads(recorded.read_text(encoding="utf-8"))["result"]["sets"]
    else:
        min_grades = {**MIN_GRADES, **dict(arguments.min_grade)}
        names = [each.set.name for each in find_sets(arguments.folder, arguments.only, min_grades)]
        one = partial(
            measure_named, folder=arguments.folder, cache=arguments.embed_cache, min_grades=min_grades
        )
        sets = {}
        with ProcessPoolExecutor(arguments.processes, get_context("spawn")) as pool:
            for name, figures in zip(names, pool.map(one, names), strict=True):
                sets[name] = figures
                print(plain_table(name, figures), flush=True)
                if output is not None:  # after each set, so that the last one cannot take the others with it
                    total_s = round(sum(each["seconds"] for each in sets.values()))
                    write_result("quality", {"seconds": total_s, "sets": sets}, output)
        if not sets:
            parser.error(f"no set in {arguments.folder}: a set is a folder with queries.jsonl")
    if arguments.markdown or arguments.groups:
        print(markdown_table(sets, with_groups=arguments.groups))


if __name__ == "__main__":
    main()
