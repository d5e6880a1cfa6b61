"""Memory of a process that embeds many chunks, from the first to the last: it must not grow.

The import runs in a process of its own, through the whole of mdvec; its resident memory is noted as it goes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import re
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.queues import Queue
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.harness import ROOT, texts_below, write_result
from benchmarks.speed_embedding import JAPANESE
from mdvec import registry
from mdvec.config.paths import default_cache_dir
from mdvec.embedding.interface import Runtime
from mdvec.run import Run, Stage, bound
from mdvec.workspace import open_workspace

NAME = "bench"
SECTIONS = 20  # of a document
SECTION_CHARS = 220  # about 90 tokens, half Japanese: above what is merged, below what is cut
TENTHS = 10
MAX_GROWTH = 0.10
SAMPLES = 100

Sample = tuple[int, float, float]
"""Chunks embedded, seconds, resident megabytes."""


def documents(chunks: int, words: list[str], chance: random.Random) -> Iterator[str]:
    """Make up documents of sections; no two are the same, so that every one is embedded."""
    for first in range(0, chunks, SECTIONS):
        sections = []
        for number in range(first, min(first + SECTIONS, chunks)):
            text = f"{number}"
            while len(text) < SECTION_CHARS:
                text += f" {chance.choice(words)}"
            sections.append(f"## {chance.choice(words)} {number}\n\n{text}\n")
        yield f"# {first}\n\n" + "\n".join(sections)


def word_list(folders: list[Path]) -> list[str]:
    """Return words of real documents, and parts of Japanese sentences."""
    english = {word for _, text in texts_below(folders) for word in re.findall(r"[a-z]{3,12}", text)}
    japanese = {part for sentence in JAPANESE for part in re.split("[、。]", sentence) if part}
    return sorted(english)[:2000] + sorted(japanese) * 20


def run(docs: Path, database: Path, *, provider: str, model: str, threads: int | None) -> dict[str, Any]:
    """Import a folder, and watch the memory.

    Args:
        docs: The folder.
        database: Where to write.
        provider: What embeds.
        model: Its model; empty for its own choice.
        threads: Threads to embed with; None for one per core.

    Returns:
        Megabytes before the model is loaded, in each tenth of the chunks, at the most, and after the model is
        freed; and ``growth``, from the second tenth to the last, as a share of the former.
    """
    context = multiprocessing.get_context("spawn")
    outcome: Queue[tuple[list[Sample], dict[str, Any]]] = context.Queue()
    job = context.Process(target=_import, args=(docs, database, provider, model, threads, outcome))
    job.start()
    samples, figures = outcome.get()
    job.join()
    total = samples[-1][0]
    tenths = [
        round(median(rss for done, _, rss in samples if (done - 1) * TENTHS // total == tenth), 1)
        for tenth in range(TENTHS)
        if any((done - 1) * TENTHS // total == tenth for done, _, _ in samples)
    ]
    every = max(1, len(samples) // SAMPLES)
    return {
        **figures,
        "rss_mb_by_tenth": tenths,
        "peak_rss_mb": round(max(rss for *_, rss in samples), 1),
        "growth": round(tenths[-1] / tenths[min(1, len(tenths) - 1)] - 1, 4),
        "samples": [
            {"chunks": done, "seconds": round(seconds, 1), "rss_mb": round(rss, 1)}
            for done, seconds, rss in samples[::every]
        ],
    }


def _import(
    docs: Path,
    database: Path,
    provider: str,
    model: str,
    threads: int | None,
    outcome: Queue[tuple[list[Sample], dict[str, Any]]],
) -> None:
    process = psutil.Process()
    samples: list[Sample] = []
    started = time.perf_counter()

    def sample(stage: Stage, done: int, _total: int, _detail: str = "", /) -> None:
        if stage is Stage.EMBED and done:
            samples.append((done, time.perf_counter() - started, process.memory_info().rss / 1e6))

    embedder = registry.load("embedding", provider)(
        model=model, dimension=None, runtime=Runtime(default_cache_dir(), threads=threads)
    )
    with bound(Run(sample)), open_workspace(database=database, embedder=embedder) as workspace:
        workspace.add_collection(NAME, "", str(docs))
        before = process.memory_info().rss / 1e6
        report = workspace.import_collection(NAME)
        embedder.unload(idle_s=0)
        figures = {
            "embedder": embedder.space.key,
            "documents": report.total_documents,
            "chunks": report.total_chunks,
            "embedded": report.embedded_chunks,
            "seconds": round(report.elapsed_ms / 1000, 1),
            "rss_mb_before": round(before, 1),
            "rss_mb_after_unloading": round(process.memory_info().rss / 1e6, 1),
        }
    outcome.put((samples, figures))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=50_000, help="how many to make up")
    parser.add_argument("--folder", type=Path, help="real documents, instead of made-up ones")
    parser.add_argument("--provider", default="builtin")
    parser.add_argument("--model", default="")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        docs = arguments.folder
        if docs is None:
            docs = Path(temporary) / "docs"
            docs.mkdir()
            made = documents(arguments.chunks, word_list([ROOT / "docs"]), random.Random(1))
            for number, text in enumerate(made):
                (docs / f"{number:05}.md").write_text(text, encoding="utf-8")
        figures = run(
            docs,
            Path(temporary) / "index.sqlite",
            provider=arguments.provider,
            model=arguments.model,
            threads=arguments.threads,
        )
    print({name: value for name, value in figures.items() if name != "samples"})
    write_result("memory", figures, arguments.output)
    raise SystemExit(1 if figures["growth"] > MAX_GROWTH else 0)


if __name__ == "__main__":
    main()
