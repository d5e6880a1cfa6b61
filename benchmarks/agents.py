"""What an agent pays to have the right passage in its context: calls, and tokens that it reads.

    python -m benchmarks.agents SETS_DIR --embed-cache DIR

The agent is a script with a fixed policy and no language model, so that runs agree. It asks 60 questions of
judged sets, each laid out as a folder of files, and then reads the first three documents that it found:

- ``single``: a search with the question; while its confidence is below medium, one with the keywords, and
  one with the longest half of the question. Then one ``get_doc`` for each document.
- ``read``: the same searches; then one ``get_doc`` for all documents.
- ``several``: one search with all of these as ``queries``. Then one ``get_doc`` for all documents.
- ``grep``: ``rg`` for the keywords, of which it is shown the twenty files with most of them; then ``cat`` of
  each of the first three.

The same questions are then asked two at a time, as an agent does for a task with two parts; ``several`` has
both in one search. The context is right if it holds text of a document that answers the question. Tokens are
those of all answers as texts, by mdvec's own estimate.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp_types import CallToolResult, TextContent
from msgspec import Struct

from benchmarks.harness import ROOT, sets_parser, write_result
from mdvec import open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import Indexing, indexed_set, temporary_folder
from mdvec.evaluation.judgements import Question, read_judged_set
from mdvec.interfaces.mcp.application import build_server
from mdvec.text.hashing import text_hash
from mdvec.text.tokens import estimate_token_count
from mdvec.workspace import Workspace

SETS = ("ja_niilc", "ja_localgovfaq", "en_stackfaq", "vault_obsidian_help")
"""Japanese and English, two of each; 15 questions of each."""

PER_SET = 15
HITS = 5
READ = 3
PAGE = ROOT / "docs" / "how-to" / "connect-an-agent.md"
POLICIES = {
    "single": "one query a call, one document a read",
    "read": "one query a call, several documents a read",
    "several": "`queries`, several documents a read",
    "grep": "`rg` and `cat`",
}

_SURE = ("high", "medium")
# What the tools of agents show of the output of a command.
_SHOWN_CHARS = 30_000
_SHOWN_FILES = 20
_LINES_AROUND = 20

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_'-]+|[一-龯々]{2,}|[ァ-ヶー]{2,}|\d+")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from has have how i if in is it its me my of on or that "
        "the there this to was what when where which who why will with you your",
    )
)
_CLAUSE = re.compile(r"[、。,;:?!？！]|\b(?:and|but|or|when|if)\b")


class Context(Struct):
    """What an agent has read so far.

    Attributes:
        calls: Calls that it made.
        tokens: Tokens of their answers.
        paths: Documents of which it has text.
    """

    calls: int = 0
    tokens: int = 0
    paths: set[str] = set()

    def add(self, text: str, paths: Iterable[str]) -> None:
        """Add the answer to a call, with the documents of which it has text."""
        self.calls += 1
        self.tokens += estimate_token_count(text)
        self.paths.update(paths)


def keywords(question: str) -> list[str]:
    """Return the words of a question that say what it is about, in order."""
    words = (word for word in _WORD.findall(question) if word.lower() not in _COMMON)
    return [*dict.fromkeys(words)]


def phrasings(question: str) -> list[str]:
    """Return a question, its keywords, and its longest clause: what a script can do without a model."""
    clauses = [each.strip() for each in _CLAUSE.split(question)]
    return [*dict.fromkeys(filter(None, (question, " ".join(keywords(question)), max(clauses, key=len))))]


Outcome = dict[str, dict[str, int]]
Call = Callable[[str, dict[str, object]], Awaitable[CallToolResult]]


def _text(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    return content.text


def _hits(result: CallToolResult) -> list[dict[str, Any]]:
    assert result.structured_content is not None
    hits: list[dict[str, Any]] = result.structured_content["hits"]
    return hits


def _around(hit: dict[str, Any]) -> str:
    """Return the lines that the answer to a search says to read."""
    return f"{max(1, hit['start_line'] - _LINES_AROUND)}:{hit['end_line'] + _LINES_AROUND}"


async def search(call: Call, context: Context, **given: object) -> CallToolResult:
    """Search, and add the answer to a context."""
    result = await call("search", given)
    context.add(_text(result), (hit["path"] for hit in _hits(result)))
    return result


async def read(call: Call, context: Context, found: Mapping[str, str], *, together: bool) -> None:
    """Read the lines around hits, by path."""
    if together and found:
        paths = [f"{path}:{lines.replace(':', '-')}" for path, lines in found.items()]
        context.add(_text(await call("get_doc", {"path": paths})), found)
    elif not together:
        for path, lines in found.items():
            context.add(_text(await call("get_doc", {"path": path, "lines": lines})), [path])


async def asked(call: Call, questions: Sequence[str], *, merged: bool, together: bool) -> Context:
    """Return what an agent has read of mdvec's answers.

    Args:
        call: Calls a tool.
        questions: Its questions.
        merged: Search for all of them in one call, or for all phrasings of a single one. Otherwise search for
            each phrasing, one after the other until one has an answer.
        together: Read all documents in one call.
    """
    context = Context(paths=set())
    found: dict[str, str] = {}
    if merged:
        query, *others = questions if len(questions) > 1 else phrasings(questions[0])
        searches = [[{"query": query, "queries": others, "limit": HITS * len(questions)}]]
    else:
        searches = [[{"query": query} for query in phrasings(each)] for each in questions]
    for one_by_one in searches:
        first: dict[str, str] = {}
        for given in one_by_one:
            result = await search(call, context, **given)
            for hit in _hits(result):
                first.setdefault(hit["path"], _around(hit))
            if result.structured_content and result.structured_content["confidence"] in _SURE:
                break
        found |= dict([*first.items()][: READ * len(questions) // len(searches)])
    await read(call, context, found, together=together)
    return context


def grep(context: Context, folder: Path, question: str) -> None:
    """Search with ``rg``, and read the files with most of the keywords."""
    words = keywords(question) or [question]
    command = [
        "rg",
        "-i",
        "-n",
        "--max-count",
        "3",
        "--sort",
        "path",
        *(f"-e{re.escape(word)}" for word in words),
    ]
    output = subprocess.run([*command, "."], cwd=folder, capture_output=True, text=True, check=False).stdout
    held: dict[str, set[str]] = {}
    lines: dict[str, list[str]] = {}
    for line in output.splitlines():
        path = line.removeprefix("./").partition(":")[0]
        held.setdefault(path, set()).update(word for word in words if word.lower() in line.lower())
        lines.setdefault(path, []).append(line)
    best = sorted(held, key=lambda path: (-len(held[path]), path))[:_SHOWN_FILES]
    context.add("\n".join(line for path in best for line in lines[path])[:_SHOWN_CHARS], best)
    for path in best[:READ]:
        text = (folder / path).read_text(encoding="utf-8", errors="replace")[:_SHOWN_CHARS]
        context.add(text, [path])


def chosen(questions: Sequence[Question]) -> list[Question]:
    """Return some questions, the same in every run."""
    return sorted(questions, key=lambda each: text_hash(each.text))[:PER_SET]


def measure(workspace: Workspace, folder: Path, tasks: Sequence[Sequence[Question]]) -> list[Outcome]:
    """Return for each task of some questions: calls, tokens and right passages, by policy."""
    server = build_server(workspace, Config())

    async def run() -> list[Outcome]:
        outcomes = []
        async with Client(server, mode="2026-07-28") as client:
            for questions in tasks:
                texts = [each.text for each in questions]
                contexts = {
                    name: await asked(client.call_tool, texts, merged=merged, together=together)
                    for name, merged, together in (
                        ("single", False, False),
                        ("read", False, True),
                        ("several", True, True),
                    )
                }
                contexts["grep"] = Context(paths=set())
                for text in texts:
                    grep(contexts["grep"], folder, text)
                outcomes.append(
                    {
                        name: {
                            "questions": len(questions),
                            "right": sum(not context.paths.isdisjoint(each.relevant) for each in questions),
                            "calls": context.calls,
                            "tokens": context.tokens,
                        }
                        for name, context in contexts.items()
                    }
                )
        return outcomes

    return anyio.run(run)


def summary(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Return by policy how many contexts are right, and the calls and tokens of a question."""
    figures = {}
    for name in POLICIES:
        sums = {key: sum(each[name][key] for each in outcomes) for key in outcomes[0][name]}
        figures[name] = {
            "questions": sums["questions"],
            "right": sums["right"],
            "calls": round(sums["calls"] / sums["questions"], 2),
            "tokens": round(sums["tokens"] / sums["questions"]),
        }
    return figures


def table(figures: dict[str, dict[str, float]]) -> str:
    """Return figures as a table in Markdown."""
    lines = [
        "| policy | right passage in the context | calls a question | tokens a question |",
        "|---|---|---|---|",
    ]
    for name, words in POLICIES.items():
        own = figures[name]
        right = f"{own['right']} of {own['questions']}"
        lines.append(f"| {words} | {right} | {own['calls']:.1f} | {own['tokens']:,} |")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    arguments = sets_parser(__doc__).parse_args()
    every: dict[str, list[Outcome]] = {"alone": [], "pairs": []}
    result: dict[str, Any] = {}
    for name in SETS:
        judged = read_judged_set(arguments.folder / name)
        with (
            temporary_folder() as temporary,
            indexed_set(
                judged, Indexing(open_workspace, Config(), arguments.embed_cache or temporary)
            ) as corpus,
        ):
            [collection] = corpus.workspace.collections()
            folder = Path(collection.source.location)
            questions = [corpus.naming.located(each) for each in chosen(judged.set.questions)]
            result[name] = {}
            for kind, size in (("alone", 1), ("pairs", 2)):
                tasks = [questions[at : at + size] for at in range(0, len(questions), size)]
                outcomes = measure(corpus.workspace, folder, tasks)
                every[kind] += outcomes
                result[name][kind] = summary(outcomes)
        for policy, figures in result[name]["alone"].items():
            print(f"{name:22} {policy:8}", *(f"{key} {value}" for key, value in figures.items()), flush=True)
    result["all"] = {kind: summary(outcomes) for kind, outcomes in every.items()}
    for figures in result["all"].values():
        print(table(figures))
    print(write_result("agents", result, arguments.output))


if __name__ == "__main__":
    main()
