"""The entry point: a daemon runs a command that only reads, else this process runs it.

Little is imported before a daemon has answered: that would take longer than the answer.
"""

from __future__ import annotations

import os
import sys

from mdvec.interfaces.cli import EXIT_INTERRUPTED, screen
from mdvec.interfaces.daemon import client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mdvec.interfaces.cli.session import Opener


def run(
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    opener: Opener | None = None,
) -> int:
    """Run a command line.

    Args:
        args: Arguments without the program's name.
        env: Environment variables.
        cwd: Absolute path of the working directory; None for the process's own.
        opener: Opens the workspace; None for the real one.

    Returns:
        The exit code: 0 done, 1 failed or partly failed, 2 wrong usage, 130 interrupted.
    """
    code = None if opener else _run_by_daemon(args, env, cwd)
    if code is not None:
        return code
    from mdvec.interfaces.cli.commands import run_command

    return run_command(args, env=env, cwd=cwd, opener=opener)


def main() -> None:
    """Run the command line of this process and end it."""
    screen.set_encodings()
    code = _run_by_daemon(sys.argv[1:], os.environ, None)
    if code is not None:
        sys.exit(code)
    from mdvec.interfaces.cli.commands import run_command
    from mdvec.interfaces.streams import end_process

    end_process(run_command(sys.argv[1:], env=os.environ))


def _run_by_daemon(args: Sequence[str], env: Mapping[str, str], cwd: Path | None) -> int | None:
    """Let a daemon run a command, print the output and return the exit code; None if no daemon runs it."""
    try:
        outcome = client.outcome_of(args, env=env, cwd=cwd, columns=screen.columns())
        if outcome is None:
            return None
        code, output = outcome
        for stream, text in output:
            screen.write(stream, text)
    except KeyboardInterrupt:
        screen.write(screen.ERRORS, "interrupted\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of the output has enough
        return 0
    except OSError as error:
        from mdvec.interfaces.cli.commands import report

        return report(error, args)
    return code
