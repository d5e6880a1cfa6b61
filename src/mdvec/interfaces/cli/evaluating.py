"""``mdvec eval`` and ``mdvec feedback``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from mdvec.errors import NotFoundError, UsageError
from mdvec.interfaces.cli.common_options import (
    DOCUMENT,
    FILE,
    FOLDER,
    OneOf,
    PathFromHere,
    WholeNumber,
    command,
    format_option,
)
from mdvec.interfaces.cli.filters import name_option, names_option
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, write
from mdvec.interfaces.errors import EXIT_FAILED
from mdvec.interfaces.printing import printable
from mdvec.types.query import SearchMode

if TYPE_CHECKING:
    from mdvec.evaluation.corpus import Indexing, Task
    from mdvec.evaluation.runner import Options
    from mdvec.workspace import Workspace

_ALL = "all"
_DEFAULT_QUESTIONS = 200
# Failed questions that are listed, among the user's own.
_DEFAULT_FAILURES = 5


def _grades(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    """Parse the grades of sets; the grade for all others has the empty name."""
    grades: dict[str, int] = {}
    for value in values:
        name, _, grade = value.rpartition("=")
        if not grade.isdecimal() or int(grade) < 1:
            msg = f"{value!r} is not a grade: give a whole number from 1, or SET=N for one set"
            raise click.BadParameter(msg)
        grades[name] = int(grade)
    return grades


@command("eval")
@click.argument("sets", nargs=-1, metavar="[SET]...", type=PathFromHere())
@click.option("--suffix", default="", help="Use queries<SUFFIX>.jsonl and qrels<SUFFIX>.tsv of each set.")
@click.option(
    "--mode",
    type=OneOf(["lexical", "dense", "hybrid", _ALL]),
    default=_ALL,
    show_default=True,
    help="The modes to measure.",
)
@click.option("--baselines", is_flag=True, help="Also measure grep, BM25 and rank fusion on the same chunks.")
@click.option("--by", metavar="LABELS", help="Report groups by these labels, such as type,lang.")
@click.option(
    "--min-grade",
    "min_grades",
    callback=_grades,
    multiple=True,
    metavar="[SET=]N",
    help="Only documents of this grade or higher are relevant, in one set or in all; may be repeated."
    "  [default: 1]",
)
@click.option("--auto", is_flag=True, help="Make questions from your own documents.")
@click.option(
    "--questions",
    type=WholeNumber(min=1),
    metavar="N",
    help=f"With --auto: maximum number of questions.  [default: {_DEFAULT_QUESTIONS}]",
)
@names_option("Search this collection; may be repeated.")
@click.option(
    "--embed-cache",
    type=FOLDER,
    metavar="DIR",
    help="Keep the indexes of sets here for the next run.",
)
@click.option(
    "--failures",
    type=WholeNumber(min=0),
    metavar="N",
    help="List at most N failed questions of each set and what was found instead.  "
    f"[default: {_DEFAULT_FAILURES} of your own questions]",
)
@click.option("--gate", type=FILE, metavar="F", help="Exit with 1 if a value is below this record.")
@format_option("table", "json", "html")
@click.option("--output", type=FILE, metavar="F", help="Write the result to this file.")
def eval_(
    session: Session,
    /,
    mode: str,
    baselines: bool,
    by: str | None,
    embed_cache: Path | None,
    failures: int | None,
    gate: Path | None,
    output: Path | None,
    **chosen: Any,
) -> int:
    """Measure the search on questions with known answers.

    A SET is a folder with documents, questions and judgements, or a file with questions of your own. Without
    any, the questions that 'mdvec feedback' wrote are measured.
    """
    from mdvec.evaluation.corpus import Indexing, temporary_folder
    from mdvec.evaluation.gate import compare, read_record
    from mdvec.evaluation.runner import evaluate
    from mdvec.interfaces.cli import eval_report
    from mdvec.workspace import open_workspace

    questions = _Questions(**chosen)
    questions.check(cached=embed_cache is not None)
    record = read_record(gate) if gate else None
    if output is not None:  # better now than after measuring
        eval_report.check_output(output, gate, questions.sets)
    options = _options(mode, by, baselines=baselines)
    with (
        session.open(makes=session.docs_dir is not None) as workspace,
        temporary_folder() as folder,
    ):
        shown = session.output
        indexing = Indexing(
            session.opener or open_workspace,
            session.loaded.config,
            cache=embed_cache or folder,
            embed=options.needs_vectors,
        )
        tasks = questions.tasks(workspace, session.docs_dir, indexing)
        report = evaluate(tasks, options, say=eval_report.say)
    eval_report.print_notes(report)
    eval_report.print_report(report, shown, failures, output, own_failures=_DEFAULT_FAILURES)
    is_open = record is None or eval_report.print_verdict(compare(report, record))
    return 0 if is_open else EXIT_FAILED


class _Questions(Struct, frozen=True, kw_only=True):
    """The questions to measure, as the options choose them.

    Attributes:
        sets: Folders with sets, and files with questions; if empty, the file of ``mdvec feedback`` is used.
        suffix: Of the files of a set.
        min_grades: The least relevant grade, by the name of a set; for all others under the empty name.
        auto: Whether to make questions from the user's documents.
        questions: How many of them at most; None for the default.
        names: The collections to search, or to make questions from.
    """

    sets: tuple[Path, ...]
    suffix: str
    min_grades: dict[str, int]
    auto: bool
    questions: int | None
    names: tuple[str, ...]

    def check(self, *, cached: bool) -> None:
        """Check that the options do not contradict each other.

        Raises:
            UsageError: If they do.
        """
        if self.questions is not None and not self.auto:
            msg = "--questions limits the questions of --auto"
            raise UsageError(msg, hint="Add --auto.")
        if self.names and self.sets and not self.auto and all(place.is_dir() for place in self.sets):
            msg = "--name chooses among your collections, but a set brings its own documents"
            raise UsageError(msg, hint="Leave out --name.")
        if (self.suffix or self.min_grades or cached) and all(place.is_file() for place in self.sets):
            msg = "--suffix, --min-grade and --embed-cache are for folders with a set, and none is named"
            raise UsageError(msg, hint="Leave them out, or name such a folder.")

    def tasks(self, workspace: Workspace, docs_dir: Path | None, indexing: Indexing) -> list[Task]:
        """Return the tasks to measure.

        Raises:
            NotFoundError: If a set is not there, or there is nothing to make questions from.
            UsageError: If there is nothing to measure.
        """
        places = self.sets or (() if self.auto else (_feedback_file(workspace),))
        tasks = [task for place in places for task in self._tasks_of(place, workspace, indexing)]
        unknown = sorted(self.min_grades.keys() - {"", *(task.set.name for task in tasks)})
        if unknown:
            msg = f"--min-grade names a set that is not measured: {unknown[0]!r}"
            raise UsageError(msg, hint=f"These are: {', '.join(task.set.name for task in tasks)}.")
        return [*tasks, self._automatic(workspace, docs_dir, indexing)] if self.auto else tasks

    def _tasks_of(self, place: Path, workspace: Workspace, indexing: Indexing) -> list[Task]:
        """Return the sets in a folder, or the questions in a file."""
        from mdvec.evaluation.corpus import judged_task
        from mdvec.evaluation.judgements import read_judged_sets
        from mdvec.evaluation.own_questions import own_task, read_questions

        if place.is_dir():
            found = read_judged_sets(place, suffix=self.suffix, min_grades=self.min_grades)
            return [judged_task(each, indexing) for each in found]
        if not place.exists():
            msg = f"{place} does not exist"
            raise NotFoundError(msg, hint="Give a folder with a set, or a file with questions.")
        return [own_task(read_questions(place), workspace, self.names)]

    def _automatic(self, workspace: Workspace, docs_dir: Path | None, indexing: Indexing) -> Task:
        from mdvec.evaluation.automatic import automatic_task
        from mdvec.types.collection import SourceSpec

        if docs_dir is not None:  # its own database is not needed, so none is made
            sources = {"docs": SourceSpec("folder", str(docs_dir))}
        elif self.names:
            sources = {name: workspace.collection(name).source for name in self.names}
        else:
            sources = {each.name: each.source for each in workspace.collections()}
        if not sources:
            msg = "there is no collection to make questions from"
            raise NotFoundError(msg, hint="Give --docs-dir DIR, or add a collection with 'mdvec tool add'.")
        return automatic_task(sources, indexing, limit=self.questions or _DEFAULT_QUESTIONS)


def _feedback_file(workspace: Workspace) -> Path:
    from mdvec.evaluation.own_questions import default_file

    file = default_file(workspace)
    if not file.exists():
        msg = "there is nothing to measure"
        raise UsageError(
            msg, hint="Name a set or a file of questions, add --auto, or use 'mdvec feedback' first."
        )
    return file


def _options(mode: str, by: str | None, *, baselines: bool) -> Options:
    from mdvec.evaluation.runner import Options

    labels = dict.fromkeys(label.strip() for label in (by or "").split(",") if label.strip())
    made = Options(by=tuple(labels))
    if mode != _ALL:
        made = replace(made, modes=(SearchMode(mode),), all_modes=False)
    if baselines:
        from mdvec.evaluation.baselines import baselines as prepare

        made = replace(made, baselines=prepare)
    return made


@command()
@click.argument("query", nargs=-1, required=True)
@click.option("--good", type=DOCUMENT, multiple=True, help="A document that answers it; may be repeated.")
@click.option("--bad", type=DOCUMENT, multiple=True, help="A document that does not; may be repeated.")
@name_option("The collection you searched; all of them without it.")
@click.option(
    "--file",
    type=FILE,
    metavar="F",
    help="Add to this file.  [default: questions.jsonl beside the database]",
)
def feedback(
    session: Session, /, query: tuple[str, ...], name: str | None, file: Path | None, **judged: Any
) -> None:
    """Record which documents answered a query, for 'mdvec eval'."""
    from mdvec.evaluation.own_questions import give_feedback

    with session.open() as workspace:
        written = give_feedback(workspace, " ".join(query), collection=name, file=file, **judged)
    counts = [
        f"{len(paths)} {word}" for paths, word in ((written.good, "good"), (written.bad, "bad")) if paths
    ]
    write(printable(f"{', '.join(counts)} written to {written.file}") + "\n")
    command = session.command("eval", *([str(written.file)] if file else []))
    note(f"hint: Measure your questions with: {printable(command)}")
