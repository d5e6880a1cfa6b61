"""``mdvec eval`` and ``mdvec feedback``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from mdvec.errors import NotFoundError, UsageError
from mdvec.interfaces.cli.common_options import Command, format_option
from mdvec.interfaces.cli.filters import name_option, names_option
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import (
    aligned_text,
    json_text,
    note,
    print_failure,
    warn,
    write,
    write_table,
)
from mdvec.interfaces.errors import EXIT_FAILED
from mdvec.interfaces.passage import printable
from mdvec.types.query import SearchMode

if TYPE_CHECKING:
    from mdvec.evaluation.corpus import Indexing, Task
    from mdvec.evaluation.gate import Verdict
    from mdvec.evaluation.report import EvalReport
    from mdvec.evaluation.runner import Options
    from mdvec.interfaces.evaluation import Table
    from mdvec.workspace import Workspace

_ALL = "all"
_DEFAULT_QUESTIONS = 200
_DEFAULT_FAILURES = 5
_FILE = click.Path(dir_okay=False, path_type=Path)


def _grades(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    """Parse the grades of sets; that of all others has the empty name."""
    grades: dict[str, int] = {}
    for value in values:
        name, _, grade = value.rpartition("=")
        if not grade.isdecimal() or int(grade) < 1:
            msg = f"{value!r} is not a grade: give a whole number from 1, or SET=N for one set"
            raise click.BadParameter(msg)
        grades[name] = int(grade)
    return grades


@click.command("eval", cls=Command)
@click.argument("sets", nargs=-1, metavar="[SET]...", type=click.Path(path_type=Path))
@click.option("--suffix", default="", help="Use queries<SUFFIX>.jsonl and qrels<SUFFIX>.tsv of each set.")
@click.option(
    "--mode",
    type=click.Choice(["lexical", "dense", "hybrid", _ALL]),
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
    type=click.IntRange(min=1),
    metavar="N",
    help=f"With --auto: at most so many questions.  [default: {_DEFAULT_QUESTIONS}]",
)
@names_option("Search this collection; may be repeated.")
@click.option(
    "--embed-cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the indexes of sets here for the next run.",
)
@click.option(
    "--failures",
    type=click.IntRange(min=0),
    metavar="N",
    help="List at most N failed questions of each set and what was found instead.  "
    f"[default: {_DEFAULT_FAILURES} of your own questions]",
)
@click.option("--gate", type=_FILE, metavar="F", help="Exit with 1 if a value is below this record.")
@format_option("table", "json", "html")
@click.option("--output", type=_FILE, metavar="F", help="Write the result to this file.")
@click.pass_context
def eval_(
    ctx: click.Context,
    sets: tuple[Path, ...],
    suffix: str,
    mode: str,
    baselines: bool,
    by: str | None,
    min_grades: dict[str, int],
    auto: bool,
    questions: int | None,
    names: tuple[str, ...],
    embed_cache: Path | None,
    failures: int | None,
    gate: Path | None,
    output: Path | None,
) -> None:
    """Measure the search on questions with known answers.

    A SET is a folder with documents, questions and judgements, or a file with questions of your own. Without
    any, the questions that 'mdvec feedback' wrote are measured.
    """
    from mdvec.evaluation.corpus import Indexing, temporary_folder
    from mdvec.evaluation.gate import compare, read_record
    from mdvec.evaluation.runner import evaluate
    from mdvec.workspace import open_workspace

    session: Session = ctx.obj
    places = [session.cwd / path for path in sets]
    if questions is not None and not auto:
        msg = "--questions limits the questions of --auto"
        raise UsageError(msg, hint="Add --auto.")
    if names and places and not auto and all(place.is_dir() for place in places):
        msg = "--name chooses among your collections, but a set brings its own documents"
        raise UsageError(msg, hint="Leave out --name.")
    if (suffix or min_grades or embed_cache) and all(place.is_file() for place in places):
        msg = "--suffix, --min-grade and --embed-cache are for folders with a set, and none is named"
        raise UsageError(msg, hint="Leave them out, or name such a folder.")
    record = read_record(session.cwd / gate) if gate else None
    if output is not None:  # better now than after measuring
        _check_output(session.cwd / output, session.cwd / gate if gate else None)
    options = _options(mode, by, baselines=baselines)
    with (
        session.open(makes=session.docs_dir is not None) as (workspace, config),
        temporary_folder() as folder,
    ):
        shown = session.output
        indexing = Indexing(
            session.opener or open_workspace,
            config,
            cache=session.cwd / embed_cache if embed_cache else folder,
            embed=options.needs_vectors,
        )
        if not places and not auto:
            places = [_feedback_file(workspace)]
        tasks = [
            task
            for place in places
            for task in _tasks_of(place, suffix, min_grades, workspace, names, indexing)
        ]
        if auto:
            limit = questions or _DEFAULT_QUESTIONS
            tasks.append(_automatic_task(limit, session.docs_dir, workspace, names, indexing))
        report = evaluate(tasks, options, say=_say)
    _print_notes(report)
    _print(report, shown, failures, session.cwd / output if output else None)
    if record is not None and not _print_verdict(compare(report, record)):
        ctx.exit(EXIT_FAILED)


@click.command(cls=Command)
@click.argument("query", nargs=-1, required=True)
@click.option("--good", multiple=True, metavar="PATH", help="A document that answers it; may be repeated.")
@click.option("--bad", multiple=True, metavar="PATH", help="A document that does not; may be repeated.")
@name_option("The collection you searched; all of them without it.")
@click.option(
    "--file",
    type=_FILE,
    metavar="F",
    help="Add to this file.  [default: questions.jsonl beside the database]",
)
@click.pass_obj
def feedback(
    session: Session,
    query: tuple[str, ...],
    good: tuple[str, ...],
    bad: tuple[str, ...],
    name: str | None,
    file: Path | None,
) -> None:
    """Record which documents answered a question, for 'mdvec eval'."""
    from mdvec.evaluation.own_questions import give_feedback

    with session.open() as (workspace, _):
        written = give_feedback(
            workspace,
            " ".join(query),
            good=good,
            bad=bad,
            collection=name,
            file=session.cwd / file if file else None,
        )
    judged = [
        f"{len(paths)} {word}" for paths, word in ((written.good, "good"), (written.bad, "bad")) if paths
    ]
    write(printable(f"{', '.join(judged)} written to {written.file}") + "\n")
    command = ["mdvec", "eval", *([str(written.file)] if file else [])]
    command += ["--docs-dir", str(session.docs_dir)] if session.docs_dir else []
    note(f"hint: Measure your questions with: {printable(shlex.join(command))}")


def _check_output(output: Path, gate: Path | None) -> None:
    """Create the folder of a report, and check that the report can be written there.

    Raises:
        UsageError: If it is the record of the gate, which a worse report would then replace.
        OSError: If it cannot be written.
    """
    if gate is not None and output.exists() and output.samefile(gate):
        msg = f"{output} is the record of --gate, and --output would replace it"
        raise UsageError(msg, hint="Give --output another file, or record again without --gate.")
    output.parent.mkdir(parents=True, exist_ok=True)
    if not output.exists():
        output.touch()
        output.resolve().unlink()  # not the link that leads there
    elif output.is_file():  # opening and closing a pipe would end it for its reader
        output.open("ab").close()  # its content stays until the report replaces it


def _tasks_of(
    place: Path,
    suffix: str,
    min_grades: dict[str, int],
    workspace: Workspace,
    names: tuple[str, ...],
    indexing: Indexing,
) -> list[Task]:
    """Return the sets in a folder, or the questions in a file."""
    from mdvec.evaluation.corpus import judged_task
    from mdvec.evaluation.judgements import read_judged_sets
    from mdvec.evaluation.own_questions import own_task, read_questions

    if place.is_dir():
        found = read_judged_sets(place, suffix=suffix, min_grades=min_grades)
        return [judged_task(each, indexing) for each in found]
    if not place.exists():
        msg = f"{place} does not exist"
        raise NotFoundError(msg, hint="Give a folder with a set, or a file with questions.")
    return [own_task(read_questions(place), workspace, names)]


def _feedback_file(workspace: Workspace) -> Path:
    from mdvec.evaluation.own_questions import default_file

    file = default_file(workspace)
    if not file.exists():
        msg = "there is nothing to measure"
        raise UsageError(
            msg, hint="Name a set or a file of questions, add --auto, or use 'mdvec feedback' first."
        )
    return file


def _automatic_task(
    limit: int, docs_dir: Path | None, workspace: Workspace, names: tuple[str, ...], indexing: Indexing
) -> Task:
    from mdvec.evaluation.automatic import automatic_task
    from mdvec.types.collection import SourceSpec

    if docs_dir is not None:  # its own database is not needed, so none is made
        sources = {"docs": SourceSpec("folder", str(docs_dir))}
    elif names:
        sources = {name: workspace.collection(name).source for name in names}
    else:
        sources = {each.name: each.source for each in workspace.collections()}
    if not sources:
        msg = "there is no collection to make questions from"
        raise NotFoundError(msg, hint="Give --docs-dir DIR, or add a collection with 'mdvec tool add'.")
    return automatic_task(sources, indexing, limit=limit)


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


def _say(text: str) -> None:
    note(printable(text))


def _print_notes(report: EvalReport) -> None:
    from mdvec.interfaces.evaluation import bad_lines

    for each in report.sets:
        for text in (*each.set.notes, *bad_lines(each)):
            _say(f"{each.set.name}: {text}")
        for text in each.warnings:
            warn(printable(f"{each.set.name}: {text}"))


def _print(report: EvalReport, shown: str, failures: int | None, output: Path | None) -> None:
    if shown == "table" and output is None:
        for position, table in enumerate(_tables(report, failures)):
            write(printable(table.title).join(("\n" if position else "", "\n\n")))
            write_table(table.columns, table.rows)
        return
    text = _text(report, shown, failures)
    if output is None:
        write(text)
    else:
        output.write_text(text, encoding="utf-8", errors="backslashreplace")
        note(f"written to {output}")


def _text(report: EvalReport, shown: str, failures: int | None) -> str:
    if shown == "json":
        from mdvec.interfaces.evaluation import report_json

        return json_text(report_json(report))
    if shown == "html":
        from mdvec.evaluation.page import MAX_FAILURES, render

        return render(report, max_failures=MAX_FAILURES if failures is None else failures)
    return "\n".join(
        f"{table.title}\n\n{aligned_text(table.columns, table.rows)}" for table in _tables(report, failures)
    )


def _tables(report: EvalReport, failures: int | None) -> Iterator[Table]:
    from mdvec.interfaces.evaluation import set_tables

    for each in report.sets:
        default = _DEFAULT_FAILURES if each.set.own else 0
        yield from set_tables(each, max_failures=default if failures is None else failures)


def _print_verdict(verdict: Verdict) -> bool:
    """Print the verdict of the gate; returns whether it is open."""
    for line in verdict.failures:
        _say(f"gate: {line}")
    for line in verdict.better:
        _say(f"gate: better: {line}")
    if verdict.failures:
        print_failure(
            "the gate is closed: the figures are worse than recorded",
            "If that is intended, record again with --format json --output F.",
        )
    else:
        note(f"gate: {verdict.passed:,} values are as good as recorded, or better")
    return not verdict.failures
