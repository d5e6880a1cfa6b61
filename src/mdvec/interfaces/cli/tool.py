"""``mdvec tool``: the collections. Each is a tool for language models."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from mdvec.errors import UsageError
from mdvec.interfaces import present
from mdvec.interfaces.cli.common_options import CommandGroup, Number, Option, WholeNumber, format_option
from mdvec.interfaces.cli.filters import collection_names, named_collection, presets
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import ask, note, note_no_collections, write, write_table
from mdvec.interfaces.errors import EXIT_FAILED
from mdvec.text.quantity import quantity
from mdvec.types.collection import DEFAULT_SOURCE, ChunkingSpec, Collection, parse_embedding_spec
from mdvec.types.folder_context import CONTEXT_FILE, shown_contexts

_SOURCES = (
    "a folder, github:OWNER/REPO[@REF][:PATH], git+URL[@REF][:PATH], s3://BUCKET/PATH, or push: for what "
    "programs write"
)
_chunker_option = click.option("--chunker", metavar="NAME", help="How documents are split, such as sections.")


def _globs_option(name: str, text: str) -> Option:
    return click.option(name, multiple=True, metavar="GLOB", help=text)


@click.command(cls=CommandGroup)
def tool() -> None:
    """Manage the collections that can be searched."""


@tool.command()
@click.option("-n", "--name", required=True, help="Its name: a letter, then a-z, 0-9, - and _.")
@click.option("-d", "--description", required=True, help="What it is about, for people and language models.")
@click.option(
    "-s", "--source", "location", required=True, metavar="SOURCE", help=f"Its documents: {_SOURCES}."
)
@_globs_option("--include", "Index only these files; may be repeated.")
@_globs_option("--exclude", "Leave these files out; may be repeated.")
@click.option(
    "--preset",
    metavar="NAME",
    shell_complete=presets,
    help="Settings for a kind of documents: see 'mdvec preset ls'.",
)
@_chunker_option
@click.option(
    "--embedder",
    metavar="SPEC",
    help="Embedding model: PROVIDER[:MODEL][@DIMENSION]. It is tried now.  [default: as configured]",
)
def add(
    session: Session, /, preset: str | None, chunker: str | None, embedder: str | None, **given: Any
) -> None:
    """Register a folder or a repository as a collection."""
    from mdvec.config.presets import load_preset

    embedding = parse_embedding_spec(embedder) if embedder is not None else None
    with session.open(makes=True) as workspace:
        collection = workspace.add_collection(
            **given,
            chunking=ChunkingSpec(chunker) if chunker else None,
            embedding=embedding,
            preset=load_preset(preset, cwd=session.cwd) if preset else None,
        )
        others = workspace.collections(include_disabled=True)
    note(f"added {collection.name}: {collection.source}")
    if same := [each.name for each in others if each.id != collection.id and _overlap(each, collection)]:
        names = ", ".join(same)
        note(f"some or all of its documents are also in {names}; a search of both may find them twice")
    note(f"next: {session.command('import', '-n', collection.name)}")


def _overlap(*collections: Collection) -> bool:
    """Return True if two collections are of one folder, or of one and another below it."""
    folders = [Path(each.source.location) for each in collections if each.source.kind == DEFAULT_SOURCE]
    return any(one.is_relative_to(other) for one, other in permutations(folders, 2))


@tool.command()
@named_collection
@click.option("-d", "--description", help="Its new description.")
@click.option("-s", "--source", "location", metavar="SOURCE", help=f"Its documents: {_SOURCES}.")
@_globs_option("--include", "Replace the globs of files to index; '' for all.  May be repeated.")
@_globs_option("--exclude", "Replace the globs of files to leave out; '' for none.  May be repeated.")
@_chunker_option
@click.option(
    "--threshold",
    type=Number(-1, 1),
    metavar="X",
    help="Minimum cosine similarity when it is searched alone, -1 to 1; -1 for no limit.",
)
@click.option(
    "--per-document",
    type=WholeNumber(1, 1000),
    metavar="N",
    help="Maximum number of hits of one document when it is searched alone.",
)
def update(
    session: Session,
    /,
    name: str,
    chunker: str | None,
    threshold: float | None,
    per_document: int | None,
    **given: Any,
) -> None:
    """Change a collection's description, source, globs or settings.

    To change its embedding model, run 'mdvec model use'.
    """
    limits = {"threshold": threshold, "per_document": per_document}
    settings: dict[str, Any] = {key: value for key, value in limits.items() if value is not None}
    # Globs that are not given come as an empty tuple; an empty text among them leaves none.
    changes = {key: value for key, value in given.items() if value not in (None, ())}
    changes |= {key: tuple(filter(None, changes[key])) for key in ("include", "exclude") if key in changes}
    if chunker:
        changes["chunking"] = ChunkingSpec(chunker)
    if not (changes or settings):
        msg = "nothing to change"
        hint = "Give -d, -s, --include, --exclude, --chunker, --threshold or --per-document."
        raise UsageError(msg, hint=hint)
    with session.open() as workspace:
        search = replace(workspace.collection(name).search, **settings) if settings else None
        workspace.update_collection(name, search=search, **changes)
    note(f"updated {name}")
    if changes.keys() - {"description"}:
        note(f"next: {session.command('import', '-n', name, '-m', 'update')}")


@tool.command()
@click.argument("name", shell_complete=collection_names)
@click.argument("new_name")
def rename(session: Session, name: str, new_name: str) -> None:
    """Give a collection another name; its index stays."""
    _change(session, name, f"renamed {name} to {new_name}", new_name=new_name)


@tool.command()
@named_collection
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(session: Session, name: str, yes: bool) -> int:
    """Delete a collection from the index; its files stay."""
    with session.open() as workspace:
        collection = workspace.collection(name)
        if not yes and not ask(f"Delete {name} from the index? {collection.source} stays."):
            note("nothing was deleted; --yes deletes without asking")
            return EXIT_FAILED
        workspace.delete_collection(name)
    note(f"deleted {name}")
    return 0


@tool.command()
@named_collection
def enable(session: Session, name: str) -> None:
    """Include a collection in searches again."""
    _change(session, name, f"enabled {name}", enabled=True)


@tool.command()
@named_collection
def disable(session: Session, name: str) -> None:
    """Search a collection only when it is named."""
    _change(session, name, f"disabled {name}", enabled=False)


@tool.command()
@named_collection
@click.argument("folder", required=False, metavar="[PATH]")
@click.argument("text", required=False)
@click.option("--remove", is_flag=True, help="Remove the context of PATH.")
@format_option("table", "json")
def context(session: Session, name: str, folder: str | None, text: str | None, remove: bool) -> None:
    """Describe in a sentence what a folder contains; hits show it.

    PATH is relative to the source, '.' for all of it, and TEXT the sentence. Without PATH, list the contexts
    of the collection.
    """
    if (folder is None) is not (text is None and not remove) or (text is not None and remove):
        msg = "PATH needs a sentence, or --remove"
        raise UsageError(msg, hint=f"Write: {_context_command(session, name)}")
    with session.open() as workspace:
        if folder is not None and text is not None:
            made = workspace.folders.set_context(name, folder, text)
            note(f"{name}/{made.folder}: {made.text}")
            if not workspace.folders.holds_documents(name, made.folder):
                note(f"note: {f'{name}/{made.folder}'.rstrip('/')} holds no documents yet")
        elif folder is not None:
            workspace.folders.remove_context(name, folder)
            note(f"removed the context of {name}/{folder}")
        else:
            _print_contexts(workspace.collection(name), session)


@tool.command("ls")
@click.option("--all", "include_disabled", is_flag=True, help="Also list disabled collections.")
@click.option("--names", "only_names", is_flag=True, help="Print only the names, one on each line.")
@format_option("table", "json")
def list_(session: Session, include_disabled: bool, only_names: bool) -> None:
    """List the collections."""
    from mdvec.interfaces import answers

    with session.open() as workspace:
        known = workspace.collections(include_disabled=True)
    collections = [each for each in known if each.enabled or include_disabled]
    if only_names:
        write("".join(f"{each.name}\n" for each in collections))
        return
    if session.wrote_json([answers.collection(each) for each in collections]):
        return
    if not collections:
        note_no_collections(session.first_import(), are_disabled=bool(known))
        return
    write_table(
        ("name", "enabled", "description", "source", "last indexed"),
        [
            (
                each.name,
                "yes" if each.enabled else "no",
                each.description,
                str(each.source),
                present.moment(each.last_indexed_ms),
            )
            for each in collections
        ],
    )
    if disabled := len(known) - len(collections):
        note(f"not listed: {quantity(disabled, 'disabled collection')}; --all lists every collection")


def _change(session: Session, name: str, done: str, **changes: Any) -> None:
    with session.open() as workspace:
        workspace.update_collection(name, **changes)
    note(done)


def _context_command(session: Session, name: str) -> str:
    return session.command("tool", "context", "-n", name, "PATH", "What it holds.")


def _print_contexts(collection: Collection, session: Session) -> None:
    contexts = shown_contexts(collection.folder_contexts)
    if session.wrote_json(contexts):
        return
    if contexts:
        write_table(
            ("folder", "context", "from"),
            [
                (each.folder or ".", each.text, CONTEXT_FILE if each.from_file else "mdvec tool context")
                for each in contexts
            ],
        )
    else:
        note("no contexts")
        note(f"hint: Write: {_context_command(session, collection.name)}")
