"""The options that commands share, and commands that have them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import Any

import click

from mdvec.errors import did_you_mean
from mdvec.text.addresses import scheme_of

# The key in the context of a command under which its arguments are as they were typed.
_TYPED = "mdvec.typed"
# The part of a document that is meant: lines or a heading.
_PART = re.compile(r"(?::\d+(?:-\d+)?|#.*)\Z")

Option = Callable[[Any], Any]
"""Adds an option to a command."""


def _here(ctx: click.Context | None) -> Path:
    return Path() if ctx is None else ctx.obj.cwd


class PathFromHere(click.Path):
    """A path from the working directory of the session, which may not be that of the process."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return an absolute path; no text at all would be the folder itself."""
        here = _here(ctx)
        with suppress(click.BadParameter):
            if str(value):
                return Path(os.fsdecode(super().convert(here / value, param, ctx)))
        name, kind = name_of(param, ctx) if param else self.name, "a file" if self.file_okay else "a folder"
        why = "" if not str(value) else _problem_of(here / value, is_file=self.file_okay)
        msg = f"`{name}` must be {kind} that can be read, not {str(value)!r}{why}"
        raise click.UsageError(msg, ctx)


def _problem_of(path: Path, *, is_file: bool) -> str:
    """Return why a path is not the file, or the folder, that is wanted; empty if it is one."""
    if not os.path.lexists(path):
        return ", which does not exist"
    return "" if path.is_file() is is_file else f", which is a {'folder' if is_file else 'file'}"


class _Document(click.ParamType[str]):
    """The path of a document as results show it, or, with a dot before it, from the working directory."""

    name = "path"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Return the absolute path of a file that is at ``./a.md`` or ``../a.md``, or else the value."""
        dots = ("./", "../") if os.sep == "/" else ("./", "../", ".\\", "..\\")
        parts: list[str] = ["", *_PART.findall(value)]
        for part in parts if value.startswith(dots) else ():
            place = os.path.normpath(_here(ctx) / value.removesuffix(part))
            if os.path.isfile(place):  # noqa: PTH113 - False for any name that no file can have
                return place + part
        return value


DOCUMENT = _Document()
FILE = PathFromHere(dir_okay=False)
FOLDER = PathFromHere(file_okay=False)
EXISTING_FILE = PathFromHere(exists=True, dir_okay=False)
EXISTING_FOLDER = PathFromHere(exists=True, file_okay=False)


def name_of(param: click.Parameter, ctx: click.Context | None = None) -> str:
    """Return the name of an option or an argument, as messages have it: the one that was typed."""
    if isinstance(param, click.Argument):
        return param.human_readable_name
    typed: tuple[str, ...] = () if ctx is None else ctx.meta.get(_TYPED, ())
    named = (each for each in param.opts if any(word.startswith(each) for word in typed))
    return next(named, max(param.opts, key=len))


class _Worded(click.ParamType[Any]):
    """A type that refuses a value in the same words as all doors."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a value, in any notation that other doors take."""
        found = self._read(value, param, ctx)
        if found is not None:
            return found
        from mdvec.interfaces.parsing import allowed, coerced

        written, schema = str(value), _schema(self)
        found = self._read(str(coerced(written, schema)), param, ctx)
        if found is None:
            msg = f"`{name_of(param, ctx) if param else self.name}` must be {allowed(schema, written)}"
            raise click.UsageError(msg, ctx)
        return found

    def _read(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a value; None if it does not fit."""
        with suppress(click.BadParameter):
            found = super().convert(value, param, ctx)
            return None if found != found else found
        return None


class WholeNumber(_Worded, click.IntRange):
    """A whole number between limits."""


class Number(_Worded, click.FloatRange):
    """A number between limits."""


class OneOf(_Worded, click.Choice[str]):
    """One of some words."""


def _schema(kind: click.ParamType[Any]) -> dict[str, Any]:
    """Return the JSON Schema of the values of a type."""
    if isinstance(kind, click.Choice):
        return {"enum": sorted(kind.choices)}
    assert isinstance(kind, WholeNumber | Number)  # noqa: S101 - there are no others
    name = "integer" if isinstance(kind, WholeNumber) else "number"
    return {"type": name, "minimum": kind.min, "maximum": kind.max}


class CommonOption(click.Option):
    """An option of every command; help lists these apart."""


class _Database(PathFromHere):
    """The path of a database, or an address such as ``postgresql://…``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return an address as it is, and anything else as a path."""
        return value if scheme_of(str(value)) else super().convert(value, param, ctx)


class _WithCommonOptions(click.Command):
    """A command with the common options, which its help lists last."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params += _common_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; click's error about a missing value gets the command."""
        ctx.meta[_TYPED] = tuple(args)  # click takes them out of the list
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in two lists."""
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and not isinstance(param, click.Argument):
                (common if isinstance(param, CommonOption) else own).append(record)
        for title, records in (("Options", own), ("Common options", common)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class Command(_WithCommonOptions):
    """A command whose function receives the session first."""

    def __init__(self, *arguments: Any, callback: Callable[..., Any], **settings: Any) -> None:
        super().__init__(*arguments, callback=click.pass_obj(callback), **settings)


def command(name: str | None = None) -> Callable[[Callable[..., Any]], Command]:
    """Return a decorator that makes a function a command."""
    return click.command(name, cls=Command)


_SYNONYMS = {
    "list": "ls",
    "remove": "delete",
    "rm": "delete",
    "index": "import",
    "query": "search",
    "collection": "tool",
    "collections": "tool",
}


class CommandGroup(_WithCommonOptions, click.Group):
    """A group of commands, with the common options."""

    command_class = Command

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, also by the name that it has in other programs.

        Raises:
            UsageError: If there is no such command.
        """
        found = self.find(_SYNONYMS.get(cmd_name, cmd_name))
        if found is None and not ctx.resilient_parsing:  # where the shell asks for completions
            known = [*self.list_commands(ctx), "--help"]
            search = f"; {shlex.join(['mdvec', 'search', cmd_name])!r} searches for it"
            is_first = ctx.parent is None
            near = did_you_mean(cmd_name, known, quote="'") or (search if is_first else "")
            ctx.fail(f"there is no command {cmd_name!r}{near}")
        return found

    def find(self, name: str) -> click.Command | None:
        """Return a command by its own name; None if there is none."""
        return self.commands.get(name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options in two lists."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


def combined(*options: Option) -> Option:
    """Return a decorator that adds several options to a command, in this order."""
    return lambda function: reduce(lambda decorated, option: option(decorated), reversed(options), function)


def format_option(*formats: str) -> Option:
    """Add ``--format``; :attr:`Session.output` is the chosen format, by default the first."""

    def remember(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
        ctx.obj.format_name, ctx.obj.formats = value, formats

    return click.option(
        "--format",
        "format_name",
        type=OneOf(formats),
        expose_value=False,
        callback=remember,
        help=f"How to print the result.  [default: {formats[0]}]",
    )


def choice_of(kind: type[StrEnum]) -> OneOf:
    """Return the values of an enumeration as choices; click would offer the names of its members."""
    return OneOf([member.value for member in kind])


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value is not None and param.name is not None:
        setattr(ctx.obj, param.name, value)


def _common(name: str, **settings: Any) -> CommonOption:
    return CommonOption([name], expose_value=False, callback=_remember, **settings)


def _common_options() -> list[CommonOption]:
    where = "Keep the index of --docs-dir here.  [default: DOCS_DIR/.mdvec]"
    return [
        _common(
            "--docs-dir",
            type=EXISTING_FOLDER,
            metavar="DIR",
            help="Work on this folder without registering it.",
        ),
        _common("--data-dir", type=FOLDER, metavar="DIR", help=where),
        _common("--config", type=FILE, metavar="F", help="Read this configuration file."),
        _common("--database", type=_Database(), metavar="F", help="Use this database."),
        _common("--verbose", is_flag=True, default=None, help="Print how long each step takes."),
    ]


daemon_option = click.option(
    "--no-daemon",
    is_flag=True,
    default=None,
    expose_value=False,
    callback=_remember,
    help="Do the work here even if the database's daemon is running.",
)
"""``--no-daemon`` of the commands that a daemon answers."""
wait_option = click.option(
    "--wait",
    "wait_s",
    type=Number(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for another import of the same collection.",
)
"""``--wait`` of the commands that write."""
