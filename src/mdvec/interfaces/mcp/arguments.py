"""Says in plain words what is wrong with the arguments of a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from mdvec.errors import InvalidArgumentsError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

# An agent corrects what it is told; a list of a thousand problems is no help.
_MOST_PROBLEMS = 5
_MOST_SHOWN_CHARS = 40

# As JSON has them.
_LITERALS = {"None": "null", "True": "true", "False": "false"}
_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "an object",
    "string": "text",
}


def check(arguments: Mapping[str, object], schema: Mapping[str, Any]) -> None:
    """Refuse arguments that a tool does not take.

    Args:
        arguments: As the client gave them.
        schema: The tool's input schema.

    Raises:
        InvalidArgumentsError: If there is something wrong; the message has a line for each problem,
            in the order of the arguments.
    """
    from jsonschema import Draft202012Validator  # the start of the server does without

    # Deep values fit no schema of ours, so the depth of the check is that of the schema.
    errors = list(Draft202012Validator(schema).iter_errors(dict(arguments)))
    order = list(arguments)
    # What is missing has no place among the arguments, and comes last.
    errors.sort(
        key=lambda error: (
            order.index(error.path[0]) if error.path else len(order) + (error.validator == "required")
        )
    )
    problems = list(
        dict.fromkeys(problem for error in errors for problem in _problems(error, arguments, schema))
    )
    more = len(problems) - _MOST_PROBLEMS
    if more > 0:
        problems[_MOST_PROBLEMS:] = [f"and {more} more"]
    if problems:
        raise InvalidArgumentsError("\n".join(problems))


def nearest(name: str, known: Sequence[str]) -> str:
    """Return ``; did you mean …?`` for a name that resembles one of the known; else nothing."""
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    return f"; did you mean `{near[0]}`?" if near else ""


def shown(value: object) -> str:
    """Return a value as a client wrote it, cut when it is long."""
    text = _LITERALS.get(repr(value)) or repr(value)
    return text if len(text) <= _MOST_SHOWN_CHARS else f"{text[: _MOST_SHOWN_CHARS - 1]}…"


def _problems(
    error: ValidationError, arguments: Mapping[str, object], schema: Mapping[str, Any]
) -> Sequence[str]:
    taken = list(schema["properties"])
    match error.validator:
        case "additionalProperties":
            return [_unknown(name, taken) for name in arguments if name not in taken]
        case "required":
            return [f"`{name}` is missing" for name in schema["required"] if name not in arguments]
        case _:
            return [f"`{_place(error)}` {_rule(error)}"]


def _unknown(name: str, taken: Sequence[str]) -> str:
    known = f"; it takes {', '.join(f'`{each}`' for each in taken)}" if taken else "; it takes none"
    return f"unknown argument `{shown(name)[1:-1]}`{nearest(name, taken) or known}"


def _place(error: ValidationError) -> str:
    name, *inside = error.absolute_path
    return f"{name}{''.join(f'[{step}]' for step in inside)}"


def _rule(error: ValidationError) -> str:
    """Say what a value has to be; ``minLength`` is 1 wherever we ask for it."""
    value = error.instance
    match error.validator:
        case "type":
            return f"must be {_KINDS[error.validator_value]}, not {shown(value)}"
        case "enum":
            allowed = list(error.validator_value)
            near = nearest(value, allowed) if isinstance(value, str) else ""
            return f"must be one of {', '.join(allowed)}, not {shown(value)}{near}"
        case "minimum" | "maximum":
            least, most = error.schema["minimum"], error.schema.get("maximum")
            span = f"at least {least}" if most is None else f"from {least} to {most}"
            return f"must be {span}, not {shown(value)}"
        case _:
            return "must not be empty"
