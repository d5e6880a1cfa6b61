"""Command lines of other processes, run inside a daemon: the same commands, on its workspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from mdvec import run
from mdvec.errors import MdvecError, UntrustedConfigError
from mdvec.interfaces.cli.commands import TARGETS, LazyGroup, report
from mdvec.interfaces.cli.session import Session, SessionOptions
from mdvec.interfaces.cli.terminal import captured, warn
from mdvec.interfaces.daemon.calls import CallOutcome, CommandLine, Methods
from mdvec.interfaces.daemon.client import COMMANDS, METHOD, shared_environment
from mdvec.interfaces.daemon.place import place_of, settings_id
from mdvec.run import Run

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace


class NotServedError(Exception):
    """The process that sent a command has to run it, or ask another daemon.

    Args:
        place: The name of the place of that daemon; empty if there is nothing to ask.
    """

    def __init__(self, place: str = "") -> None:
        super().__init__(place)
        self.place = place


@dataclass(slots=True)
class ServedSession(Session):
    """A run of the command line whose workspace is that of this daemon, if it is the one that is meant.

    Attributes:
        workspace: Of the daemon.
        place: The name of its place.
        settings: What identifies its settings.
        is_open: Whether the workspace was opened: from then on the outcome is that of any other process.
    """

    workspace: Workspace | None = None
    place: str = ""
    settings: str = ""
    is_open: bool = False

    @contextmanager
    def open(
        self, config: Config | None = None, **how: Unpack[SessionOptions]
    ) -> Iterator[tuple[Workspace, Config]]:
        """Return the workspace of the daemon.

        Yields:
            The workspace and the settings.

        Raises:
            NotServedError: If another one is meant, or how it would be opened matters.
        """
        config = config or self.load_config().config
        if self.workspace is None or self.verbose or self.no_daemon or self.choice or how.get("serves"):
            raise NotServedError
        if self.data_dir is not None and self.docs_dir is None:  # an error
            raise NotServedError
        place = place_of(self.database_place(config)).folder.name
        if place != self.place:
            raise NotServedError(place)
        if settings_id(config, self.docs_dir) != self.settings:
            raise NotServedError
        self.is_open = True
        yield self.workspace, config

    def trusts_now(self, error: UntrustedConfigError) -> bool:  # noqa: ARG002 - of another session
        """Return False: the user is at another process."""
        return False


@click.command(
    cls=LazyGroup,
    targets={name: TARGETS[name] for name in COMMANDS},
    context_settings={"help_option_names": []},  # help would print by itself
)
def served() -> None:
    """Do what a daemon can do for another process."""


def methods(workspace: Workspace, place: str, settings: str) -> Methods:
    """Return the methods that run command lines.

    Args:
        workspace: Of the daemon.
        place: The name of its place.
        settings: What identifies its settings.
    """

    def serve(line: CommandLine) -> CallOutcome:
        if line.shared != shared_environment():
            return CallOutcome()
        session = ServedSession(line.env, Path(line.cwd), workspace=workspace, place=place, settings=settings)
        with captured(line.columns) as capture:
            try:
                with run.bound(Run(on_warning=warn)):
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

    return {METHOD: (CommandLine, serve)}
