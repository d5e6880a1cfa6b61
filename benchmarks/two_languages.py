"""Asks questions in one language over two collections, one in each, and over the one that answers alone.

    python -m benchmarks.two_languages SETS_DIR --embed-cache DIR

A Japanese collection on Kyoto (``xl_kyoto_en2ja``) and the English pages of a manual
(``vault_obsidian_help``). The questions are in the other language than the collection that answers, or in the
language of the manual. The figure is the share of the questions whose page is first or second alone that have
it there with both, too; and the share of the questions about the manual to which the Japanese collection,
which answers none, gives no more than low confidence.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.harness import write_result
from benchmarks.quality import find_sets
from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import corpus_files, lay_out, temporary_folder
from mdvec.evaluation.judgements import JudgedSet, Question, read_corpus
from mdvec.evaluation.naming import Naming, naming_by_path, neutral_naming
from mdvec.types.hit import Confidence

QUESTIONS = 200
_FIRST = 2  # hits in which the page is wanted
_SHOWN = 10
_LITTLE = (Confidence.NONE, Confidence.LOW)
_JAPANESE, _ENGLISH = "kyoto", "manual"
_MANUAL = "en/"


def chosen(questions: Iterable[Question]) -> list[Question]:
    """Return some of the questions, the same in every run."""
    every = [*questions]
    random.Random(1).shuffle(every)
    return every[:QUESTIONS]


def rank_of(
    question: Question, paths: set[str], workspace: Workspace, names: Sequence[str], own: str
) -> int | None:
    """Return the rank of the first right page of a collection among the hits; None if there is none."""
    query = SearchQuery(question.text, collections=tuple(names), limit=_SHOWN, min_score=0.0)
    hits = workspace.search(query, wait_for_vectors=True).hits
    return next((hit.rank for hit in hits if hit.collection == own and hit.path in paths), None)


def measure(
    judged: JudgedSet, naming: Naming, prefix: str, workspace: Workspace, own: str
) -> dict[str, float]:
    """Return the numbers of questions whose page is first, and first or second, alone and with both."""
    questions = chosen(judged.set.questions)
    ranks = []
    for question in questions:
        paths = {naming.path_of(each).removeprefix(prefix) for each in question.relevant}
        ranks.append([rank_of(question, paths, workspace, names, own) for names in ((own,), ())])
    alone = [both for one, both in ranks if one and one <= _FIRST]
    held = sum(both is not None and both <= _FIRST for both in alone)
    return {
        "questions": len(questions),
        "first alone": sum(one == 1 for one, _ in ranks),
        "first with both": sum(both == 1 for _, both in ranks),
        "in two alone": len(alone),
        "of these with both": held,
        "share": round(held / len(alone), 3),
    }


def unsure(questions: Iterable[Question], workspace: Workspace) -> float:
    """Return the share of questions that a collection which does not answer gets with little confidence."""
    levels = [
        workspace.search(SearchQuery(each.text, collections=(_JAPANESE,)), wait_for_vectors=True).confidence
        for each in chosen(questions)
    ]
    return round(sum(level in _LITTLE for level in levels) / len(levels), 3)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="SETS_DIR")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the index here")
    parser.add_argument("--output", type=Path, metavar="F")
    arguments = parser.parse_args()
    names = ("xl_kyoto_en2ja", "vault_obsidian_help_xl", "vault_obsidian_help")
    about_kyoto, across, manual = (next(find_sets(arguments.folder, [name], {})) for name in names)
    corpus = read_corpus(about_kyoto.documents)
    naming = neutral_naming(each.id for each in corpus)
    by_path = naming_by_path(
        name for judged in (across, manual) for each in judged.set.questions for name in each.relevant
    )
    with temporary_folder() as temporary:
        home = arguments.embed_cache or temporary
        lay_out(corpus_files(corpus, naming), home / _JAPANESE)
        database = home / "two_languages.sqlite"
        is_new = not database.exists()
        with open_workspace(Config(), database=database) as workspace:
            for name, folder in ((_JAPANESE, home / _JAPANESE), (_ENGLISH, manual.documents / _MANUAL)):
                if is_new:
                    workspace.add_collection(name, "", str(folder))
                workspace.import_collection(name)
            result = {
                "English questions, Japanese collection": measure(
                    about_kyoto, naming, "", workspace, _JAPANESE
                ),
                "Japanese questions, English collection": measure(
                    across, by_path, _MANUAL, workspace, _ENGLISH
                ),
                "English questions, English collection": measure(
                    manual, by_path, _MANUAL, workspace, _ENGLISH
                ),
                "low or none where nothing answers": unsure(manual.set.questions, workspace),
            }
    for name, found in result.items():
        print(name, found)
    write_result("two_languages", result, arguments.output)


if __name__ == "__main__":
    main()
