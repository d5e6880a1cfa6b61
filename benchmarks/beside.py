"""Compares mdvec with other programs: the same folders and the same questions, in one run.

    python -m benchmarks.beside SETS_DIR [--qmd PROGRAM] [--vault-mcp PROGRAM] [--basic-memory PROGRAM]
    python -m benchmarks.beside --markdown         prints the table of the recorded figures

Each program indexes a copy of a folder in a home of its own, since some write into documents, and answers
questions as an agent asks them, by its MCP server; ripgrep answers by a list of files. Programs run as they
come, without models that one would have to download.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from msgspec import Struct

from benchmarks.harness import RESULTS, compiled_env, percentile, write_result
from mdvec.evaluation.corpus import corpus_files, lay_out
from mdvec.evaluation.judgements import JudgedSet, Question, read_corpus, read_judged_sets
from mdvec.evaluation.naming import neutral_naming
from mdvec.text.tokens import estimate_token_count

SETS = ("til_titles", "vault_obsidian_help", "ja_localgovfaq")
"""English notes, an Obsidian vault in English, and Japanese questions and answers."""

QUESTIONS = 60
"""Of each set: those that come first."""

LIMIT = 5
"""Hits that are asked for."""

_MB = 1_000_000
_WORD = re.compile(r"\w{3,}")
_LISTED_FILES = 10


class Program(Struct, frozen=True):
    """A program that indexes a folder and answers over MCP.

    Attributes:
        name: Its name in the table, with the way it searches.
        index: Commands that index the folder ``DOCS``, run in the home ``HOME``.
        server: The command of its server.
        tool: Name of the tool that searches.
        arguments: Make the arguments of the tool from a question.
        paths: Find the paths of the hits in the structured content of an answer, best first.
        environment: Variables; ``DOCS`` and ``HOME`` are filled in.
    """

    name: str
    index: tuple[tuple[str, ...], ...]
    server: tuple[str, ...]
    tool: str
    arguments: Callable[[str], dict[str, Any]]
    paths: Callable[[Any], list[str]]
    environment: Mapping[str, str] = {}


def programs(options: argparse.Namespace) -> Iterator[Program]:
    """Yield mdvec and those of the others that are there."""
    mdvec = (sys.executable, "-P", "-m", "mdvec")
    ways = ("meaning and words", "hybrid", ()), ("keywords", "lexical", ("--no-embed",))
    for way, mode, without in ways:
        yield Program(
            f"mdvec ({way})",
            (
                (*mdvec, "tool", "add", "-n", "docs", "-d", "Documents", "-s", "DOCS"),
                (*mdvec, "import", "-n", "docs", *without),
            ),
            (*mdvec, "serve"),
            "search",
            partial(_asked_in, mode),
            lambda content: [hit["path"] for hit in content["hits"]],
            {"MDVEC_WATCH_ENABLED": "false"},  # or it would embed while it answers by words
        )
    if options.qmd:
        qmd = (options.qmd,)
        yield Program(
            "qmd (keywords)",
            ((*qmd, "collection", "add", "DOCS", "--name", "docs", "--mask", "**/*.md"),),
            (*qmd, "mcp"),
            "query",
            lambda question: {
                "searches": [{"type": "lex", "query": question}],
                "limit": LIMIT,
                "rerank": False,
            },
            lambda content: [hit["file"].removeprefix("docs/") for hit in content["results"]],
        )
    if options.vault_mcp:
        vault = {
            "MARKDOWN_VAULT_MCP_SOURCE_DIR": "DOCS",
            "MARKDOWN_VAULT_MCP_INDEX_PATH": "HOME/index.sqlite",
        }
        yield Program(
            "markdown-vault-mcp (keywords)",
            ((options.vault_mcp, "index"),),
            (options.vault_mcp, "serve"),
            "search",
            lambda question: {"query": question, "limit": LIMIT, "mode": "keyword"},
            lambda content: [hit["path"] for hit in content["result"]],
            vault,
        )
    if options.basic_memory:
        basic = (options.basic_memory,)
        yield Program(
            "basic-memory (keywords)",
            ((*basic, "project", "add", "docs", "DOCS", "--default"),),
            (*basic, "mcp"),
            "search_notes",
            lambda question: {"query": question, "page_size": LIMIT, "output_format": "json"},
            lambda content: [hit["file_path"] for hit in content["result"]["results"]],
            {"BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"},
        )


def _asked_in(mode: str, question: str) -> dict[str, Any]:
    return {"query": question, "limit": LIMIT, "mode": mode}


def measure(program: Program, docs: Path, questions: Sequence[Question]) -> dict[str, Any]:
    """Index a copy of a folder by a program and ask its server."""
    with tempfile.TemporaryDirectory() as temporary:
        home, docs = Path(temporary).resolve() / "home", shutil.copytree(docs, Path(temporary) / "docs")
        home.mkdir()
        environment = compiled_env() | {"HOME": str(home)}
        environment |= {name: _filled(text, docs, home) for name, text in program.environment.items()}
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            environment.pop(name, None)
        started, spent = time.monotonic(), _children_s()
        for command in program.index:
            filled = [_filled(part, docs, home) for part in command]
            subprocess.run(filled, env=environment, cwd=home, check=True, capture_output=True, timeout=3600)
        figures: dict[str, Any] = {
            "import_s": round(time.monotonic() - started, 2),
            "import_cpu_s": round(_children_s() - spent, 2),
            "disk_mb": round(sum(each.stat().st_size for each in home.rglob("*") if each.is_file()) / _MB, 1),
        }
        return figures | asyncio.run(_asked(program, home, environment, questions))


async def _asked(
    program: Program, home: Path, environment: Mapping[str, str], questions: Sequence[Question]
) -> dict[str, Any]:
    """Ask a server one question after the other."""
    parameters = StdioServerParameters(
        command=program.server[0], args=list(program.server[1:]), env=dict(environment), cwd=home
    )
    before = set(_children())
    async with AsyncExitStack() as stack:
        log = stack.enter_context((home / "server.log").open("w"))
        started = time.monotonic()
        streams = await stack.enter_async_context(stdio_client(parameters, errlog=log))
        session = await stack.enter_async_context(ClientSession(*streams))
        await session.initialize()
        tools = await session.list_tools()
        waited: list[float] = []
        tokens: list[int] = []
        right = answered = 0
        for question in questions:
            asked = time.monotonic()
            answer = await session.call_tool(program.tool, program.arguments(question.text))
            waited.append((time.monotonic() - (asked if waited else started)) * 1000)
            texts = [each.text for each in answer.content if each.type == "text"]
            tokens.append(sum(map(estimate_token_count, texts)))
            content = None if answer.is_error else answer.structured_content or _parsed(texts)
            found = program.paths(content) if content else []
            answered += bool(found)
            right += bool(found) and _plain(found[0]) in map(_plain, question.relevant)
        memory = sum(each.memory_info().rss for each in set(_children()) - before)
    return {
        "first_answer_ms": round(waited[0]),
        "warm_answer_ms": round(percentile(waited[1:], 0.5), 1),
        "memory_mb": round(memory / _MB),
        "tools_tokens": estimate_token_count(tools.model_dump_json(exclude_none=True)),
        "answer_tokens": round(sum(tokens) / len(tokens)),
        "answered": answered,
        "right_first": right,
        "questions": len(questions),
    }


def measure_ripgrep(ripgrep: str, docs: Path, questions: Sequence[Question]) -> dict[str, Any]:
    """List the files with most lines that hold a word of the question, as an agent without an index does."""
    waited: list[float] = []
    tokens: list[int] = []
    right = answered = 0
    for question in questions:
        words = [part for word in _WORD.findall(question.text) for part in ("-e", word)]
        if not words:
            continue
        started = time.monotonic()
        command = [ripgrep, "--count", "--ignore-case", "--fixed-strings", *words, "."]
        printed = subprocess.run(command, cwd=docs, capture_output=True, text=True, check=False).stdout
        waited.append((time.monotonic() - started) * 1000)
        counts = [line.rpartition(":") for line in printed.splitlines()]
        counts.sort(key=lambda found: (-int(found[2]), found[0]))
        found = [path.removeprefix("./") for path, _, _ in counts[:_LISTED_FILES]]
        tokens.append(estimate_token_count("\n".join(found)))
        answered += bool(found)
        right += bool(found) and _plain(found[0]) in map(_plain, question.relevant)
    return {
        "import_s": 0,
        "import_cpu_s": 0,
        "disk_mb": 0,
        "first_answer_ms": round(waited[0]),
        "warm_answer_ms": round(percentile(waited, 0.5), 1),
        "answer_tokens": round(sum(tokens) / len(tokens)),
        "answered": answered,
        "right_first": right,
        "questions": len(questions),
    }


def folder_of(judged: JudgedSet, target: Path) -> tuple[Path, list[Question]]:
    """Write the documents of a set as files, and name its questions' documents by their paths."""
    questions = [each for each in judged.set.questions if not (each.scope or each.exclude)][:QUESTIONS]
    if judged.documents.is_dir():
        shutil.copytree(judged.documents, target)
        return target, questions
    corpus = read_corpus(judged.documents)
    names = neutral_naming(each.id for each in corpus)
    # Names with letters: other programs make their own names of files, and have none for signs alone.
    files = {f"doc-{at}.md": text for at, text in enumerate(corpus_files(corpus, names).values())}
    paths = {each.id: f"doc-{at}.md" for at, each in enumerate(corpus)}
    lay_out(files, target)
    return target, [
        Question(each.id, each.text, {paths[name]: grade for name, grade in each.relevant.items()})
        for each in questions
    ]


def table(result: Mapping[str, Any]) -> str:
    """Return the figures as a Markdown table: sums over the sets of imports, means of times and tokens."""
    lines = [
        "| program | import, s | on disk, MB | first answer, s | next answers, ms | memory, MB "
        "| tools, tokens | an answer, tokens | right first hits |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in result["programs"]:
        runs = [figures[name] for figures in result["sets"].values()]

        def mean(key: str, runs: Sequence[Mapping[str, Any]] = runs) -> float:
            return float(sum(run[key] for run in runs)) / len(runs)

        total = sum(run["questions"] for run in runs)
        right = sum(run["right_first"] for run in runs)
        indexed = "memory_mb" in runs[0]
        cells = (
            name,
            f"{sum(run['import_s'] for run in runs):.1f}" if indexed else "none",
            f"{sum(run['disk_mb'] for run in runs):.1f}" if indexed else "none",
            f"{mean('first_answer_ms') / 1000:.2f}",
            f"{mean('warm_answer_ms'):.0f}",
            f"{max(run['memory_mb'] for run in runs)}" if indexed else "",
            f"{runs[0]['tools_tokens']:,}" if indexed else "",
            f"{mean('answer_tokens'):,.0f}",
            f"{right} of {total}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="SETS_DIR", nargs="?")
    parser.add_argument("--qmd", metavar="PROGRAM", help="qmd 2.8, from npm")
    parser.add_argument("--vault-mcp", metavar="PROGRAM", help="markdown-vault-mcp 5, from PyPI")
    parser.add_argument("--basic-memory", metavar="PROGRAM", help="basic-memory, from PyPI")
    parser.add_argument("--ripgrep", metavar="PROGRAM", default=shutil.which("rg"))
    parser.add_argument("--only", nargs="+", default=SETS, metavar="SET")
    parser.add_argument("--output", type=Path, metavar="F")
    parser.add_argument("--markdown", action="store_true", help="print the table of the recorded figures")
    options = parser.parse_args()
    if options.markdown:
        print(table(json.loads((RESULTS / "beside.json").read_text(encoding="utf-8"))["result"]))
        return
    if options.folder is None:
        parser.error("SETS_DIR is missing")
    result: dict[str, Any] = {"programs": [], "missing": _missing(options), "sets": {}}
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.only:
            [judged, *_] = read_judged_sets(options.folder / name)
            docs, questions = folder_of(judged, Path(temporary).resolve() / name)
            figures = result["sets"][name] = {}
            for program in programs(options):
                print(f"{name}: {program.name}", file=sys.stderr, flush=True)
                figures[program.name] = measure(program, docs, questions)
            if options.ripgrep:
                figures["ripgrep"] = measure_ripgrep(options.ripgrep, docs, questions)
            result["programs"] = list(figures)
    print(write_result("beside", result, options.output))
    print(table(result))


def _missing(options: argparse.Namespace) -> list[str]:
    names = ("qmd", "vault_mcp", "basic_memory", "ripgrep")
    return [name.replace("_", "-") for name in names if not getattr(options, name)]


def _filled(text: str, docs: Path, home: Path) -> str:
    return text.replace("DOCS", str(docs)).replace("HOME", str(home))


def _children() -> list[psutil.Process]:
    return psutil.Process(os.getpid()).children(recursive=True)


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _parsed(texts: Sequence[str]) -> Any:
    try:
        return json.loads(texts[0]) if texts else None
    except ValueError:
        return None


def _plain(path: str) -> str:
    """Return a path as programs that rewrite names have it: letters and digits, in lower case."""
    return re.sub(r"[\W_]+", "-", path.casefold()).strip("-")


if __name__ == "__main__":
    main()
