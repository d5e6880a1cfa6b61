"""``mdvec site``: a reading site made of a collection."""

from __future__ import annotations

from pathlib import Path

import click

from mdvec.interfaces.cli.common_options import EXISTING_FOLDER, FOLDER, CommandGroup
from mdvec.interfaces.cli.filters import name_option
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, warn
from mdvec.text.quantity import quantity

_DEFAULT_FOLDER = Path("mdvec-site")
_MAX_DEAD_LINKS = 10

_output_option = click.option(
    "-o",
    "--output",
    type=FOLDER,
    default=_DEFAULT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="The folder of the site.",
)


@click.group(cls=CommandGroup)
def site() -> None:
    """Make a web site of a collection, for people to read."""


@site.command()
@name_option(required=True)
@_output_option
@click.option("--base", default="/", show_default=True, metavar="PATH", help="Path of the site on its host.")
@click.option("--language", metavar="en|ja", help="Language of the site's own words.  [default: the titles']")
@click.option(
    "--custom",
    type=EXISTING_FOLDER,
    metavar="DIR",
    help="Folder of yours with settings and pages to add; its programs run.",
)
@click.option("--project-only", is_flag=True, help="Write the VitePress project, but do not build it.")
@click.pass_obj
def build(
    session: Session,
    name: str,
    output: Path,
    base: str,
    language: str | None,
    custom: Path | None,
    project_only: bool,
) -> None:
    """Build a web site with VitePress.

    Links, embeds and images are resolved, and nothing of a note is run. Drafts ('draft: true', 'publish:
    false') and superseded versions are left out. A second build writes only what has changed.
    """
    from mdvec.interfaces.site.build import build_site

    with session.open() as (workspace, _):
        report = build_site(
            workspace,
            name,
            output,
            base=base,
            language=language,
            custom=custom,
            project_only=project_only,
            note=note,
        )
    for place, target in report.dead_links[:_MAX_DEAD_LINKS]:
        warn(f"{place}: link to {target!r} leads nowhere")
    if len(report.dead_links) > _MAX_DEAD_LINKS:
        more = len(report.dead_links) - _MAX_DEAD_LINKS
        warn(f"{more:,} more links lead nowhere: {report.dead_list} lists all")
    note(
        f"{quantity(report.pages, 'page')}, {quantity(report.tags, 'tag')}, "
        f"{quantity(report.files, 'file')}; {quantity(report.left_out, 'document')} left out; "
        f"{quantity(report.written, 'file')} written, {report.removed:,} removed"
    )
    if report.built is None:
        note(f"next: npm install --ignore-scripts && npm run build, in {output}")
    else:
        note(f"the site is in {report.built}; look at it: mdvec site preview -o {output}")


@site.command()
@_output_option
@click.option(
    "--port", type=click.IntRange(1, 65535), default=4173, show_default=True, help="Where to serve it."
)
@click.pass_context
def preview(ctx: click.Context, output: Path, port: int) -> None:
    """Show a built site in the browser, served to this machine only."""
    from mdvec.interfaces.site.preview import preview_site

    ctx.exit(preview_site(output, port, note=note))
