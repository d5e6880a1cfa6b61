"""What an import makes of texts that no one writes: processor time and memory by their size.

Each text is parsed, cut by the builtin model's tokens, and its terms are found, at three sizes, in a process
of its own. Time that grows as the text does gives 2 where the size doubles.

    python -m benchmarks.linear
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import ROOT, peak_rss_mb, write_result
from mdvec.chunking.sections import SectionChunker
from mdvec.config.paths import default_cache_dir
from mdvec.documents.parse import parse_document
from mdvec.embedding.builtin.embedder import BuiltinEmbedder
from mdvec.embedding.interface import Runtime
from mdvec.indexing.prepare import make_record
from mdvec.types.change import SourceEntry

PARTS: Final[Mapping[str, str]] = {
    "headings": "# h\n",
    "headings in each other": "# a\n## b\n### c\n#### d\n##### e\n###### f\n",
    "brackets": "[[",
    "lines of brackets": "[[\n",
    "backticks": "`a ",
    "tables": "| x | y |\n|---|---|\n",
    "quotations in each other": "> ",
    "lists in each other": "- ",
    "emphasis": "*a _b ",
    "links": "[a](b) ",
    "tags": "#a ",
    "HTML": "<a ",
    "comments": "%%a ",
    "one line": "word ",
    "kanji without a space": "漢字",
    "a word without end": "a",
}
CHARS: Final = 1_250_000  # of the smallest text; the largest is four times as long
LONG_LINE_CHARS: Final = 50_000_000


def measure(part: str, chars: int) -> dict[str, float]:
    """Prepare a text of this process, and return what it took.

    Args:
        part: What is repeated.
        chars: How long the text is.
    """
    tokens = BuiltinEmbedder(Runtime(default_cache_dir())).tokens
    chunker = SectionChunker(token_ends=tokens.ends, token_estimate=tokens.estimate)
    text = part * (chars // len(part))
    for each in ("a first text", text):  # the first one imports and maps what is needed
        before = time.process_time()
        document = parse_document("x.md", each)
        chunks = chunker.chunk(document).chunks
        make_record(SourceEntry("x.md", "x.md", 1, len(each)), b"", "", document, chunks)
        cpu_s = time.process_time() - before
    return {"cpu_s": round(cpu_s, 2), "peak_mb": round(peak_rss_mb()), "chunks": len(chunks)}


def in_a_process(name: str, chars: int) -> dict[str, float]:
    """Measure a text in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.linear", "--part", name, "--chars", str(chars)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def figures_of(name: str) -> dict[str, Any]:
    """Measure one kind of text at three sizes."""
    sizes = [in_a_process(name, CHARS * times) for times in (1, 2, 4)]
    seconds = [each["cpu_s"] for each in sizes]
    return {
        "cpu_s": seconds,
        "peak_mb": [each["peak_mb"] for each in sizes],
        "growth": [round(after / max(before, 0.01), 2) for before, after in pairwise(seconds)],
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, help="one kind of text, in this process")
    parser.add_argument("--chars", type=int, default=CHARS)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if arguments.part is not None:
        print(json.dumps(measure(PARTS[arguments.part], arguments.chars)))
        return
    figures: dict[str, Any] = {}
    for name in PARTS:
        figures[name] = figures_of(name)
        print(name, figures[name], flush=True)
    figures["one line of 50 MB"] = in_a_process("one line", LONG_LINE_CHARS)
    figures["chars"] = [CHARS * times for times in (1, 2, 4)]
    write_result("linear", figures, arguments.output)


if __name__ == "__main__":
    main()
