"""Shared by the benchmarks: results as JSON, percentiles, and real texts."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

import mdvec

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
TEXT_SUFFIXES = {".md", ".mdx", ".markdown", ".txt"}


class Patch(Struct, frozen=True):
    """Another value for a name of the real code, for as long as :func:`applied` lasts.

    Attributes:
        owner: A module or class.
        name: A name that it has.
        value: Its replacement.
    """

    owner: object
    name: str
    value: object


@contextmanager
def applied(patches: Sequence[Patch]) -> Iterator[None]:
    """Replace values and put the old ones back afterwards.

    Raises:
        AttributeError: If an owner does not have the name: the code has moved on, and the patch has to.
    """
    old = [(patch, getattr(patch.owner, patch.name)) for patch in patches]
    try:
        for patch in patches:
            setattr(patch.owner, patch.name, patch.value)
        yield
    finally:
        for patch, value in old:
            setattr(patch.owner, patch.name, value)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share (0..1) of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def time_ms(call: Callable[[], object]) -> float:
    """Return how long a call takes, in milliseconds of wall time."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def peak_rss_mb() -> float:
    """Return the most memory this process was resident with, in MB; that of its parent does not count."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # Linux counts into ru_maxrss what a process had before it ran another program.
    [peak] = re.findall(r"^VmHWM:\s*(\d+) kB", status.read_text(encoding="ascii"), re.MULTILINE)
    return int(peak) / 1024


def compiled_env() -> dict[str, str]:
    """Return an environment whose processes keep compiled modules, as pip leaves them after it installs."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def commit() -> str:
    """Return the short hash of the commit that is measured, with a ``+`` when the tree differs."""
    try:
        head = _git("rev-parse", "--short", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--", "src") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def sets_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that benchmarks on judged sets have in common."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="SETS_DIR")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the indexes here")
    parser.add_argument("--output", type=Path, metavar="F")
    return parser


def write_result(name: str, result: dict[str, Any], output: Path | None = None) -> Path:
    """Write a result with what it was measured on.

    Args:
        name: Name of the benchmark.
        result: Its figures.
        output: Where to write; ``benchmarks/results/NAME.json`` when None.

    Returns:
        The file.
    """
    path = output or RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "benchmark": name,
        "mdvec": mdvec.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "result": result,
    }
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def texts_below(folders: Sequence[Path], *, limit: int | None = None) -> Iterator[tuple[Path, str]]:
    """Read real documents.

    Args:
        folders: Where to look.
        limit: Most documents to read.

    Yields:
        Each document's path and text, in path order.
    """
    paths = sorted(
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in TEXT_SUFFIXES and path.is_file()
    )
    for path in paths[:limit]:
        yield path, path.read_text(encoding="utf-8", errors="replace")
