#!/usr/bin/env python3
"""Runs every check of the project, in the order of the quickest answer. Stops at the first that fails.

With ``--heavy`` it runs what the others leave out: the tests that need Node, a browser, torch or
another store, and the harnesses that kill processes; and the quick ones once more, under coverage. That takes
``pip install -e '.[test-heavy]'``.
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
STEPS = {
    "format": [*PYTHON, "ruff", "format", "--check", "."],
    "lint": [*PYTHON, "ruff", "check", "."],
    "types": [*PYTHON, "mypy"],
    "layers": [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
    "tests": [*PYTHON, *PYTEST, *PARALLEL],
}
HEAVY = ("node", "browser", "harness")
"""The markers of tests that need Node or Chromium, or a minute."""


def files_with(*markers: str) -> list[str]:
    """Return the files whose tests have one of some markers: to import all takes each process seconds."""
    marked = re.compile(rf"mark\.(?:{'|'.join(markers)})\b")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [path for path in files if marked.search(path.read_text(encoding="utf-8"))]
    return [path.relative_to(ROOT).as_posix() for path in found]


COVERAGE = [*PYTHON, "coverage"]
MEASURED = [*COVERAGE, "run", "-m", *PYTEST, *PARALLEL]
# Of what "tests" has run, only what covers much in little time runs once more (see tests/conftest.py).
MEASURED_TESTS = "(measured or torch or postgres or lancedb or chroma or s3 or ray)"
HEAVY_STEPS = {
    "tests that need Node or Chromium, and harnesses": [
        *(*PYTHON, *PYTEST, *PARALLEL, "-m", " or ".join(HEAVY), *files_with(*HEAVY)),
    ],
    "tests under coverage": [*MEASURED, "-m", f"{MEASURED_TESTS} and not ({' or '.join(HEAVY)})"],
    "combine": [*COVERAGE, "combine", "--quiet"],
    "coverage": [*COVERAGE, "report"],
}


def main(arguments: list[str]) -> int:
    """Run the steps; return the exit code of the first that fails, or 0."""
    # In CI a skipped test is a failed one.
    environment = {**os.environ, "CI": "true"}
    for name, command in (HEAVY_STEPS if arguments == ["--heavy"] else STEPS).items():
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
