#!/usr/bin/env python3
"""Records the retrieval quality that tests/integration/test_quality_gate.py holds the code against.

Run it after a change that is meant to move the figures, look at the difference, and commit it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SET = Path("tests", "data", "astro_docs")

# What one question more or less, or a processor that rounds otherwise, may move: one of 126 questions is
# .008 of a share, and less of what looks at ranks.
TOLERANCE = {"nDCG@10": 0.01, "R@5": 0.02, "R@10": 0.02, "MRR@10": 0.015, "Hit@1": 0.02}
DIGITS = 4


def record(report: dict[str, Any]) -> dict[str, Any]:
    """Keep of a report what a gate reads and a person compares: no question, no time, no place."""
    return {
        "model": report["model"],
        "tolerance": TOLERANCE,
        "sets": [
            {
                "name": each["name"],
                "min_grade": each["min_grade"],
                "systems": [
                    {
                        "system": system["system"],
                        "metrics": _means(system["metrics"]),
                        "groups": [
                            {"name": group["name"], "metrics": _means(group["metrics"])}
                            for group in system["groups"]
                        ],
                    }
                    for system in each["systems"]
                ],
            }
            for each in report["sets"]
        ],
    }


def _means(metrics: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {name: {"mean": round(value["mean"], DIGITS)} for name, value in metrics.items()}


def main() -> int:
    """Measure and write; return the exit code of ``mdvec eval``."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "report.json"
        command = ["eval", str(SET), "--min-grade", "2", "--by", "lang", "--format", "json"]
        done = subprocess.run(
            [sys.executable, "-m", "mdvec", *command, "--output", str(output)], cwd=ROOT, check=False
        )
        if done.returncode:
            return done.returncode
        made = record(json.loads(output.read_text(encoding="utf-8")))
    path = ROOT / SET / "baseline.json"
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
