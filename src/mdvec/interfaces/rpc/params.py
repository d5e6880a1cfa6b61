"""Parameters of a method: by name or by position, in snake_case or camelCase."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct

from mdvec.errors import InvalidArgumentsError
from mdvec.interfaces.parsing import parse

_Params = TypeVar("_Params", bound=Struct)
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


class InvalidParamsError(InvalidArgumentsError):
    """The method does not take these parameters."""


def read_params(
    params: dict[str, Any] | list[Any], kind: type[_Params], takes: Sequence[str] = (), **fixed: object
) -> _Params:
    """Return parameters, checked.

    Args:
        params: By name, or by position in the order of the fields.
        kind: What the method takes. Names are accepted in camelCase, too, at the top and in ``sections``.
        takes: The parameters it takes of that; all when empty.
        fixed: Those that it decides itself.

    Raises:
        InvalidParamsError: If one is missing, unknown or of another type.
    """
    names = tuple(takes) or kind.__struct_encode_fields__
    if isinstance(params, list):
        if len(params) > len(names):
            msg = f"there are {len(params)} parameters, and the method takes {len(names)}"
            raise InvalidParamsError(msg, hint=_known(names))
        params = dict(zip(names, params, strict=False))
    try:
        return parse(with_snake_case(params), kind, names, **fixed)
    except InvalidArgumentsError as error:
        raise InvalidParamsError(str(error), hint=_known(names)) from error


def with_snake_case(value: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping with its keys in snake_case, and those of the mappings in it."""
    return {_HUMP.sub(r"_\1", key).lower(): _inside(each) for key, each in value.items()}


def _inside(value: object) -> object:
    match value:
        case dict():
            return with_snake_case(value)
        case list():
            return [_inside(each) for each in value]
        case _:
            return value


def _known(names: tuple[str, ...]) -> str:
    return f"It takes {', '.join(names)}." if names else "It takes none."
