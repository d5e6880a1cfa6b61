#!/usr/bin/env python3
"""Runs every check of the project, in the order of the quickest answer. Stops at the first that fails.

With ``--heavy`` it runs what the others leave out: the tests that need Node, a browser, torch or
another store, and the harnesses that kill processes; and it measures coverage. That takes
``pip install -e '.[test-heavy]'``.

In CI (``CI`` is set) both run, one after the other, and no test runs twice: the first records the coverage of
the tests that are measured, the second adds its own and reports. Elsewhere the first records nothing, and the
second runs the measured tests once more.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable, "-m"]
PYTEST = ["pytest", "-q"]
# One process more than there are cores: many tests wait for a server, a browser or a lock.
PROCESSES = min(4, (os.cpu_count() or 1) + 1)
# A file stays in one process: its tests share servers and databases. Files of many quick tests come last.
PARALLEL = ["-n", str(PROCESSES), "--dist", "loadfile", "--no-loadscope-reorder"]
# What needs more than `.[dev]`, and is left out by default (see pyproject.toml).
HEAVY = "node or browser or harness"
STORES = "torch or postgres or lancedb or chroma or s3 or ray"
DEFAULT = f"not ({STORES} or {HEAVY})"
COVERAGE = [*PYTHON, "coverage"]
MEASURED = [*COVERAGE, "run", "-m", *PYTEST, *PARALLEL, "-m"]


def files_with(markers: str) -> list[str]:
    """Return the files whose tests have one of some markers: to import all takes each process seconds."""
    marked = re.compile(rf"mark\.(?:{markers.replace(' or ', '|')})\b")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [path for path in files if marked.search(path.read_text(encoding="utf-8"))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def steps(*, in_ci: bool) -> dict[str, list[str]]:
    """Return the commands of the checks, by their names."""
    tests = [*PYTHON, *PYTEST, *PARALLEL]
    split = {
        # tests/conftest.py says which are measured.
        "tests under coverage": [*MEASURED, f"measured and {DEFAULT}"],
        "other tests": [*tests, "-m", f"not measured and {DEFAULT}"],
    }
    return {
        "format": [*PYTHON, "ruff", "format", "--check", "."],
        "lint": [*PYTHON, "ruff", "check", "."],
        "types": [*PYTHON, "mypy"],
        "layers": [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        **(split if in_ci else {"tests": tests}),
    }


def heavy_steps(*, in_ci: bool) -> dict[str, list[str]]:
    """Return the commands of ``--heavy``, by their names."""
    measured = f"({STORES})" if in_ci else f"(measured or {STORES})"
    return {
        "tests that need Node or Chromium, and harnesses": [
            *(*PYTHON, *PYTEST, *PARALLEL, "-m", HEAVY, *files_with(HEAVY)),
        ],
        "tests under coverage": [*MEASURED, f"{measured} and not ({HEAVY})"],
        "combine": [*COVERAGE, "combine", "--quiet"],
        "coverage": [*COVERAGE, "report"],
    }


def main(arguments: list[str]) -> int:
    """Run the steps; return the exit code of the first that fails, or 0."""
    chosen = heavy_steps if arguments == ["--heavy"] else steps
    # In CI a skipped test is a failed one.
    environment = {**os.environ, "CI": "true"}
    for name, command in chosen(in_ci=bool(os.environ.get("CI"))).items():
        print(f"--- {name}", flush=True)
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        print(f"--- {name}: {time.monotonic() - started:.0f} s", flush=True)
        if done.returncode:
            print(f"--- {name} failed", file=sys.stderr, flush=True)
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
