"""Prints the README's table of retrieval quality from the recorded figures: ``python -m benchmarks.summary``.

Each row is the mean over the sets of one kind, every set counting alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "results" / "quality.json"

METRIC = "nDCG@10"

# The columns: systems as they are recorded, with what the README calls them.
SYSTEMS = {
    "grep": "grep",
    "fts5-characters": "full-text index",
    "lexical": "words only",
    "dense": "vectors only",
    "rrf-60": "rank fusion",
    "hybrid": "**mdvec**",
}

# The rows: a set belongs to the first kind of whose prefixes or suffixes it has one.
KINDS = {
    "Documentation": ("docs_",),
    "Notes and vaults": ("vault_", "til_"),
    "English questions and abstracts": ("en_",),
    "Japanese questions": ("ja_",),
}
CROSS_LANGUAGE = "Answer in the other language"


def kind_of(name: str) -> str:
    """Return the row that a set belongs to.

    Raises:
        ValueError: If no row takes it.
    """
    if name.startswith("xl_") or name.endswith("_xl"):
        return CROSS_LANGUAGE
    for kind, prefixes in KINDS.items():
        if name.startswith(prefixes):
            return kind
    msg = f"the set {name!r} is of no kind in the summary"
    raise ValueError(msg)


def summary_table(sets: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the mean nDCG@10 of each kind of sets as a Markdown table, the best of each row in bold.

    Args:
        sets: The figures by set, as ``benchmarks/results/quality.json`` holds them.
    """
    lines = [
        f"| questions | number | {' | '.join(SYSTEMS.values())} |",
        f"|---|---:|{'---:|' * len(SYSTEMS)}",
    ]
    for kind in (*KINDS, CROSS_LANGUAGE):
        members = [figures for name, figures in sets.items() if kind_of(name) == kind]
        if members:
            lines.append(_row(kind, members))
    return "\n".join(lines)


def _row(kind: str, members: list[Mapping[str, Any]]) -> str:
    means = [sum(each["systems"][system][METRIC][0] for each in members) / len(members) for system in SYSTEMS]
    shown = [f"{mean:.2f}" for mean in means]
    cells = [f"**{value}**" if value == max(shown) else value for value in shown]
    return f"| {kind} | {sum(each['questions'] for each in members):,} | {' | '.join(cells)} |"


def main() -> None:
    """Run from the command line."""
    print(summary_table(json.loads(RECORD.read_text(encoding="utf-8"))["result"]["sets"]))


if __name__ == "__main__":
    main()
