"""Command lines of other processes, run inside a daemon: the same commands, on its workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct

from mdvec import run
from mdvec.errors import MdvecError, UntrustedConfigError
from mdvec.interfaces.cli.commands import TARGETS, LazyGroup, report
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import captured, warn
from mdvec.interfaces.daemon.client import COMMANDS, shared_environment
from mdvec.interfaces.daemon.place import place_of, settings_id
from mdvec.run import Run

if TYPE_CHECKING:
    from mdvec.workspace import Workspace


class CommandLine(Struct, frozen=True):
    """A command line of another process of the same user.

    Attributes:
        args: Its arguments, without the program's name.
        cwd: Absolute path of its working directory.
        env: Its environment variables that commands look at.
        shared: See :func:`mdvec.interfaces.daemon.client.shared_environment`.
        columns: Width of the terminal that results go to, 0 if it is not known; None without a terminal.
    """

    args: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    shared: list[str]
    columns: int | None


class CallOutcome(Struct, frozen=True):
    """The outcome of a command line.

    Attributes:
        code: Its exit code; None if this daemon did not run it.
        output: The number of a stream and a text, in order.
        place: The name of the place of the daemon that is to run it, if another one is.
    """

    code: int | None = None
    output: list[tuple[int, str]] = []
    place: str = ""


class NotServedError(Exception):
    """The process that sent a command has to run it, or ask another daemon.

    Args:
        place: The name of the place of that daemon; empty if there is nothing to ask.
    """

    def __init__(self, place: str = "") -> None:
        super().__init__(place)
        self.place = place


@dataclass(slots=True, kw_only=True)
class ServedSession(Session):
    """A run of the command line on the workspace of this daemon, if that is the one it means.

    Attributes:
        workspace: Of the daemon.
        place: The name of its place.
        settings: The digest of its settings.
        is_open: Whether the workspace was opened: from then on the outcome is the same as in any process.
    """

    workspace: Workspace
    place: str
    settings: str
    is_open: bool = False

    @contextmanager
    def open(self, *, serves: bool = False, **_: object) -> Iterator[Workspace]:
        """Return the workspace of the daemon.

        Yields:
            The workspace.

        Raises:
            NotServedError: If the command means another one, or has options on how to open it.
        """
        is_wrong = self.data_dir is not None and self.docs_dir is None
        if self.verbose or self.no_daemon or self.choice or serves or is_wrong:
            raise NotServedError
        place = place_of(self.database_place()).name
        if place != self.place:
            raise NotServedError(place)
        if settings_id(self.loaded.config, self.docs_dir) != self.settings:
            raise NotServedError
        self.is_open = True
        yield self.workspace

    def trusts_now(self, error: UntrustedConfigError) -> bool:  # noqa: ARG002 - of another session
        """Return False: the user is at another process."""
        return False


@click.command(
    cls=LazyGroup,
    targets={name: TARGETS[name] for name in COMMANDS},
    context_settings={"help_option_names": []},  # help would print by itself
)
def served() -> None:
    """Run the commands that a daemon runs for another process."""


def commands(workspace: Workspace, place: str, settings: str) -> Callable[[bytes], bytes]:
    """Return a function from a :class:`CommandLine` to its :class:`CallOutcome`, both in JSON."""

    def serve(line: CommandLine) -> CallOutcome:
        if line.shared != shared_environment():
            return CallOutcome()
        session = ServedSession(line.env, Path(line.cwd), workspace=workspace, place=place, settings=settings)
        with captured(line.columns) as capture:
            try:
                with run.bound(Run(on_warning=warn)), workspace.explaining():
                    code = served.main([*line.args], "mdvec", standalone_mode=False, obj=session)
            except NotServedError as error:
                return CallOutcome(place=error.place)
            except (click.ClickException, click.Abort):
                return CallOutcome()
            except MdvecError as error:
                if not session.is_open:
                    return CallOutcome()
                code = report(error, line.args)
        return CallOutcome(code if isinstance(code, int) else 0, capture.output)

    decoder = msgspec.json.Decoder(CommandLine)
    return lambda line: msgspec.json.encode(serve(decoder.decode(line)))
