"""Asks public trees of documents what their owners would, and shows the first five hits.

    python -m benchmarks.asked NAME=DIR NAME=DIR --embed-cache DIR      asks, writes JSON
    python -m benchmarks.asked --markdown NAME NAME                     prints these trees of it as Markdown

``benchmarks/asked/NAME.jsonl`` has the questions with the documents that answer them (``good``), written by
reading before anything was asked; what a reader found to answer as well afterwards (``also``); and the
``lines`` of each document that answer, of which one range is enough; null if any lines do.
docs/explanation/single-answers.md is the page; it shows the hits of the two newest trees.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, write_result
from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import temporary_folder
from mdvec.types.hit import SearchHit

QUESTIONS = Path(__file__).parent / "asked"

# Of the wiki, the parts on living and working; its lists of software are four times as long. Of the first
# handbook, the company and the larger departments but the product's; of the one in Japanese, what anybody
# who works there looks up.
INCLUDED = {
    "knowledge": (
        *("anki", "backups", "books", "cli", "drugs", "education", "environment", "fitness", "focusing"),
        *("health", "keyboards", "life", "looking-back", "macOS", "mindfulness", "minimalism", "movies"),
        *("other", "psychology", "relationships", "research", "sharing", "sleep", "space", "talks"),
        *("travel", "unix", "web", "work", "writing"),
    ),
    "gitlab-handbook-ja": (
        *("business-technology", "communication", "finance", "hiring", "leadership", "legal"),
        *("people-group", "people-policies", "tools-and-tips", "total-rewards"),
    ),
    "sourcegraph-handbook": (
        *("benefits-pay-perks", "company-info-and-process", "handbook"),
        *("departments/people-talent", "departments/finance", "departments/legal"),
        *("departments/engineering", "departments/security", "departments/technical-success"),
        *("departments/marketing", "departments/sales"),
    ),
    "spiegel-zenn": ("articles", "books", "draft/qiita"),
}
"""The folders that are searched; all of a tree where it has none here."""

SHOWN = 5

VERDICTS = {
    "good": "right",
    "also": "right on reading, by a page that was not named before",
    "later": "wrong; the answer is hit {rank}",
    "missing": "wrong; the answer is not among the five",
}


def ask(name: str, workspace: Workspace) -> list[dict[str, Any]]:
    """Ask all questions of a tree, and return each with its hits and its verdict."""
    return [_asked(question, workspace) for question in _questions(name)]


def _questions(name: str) -> list[dict[str, Any]]:
    lines = (QUESTIONS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _asked(question: Mapping[str, Any], workspace: Workspace) -> dict[str, Any]:
    found = workspace.search(SearchQuery(question["query"], limit=SHOWN))
    return {
        "query": question["query"],
        "confidence": found.confidence.value,
        **_verdict(question, [hit.path for hit in found.hits]),
        "passage": next((rank for rank, hit in enumerate(found.hits, 1) if _answers(hit, question)), None),
        "hits": [_shown(hit) for hit in found.hits],
    }


def _answers(hit: SearchHit, question: Mapping[str, Any]) -> bool:
    """Return whether a hit shows lines that answer."""
    if hit.path not in question["lines"]:
        return False
    lines = question["lines"][hit.path]
    return lines is None or any(hit.start_line <= last and first <= hit.end_line for first, last in lines)


def _verdict(question: Mapping[str, Any], paths: list[str]) -> dict[str, Any]:
    """Return what a reader calls the first hit, and the rank of the first right one."""
    first = next(iter(paths), "")
    known = [*question["good"], *question.get("also", ())]
    rank = next((rank for rank, path in enumerate(paths, 1) if path in known), None)
    if first in known:
        return {"verdict": "good" if first in question["good"] else "also", "rank": 1}
    return {"verdict": "later" if rank else "missing", "rank": rank}


def _shown(hit: SearchHit) -> str:
    """Return a hit as a line of Markdown."""
    heading = " › ".join(hit.heading_path).replace("<", "\\<").replace("{", "\\{")
    return f"{hit.score:.2f} `{hit.path}:{hit.start_line}-{hit.end_line}` {heading}".rstrip()


def page(trees: Mapping[str, Iterable[Mapping[str, Any]]]) -> str:
    """Return all questions and hits as Markdown."""
    parts: list[str] = []
    for name, asked in trees.items():
        parts.append(f"## `{name}`")
        for number, (question, each) in enumerate(zip(_questions(name), asked, strict=True), 1):
            verdict = VERDICTS[each["verdict"]].format(rank=each["rank"])
            answers = ", ".join(f"`{path}`" for path in question["good"])
            shown = "" if each["rank"] != 1 or each["passage"] == 1 else ", but another passage of it"
            parts += [
                f"### {number}. {each['query']}",
                f"Answered by {answers}. Confidence `{each['confidence']}`. First hit: **{verdict}{shown}**.",
                "\n".join(f"{rank}. {hit}" for rank, hit in enumerate(each["hits"], 1)),
            ]
    return "\n\n".join(parts)


def counts(asked: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many questions have each verdict, and in how many the first passage answers."""
    questions = [*asked]
    verdicts = [each["verdict"] for each in questions]
    passages = [each["passage"] for each in questions]
    return {**{verdict: verdicts.count(verdict) for verdict in VERDICTS}, "passage": passages.count(1)}


def _pair(text: str) -> tuple[str, Path]:
    name, _, folder = text.partition("=")
    return name, Path(folder)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", type=_pair, nargs="*", metavar="NAME=DIR")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the indexes here")
    parser.add_argument("--output", type=Path, default=RESULTS / "asked.json", metavar="F")
    parser.add_argument("--markdown", nargs="+", metavar="NAME", help="print the questions and hits")
    arguments = parser.parse_args()
    if arguments.trees:
        result: dict[str, Any] = {}
        with temporary_folder() as temporary:
            for name, folder in arguments.trees:
                database = (arguments.embed_cache or temporary) / f"{name}.sqlite"
                with open_workspace(Config(), database=database) as workspace:
                    if not workspace.collections():
                        include = tuple(f"{each}/**" for each in INCLUDED.get(name, ()))
                        workspace.add_collection(name, "", str(folder), include=include)
                    workspace.import_collection(name)
                    result[name] = ask(name, workspace)
        write_result("asked", result, arguments.output)
    result = json.loads(arguments.output.read_text(encoding="utf-8"))["result"]
    for name, asked in result.items():
        print(name, counts(asked))
    if arguments.markdown:
        print(page({name: result[name] for name in arguments.markdown}))


if __name__ == "__main__":
    main()
