"""Measures what each rule of the search is worth: the search without it, on the same questions.

    python -m benchmarks.ablations SETS_DIR [SETS_DIR ...] --embed-cache DIR    measures, writes JSON
    python -m benchmarks.ablations --markdown                                   prints the table of that JSON

Differences are of nDCG@10 of hybrid search to the search as it is, in points (hundredths). Each set gives the
same questions to all variants: those whose hashes come first. docs/explanation/ranking.md has the table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from benchmarks.harness import RESULTS, Patch, applied, write_result
from benchmarks.quality import MIN_GRADES, find_sets
from mdvec import SearchQuery, open_workspace
from mdvec.config import Config
from mdvec.embedding.interface import Embedder
from mdvec.evaluation.corpus import Corpus, Indexing, indexed_set, temporary_folder
from mdvec.evaluation.judgements import JudgedSet, Question
from mdvec.evaluation.metrics import DEPTH, ndcg
from mdvec.evaluation.runner import scope_filters
from mdvec.search import exact, fusion, interpretation, meaning, search, spelling, words
from mdvec.search.spelling import Spelling
from mdvec.stores.sqlite import words as stored_words
from mdvec.text import terms
from mdvec.text.hashing import text_hash
from mdvec.types.query import Expansion
from mdvec.workspace.stages import Stages

QUESTIONS = 100
"""Questions of each set."""

SHIPPED = "shipped"


class Variant(Struct, frozen=True):
    """The search with one rule left out.

    Attributes:
        name: Its name in the results.
        without: The rule, as the table names it.
        patches: Values of the real code that are replaced.
    """

    name: str
    without: str
    patches: tuple[Patch, ...] = ()


def variants() -> tuple[Variant, ...]:
    """Return all variants, in the order of the table."""

    def one(name: str, without: str, owner: object, attribute: str, value: object) -> Variant:
        return Variant(name, without, (Patch(owner, attribute, value),))

    return (
        one("rank-fusion", "fusion by evidence (reciprocal ranks, k = 60)", search, "fuse", by_ranks),
        one("no-names", "names (title, file, aliases) as vectors", meaning, "NAME_SHARE", 0.0),
        one("no-neighbours", "neighbouring chunks", meaning, "NEIGHBOUR_SHARE", 0.0),
        one("no-feedback", "likeness to the first hits", fusion, "GAIN", 0.0),
        one("no-credit", "credit for the other language", fusion, "_cross_language_credit", no_credit),
        one("no-ordinary", "less similarity to unrelated passages", meaning, "ORDINARY_SHARE", 0.0),
        one("no-prior", "unrelated texts in the background", meaning, "UNRELATED_CHUNKS", 0),
        one("no-prior-words", "unrelated texts in the idf of words", words, "UNRELATED_CHUNKS", 0),
        one("words-once", "weight of words in Japanese queries", words, "_WORD_AMONG_BIGRAMS", 1),
        one("no-minor", "terms of less weight", stored_words, "FIELD_WEIGHTS", (1.0, 0.0)),
        one("no-exact", "all exact evidence", search, "find_exact", lambda *_: exact.Exact()),
        one("no-forms", "words in a row in other forms", exact, "fold_heading", _nameless),
        one("no-dates", "dates", exact, "find_date", lambda _: None),
        one("no-values", "values of properties in the query", exact, "_names_value", lambda *_: False),
        one("no-folders", "names of folders in the query", exact, "_in_named_folders", lambda *_: []),
        one("common-families", "like texts as one in the idf of words", words, "_FEW_DIFFERENT", 0.0),
        one("no-identifiers", "identifiers in the query", exact, "_IDENTIFIER", _Nothing()),
        one("no-stubs", "stubs behind texts", fusion, "_STUB_LOSS", 0.0),
        one("near-footers", "repeated text without its titles", search, "without_titles", lambda each: each),
        one("no-folding", "folding of like texts", search, "folded", lambda ranked, _: (ranked, {})),
        one("no-spellings", "other spellings of Japanese words", terms, "other_spellings", lambda _: {}),
        one("no-translations", "translations", terms, "translations", lambda *_: ()),
        one("no-synonyms", "synonyms of words that no text has", spelling, "others_of", lambda *_: []),
        one("no-corrections", "corrections", interpretation, "check_spelling", lambda *_: Spelling()),
    )


_numbers = count()


def _nameless(_: str) -> str:
    """Return a name that no other text has."""
    return f"{next(_numbers)} "


class _Nothing:
    """An expression that finds nothing."""

    def findall(self, _text: str) -> list[str]:
        """Return no match."""
        return []

    def fullmatch(self, _text: str) -> None:
        """Return no match."""


def by_ranks(candidates: Any, _words: object) -> Any:
    """Return the sum of reciprocal ranks by words and by meaning, in place of the fused evidence."""
    scores = np.zeros(len(candidates.places))
    for values in (candidates.word_share, np.nan_to_num(candidates.deviations, nan=-np.inf)):
        order = np.argsort(-values, kind="stable")
        found = values[order] > (0 if values is candidates.word_share else -np.inf)
        scores[order[found]] += 1 / (61 + np.flatnonzero(found))
    return scores


def no_credit(candidates: Any, _share: object) -> Any:
    """Return no cross-language credit."""
    return np.zeros(len(candidates.places))


class _Remembering:
    """An embedder that embeds each question once, for all variants."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_query(self, text: str) -> Any:
        """Return the vector of a question."""
        if text not in self._vectors:
            self._vectors[text] = self._embedder.embed_query(text)
        return self._vectors[text]


def measure(
    judged: JudgedSet, chosen: Sequence[Variant], count: int, cache: Path | None, embedder: Any
) -> dict[str, list[float]]:
    """Return nDCG@10 of the questions of a set, by variant; the search as it is comes first."""
    questions = sorted(judged.set.questions, key=lambda each: text_hash(each.text))[:count]
    opener = partial(open_workspace, embedder=embedder)
    scores: dict[str, list[float]] = {}
    with (
        temporary_folder() as folder,
        indexed_set(judged, Indexing(opener, Config(), cache or folder)) as corpus,
    ):
        for variant in (Variant(SHIPPED, ""), *chosen):
            with applied(variant.patches):
                scores[variant.name] = [_score(each, corpus) for each in questions]
    return scores


def _score(question: Question, corpus: Corpus) -> float:
    located = corpus.naming.located(question)
    query = SearchQuery(
        located.text,
        filters=scope_filters(located),
        limit=DEPTH + len(located.exclude),
        min_score=0.0,
        per_document=1,
        expand=Expansion.CHUNK,
    )
    paths = [hit.path for hit in corpus.workspace.search(query, wait_for_vectors=True).hits]
    names = [corpus.naming.name_of(path) for path in paths if path not in located.exclude]
    return ndcg(names[:DEPTH], question.relevant, depth=DEPTH)


def table(result: Mapping[str, Any]) -> str:
    """Return the table of docs/explanation/ranking.md: the mean difference, and the sets that lose most."""
    lines = ["| without | mean, points | worst set | best set |", "|---|---:|---|---|"]
    for each in result["variants"]:
        by_set = sorted(each["points"].items(), key=lambda pair: pair[1])
        (worst, least), (best, most) = by_set[0], by_set[-1]
        lines.append(
            f"| {each['without']} | {_signed(each['mean'])} | "
            f"`{worst}` {_signed(least)} | `{best}` {_signed(most)} |"
        )
    return "\n".join(lines)


def _signed(points: float) -> str:
    return f"{points:+.2f}" if abs(points) >= 0.005 else "0"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="*", metavar="SETS_DIR")
    parser.add_argument("--only", nargs="+", default=[], metavar="VARIANT", help="these variants alone")
    parser.add_argument("--only-set", nargs="+", default=[], metavar="NAME", help="these sets alone")
    parser.add_argument("--questions", type=int, default=QUESTIONS, metavar="N", help="of each set")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="measure N sets at a time")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the indexes here")
    parser.add_argument("--output", type=Path, default=RESULTS / "ablations.json", metavar="F")
    parser.add_argument("--markdown", action="store_true", help="print the table")
    arguments = parser.parse_args()
    if not arguments.folders:
        print(table(json.loads(arguments.output.read_text(encoding="utf-8"))["result"]))
        return
    names = [
        (folder, judged.set.name)
        for folder in arguments.folders
        for judged in find_sets(folder, arguments.only_set, MIN_GRADES)
    ]
    only, count = arguments.only, arguments.questions
    one = partial(measure_named, only=only, count=count, cache=arguments.embed_cache)
    scores: dict[str, dict[str, list[float]]] = {}
    with ProcessPoolExecutor(arguments.processes, get_context("spawn")) as pool:
        for (_, name), found in zip(names, pool.map(one, *zip(*names, strict=True)), strict=True):
            scores[name] = found
            print(name, f"{np.mean(found[SHIPPED]):.4f}", file=sys.stderr, flush=True)
            write_result("ablations", result_of(scores, chosen_of(only), count), arguments.output)
    print(table(result_of(scores, chosen_of(only), count)))


def chosen_of(only: Sequence[str]) -> list[Variant]:
    """Return the variants of some names; all for none."""
    return [each for each in variants() if not only or each.name in only]


def measure_named(
    folder: Path, name: str, *, only: Sequence[str], count: int, cache: Path | None
) -> dict[str, list[float]]:
    """Measure the set of a name; see :func:`measure`. A process of its own can do it."""
    [judged] = find_sets(folder, [name], MIN_GRADES)
    embedder = _Remembering(Stages(Config()).models.for_(None).known())
    return measure(judged, chosen_of(only), count, cache, embedder)


def result_of(
    scores: Mapping[str, Mapping[str, Sequence[float]]], chosen: Sequence[Variant], count: int
) -> dict[str, Any]:
    """Return the figures as they are written: differences to the search as it is, in points."""

    def points(variant: Variant, name: str) -> float:
        return round(100 * float(np.mean(scores[name][variant.name]) - np.mean(scores[name][SHIPPED])), 2)

    found = [(each, {name: points(each, name) for name in scores}) for each in chosen]
    return {
        "questions": count,
        "shipped": {name: round(float(np.mean(each[SHIPPED])), 4) for name, each in scores.items()},
        "variants": [
            {
                "name": each.name,
                "without": each.without,
                "mean": round(float(np.mean([*by_set.values()])), 3),
                "points": by_set,
            }
            for each, by_set in found
        ],
    }


if __name__ == "__main__":
    main()
