#!/usr/bin/env python3
"""Runs every check of the project, in the order of the quickest answer. Stops at the first that fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable, "-m"]
STEPS = {
    "format": [*PYTHON, "ruff", "format", "--check", "."],
    "lint": [*PYTHON, "ruff", "check", "."],
    "types": [*PYTHON, "mypy"],
    "layers": [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
    "tests": [*PYTHON, "coverage", "run", "-m", "pytest", "-q"],
    "coverage": [*PYTHON, "coverage", "combine", "--quiet"],
    "coverage gate": [*PYTHON, "coverage", "report"],
    # Installs the MCP clients that are written in JavaScript when they are not there yet.
    "conformance": [sys.executable, str(ROOT / "scripts" / "conformance")],
}


def main() -> int:
    """Run the steps; return the exit code of the first that fails, or 0."""
    # A skipped test did not run: here it counts as failed.
    environment = {**os.environ, "MDVEC_FAIL_ON_SKIP": "1"}
    for name, command in STEPS.items():
        print(f"--- {name}", flush=True)
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        print(f"--- {name}: {time.monotonic() - started:.0f} s", flush=True)
        if done.returncode:
            print(f"--- {name} failed", file=sys.stderr, flush=True)
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
