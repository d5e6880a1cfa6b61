"""``--wait`` of the commands that write: how long they wait for their turn."""

from __future__ import annotations

import click

wait_option = click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for another import.",
)
