"""What a shell offers after ``-n``, ``--tag`` and ``--preset``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mdvec.errors import MdvecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdvec.interfaces.cli.session import Session
    from mdvec.workspace import Workspace


def collection_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """Return the names of collections that start so, disabled ones too."""
    names = _found(
        ctx, lambda workspace: [each.name for each in workspace.collections(include_disabled=True)]
    )
    return [name for name in names if name.startswith(incomplete)]


def tag_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """Return the tags that start so, most used first; of the collections named before, if there are any."""
    named = ctx.params.get("collections") or ()
    tags = _found(ctx, lambda workspace: [each.tag for each in workspace.tags(named)])
    return [tag for tag in tags if tag.casefold().startswith(incomplete.casefold())]


def presets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """Return the presets that start so."""
    from mdvec.config.presets import preset_names

    return [name for name in preset_names() if name.startswith(incomplete)]


def _found(ctx: click.Context, question: Callable[[Workspace], list[str]]) -> list[str]:
    """Ask the workspace; return nothing where there is no index, or it cannot be read."""
    session: Session = ctx.obj
    with suppress(MdvecError):
        config = session.load_config().config
        place = session.database_place(config)
        if isinstance(place, Path) and not place.exists():
            return []
        with session.open(config) as (workspace, _):
            return question(workspace)
    return []
