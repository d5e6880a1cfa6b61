"""Measures whether a text that holds a query word for word comes first.

    python -m benchmarks.verbatim SETS_DIR --embed-cache DIR

Phrases, identifiers and numbers are drawn from the documents of judged sets, the same in every run. Right is
any document that holds one. What more than three hold is no evidence for one of them, and is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.harness import sets_parser, write_result
from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import Indexing, indexed_set, temporary_folder
from mdvec.evaluation.judgements import read_judged_set
from mdvec.text.hashing import text_hash
from mdvec.text.matches import phrase_finder
from mdvec.types.query import SearchMode

SETS = {
    "ja_localgovfaq": "",
    "ja_niilc": "",
    "vault_obsidian_help": "",
    "docs_astro": "",
    "vault_jzhao": "_link",
    "til_titles": "",
    "en_stackfaq": "",
}
"""Sets by the suffix of their questions."""

PER_KIND = 40
MAX_HOLDERS = 3

_JAPANESE = re.compile("[\u3041-\u3096\u30a1-\u30ff\u3005\u4e00-\u9fff]{8,}")
_ENGLISH = re.compile(r"[A-Za-z][a-z']*(?: [a-z][a-z']*){2,}")
_IDENTIFIER = re.compile(r"\b(?:[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+|[a-z]+(?:_[a-z]+)+)\b")
_NUMBER = re.compile(r"(?<![\w./-])\d{3,}(?:[.,]\d+)*(?![\w/-])")
_CHARS, _WORDS = (8, 25), (3, 8)


def drawn(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what is drawn from some documents, by kind; the order is that of hashes.

    Args:
        texts: The documents by path.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for text in texts.values():
        for kind, phrase in _phrases(text):
            found[kind].add(phrase)
    return {kind: sorted(those, key=lambda each: text_hash(each)) for kind, those in sorted(found.items())}


def _phrases(text: str) -> Iterator[tuple[str, str]]:
    for run in _JAPANESE.findall(text):
        length = _between(_CHARS, run, len(run))
        start = _between((0, len(run) - length), f"start {run}", len(run))
        yield "japanese", run[start : start + length]
    for run in _ENGLISH.findall(text):
        words = run.split()
        length = _between(_WORDS, run, len(words))
        start = _between((0, len(words) - length), f"start {run}", len(words))
        yield "english", " ".join(words[start : start + length])
    for identifier in _IDENTIFIER.findall(text):
        yield "identifier", identifier
    for number in _NUMBER.findall(text):
        yield "number", number


def _between(span: tuple[int, int], seed: str, most: int) -> int:
    """Return a number in a span, the same for the same seed."""
    low, high = span[0], min(span[1], most)
    return low + int.from_bytes(text_hash(seed)[:4], "big") % (high - low + 1)


def holders(phrase: str, texts: Mapping[str, str]) -> frozenset[str]:
    """Return the documents that hold a phrase."""
    holds = phrase_finder(phrase)
    if holds is None:
        return frozenset()
    rough = phrase[:2].casefold()  # finding folds a whole text
    return frozenset(path for path, text in texts.items() if rough in text.casefold() and holds(text))


def measure(workspace: Workspace) -> dict[str, dict[str, float]]:
    """Return by kind how many were drawn, and the share for which a right document is first, by mode."""
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for chunk in workspace.chunks():
        parts[chunk.path].append(chunk.text)
    texts = {path: "\n".join(those) for path, those in parts.items()}
    figures: dict[str, dict[str, float]] = {}
    for kind, phrases in drawn(texts).items():
        right: list[tuple[str, frozenset[str]]] = []
        for phrase in phrases:
            found = holders(phrase, texts)
            if 0 < len(found) <= MAX_HOLDERS:
                right.append((phrase, found))
            if len(right) == PER_KIND:
                break
        if right:
            figures[kind] = {"drawn": len(right)} | {
                mode.value: round(_first(workspace, right, mode), 3) for mode in SearchMode
            }
    return figures


def _first(workspace: Workspace, right: Sequence[tuple[str, frozenset[str]]], mode: SearchMode) -> float:
    first = 0
    for phrase, found in right:
        hits = workspace.search(SearchQuery(phrase, mode=mode, limit=1)).hits
        first += bool(hits) and hits[0].path in found
    return first / len(right)


def main() -> None:
    """Run from the command line."""
    arguments = sets_parser(__doc__).parse_args()
    result: dict[str, Any] = {}
    for name, suffix in SETS.items():
        if not (arguments.folder / name).is_dir():
            continue
        judged = read_judged_set(arguments.folder / name, suffix=suffix)
        with (
            temporary_folder() as temporary,
            indexed_set(
                judged, Indexing(open_workspace, Config(), arguments.embed_cache or temporary)
            ) as corpus,
        ):
            result[name] = measure(corpus.workspace)
        for kind, figures in result[name].items():
            print(f"{name:22} {kind:12}", *(f"{key} {value}" for key, value in figures.items()), flush=True)
    print(write_result("verbatim", result, arguments.output))


if __name__ == "__main__":
    main()
