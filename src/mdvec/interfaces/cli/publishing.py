"""``mdvec publish``: a workspace for those who search it elsewhere."""

from __future__ import annotations

import click

from mdvec.interfaces.cli.filters import collection_names
from mdvec.interfaces.cli.session import Command, Session, common_options, format_option
from mdvec.interfaces.cli.terminal import write, write_json
from mdvec.interfaces.passage import visible
from mdvec.text.addresses import scheme_of

_BYTES_PER_MB = 1_000_000


@click.command(cls=Command)
@click.argument("target")
@click.option(
    "-n",
    "--name",
    "names",
    multiple=True,
    shell_complete=collection_names,
    help="A collection; may be repeated.  [default: all enabled ones]",
)
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="Remove all but the newest N versions.  [default: remove none]",
)
@format_option("text", "json")
@common_options
@click.pass_obj
def publish(session: Session, target: str, names: tuple[str, ...], keep: int | None) -> None:
    """Publish collections as a new version, to be searched by others.

    TARGET is a folder or s3://BUCKET/PATH. The version is there at once or not at all, and only what has
    changed is sent. Who can read TARGET can read the documents in it.
    """
    with session.open() as (workspace, _):
        place = target if scheme_of(target) else str(session.cwd / target)
        report = workspace.stores.publish(place, names, keep=keep)
    if session.output == "json":
        write_json(report)
        return
    location = visible(report.location)
    write(
        f"version {report.version} of {location}: {', '.join(report.collections)} "
        f"({report.documents:,} documents, {report.chunks:,} chunks)\n"
        f"{report.sent_bytes / _BYTES_PER_MB:,.1f} MB sent, {report.size_bytes / _BYTES_PER_MB:,.1f} MB here "
        "and on every machine that searches it\n"
        + (f"{report.removed:,} old versions removed\n" if report.removed else "")
        + f"To search it: mdvec search --database {location} QUERY\n"
    )
