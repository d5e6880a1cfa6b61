#!/usr/bin/env python3
"""Writes the table of ``docs/reference/platforms.md``: where ``pip install mdvec`` takes wheels alone.

It takes ``pip install uv``, and asks the registry for every system and Python. Unlike pip, uv evaluates
markers for the system that it resolves for.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "platforms.md"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux x86-64 (glibc 2.28)": "x86_64-manylinux_2_28",
    "Linux ARM64 (glibc 2.28)": "aarch64-manylinux_2_28",
    "Linux x86-64 (musl)": "x86_64-unknown-linux-musl",
    "Linux ARM64 (musl)": "aarch64-unknown-linux-musl",
    "macOS 14, Intel": "x86_64-apple-darwin",
    "macOS 14, Apple silicon": "aarch64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
    "Windows ARM64": "aarch64-pc-windows-msvc",
}
# Dropped one after the other until the rest has wheels, and what the cell says then.
LEFT_OUT = {"": "", "onnxruntime": "numpy by hand", "pyyaml": "pyyaml's source"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Without the model, which has one wheel for all.
REQUIRED: list[str] = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["dependencies"]
ENVIRONMENT = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}
TABLE = re.compile(
    r"(?<=<!-- table: written by scripts/platforms.py -->\n).*?(?=<!-- end of table -->)", re.DOTALL
)


def main() -> int:
    """Write the table; return 1 if a cell has no solution."""
    rows = [f"| | {' | '.join(PYTHONS)} |", f"|---|{'---|' * len(PYTHONS)}"]
    for name, platform in PLATFORMS.items():
        cells = [cell(platform, python) for python in PYTHONS]
        rows.append(f"| {name} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub("\n".join([*rows, ""]), page), encoding="utf-8")
    return int(any("none" in row for row in rows))


def cell(platform: str, python: str) -> str:
    """Resolve what mdvec needs for one system and one Python; return what there is."""
    for dropped, text in LEFT_OUT.items():
        found = resolved(platform, python, dropped)
        if found is not None:
            return text or ("wheels" if "onnxruntime" in found else "wheels, numpy")
    return "none"


def resolved(platform: str, python: str, dropped: str) -> set[str] | None:
    """Return the packages that are installed, all of them as wheels; None if one has no wheel."""
    with tempfile.TemporaryDirectory() as folder:
        overrides = Path(folder) / "overrides.in"
        overrides.write_text(dropped and f"{dropped}; sys_platform == 'never'\n", encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "compile",
            "-",
            "--overrides",
            str(overrides),
        ]
        wanted = ["--python-platform", platform, "--python-version", python, "--only-binary", ":all:"]
        done = subprocess.run(
            [*command, *wanted, "--quiet", "--no-header", "--no-annotate"],
            cwd=ROOT,
            env=ENVIRONMENT,
            input="\n".join(REQUIRED),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    return None if done.returncode else {line.partition("==")[0] for line in done.stdout.splitlines()}


if __name__ == "__main__":
    sys.exit(main())
