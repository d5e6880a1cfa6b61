"""``mdvec store``, ``publish`` and ``site``: where everything is, and copies of it for others."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from mdvec import registry
from mdvec.errors import UsageError
from mdvec.interfaces.cli.common_options import (
    EXISTING_FOLDER,
    FOLDER,
    CommandGroup,
    WholeNumber,
    command,
    format_option,
)
from mdvec.interfaces.cli.filters import named_collection, names_option
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, warn, write, write_table
from mdvec.interfaces.printing import visible
from mdvec.text.addresses import HIDDEN, scheme_of
from mdvec.text.quantity import quantity

_BYTES_PER_MB = 1_000_000


@click.command(cls=CommandGroup)
def store() -> None:
    """Manage the store."""


@store.command("ls")
@format_option("text", "json")
def list_stores(session: Session) -> None:
    """List the stores and vector indexes to choose from."""
    config = session.loaded.config
    kinds = (
        ("store", "stores", registry.named_store(str(session.database or config.store.location or ""))),
        ("vector index", "vector_indexes", (config.store.vectors or "").partition(":")[0]),
    )
    rows: list[dict[str, object]] = [
        {"kind": kind, "name": name, "in_use": name == used, "installed": registry.is_installed(stage, name)}
        for kind, stage, used in kinds
        for name in registry.names(stage)
    ]
    if session.wrote_json(rows):
        return
    for row in rows:
        row["in_use"] = "yes" if row["in_use"] else ""
        row["installed"] = "yes" if row["installed"] else registry.install_command(str(row["name"]))
    write_table(("kind", "name", "in use", "installed"), [[*map(str, row.values())] for row in rows])


@store.command()
@format_option("text", "json")
def show(session: Session) -> None:
    """Show what the store holds."""
    with session.open() as workspace:
        found = workspace.stores.describe()
    lines = [
        f"{found.name}: {visible(found.location)}, {found.size_bytes / _BYTES_PER_MB:,.1f} MB",
        f"{quantity(found.collections, 'collection')}, {quantity(found.documents, 'document')}, "
        f"{quantity(found.chunks, 'chunk')}",
        *(f"{quantity(each.vectors, 'vector')} of {visible(each.space)}" for each in found.spaces),
    ]
    if found.vector_index:
        lines.append(f"vector index: {visible(found.vector_index)}")
        lines += [f"  {visible(each)}" for each in found.problems]
    session.write(found, "\n".join(lines) + "\n")


@store.command()
@click.argument("target")
@format_option("text", "json")
def move(session: Session, target: str) -> None:
    """Copy everything to another store, with its vectors.

    TARGET is a path, or an address such as postgresql://HOST/DATABASE. Nothing is embedded, and both are
    compared before the command succeeds. The old store and the configuration stay as they are.
    A copy that was interrupted is resumed.
    """
    from mdvec.config.paths import is_folder_name
    from mdvec.evaluation.own_questions import default_file

    if not scheme_of(target) and is_folder_name(Path(target)) and not Path(target).is_file():
        msg = f"{target!r} does not look like a database"
        file = f"{target.rstrip('/')}.sqlite"
        raise UsageError(msg, hint=f"Write a file such as {file}, or an address: postgresql://HOST/DATABASE.")
    with session.open() as workspace:
        moved = workspace.stores.move(target)
        questions = default_file(workspace)
    advice = f"Keep {visible(str(questions))}: it holds your questions for 'mdvec eval'.\n"
    held = moved.contents
    location = visible(moved.location)
    session.write(
        moved,
        f"{location} holds the same {quantity(held.documents, 'document')}, "
        f"{quantity(held.chunks, 'chunk')} and "
        f"{quantity(held.vectors, 'vector')} (checksum {held.checksum[:12]}).\n"
        "To use it, set in the configuration:\n"
        f"  [store]\n  location = '{location}'\n"
        + ("Write your user and password in place of ***.\n" if HIDDEN in location else "")
        + "After that, you can delete the old store.\n"
        + (advice if questions.exists() else ""),
    )


@store.command()
@format_option("text", "json")
def rebuild(session: Session) -> None:
    """Empty the vector index and fill it again; nothing is embedded."""
    with session.open() as workspace:
        rebuilt = workspace.stores.rebuild_vector_index()
    session.write(rebuilt, f"{visible(rebuilt.location)}: {quantity(rebuilt.vectors, 'vector')}\n")


@store.command()
@format_option("text", "json")
def compact(session: Session) -> None:
    """Rewrite the database without anything that was deleted.

    Deleted texts are overwritten at once; this also removes the words and vectors they leave behind, and
    makes the file smaller. It needs space for a second copy.
    """
    with session.open() as workspace:
        before, after = workspace.stores.compact()
    text = f"{before / _BYTES_PER_MB:,.1f} MB before, {after / _BYTES_PER_MB:,.1f} MB after\n"
    session.write({"bytes_before": before, "bytes_after": after}, text)


@store.command()
@named_collection
def views(session: Session, name: str) -> None:
    """Make views of a collection for programs that query PostgreSQL.

    They are raw.docs_github, rag.documents, rag.documents_with_metadata, rag.chunks and the function
    public.search_chunks. Those of another collection are replaced.
    """
    with session.open() as workspace:
        made = workspace.stores.make_views(name)
    write("".join(f"{each}\n" for each in made))


@store.command()
@click.argument("role")
@named_collection
def grant(session: Session, role: str, name: str) -> None:
    """Grant a PostgreSQL role read access to a collection."""
    with session.open() as workspace:
        workspace.stores.grant(name, role)
    note(f"{visible(role)} may read {name}")


@store.command()
@click.argument("role")
@named_collection
def revoke(session: Session, role: str, name: str) -> None:
    """Revoke a PostgreSQL role's read access to a collection."""
    with session.open() as workspace:
        workspace.stores.revoke(name, role)
    note(f"{visible(role)} may not read {name} any more")


@command()
@click.argument("target")
@names_option("A collection; may be repeated.  [default: all enabled ones]")
@click.option(
    "--keep",
    type=WholeNumber(min=1),
    metavar="N",
    help="Remove all but the newest N versions.  [default: remove none]",
)
@click.option("--full", is_flag=True, help="Send everything, even what is there already or damaged.")
@format_option("text", "json")
def publish(session: Session, target: str, names: tuple[str, ...], keep: int | None, full: bool) -> None:
    """Publish collections as a new version that others can search.

    TARGET is a folder or s3://BUCKET/PATH. A version appears as a whole or not at all, and only what has
    changed is sent; if nothing has, no version is made. Anyone who can read TARGET can read its documents.
    """
    if not target.strip():  # a variable that is not set
        msg = "the place to publish to is empty"
        raise UsageError(msg, hint="Name a folder, or s3://BUCKET/PATH.")
    with session.open() as workspace:
        place = target if scheme_of(target) else str(session.cwd / target)
        report = workspace.stores.publish(place, names, keep=keep, full=full)
    location = visible(report.location)
    session.write(
        report,
        ("" if report.changed else "nothing has changed since ")
        + f"version {report.version} of {location}: {', '.join(report.collections)} "
        f"({quantity(report.documents, 'document')}, {quantity(report.chunks, 'chunk')})\n"
        f"{report.sent_bytes / _BYTES_PER_MB:,.1f} MB sent, {report.size_bytes / _BYTES_PER_MB:,.1f} MB here "
        "and on every machine that searches it\n"
        + (f"{quantity(report.removed, 'old version')} removed\n" if report.removed else "")
        + f"To search it: {shlex.join(('mdvec', 'search', '--database', location))} QUERY\n",
    )


_MAX_DEAD_LINKS = 10

_output_option = click.option(
    "-o",
    "--output",
    type=FOLDER,
    default=Path("mdvec-site"),
    show_default=True,
    metavar="DIR",
    help="The folder of the site.",
)


@click.group(cls=CommandGroup)
def site() -> None:
    """Make a web site of a collection, for people to read."""


@site.command()
@named_collection
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
def build(session: Session, /, name: str, output: Path, **how: Any) -> None:
    """Build a web site with VitePress.

    Links, embeds and images are resolved, and nothing of a note is run. Drafts ('draft: true', 'publish:
    false') and superseded versions are left out. A second build writes only what has changed.
    """
    from mdvec.interfaces.site.build import build_site

    with session.open() as workspace:
        report = build_site(workspace, name, output, note=note, **how)
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
    "--port", type=WholeNumber(1, 65535), default=4173, show_default=True, help="Where to serve it."
)
def preview(_: Session, output: Path, port: int) -> int:
    """Show a built site in the browser, served to this machine only."""
    from mdvec.interfaces.site.build import preview_site

    return preview_site(output, port, note=note)
