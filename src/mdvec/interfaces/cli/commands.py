"""Finds the command, runs it in this process, and turns errors into messages and an exit code."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mdvec import __version__
from mdvec.errors import did_you_mean
from mdvec.interfaces.cli import EXIT_INTERRUPTED
from mdvec.interfaces.cli.common_options import CommandGroup, name_of
from mdvec.interfaces.cli.session import Opener, Session
from mdvec.interfaces.cli.terminal import note, print_failure
from mdvec.interfaces.errors import EXIT_USAGE, shortened, translate

_PACKAGE = "mdvec.interfaces.cli"
# The commands by purpose; the help of the program describes those without one.
_BY_PURPOSE = {
    "": {
        "search": "search:search",
        "open": "daemon:open_",
        "get": "reading:get",
        "ls": "reading:ls",
        "tool": "tool:tool",
        "import": "importing:import_",
        "status": "status:status",
        "install": "installing:install",
    },
    "find": {"related": "reading:related", "tags": "reading:tags"},
    "keep fresh": {"watch": "serving:watch", "daemon": "daemon:daemon"},
    "serve": {
        "serve": "serving:serve",
        "rpc": "serving:rpc",
        "token": "serving:token",
        "uninstall": "installing:uninstall",
    },
    "share": {"publish": "store:publish", "site": "store:site"},
    "configure": {
        "model": "configuration:model",
        "preset": "configuration:preset",
        "config": "configuration:config",
        "trust": "configuration:trust",
    },
    "measure": {"eval": "evaluating:eval_", "feedback": "evaluating:feedback"},
    "maintain": {"store": "store:store", "doctor": "status:doctor", "completion": "installing:completion"},
}
# Its place is 'mdvec store compact'.
_NOT_LISTED = {"compact": "store:compact"}

TARGETS = {name: target for each in (*_BY_PURPOSE.values(), _NOT_LISTED) for name, target in each.items()}
"""The module and the name of each command, in the order of the help."""


class LazyGroup(CommandGroup):
    """A group that imports a command when it is used, so that ``--version`` loads none."""

    def __init__(self, *, targets: Mapping[str, str] = TARGETS, **settings: Any) -> None:
        super().__init__(**settings)
        self._targets = targets

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands' names in the order of a day's work."""
        return [name for name in self._targets if name not in _NOT_LISTED]

    def find(self, name: str) -> click.Command | None:
        """Import a command; None if there is none."""
        if name not in self._targets:
            return None
        target = self._targets[name]
        module, _, attribute = target.partition(":")
        command: click.Command = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), attribute)
        return command


class _Program(LazyGroup):
    """All commands; help describes those that a newcomer needs, and lists the others by purpose."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in two lists."""
        first = [self.get_command(ctx, name) for name in _BY_PURPOSE[""]]
        with formatter.section("Commands"):
            formatter.write_dl([(each.name or "", each.get_short_help_str(80)) for each in first if each])
        with formatter.section("More commands, described by 'mdvec COMMAND --help'"):
            formatter.write_dl(
                [(purpose, ", ".join(names)) for purpose, names in _BY_PURPOSE.items() if purpose]
            )


@click.command(
    cls=_Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="mdvec", message="%(prog)s %(version)s")
def cli() -> None:
    """Search your Markdown and text, in Japanese and English, on your own machine.

    Try it on a folder: mdvec search --docs-dir DIR "what you are looking for"
    """


def run_command(
    args: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None, opener: Opener | None = None
) -> int:
    """Run a command line in this process, see :func:`mdvec.interfaces.cli.main.run`."""
    session = Session(env, cwd or Path(), opener)
    try:
        session.cwd = cwd or Path.cwd()
        code = cli.main(args=list(args), prog_name="mdvec", standalone_mode=False, obj=session)
    except click.ClickException as error:
        return _report_usage(error, args)
    except click.Abort:
        note("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort: a traceback only with --verbose
        return report(error, args, session)
    return code if isinstance(code, int) else 0


def _report_usage(error: click.ClickException, args: Sequence[str]) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        note(error.format_message())
        return EXIT_USAGE
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "mdvec"
    hint = f"Run '{path} --help' to see its options."
    params = context.command.params if context else []
    if context and "unexpected extra argument" in error.message:
        if any("-n" in each.opts and not context.params.get(each.name or "") for each in params):
            hint = f"A collection is named with -n: '{path} -n NAME'. {hint}"
        if any(isinstance(each, click.Argument) for each in params):
            hint = f"Put quotation marks around a name with spaces. {hint}"
    if isinstance(error, click.NoSuchOption) and any(isinstance(each, click.Argument) for each in params):
        hint += f" Put -- before words that start with a dash: '{path} -- -WORD'."
    if isinstance(error, click.MissingParameter) and error.param and "-n" in error.param.opts:
        hint = f"A collection is named with -n: '{path} -n NAME'. {hint}"
    if isinstance(error, click.MissingParameter) and context and context.command.name == "search":
        hint = f"To list documents without a query: '{path.removesuffix('search')}ls'. {hint}"
    # The input may have several lines.
    print_failure(shortened(" ".join(_message(error).split()), args), hint)
    return error.exit_code


def _message(error: click.ClickException) -> str:
    """Return the problem in the same words as all doors."""
    match error:
        case click.NoSuchOption(option_name=name):
            params = error.ctx.command.params if error.ctx else ()
            long = [option for param in params for option in param.opts if option.startswith("--")]
            return f"unknown option `{name}`{did_you_mean(name, long)}"
        case click.MissingParameter(param=param) if param is not None:
            choices = param.type.choices if isinstance(param.type, click.Choice) else ()
            return f"`{name_of(param)}` is missing" + f"; it is one of {', '.join(choices)}" * bool(choices)
        case click.BadOptionUsage(option_name=name):
            return f"`{name}` {'needs a' if 'requires' in error.message else 'takes no'} value"
        case _:
            message = error.format_message().removeprefix("Got ")
            return message[:1].lower() + message[1:]


def report(error: Exception, args: Sequence[str], session: Session | None = None) -> int:
    """Print a failure, and return the exit code."""
    failure = translate(error)
    hint = failure.hint if session is None else session.hint(failure.hint)
    if failure.code == "internal":
        hint = "This is a bug in mdvec. Run again with --verbose to see where it happened."
        if session is not None and session.verbose:
            note("".join(traceback.format_exception(error)).rstrip())
    print_failure(shortened(failure.message, args), shortened(hint, args))
    return failure.exit_code
