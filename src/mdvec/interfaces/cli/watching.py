"""``mdvec watch``."""

from __future__ import annotations

import signal
import threading

import click

from mdvec.interfaces.cli.filters import names_option
from mdvec.interfaces.cli.session import Command, Session, common_options
from mdvec.interfaces.cli.terminal import note


@click.command(cls=Command)
@names_option()
@common_options
@click.pass_obj
def watch(session: Session, names: tuple[str, ...]) -> None:
    """Keep the index up to date until Ctrl-C.

    'mdvec serve' does the same while it runs. Of several processes one does it, and the others stand by.
    """
    ended = threading.Event()
    with session.open(serves=True) as (workspace, _):
        workspace.freshness.watch(names, force=True)
        before = signal.signal(signal.SIGTERM, lambda *_: ended.set())
        try:
            note("keeping the index up to date; press Ctrl-C to end")
            ended.wait()
        except KeyboardInterrupt:
            pass
        finally:
            signal.signal(signal.SIGTERM, before)
