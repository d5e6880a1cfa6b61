"""Arguments as clients send them, parsed into requests: the same checks and words at every door."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from mdvec.errors import InvalidArgumentsError, did_you_mean
from mdvec.interfaces.answers import JsonObject, schema_of
from mdvec.interfaces.printing import short_repr

_Request = TypeVar("_Request", bound=Struct)

# Other names of arguments, from agents, scripts and the tools they know.
_SAME_ARGUMENT = {
    "collection": "collections",
    "collections": "collection",
    "depths": "depth",
    "file": "path",
    "file_path": "path",
    "k": "limit",
    "q": "query",
    "tag": "tags",
    "top_k": "limit",
}
# A client corrects what it reads; a list of a thousand problems is no help.
_MAX_PROBLEMS = 5
_MAX_NUMBER_CHARS = 40
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,2})?", re.ASCII)
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "an object",
    "string": "text",
}
_NULL = {"type": "null"}
# As msgspec writes its errors. A place has names of fields and positions in lists.
_ERROR = re.compile(r"(?P<problem>.*?)(?: - at `\$(?P<place>[^`]*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def decode_json(message: bytes, decode: Callable[[bytes], Any] = msgspec.json.decode) -> Any:
    r"""Decode JSON, with halves of characters such as ``\ud83d`` replaced, and without a byte order mark.

    Clients in JavaScript send the halves when they cut a text inside an emoji, those on Windows a mark before
    their first message. An error could not name the request, so the client would wait for ever.

    Raises:
        InvalidArgumentsError: If it is not JSON, or nested too deeply; names the place in the message.
    """
    try:
        return _decoded(message.removeprefix(BOM_UTF8), decode)
    except (ValueError, RecursionError) as error:
        msg = f"not JSON: {error}"
        raise InvalidArgumentsError(msg) from error


def _decoded(message: bytes, decode: Callable[[bytes], Any]) -> Any:
    try:
        return decode(message)
    except ValueError:
        message.decode()  # msgspec counts the bytes before a wrong one from the start of its string
        if rb"\ud" not in message.lower():
            raise
        return decode(json.dumps(json.loads(message), ensure_ascii=False).encode(errors="replace"))


def parse(
    given: Mapping[str, object], kind: type[_Request], only: Iterable[str] = (), **fixed: object
) -> _Request:
    """Parse arguments into a request.

    Args:
        given: By name, as a client sent them. Null is taken as an argument that is left out, as is an empty
            text, unless the argument is needed and a text.
        kind: The request.
        only: The arguments that are taken; all when empty.
        fixed: Fields that the door decides.

    Raises:
        InvalidArgumentsError: If there is something wrong; the message has a line for each problem, in the
            order of the arguments.
    """
    fields = {each.name: each for each in msgspec.structs.fields(kind) if each.name not in fixed}
    taken = [name for name in only or fields if name in fields]
    schema = schema_of(kind, "programs")["properties"]
    values: dict[str, Any] = {**fixed}
    problems: list[str] = []
    needed = {name for name, each in fields.items() if each.required}
    for name, sent in _named(given, taken).items():
        if name not in taken:
            # Looking for the argument that was meant takes time, and only the first ones are shown.
            problems.append(_unknown(name, taken) if len(problems) < _MAX_PROBLEMS else name)
            continue
        if _is_left_out(sent, schema[name], is_needed=name in needed):
            continue
        needed.discard(name)
        value = coerced(sent, schema[name])
        try:
            values[name] = msgspec.convert(value, fields[name].type)
        except msgspec.ValidationError as error:
            problems.append(problem_of(error, value, schema[name], name))
    problems += [f"`{name}` is missing" for name in fields if name in needed]
    if (more := len(problems) - _MAX_PROBLEMS) > 0:
        problems[_MAX_PROBLEMS:] = [f"and {more} more"]
    if problems:
        raise InvalidArgumentsError("\n".join(problems))
    return kind(**values)


def problem_of(error: msgspec.ValidationError, value: Any, schema: JsonObject, place: str = "") -> str:
    """Return an error of msgspec in words.

    Args:
        error: The error.
        value: The value that could not be converted.
        schema: The JSON Schema of the type it should have.
        place: The name of the value; empty for none.
    """
    found = _ERROR.fullmatch(str(error))
    assert found  # noqa: S101 - it takes any text
    place += found["place"] or ""
    for name, position in _STEP.findall(found["place"] or ""):
        node = next(each for each in _variants(schema) if ("properties" if name else "items") in each)
        schema = node["properties"][name] if name else node["items"]
        value = value[name or int(position)]
    place = place.removeprefix(".")
    if field := _FIELD.fullmatch(found["problem"]):
        inside = f"{place}.{field[2]}".removeprefix(".")
        if field[1] == "missing required":
            return f"`{inside}` is missing"
        [known] = [each["properties"] for each in _variants(schema)]
        return _unknown(inside, known)
    is_outside = re.search(" [<>]= ", found["problem"]) is not None
    needed = _described(schema, value, short_repr(value), is_outside=is_outside)
    return f"{f'`{place}`' if place else 'it'} must be {needed}"


def allowed(schema: JsonObject, written: str) -> str:
    """Describe the values that a schema takes, and the text that was written instead."""
    value = coerced(written, schema)
    is_number = isinstance(value, int | float)
    is_outside = isinstance(value, int if schema.get("type") == "integer" else float)
    return _described(schema, value, written if is_number else short_repr(written), is_outside=is_outside)


def _unknown(place: str, taken: Iterable[str]) -> str:
    name = place.rpartition(".")[2]
    known = f"it takes {', '.join(f'`{each}`' for each in taken)}" if taken else "it takes none"
    return f"unknown argument `{short_repr(place)[1:-1]}`{did_you_mean(name, taken) or f'; {known}'}"


def _described(schema: JsonObject, value: object, written: str, *, is_outside: bool) -> str:
    """Describe the values that a schema takes, and the wrong one, which may be outside of the limits."""
    variants = _variants(schema)
    limited = [each for each in variants if "minimum" in each]
    if limited and is_outside:
        least, most = limited[0]["minimum"], limited[0].get("maximum")
        span = f"at least {least}" if most is None else f"from {least} to {most}"
        return f"{span}, not {written}"
    words = [word for each in variants for word in each.get("enum", ())]
    one_of = [", ".join(words) if len(words) == 1 else f"one of {', '.join(words)}"] if words else []
    kinds = [_KINDS[each["type"]] for each in variants if "type" in each]
    near = did_you_mean(value, words) if isinstance(value, str) else ""
    if "a number" in kinds:
        kinds = [each for each in kinds if each != "a whole number"]
    return f"{' or '.join([*one_of, *kinds])}, not {written}{near}"


def _named(given: Mapping[str, object], taken: Iterable[str]) -> dict[str, object]:
    """Return arguments under the names of the request.

    Raises:
        InvalidArgumentsError: If one has two names.
    """
    named: dict[str, object] = {}
    for said, value in given.items():
        other = _SAME_ARGUMENT.get(said, said)
        name = said if said in taken or other not in taken else other
        if name in named or (name != said and name in given):
            msg = f"`{name}` is given more than once"
            raise InvalidArgumentsError(msg)
        named[name] = value
    return named


def coerced(value: object, schema: JsonObject) -> object:
    """Return a value in the type of a schema if it can mean only one value of it; else as it is.

    A single value becomes a list of one where a list is wanted, and the other way round. Models also write
    lists, numbers and truth values as texts, and lines as a number.
    """
    variants = _variants(schema)
    if len(variants) != 1:
        return value
    [wanted] = variants
    kind = wanted.get("type")
    if kind == "array" and not isinstance(value, dict):
        items = _list_in(value)
        return [coerced(each, wanted["items"]) for each in items]
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    match kind, value:
        case "integer" | "number", str() if len(value) <= _MAX_NUMBER_CHARS and _NUMBER.fullmatch(value):
            return coerced(float(value), wanted)
        case "integer", float() if value.is_integer():
            return int(value)
        case "boolean", str():
            return _TRUTH.get(value.lower(), value)
        case _, str() if value.lower() in wanted.get("enum", ()):
            return value.lower()
        case "string", int() if not isinstance(value, bool):
            return str(value)
        case "object", dict():
            inside = wanted.get("properties", {})
            return {name: coerced(each, inside.get(name, {})) for name, each in value.items()}
        case _:
            return value


def _is_left_out(value: object, schema: JsonObject, *, is_needed: bool) -> bool:
    """Return True for an argument that a client means to leave out: null, no text, or ``null`` as a text.

    Where any text may be meant, ``null`` is one; an argument that is needed may be an empty text, too. One
    that is needed and may be null has no value that leaves it out.
    """
    if is_needed and _NULL in schema.get("anyOf", ()):
        return False
    is_any_text = any(each.get("type") == "string" and "enum" not in each for each in _variants(schema))
    return value is None or (value == "" and not is_needed) or (value in ("", "null") and not is_any_text)


def _list_in(value: object) -> list[object]:
    """Return a list as it is, parsed from JSON, or made of one value, which may be a text of JSON."""
    if isinstance(value, str) and value.lstrip().startswith(("[", '"')):
        with suppress(ValueError, RecursionError):
            value = msgspec.json.decode(value)
    return value if isinstance(value, list) else [value]


def _variants(schema: JsonObject) -> list[JsonObject]:
    """Return the schemas one of which a value has to fit, without null."""
    return [each for each in schema.get("anyOf", [schema]) if each != _NULL]
