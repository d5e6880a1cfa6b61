"""``mdvec eval`` and ``mdvec feedback``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mdvec.errors import NotFoundError, UsageError
from mdvec.interfaces.cli.progress import shown_progress
from mdvec.interfaces.cli.session import Command, Session, chosen_format, common_options, format_option
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
    from mdvec.config import Config
    from mdvec.evaluation.gate import Verdict
    from mdvec.evaluation.model import EvalReport
    from mdvec.evaluation.runner import Options
    from mdvec.evaluation.subject import Indexing, Task
    from mdvec.interfaces.evaluation import Table
    from mdvec.types.collection import SourceSpec
    from mdvec.workspace import Workspace

_FORMATS = ("table", "json", "html")
_ALL = "all"
_DEFAULT_QUESTIONS = 200
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("eval", cls=Command)
@click.argument("sets", nargs=-1, metavar="[SET]...", type=click.Path(path_type=Path))
@click.option("--suffix", default="", help="Use queries<SUFFIX>.jsonl and qrels<SUFFIX>.tsv of each set.")
@click.option(
    "--mode",
    type=click.Choice(["lexical", "dense", "hybrid", _ALL]),
    default=_ALL,
    show_default=True,
    help="What to measure.",
)
@click.option("--baselines", is_flag=True, help="Measure other ways to search the same chunks, too.")
@click.option("--by", metavar="LABELS", help="Report groups by these labels, such as type,lang.")
@click.option(
    "--min-grade",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Documents judged lower are not relevant.",
)
@click.option("--auto", is_flag=True, help="Make questions of your own documents.")
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"With --auto: most questions.  [default: {_DEFAULT_QUESTIONS}]",
)
@click.option(
    "-n", "--name", "names", multiple=True, help="Ask this collection your questions; may be repeated."
)
@click.option(
    "--embed-cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the indexes of sets here for the next run.",
)
@click.option("--gate", type=_FILE, metavar="F", help="Exit with 1 when a value fell below this record.")
@format_option(*_FORMATS)
@click.option("--output", type=_FILE, metavar="F", help="Write the result to this file.")
@common_options
@click.pass_context
def eval_(
    ctx: click.Context,
    sets: tuple[Path, ...],
    suffix: str,
    mode: str,
    baselines: bool,
    by: str | None,
    min_grade: int,
    auto: bool,
    questions: int | None,
    names: tuple[str, ...],
    embed_cache: Path | None,
    gate: Path | None,
    format_name: str | None,
    output: Path | None,
) -> None:
    """Measure how good the answers are, on judged questions.

    A SET is a folder with documents, questions and judgements, or a file with questions of your own. Without
    any, what 'mdvec feedback' wrote is asked.
    """
    from mdvec.evaluation.gate import hold_against, read_record
    from mdvec.evaluation.runner import evaluate

    session: Session = ctx.obj
    places = [session.cwd / path for path in sets]
    if questions is not None and not auto:
        msg = "--questions says how many --auto makes"
        raise UsageError(msg, hint="Add --auto.")
    if names and places and not auto and all(place.is_dir() for place in places):
        msg = "--name says which of your collections are asked, but a set brings its own documents"
        raise UsageError(msg, hint="Leave out --name.")
    if (suffix or min_grade > 1 or embed_cache) and all(place.is_file() for place in places):
        msg = "--suffix, --min-grade and --embed-cache are for folders with a set, and none is named"
        raise UsageError(msg, hint="Leave them out, or name such a folder.")
    record = read_record(session.cwd / gate) if gate else None
    if output is not None:  # better now than when all is measured
        _check_output(session.cwd / output, session.cwd / gate if gate else None)
    options = _options(mode, by, min_grade, baselines=baselines)
    with session.open() as (workspace, config):
        shown = chosen_format(format_name, config, _FORMATS)
        asked = _Asked(session, workspace, names, _indexing(session, config, options, embed_cache))
        tasks = [asked.task(place, suffix, min_grade) for place in places]
        if auto:
            tasks.append(asked.automatic(questions or _DEFAULT_QUESTIONS))
        report = evaluate(tasks or [asked.feedback()], options, say=_say)
    _tell(report)
    _print(report, shown, session.cwd / output if output else None)
    if record is not None and not _tell_verdict(hold_against(report, record)):
        ctx.exit(EXIT_FAILED)


@click.command(cls=Command)
@click.argument("query", nargs=-1, required=True)
@click.option("--good", multiple=True, metavar="PATH", help="A document that answers it; may be repeated.")
@click.option("--bad", multiple=True, metavar="PATH", help="A document that does not; may be repeated.")
@click.option("-n", "--name", help="The collection you searched; all of them without it.")
@click.option(
    "--file",
    type=_FILE,
    metavar="F",
    help="Add to this file.  [default: questions.jsonl beside the database]",
)
@common_options
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
    from mdvec.evaluation.feedback import give_feedback

    with session.open() as (workspace, _):
        given = give_feedback(
            workspace,
            " ".join(query),
            good=good,
            bad=bad,
            collection=name,
            file=session.cwd / file if file else None,
        )
    judged = [f"{len(paths)} {word}" for paths, word in ((given.good, "good"), (given.bad, "bad")) if paths]
    write(printable(f"{', '.join(judged)} written to {given.file}") + "\n")
    again = ["mdvec", "eval", *([str(given.file)] if file else [])]
    again += ["--docs-dir", str(session.docs_dir)] if session.docs_dir else []
    note(f"hint: Ask again with: {printable(shlex.join(again))}")


def _check_output(output: Path, gate: Path | None) -> None:
    """Make the folder of a report, and see that the report can be written there.

    Raises:
        UsageError: If it is the record of the gate, which would then hold what it has just kept out.
        OSError: If it cannot be written.
    """
    if gate is not None and output.exists() and output.samefile(gate):
        msg = f"{output} is the record that --gate holds the result against, and --output would replace it"
        raise UsageError(msg, hint="Give --output another file, or record anew without --gate.")
    output.parent.mkdir(parents=True, exist_ok=True)
    if not output.exists():
        output.touch()
        output.resolve().unlink()  # not the link that leads there
    elif output.is_file():  # a pipe would be at its end for whoever reads it
        output.open("ab").close()  # what is in it stays until there is something to replace it


@dataclass(frozen=True, slots=True)
class _Asked:
    """Makes tasks of what the command line names."""

    session: Session
    workspace: Workspace
    names: tuple[str, ...]
    indexing: Indexing

    def task(self, place: Path, suffix: str, min_grade: int) -> Task:
        """Measure a set, or a file of questions."""
        from mdvec.evaluation.datasets import read_judged_set
        from mdvec.evaluation.questions import own_task, read_questions
        from mdvec.evaluation.subject import judged_task

        if place.is_dir():
            return judged_task(read_judged_set(place, suffix=suffix, min_grade=min_grade), self.indexing)
        if not place.exists():
            msg = f"{place} does not exist"
            raise NotFoundError(msg, hint="Give a folder with a set, or a file with questions.")
        return own_task(read_questions(place), self.workspace, self.names, progress=shown_progress)

    def feedback(self) -> Task:
        """Measure what ``mdvec feedback`` wrote."""
        from mdvec.evaluation.feedback import default_file
        from mdvec.evaluation.questions import own_task, read_questions

        file = default_file(self.workspace)
        if not file.exists():
            msg = "there is nothing to measure"
            raise UsageError(
                msg,
                hint="Name a set or a file of questions, add --auto, or tell 'mdvec feedback' what was good.",
            )
        return own_task(read_questions(file), self.workspace, self.names, progress=shown_progress)

    def automatic(self, limit: int) -> Task:
        """Measure on questions made of the documents."""
        from mdvec.evaluation.automatic import automatic_task

        return automatic_task(self._sources(), self.indexing, limit=limit)

    def _sources(self) -> dict[str, SourceSpec]:
        from mdvec.types.collection import SourceSpec

        if self.session.docs_dir is not None:  # its own database is not needed, so none is made
            return {"docs": SourceSpec("folder", str(self.session.docs_dir))}
        if self.names:
            return {name: self.workspace.collection(name).source for name in self.names}
        found = {each.name: each.source for each in self.workspace.collections()}
        if not found:
            msg = "there is no collection to make questions of"
            raise NotFoundError(msg, hint="Give --docs-dir DIR, or add a collection with 'mdvec tool add'.")
        return found


def _options(mode: str, by: str | None, min_grade: int, *, baselines: bool) -> Options:
    from mdvec.evaluation.runner import Options

    labels = dict.fromkeys(label.strip() for label in (by or "").split(",") if label.strip())
    made = Options(by=tuple(labels), min_grade=min_grade)
    if mode != _ALL:
        made = replace(made, modes=(SearchMode(mode),), all_modes=False)
    if baselines:
        from mdvec.evaluation.baselines import baselines as prepare
        from mdvec.evaluation.baselines import missing

        if problem := missing():
            warn(problem)
        made = replace(made, baselines=prepare)
    return made


def _indexing(session: Session, config: Config, options: Options, cache: Path | None) -> Indexing:
    from mdvec.evaluation.subject import Indexing
    from mdvec.workspace import open_workspace

    return Indexing(
        session.opener or open_workspace,
        config,
        embed=options.needs_vectors,
        cache=session.cwd / cache if cache else None,
        progress=shown_progress,
    )


def _say(text: str) -> None:
    note(printable(text))


def _tell(report: EvalReport) -> None:
    from mdvec.interfaces.evaluation import bad_lines

    for each in report.sets:
        for text in (*each.notes, *bad_lines(each)):
            _say(f"{each.set.name}: {text}")
        for text in each.warnings:
            warn(printable(f"{each.set.name}: {text}"))


def _print(report: EvalReport, shown: str, output: Path | None) -> None:
    if shown == "table" and output is None:
        _print_tables(report)
        return
    text = _text(report, shown)
    if output is None:
        write(text)
    else:
        output.write_text(text, encoding="utf-8", errors="backslashreplace")
        note(f"written to {output}")


def _text(report: EvalReport, shown: str) -> str:
    if shown == "json":
        from mdvec.interfaces.evaluation import report_json

        return json_text(report_json(report))
    if shown == "html":
        from mdvec.evaluation.page import render

        return render(report)
    return "\n".join(
        f"{table.title}\n\n{aligned_text(table.columns, table.rows)}" for table in _tables(report)
    )


def _print_tables(report: EvalReport) -> None:
    for position, table in enumerate(_tables(report)):
        write(printable(table.title).join(("\n" if position else "", "\n\n")))
        write_table(table.columns, table.rows)


def _tables(report: EvalReport) -> Iterator[Table]:
    from mdvec.interfaces.evaluation import set_tables

    for each in report.sets:
        yield from set_tables(each)


def _tell_verdict(verdict: Verdict) -> bool:
    """Say what the gate found, and whether it is open."""
    for line in verdict.failures:
        _say(f"gate: {line}")
    for line in verdict.better:
        _say(f"gate: better: {line}")
    if verdict.failures:
        print_failure(
            "the gate is closed: this is not as good as recorded",
            "If that is meant, record anew with --format json --output F.",
        )
    else:
        note(f"gate: {verdict.held:,} values are as good as recorded, or better")
    return not verdict.failures
