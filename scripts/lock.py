#!/usr/bin/env python3
"""Writes the lock files: every package that CI and an image install, with its version and hashes.

It takes ``pip install uv``. ``requirements/core.txt`` holds what mdvec itself needs, ``requirements/ci.txt``
what all tests need as well, ``requirements/build.txt`` what builds both packages, all in the same versions.
torch and what needs it are left out, since its builds differ by machine, and so is mdvec's own model.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
LEFT_OUT = ("torch", "sentence-transformers")
OURS = "mdvec-e5"
OPTIONS = ["--universal", "--generate-hashes", "--fork-strategy", "fewest", "--no-header", "--quiet"]


def main() -> int:
    """Write all files; the versions of the others are those of the largest."""
    projects = [ROOT / "pyproject.toml", ROOT / "packages" / "mdvec-e5" / "pyproject.toml"]
    required = [
        tomllib.loads(path.read_text(encoding="utf-8"))["build-system"]["requires"] for path in projects
    ]
    build = "\n".join(line for lines in required for line in lines)
    FOLDER.mkdir(exist_ok=True)
    full = FOLDER / "ci.txt"
    overrides = FOLDER / "left_out.in"
    overrides.write_text("".join(f"{name}; sys_platform == 'never'\n" for name in LEFT_OUT), encoding="utf-8")
    # The overrides drop the packages that these need, the options drop these themselves.
    unwritten = [f"--no-emit-package={name}" for name in (OURS, *LEFT_OUT)]
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        *OPTIONS,
        *unwritten,
        "--overrides",
        str(overrides),
    ]
    same = ["--constraints", str(full)]
    try:
        for target, chosen in (
            (full, ["pyproject.toml", "-", "--all-extras", "--upgrade"]),
            (FOLDER / "core.txt", ["pyproject.toml", *same]),
            (FOLDER / "build.txt", ["-", "--python-version", "3.11", *same]),
        ):
            done = [*command, *chosen, "--output-file", str(target)]
            subprocess.run(done, cwd=ROOT, input=build, encoding="utf-8", check=True)
    finally:
        overrides.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
