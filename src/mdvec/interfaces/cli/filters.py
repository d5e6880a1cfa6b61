"""Options that choose collections and documents, and how a folder is indexed, with their completion."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from mdvec.errors import MdvecError
from mdvec.interfaces.cli.common_options import DOCUMENT, Option, choice_of, combined
from mdvec.interfaces.cli.session import Session
from mdvec.types.query import LinkFilter, TagMatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdvec.workspace import Workspace


def collection_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """Return the names of collections that begin with the typed text, also of disabled ones."""
    return _found(
        ctx,
        incomplete,
        lambda workspace: [each.name for each in workspace.collections(include_disabled=True)],
    )


def tag_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """Return the tags that begin with the typed text, most used first, of collections named before."""
    named = ctx.params.get("collections") or ()
    return _found(ctx, incomplete, lambda workspace: [each.tag for each in workspace.tags(named)])


def presets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """Return the presets that begin with the typed text."""
    from mdvec.config.presets import preset_names

    return [name for name in preset_names() if name.startswith(incomplete)]


def _found(ctx: click.Context, start: str, names_in: Callable[[Workspace], list[str]]) -> list[str]:
    """Return the names that begin with a text; none without an index that can be read."""
    session: Session = ctx.obj
    with suppress(MdvecError), session.open() as workspace:
        return [name for name in names_in(workspace) if name.casefold().startswith(start.casefold())]
    return []


def name_option(text: str, *, required: bool = False) -> Option:
    """Return ``-n NAME``, with its help; shells complete it."""
    return click.option("-n", "--name", shell_complete=collection_names, required=required, help=text)


def names_option(
    text: str = "Only this collection; may be repeated.", parameter: str = "names", *, required: bool = False
) -> Option:
    """Return ``-n NAME`` that may be repeated, with its help; the command has a parameter for the names."""
    return click.option(
        *("-n", "--name", parameter),
        shell_complete=collection_names,
        multiple=True,
        required=required,
        help=text,
    )


named_collection = name_option("The collection.", required=True)
"""``-n NAME`` of the commands that work on one collection."""

document_options = combined(
    click.argument("path", type=DOCUMENT), name_option("The collection, if several have this path.")
)
"""``PATH`` and ``-n NAME`` of the commands that take the path of a document."""

filter_options = combined(
    names_option(parameter="collections"),
    click.option(
        "--tag",
        "tags",
        multiple=True,
        shell_complete=tag_names,
        help="Only documents with this tag (a also finds a/b); may be repeated.",
    ),
    click.option(
        "--tag-match",
        type=choice_of(TagMatch),
        default="any",
        show_default=True,
        help="Require any of the tags, or all of them.",
    ),
    click.option(
        "--alias-prefix", metavar="TEXT", help="Only documents with an alias that starts with this."
    ),
    click.option(
        "--path", metavar="GLOB", help="Only documents in this folder, or whose path matches this glob."
    ),
    click.option(
        "--where",
        multiple=True,
        metavar="CONDITION",
        help="Only documents with this property: author='Ridley Scott', rating>=4; may be repeated.",
    ),
    click.option(
        "--updated-since",
        "--since",
        "updated_since",
        metavar="WHEN",
        help="Only documents changed since then: 2026-05-01, 7d, yesterday or 先週.",
    ),
    click.option(
        "--updated-until",
        "--until",
        "updated_until",
        metavar="WHEN",
        help="Only documents changed until then, including that day, week, month or year.",
    ),
    click.option("--linked-to", type=DOCUMENT, help="Only documents that link to this one."),
    click.option(
        "--links",
        type=choice_of(LinkFilter),
        help="Only documents without links from or to others, or with one that leads to nothing.",
    ),
    click.option("--include-superseded", is_flag=True, help="Also find older versions of documents."),
    click.option(
        "--clean-only", is_flag=True, help="Leave out documents that changed since they were indexed."
    ),
)
"""The options that choose documents, with the names of the fields of :class:`SearchRequest`."""


def _choice(name: str, **settings: Any) -> Option:
    def remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value and param.name is not None:
            ctx.obj.choice[param.name] = value

    settings["help"] = f"With --docs-dir: {settings['help']}"
    return click.option(name, expose_value=False, callback=remember, **settings)


folder_options = combined(
    _choice("--preset", metavar="NAME", shell_complete=presets, help="see 'preset ls'."),
    _choice("--include", multiple=True, metavar="GLOB", help="index only these files; '' for all."),
    _choice("--exclude", multiple=True, metavar="GLOB", help="leave these files out; '' for none."),
    _choice("--chunker", metavar="NAME", help="how documents are split."),
    _choice("--embedder", metavar="SPEC", help="embedding model."),
)
"""The options that choose how a folder of ``--docs-dir`` is indexed, as ``mdvec tool add`` spells them."""
