"""The options that choose collections and documents, the same for every command that takes them."""

from __future__ import annotations

import click

from mdvec.interfaces.cli.completing import collection_names, tag_names
from mdvec.interfaces.cli.session import Option, choice_of, combined
from mdvec.types.query import TagMatch


def name_option(text: str = "The collection.", *, required: bool = False) -> Option:
    """Return ``-n NAME``, with its help; shells complete it."""
    return click.option("-n", "--name", shell_complete=collection_names, required=required, help=text)


def names_option(text: str = "Only this collection; may be repeated.", parameter: str = "names") -> Option:
    """Return ``-n NAME`` that may be repeated, with its help; the command has a parameter for the names."""
    return click.option("-n", "--name", parameter, shell_complete=collection_names, multiple=True, help=text)


path_name_option = name_option("The collection, if several have this path.")
"""``-n NAME`` of the commands that take the path of a document."""

filter_options = combined(
    names_option(parameter="collections"),
    click.option(
        "--tag",
        "tags",
        multiple=True,
        shell_complete=tag_names,
        help="Only documents with this tag, or a/b for a; may be repeated.",
    ),
    click.option(
        "--tag-match",
        type=choice_of(TagMatch),
        default="any",
        show_default=True,
        help="One tag will do, or all.",
    ),
    click.option(
        "--alias-prefix", metavar="TEXT", help="Only documents with an alias that starts with this."
    ),
    click.option("--path", metavar="GLOB", help="Only documents whose path matches, or in this folder."),
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
        help="Only documents changed since then: 2026-05-01, 12h, 7d or 2w.",
    ),
    click.option(
        "--updated-until",
        "--until",
        "updated_until",
        metavar="WHEN",
        help="Only documents changed before then; a day is included.",
    ),
    click.option("--linked-to", metavar="PATH", help="Only documents that link to this one."),
    click.option("--include-superseded", is_flag=True, help="Also find older versions of documents."),
    click.option(
        "--clean-only", is_flag=True, help="Leave out documents that changed since they were indexed."
    ),
)
"""The options that choose documents; their names are those of :class:`SearchRequest`."""
