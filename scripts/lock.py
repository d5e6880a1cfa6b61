#!/usr/bin/env python3
"""Writes the lock files: every package that CI and an image install, with its version and hashes.

It takes ``pip install uv``. ``requirements/core.txt`` holds what mdvec itself needs, ``requirements/ci.txt``
what all tests need as well, in the same versions. torch and what needs it are left out: its builds differ by
machine.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
LEFT_OUT = ("torch", "sentence-transformers")
OPTIONS = ["--universal", "--generate-hashes", "--fork-strategy", "fewest", "--no-header", "--quiet"]


def main() -> int:
    """Write both files; the versions of the smaller are those of the larger."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    build = "\n".join(project["build-system"]["requires"])
    FOLDER.mkdir(exist_ok=True)
    full = FOLDER / "ci.txt"
    overrides = FOLDER / "left_out.in"
    overrides.write_text("".join(f"{name}; sys_platform == 'never'\n" for name in LEFT_OUT), encoding="utf-8")
    # The overrides drop the packages that these need, the options drop these themselves.
    unwritten = [f"--no-emit-package={name}" for name in LEFT_OUT]
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "-", *OPTIONS, *unwritten]
    try:
        for target, chosen in (
            (full, ["--all-extras", "--overrides", str(overrides), "--upgrade"]),
            (FOLDER / "core.txt", ["--constraints", str(full)]),
        ):
            done = [*command, *chosen, "--output-file", str(target)]
            subprocess.run(done, cwd=ROOT, input=build, text=True, check=True)
    finally:
        overrides.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
