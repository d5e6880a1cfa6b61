"""The options that choose how a folder of ``--docs-dir`` is indexed, as ``mdvec tool add`` spells them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from mdvec.interfaces.cli.filters import presets
from mdvec.interfaces.cli.session import Session

_AnyFunction = TypeVar("_AnyFunction", bound=Callable[..., Any])


def folder_options(function: _AnyFunction) -> _AnyFunction:
    """Add the options that choose how a folder of ``--docs-dir`` is indexed."""
    globs: dict[str, Any] = {"multiple": True, "metavar": "GLOB"}
    decorators = (
        _option("--preset", metavar="NAME", shell_complete=presets, help="With --docs-dir: see 'preset ls'."),
        _option("--include", **globs, help="With --docs-dir: index only these files; '' for all."),
        _option("--exclude", **globs, help="With --docs-dir: leave these files out; '' for none."),
        _option("--chunker", metavar="NAME", help="With --docs-dir: how documents are split."),
        _option("--embedder", metavar="SPEC", help="With --docs-dir: embedding model."),
    )
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def _option(name: str, **settings: Any) -> Callable[[_AnyFunction], _AnyFunction]:
    return click.option(name, expose_value=False, callback=_remember, **settings)


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value and isinstance(ctx.obj, Session) and param.name is not None:
        ctx.obj.choice[param.name] = value
