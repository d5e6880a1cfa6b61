"""Measures what scores mean: whether hits with a score of .3 are right in three cases of ten.

    python -m benchmarks.calibration SETS_DIR --embed-cache DIR      measures, writes JSON
    python -m benchmarks.calibration SETS_DIR --embed-cache DIR --fit    fits the weights for all modes anew
    python -m benchmarks.calibration --markdown                      prints the table of that JSON

Four kinds of questions are asked in every set: its own; those of other subjects, which nothing answers; its
own in a small folder of the right document and some others; and its own in a folder without the right one.
The folders of ``tests/sense`` take part in the fit.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.sense.test_sense import FOLDERS, is_one_of, notes_of

from benchmarks.harness import RESULTS, Patch, applied, write_result
from benchmarks.quality import MIN_GRADES, find_sets
from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import Corpus, Indexing, indexed_set, temporary_folder
from mdvec.evaluation.judgements import JudgedSet, Question
from mdvec.evaluation.runner import scope_filters
from mdvec.search import probability, search
from mdvec.search.filters import narrowed
from mdvec.search.probability import WEIGHTS, Evidence, Judged
from mdvec.text.hashing import text_hash
from mdvec.text.terms import is_unspaced_query
from mdvec.text.tokens import estimate_token_count
from mdvec.types.hit import SearchHit
from mdvec.types.ids import DocumentId
from mdvec.types.query import MIN_SCORE, Filters, SearchMode, Where

QUESTIONS = 100
"""Questions of each kind and set."""

HITS = 5
"""Hits of each question that are judged."""

FOLDER_SIZES = (5, 10, 30)
"""Documents of a small folder."""

BINS = 10

# Sets on one subject, whose questions the others may answer; both grades of docs_astro answer.
_SAME_SUBJECT = ("docs_astro", "vault_obsidian_help", "vault_jzhao", "ja_", "xl_kyoto")
_UNJUDGED = frozenset({"docs_astro", "docs_astro_commit", "vault_obsidian_help", "docs_tldr_xl"})


_FOLDERS = "sense"

# The weight of the first hits in the folders of tests/sense in the fit, relative to a set. Too few of their
# later hits are judged.
_FOLDERS_WEIGH = 7.0

# The weight of a mode in the fit.
_MODES_WEIGH = {SearchMode.HYBRID: 5.0, SearchMode.DENSE: 1.0, SearchMode.LEXICAL: 1.0}


class Kind(StrEnum):
    """The questions asked."""

    OWN = "own"
    OTHER = "other"
    SMALL = "small"
    WITHOUT = "without"


class Hit(Struct, frozen=True):
    """A hit as it was judged.

    Attributes:
        set: Name of the set.
        kind: How the question was asked.
        mode: How it was searched.
        question: Its text.
        language: ``ja`` or ``en``, that of the question.
        rank: From 0.
        score: Its score.
        is_right: Whether its document answers.
        tokens: Estimated number of tokens of its text.
        judged: The way it was judged.
        evidence: What its score was computed from.
    """

    set: str
    kind: Kind
    mode: SearchMode
    question: str
    language: str
    rank: int
    score: float
    is_right: bool
    tokens: int
    judged: Judged
    evidence: Evidence


def collect(judged: JudgedSet, others: Sequence[Question], cache: Path | None, mode: SearchMode) -> list[Hit]:
    """Ask the questions of all kinds in a set."""
    chance = random.Random(judged.set.name)
    own = _first(judged.set.questions)
    found: list[Hit] = []
    with (
        temporary_folder() as folder,
        indexed_set(judged, Indexing(open_workspace, Config(), cache or folder)) as corpus,
    ):
        asking = _Asking(judged.set.name, corpus, scope_filters(own[0]), mode)
        ids = asking.documents
        for question in own:
            right = [ids[path] for name in question.relevant if (path := corpus.naming.path_of(name)) in ids]
            size = chance.choice(FOLDER_SIZES)
            rest = [each for each in chance.sample([*ids.values()], size) if each not in right]
            found += asking.hits(Kind.OWN, question)
            found += asking.hits(Kind.SMALL, question, [*right[:1], *rest[1:]])
            found += asking.hits(Kind.WITHOUT, question, rest)
        for question in others:
            found += asking.hits(Kind.OTHER, question)
    return found


def collect_folders(mode: SearchMode) -> Iterator[Hit]:
    """Yield the hits of the questions in ``tests/sense`` that are judged."""
    for file in FOLDERS:
        folder = yaml.safe_load(file.read_text(encoding="utf-8"))
        with temporary_folder() as home:
            for path, text in notes_of(folder).items():
                (home / "notes" / path).parent.mkdir(parents=True, exist_ok=True)
                (home / "notes" / path).write_text(text, encoding="utf-8")
            with open_workspace(Config(), database=home / "index.sqlite") as workspace:
                workspace.add_collection("notes", "Notes", str(home / "notes"))
                workspace.import_collection("notes")
                for question in folder["questions"]:
                    good = [*(question.get("first") or ()), *(question.get("among") or ())]
                    wrong = question.get("not") or ()
                    query = SearchQuery(str(question["ask"]), mode=mode, min_score=0.0)
                    for hit, known in _searched(query, workspace):
                        right = is_one_of(hit.path, good)
                        if right or not good or is_one_of(hit.path, wrong):
                            yield _judged(_FOLDERS, Kind.OWN, query, hit, known, is_right=right)


def _searched(query: SearchQuery, workspace: Workspace) -> list[tuple[SearchHit, tuple[Judged, Evidence]]]:
    """Return hits, each with what its score was computed from."""
    seen: list[tuple[Judged, Evidence]] = []

    def remember(passages: Any, candidates: Any, words: Any) -> list[float]:
        seen[:] = probability.evidence_of(passages, candidates, words)
        return probability.probabilities(passages, candidates, words)

    with applied((Patch(search, "probabilities", remember),)):
        result = workspace.search(query, wait_for_vectors=True)
    return [*zip(result.hits, seen, strict=False)]


def _judged(
    name: str,
    kind: Kind,
    query: SearchQuery,
    hit: SearchHit,
    known: tuple[Judged, Evidence],
    *,
    is_right: bool,
) -> Hit:
    language = "ja" if is_unspaced_query(query.text) else "en"
    tokens = estimate_token_count(hit.text)
    return Hit(
        name, kind, query.mode, query.text, language, hit.rank - 1, hit.score, is_right, tokens, *known
    )


class _Asking:
    """Asks questions in a set, in all of its documents or in some."""

    def __init__(self, name: str, corpus: Corpus, filters: Filters, mode: SearchMode) -> None:
        self._name, self._corpus, self._filters, self._mode = name, corpus, filters, mode
        # Every document that the filter of the set lets through, by path.
        listed = corpus.workspace.chunks()
        self.documents: dict[str, DocumentId] = {chunk.path: chunk.document_id for chunk in listed}
        self._paths = {document: path for path, document in self.documents.items()}

    def hits(
        self, kind: Kind, question: Question, folder: Sequence[DocumentId] | None = None
    ) -> Iterator[Hit]:
        """Yield the judged hits of a question, in a folder of some documents or in all."""
        located = question if kind is Kind.OTHER else self._corpus.naming.located(question)
        right = {self._corpus.naming.path_of(name) for name in question.relevant}

        def inside(*arguments: Any) -> Where:
            where = narrowed(*arguments)
            return where if folder is None else replace(where, only=frozenset(folder))

        filters = self._filters if kind is Kind.OTHER else scope_filters(located)
        query = SearchQuery(
            located.text, mode=self._mode, filters=filters, limit=HITS, min_score=0.0, per_document=1
        )
        with applied((Patch(search, "narrowed", inside),)):
            found = _searched(query, self._corpus.workspace)
        for hit, known in found:
            if hit.path not in located.exclude:
                is_right = kind is not Kind.OTHER and hit.path in right
                yield _judged(self._name, kind, query, hit, known, is_right=is_right)


def _first(questions: Sequence[Question]) -> list[Question]:
    """Return the same questions in every run: those whose hashes come first."""
    return sorted(questions, key=lambda each: text_hash(each.text))[:QUESTIONS]


def of_other_subjects(name: str, sets: Sequence[JudgedSet], languages: set[bool]) -> list[Question]:
    """Return questions of sets on other subjects, in the languages of a set's own questions."""
    subject = next((each for each in _SAME_SUBJECT if name.startswith(each)), name)
    pool = [
        question
        for each in sets
        if each.set.name != name and not each.set.name.startswith(subject)
        for question in _first(each.set.questions)[: QUESTIONS // 4]
        if is_unspaced_query(question.text) in languages
    ]
    return _first(pool)


def reliability(hits: Sequence[Hit]) -> list[list[float]]:
    """Return mean score, share of right hits and number of hits, for each tenth of the scores."""
    scores = np.array([hit.score for hit in hits])
    right = np.array([hit.is_right for hit in hits])
    bins = np.minimum((scores * BINS).astype(int), BINS - 1)
    return [
        [round(float(scores[bins == at].mean()), 3), round(float(right[bins == at].mean()), 3), int(count)]
        for at in range(BINS)
        if (count := np.count_nonzero(bins == at))
    ]


def figures(hits: Sequence[Hit]) -> dict[str, Any]:
    """Return all figures, as they are written."""
    answers: dict[tuple[str, Kind, str], list[Hit]] = {}
    for hit in hits:
        answers.setdefault((hit.set, hit.kind, hit.question), []).append(hit)
    shown = {key: _shown(each) for key, each in answers.items()}

    def total(kind: Kind, of: Mapping[Any, Sequence[Hit]], what: str) -> int:
        return sum(int(getattr(hit, what)) for key, each in of.items() if key[1] is kind for hit in each)

    unanswered = [each for key, each in shown.items() if key[1] in (Kind.OTHER, Kind.WITHOUT)]
    small = [hit for hit in hits if hit.kind in (Kind.SMALL, Kind.WITHOUT) and not hit.is_right]
    return {
        "min_score": MIN_SCORE,
        "questions": len(answers),
        "first": reliability([hit for hit in hits if not hit.rank]),
        "later": reliability([hit for hit in hits if hit.rank]),
        "by_language": {
            language: reliability([hit for hit in hits if hit.language == language])
            for language in ("ja", "en")
        },
        "right_hits_left_out": round(
            1 - total(Kind.OWN, shown, "is_right") / total(Kind.OWN, answers, "is_right"), 4
        ),
        "tokens_left": round(total(Kind.OWN, shown, "tokens") / total(Kind.OWN, answers, "tokens"), 3),
        "unanswered_with_one_hit_at_most": round(
            sum(len(each) <= 1 for each in unanswered) / len(unanswered), 3
        ),
        "wrong_in_small_folders_below_.1": round(sum(hit.score <= 0.1 for hit in small) / len(small), 3),
    }


def _shown(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits of an answer that are shown by default."""
    left = [hit for hit in hits if hit.score >= MIN_SCORE]
    is_none = probability.level_of(hits[0].score).value == "none"
    return left[:1] if is_none else left


def fitted(hits: Sequence[Hit], judged: Judged) -> NDArray[np.float64]:
    """Return the weights of a logistic regression, each set and kind with the same weight in all."""
    chosen = [
        hit
        for hit in hits
        if hit.judged == judged and (not hit.rank if judged.is_first else hit.set != _FOLDERS)
    ]
    counts: dict[tuple[str, Kind], int] = {}
    for hit in chosen:
        counts[hit.set, hit.kind] = counts.get((hit.set, hit.kind), 0) + 1
    weight = np.array([len(chosen) / len(counts) / counts[hit.set, hit.kind] for hit in chosen])
    weight *= [_MODES_WEIGH[hit.mode] * (_FOLDERS_WEIGH if hit.set == _FOLDERS else 1.0) for hit in chosen]
    used = np.flatnonzero((1.0, *WEIGHTS[judged][1]))
    rows = np.array([(1.0, *hit.evidence) for hit in chosen])[:, used]
    right = np.array([hit.is_right for hit in chosen], np.float64)
    found = np.zeros(rows.shape[1])
    penalty = np.diag([1e-6, *(1.0 for _ in found[1:])])
    for _ in range(50):  # Newton's method
        expected = 1 / (1 + np.exp(-rows @ found))
        gradient = rows.T @ (weight * (expected - right)) + penalty @ found
        curvature = (rows * (weight * expected * (1 - expected))[:, np.newaxis]).T @ rows + penalty
        found = found - np.linalg.solve(curvature, gradient)
    return found


def table(result: Mapping[str, Any]) -> str:
    """Return the table of docs/explanation/confidence.md."""
    lines = ["| score | first hits | right | later hits | right |", "|---|---:|---:|---:|---:|"]
    rows: dict[int, dict[str, list[float]]] = {}
    for name in ("first", "later"):
        for each in result[name]:
            rows.setdefault(min(int(each[0] * BINS), BINS - 1), {})[name] = each
    for at, cells in sorted(rows.items()):
        shown = [
            f"{cells[name][2]:,.0f} | {100 * cells[name][1]:.0f} %" if name in cells else "0 | –"
            for name in ("first", "later")
        ]
        lines.append(f"| {at / BINS:.1f} to {(at + 1) / BINS:.1f} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", metavar="SETS_DIR")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the indexes here")
    parser.add_argument("--only-set", nargs="+", default=[], metavar="NAME", help="these sets alone")
    parser.add_argument("--mode", type=SearchMode, default=SearchMode.HYBRID, metavar="MODE")
    parser.add_argument("--fit", action="store_true", help="print weights; writes nothing")
    parser.add_argument("--output", type=Path, default=RESULTS / "calibration.json", metavar="F")
    parser.add_argument("--markdown", action="store_true", help="print the table")
    arguments = parser.parse_args()
    if arguments.folder is None:
        print(table(json.loads(arguments.output.read_text(encoding="utf-8"))["result"]))
        return
    sets = [each for each in find_sets(arguments.folder, [], MIN_GRADES) if each.set.name not in _UNJUDGED]
    hits: list[Hit] = []
    modes = [*SearchMode] if arguments.fit else [arguments.mode]
    for judged in sets:
        if arguments.only_set and judged.set.name not in arguments.only_set:
            continue
        languages = {is_unspaced_query(each.text) for each in _first(judged.set.questions)}
        others = of_other_subjects(judged.set.name, sets, languages)
        for mode in modes:
            hits += collect(judged, others, arguments.embed_cache, mode)
        print(judged.set.name, len(hits), file=sys.stderr, flush=True)
    if arguments.fit:
        for mode in modes:
            hits += collect_folders(mode)
        for judged_as in WEIGHTS:
            print(judged_as, *(f"{each:.2f}" for each in fitted(hits, judged_as)))
        return
    result = figures(hits)
    write_result("calibration", result, arguments.output)
    print(table(result))


if __name__ == "__main__":
    main()
