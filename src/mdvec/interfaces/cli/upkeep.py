"""``mdvec compact`` and ``mdvec trust``."""

from __future__ import annotations

from pathlib import Path

import click

from mdvec.errors import NotFoundError, UsageError
from mdvec.interfaces.cli.session import Command, Session, common_options, format_option
from mdvec.interfaces.cli.terminal import note, write, write_json
from mdvec.interfaces.passage import visible


@click.command(cls=Command)
@format_option("text", "json")
@common_options
@click.pass_obj
def compact(session: Session) -> None:
    """Rewrite the database without anything that was deleted.

    Deleted texts are overwritten at once; this also removes the words and vectors they leave behind, and
    makes the file smaller. It needs space for a second copy.
    """
    with session.open() as (workspace, _):
        before, after = workspace.compact()
    if session.output == "json":
        write_json({"bytes_before": before, "bytes_after": after})
    else:
        write(f"{before:,} bytes before, {after:,} after\n")


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option("--list", "listing", is_flag=True, help="List the folders that are trusted.")
@click.option("--remove", is_flag=True, help="Do not trust DIR any more.")
@common_options
@click.pass_obj
def trust(session: Session, folder: Path | None, listing: bool, remove: bool) -> None:
    """Trust the configuration and the index that come with a folder.

    They may then choose models, sources, keys, and where data goes. Later changes of the folder are trusted
    too; folders inside it are not.
    """
    from mdvec.config.trust import distrust, trusted_folders
    from mdvec.config.trust import trust as remember

    if (folder is None) != listing or (listing and remove):
        msg = "mdvec trust takes a folder, or --list alone"
        raise UsageError(
            msg, hint="Run 'mdvec trust DIR', 'mdvec trust --remove DIR' or 'mdvec trust --list'."
        )
    if folder is None:
        write("".join(f"{visible(str(each))}\n" for each in trusted_folders()))
        return
    place = session.cwd / folder
    if remove:
        if not distrust(place):
            msg = f"{place} is not trusted"
            raise NotFoundError(msg, hint="Run 'mdvec trust --list' to see the folders that are.")
        note(f"not trusted any more: {place.resolve()}")
        return
    if not place.is_dir():
        msg = f"{place} is not a folder"
        raise UsageError(msg, hint="Name a folder that exists.")
    note(f"trusted: {place.resolve()}" if remember(place) else f"already trusted: {place.resolve()}")
