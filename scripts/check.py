#!/usr/bin/env python3
"""Runs every check of the project, in the order of the quickest answer. Stops at the first that fails.

With ``--heavy`` it runs what the others leave out: the tests that need Node, a browser, torch or
another store, and the harnesses that kill processes; and it measures coverage. That takes
``pip install -e '.[test-heavy]'``.

In CI (``CI`` is set) both run, one after the other, and no test runs twice: the first records the coverage of
its tests, the second adds its own and reports. Elsewhere the first records nothing, and the second runs the
measured tests once more (tests/conftest.py says which they are).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable, "-m"]
PYTEST = ["pytest", "-q"]
CORES = os.cpu_count() or 1
# One process more than there are cores: some tests wait for a lock or a process. Heavy tests mostly wait, for
# servers, browsers and Node.
PROCESSES = min(4, CORES + 1)
HEAVY_PROCESSES = min(8, 2 * CORES + 1)
# What needs more than `.[dev]`, and is left out by default (see pyproject.toml).
HEAVY = "node or browser or harness"
STORES = "torch or postgres or lancedb or chroma or s3 or ray"
DEFAULT = f"not ({STORES} or {HEAVY})"
COVERAGE = [*PYTHON, "coverage"]


def tests(markers: str, processes: int, *, measuring: bool) -> list[str]:
    """Return the command that runs the tests of some markers in so many processes."""
    # A file stays in one process: its tests share servers and databases. Files of many quick tests come last.
    parallel = ["-n", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]
    return [*([*COVERAGE, "run", "-m"] if measuring else PYTHON), *PYTEST, *parallel, "-m", markers]


def steps(*, in_ci: bool) -> dict[str, list[str]]:
    """Return the commands of the checks, by their names."""
    return {
        "format": [*PYTHON, "ruff", "format", "--check", "."],
        "lint": [*PYTHON, "ruff", "check", "."],
        "types": [*PYTHON, "mypy"],
        "layers": [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        "tests": tests(DEFAULT, PROCESSES, measuring=in_ci),
    }


def heavy_steps(*, in_ci: bool) -> dict[str, list[str]]:
    """Return the commands of ``--heavy``, by their names."""
    heavy = f"{STORES} or {HEAVY}"
    chosen = heavy if in_ci else f"measured or {heavy}"
    return {
        "tests": tests(chosen, HEAVY_PROCESSES, measuring=True),
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
