"""Frontmatter: the block of YAML, TOML or JSON, or of Logseq's properties, that may open a Markdown file."""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

# A longer block is treated as text between two thematic breaks, so that no text is lost to search.
MAX_CHARS = 200_000
# libyaml's composer calls itself for every level and overflows the C stack at some ten thousand.
_MAX_DEPTH = 64
# n aliases expand to at most about e^(n/e) values, so this bounds a "billion laughs" to some 10^5.
_MAX_ALIASES = 32
# Each mapping and each list opens with one of these characters.
_COLLECTION_SIGNS = "[{-:?"
# A bound on what is stored, after aliases are expanded.
_MAX_VALUES = 50_000
# JSON readers (and Python's own int()) balk at longer integers.
_MAX_INTEGER_BITS = 1024

# The most repeated keys with a warning each, and the most characters of their names.
_MAX_NAMED = 8
_MAX_KEY_CHARS = 80

# tomllib takes cubic time for a key such as a.a.a.a; no ordinary line has so many dots.
_MAX_DOTS_IN_TOML_LINE = 500

_YAML_OPENING = re.compile(r"(?:[ \t]*\n){0,9}---(?:ya?ml|json)?[ \t]*\n")
_YAML_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_TOML_OPENING = re.compile(r"\+\+\+[ \t]*\n")
_TOML_CLOSING = re.compile(r"^\+\+\+[ \t]*$", re.MULTILINE)
# A line that looks like metadata even when the whole does not parse.
_KEY = re.compile(r"""^["']?\w[\w .-]{0,60}["']?[ \t]*:(?:[ \t]|$)""", re.MULTILINE)

# Properties that nothing else in a text begins with, as people write them who leave the space out.
_KNOWN_KEYS = re.compile(
    r"(?:(?:title|tags?|alias(?:es)?|date|created|updated)[ \t]*[:：]|[ \t]+\S|-[ \t]).*", re.IGNORECASE
)
# A line whose value is a template placeholder; to YAML it is a broken mapping.
_PLACEHOLDER = re.compile(
    r"^([ \t]*(?:- +|[\w][\w .-]{0,60}:[ \t]+))([^\n\"'#]*\{\{[^\n\"'#]*\}\}[^\n\"'#]*)$", re.MULTILINE
)
# Tags, and numbers in titles, as their authors write them; to YAML, they are comments.
_HASH = re.compile(
    r"^([ \t]*(?:-|tags?:)[ \t]+(?=#)|title:[ \t]+(?![#\"'|>]))([^\n]*?(?<!\S)#[^\s#][^\n]*)$",
    re.MULTILINE | re.IGNORECASE,
)
# The first line of a property in a block that is repaired, and the lines of Logseq's properties.
_ENTRY = re.compile(
    r"""^["']?(?P<key>[^\s"'#:：-][^:：\n"']{0,60})["']?[ \t]*"""
    r"(?::(?=\s|\Z)|(?<=[A-Za-z]):(?!/)|：)[ \t]*",
    re.MULTILINE,
)
_INDICATOR = re.compile(r"^#|(?:^|[\s,\[{:?-])[&*!]")
# A tab before a property; a list below one is behind a tab, too.
_TAB_BEFORE_KEY = re.compile(r"^\t+(?=[A-Za-z_]+:(?:[ \t]|$))", re.MULTILINE)
_BETWEEN_LINKS = re.compile(r",(?=\s*\[\[)")
_ITEM = re.compile(r"^[ \t]*-(?:[ \t]+|(?=\w))", re.MULTILINE)
_PROPERTIES = re.compile(r"(?:[^\W\d_][\w-]{0,60}::[ \t][^\n]*(?:\n|\Z))+\n?")
# More lines are data; reading each of them by itself takes time.
_MAX_REPAIRED_LINES = 500
_UNREAD_KEY = "frontmatter"
_TEMPLATE_WARNING = "frontmatter has placeholders of a template, such as {{date}}; they are taken as text"


class Frontmatter(Struct, frozen=True):
    """The metadata at the start of a file.

    Attributes:
        values: JSON-compatible values by key; empty if there is no frontmatter.
        content_start: The start of the text after the line of the closing fence; 0 without frontmatter.
        warnings: Messages about what was odd.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    content_start: int = 0
    warnings: tuple[str, ...] = ()


class _RefusedError(Exception):
    """The values are of a kind or size that is not stored."""


def read_frontmatter(text: str) -> Frontmatter:
    r"""Read the frontmatter of a Markdown file.

    YAML is between lines of ``---`` (or ends in ``...``), TOML between lines of ``+++``; the first
    line opens it. Without a closing fence the first line is a thematic break; likewise if the text between
    the fences is not a mapping (a quotation between two rules, say). A block that looks like metadata but
    does not parse is read property by property, with a warning. JSON is an object (Hugo); Logseq writes lines
    of ``key:: value``.

    Args:
        text: The whole file, line ends as ``\n``.

    Returns:
        Its values, and the start of the content.
    """
    if opening := _YAML_OPENING.match(text):
        closing = _YAML_CLOSING.search(text, opening.end())
    elif opening := _TOML_OPENING.match(text):
        closing = _TOML_CLOSING.search(text, opening.end())
    else:
        return _read_json(text) if text[:1] == "{" else _read_properties(text)
    if closing is None or closing.start() - opening.end() > MAX_CHARS:
        return Frontmatter()
    source = text[opening.end() : closing.start()]
    content_start = min(closing.end() + 1, len(text))
    if text[0] == "+":
        return _read_toml(source, content_start)
    return _read_yaml(source, content_start)


def _read_toml(source: str, content_start: int) -> Frontmatter:
    try:
        if any(line.count(".") > _MAX_DOTS_IN_TOML_LINE for line in source.splitlines()):
            _refuse("a line with too many dots")
        values = _json_mapping(tomllib.loads(source))
    except (_RefusedError, ValueError, RecursionError) as error:
        return _unread(source, content_start, error)
    return Frontmatter(values, content_start)


def _read_json(text: str) -> Frontmatter:
    try:
        values, end = json.JSONDecoder().raw_decode(text[:MAX_CHARS])
        stored = _json_mapping(values)
    except (_RefusedError, ValueError, RecursionError):
        return Frontmatter()
    ends_line = text[end : end + 1] in ("", "\n")
    return Frontmatter(stored, min(end + 1, len(text))) if ends_line else Frontmatter()


def _read_properties(text: str) -> Frontmatter:
    found = _PROPERTIES.match(text)
    if found is None:
        return Frontmatter()
    pairs = (line.partition("::") for line in found[0].splitlines() if line)
    return Frontmatter({key: value.strip() for key, _, value in pairs}, found.end())


def _unread(source: str, content_start: int, error: Exception) -> Frontmatter:
    """Return the lines of a block as values, so that their words are found."""
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    warning = f"frontmatter is read as text: {_first_line(error)}"
    return Frontmatter({_UNREAD_KEY: lines}, content_start, (warning,))


def _read_yaml(source: str, content_start: int) -> Frontmatter:
    if "#" in source:
        source = _HASH.sub(_quoted, source)
    quoted = _PLACEHOLDER.sub(_quoted, source) if "{{" in source else source
    if quoted != source:
        front = _read_values(quoted, content_start)
        return replace(front, warnings=(*front.warnings, _TEMPLATE_WARNING)) if front.values else front
    return _read_values(source, content_start)


def _quoted(found: re.Match[str]) -> str:
    return found[1] + json.dumps(found[2], ensure_ascii=False)


def _read_values(source: str, content_start: int) -> Frontmatter:
    try:
        _refuse_bombs(source)
        loader = _Loader(source)
        node = loader.get_single_node()
        if node is None:
            return Frontmatter({}, content_start)
        if not isinstance(node, yaml.MappingNode):
            lines = filter(str.strip, source.splitlines())
            is_known = all(map(_KNOWN_KEYS.fullmatch, lines)) and not source[:1].isspace()
            return Frontmatter(_repaired(source), content_start) if is_known else Frontmatter()
        warnings = _duplicate_keys(node)
        values = _json_mapping(loader.construct_document(node))
    except (_RefusedError, yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        if source[:1].isspace() or not _KEY.search(source):
            return Frontmatter()
        if isinstance(error, _RefusedError) or source.count("\n") > _MAX_REPAIRED_LINES:
            return _unread(source, content_start, error)
        return Frontmatter(
            _repaired(source), content_start, (f"frontmatter is repaired: {_first_line(error)}",)
        )
    return Frontmatter(values, content_start, warnings)


def _repaired(source: str) -> dict[str, object]:
    """Read each property by itself: as YAML, or else as the text that its author wrote."""
    source = _TAB_BEFORE_KEY.sub("", source)
    entries = list(_ENTRY.finditer(source))
    starts = [found.start() for found in entries]
    values: dict[str, object] = {}
    above = source[: starts[0] if starts else len(source)].split("\n")
    if unread := [line.strip() for line in above if line.strip()]:
        values[_UNREAD_KEY] = unread
    for found, end in zip(entries, [*starts[1:], len(source)], strict=True):
        key, text = found["key"].strip(), source[found.end() : end].expandtabs(2)
        # Where a block is broken, an anchor, an alias or a tag of YAML is none: its name is a word. So is
        # a value with a number sign before it.
        front = None if _INDICATOR.search(text) else _read_alone(f"{key}: {text}")
        values |= front if front is not None and key in front else {key: _as_written(text)}
    return values


def _read_alone(entry: str) -> dict[str, object] | None:
    """Return what a piece of YAML says; None if it is no mapping."""
    try:
        _refuse_bombs(entry)
        value = _Loader(entry).get_single_data()
        return _json_mapping(value) if isinstance(value, Mapping) else None
    except (_RefusedError, yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


def _as_written(text: str) -> object:
    """Return the value of a property that is not YAML: a list of items, or a text."""
    first, *items = _ITEM.split(text)
    if items and not first.strip():
        return [*map(_one_line, items)]
    if first.lstrip().startswith("[["):
        links = _BETWEEN_LINKS.split(text)
        return [*map(_one_line, links)] if len(links) > 1 else _one_line(text)
    if first.lstrip().startswith("[") and ("]" not in text or text.rstrip().endswith("]")):
        return [*map(_one_line, text.strip("[] \n").split(","))]
    return _one_line(text)


def _one_line(text: str) -> str:
    """Return a text without line breaks, the quotation marks around it, and one that has no second one."""
    line = " ".join(text.split())
    is_around = len(line) > 1 and line[0] == line[-1] and line[0] in "\"'"
    return line.strip("\"'") if is_around or any(line.count(mark) == 1 for mark in "\"'") else line


def _refuse_bombs(source: str) -> None:
    """Check the events, which libyaml yields without recursion, before values are built."""
    if "*" not in source and sum(map(source.count, _COLLECTION_SIGNS)) <= _MAX_DEPTH:
        return  # too few mappings and lists for a bomb
    depth = aliases = 0
    for event in yaml.parse(source, Loader=_SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                _refuse(f"values nested deeper than {_MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
            if aliases > _MAX_ALIASES:
                _refuse(f"more than {_MAX_ALIASES} aliases")


def _duplicate_keys(node: yaml.MappingNode) -> tuple[str, ...]:
    keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    if len(set(keys)) == len(keys):
        return ()
    twice = [key for key, count in Counter(keys).items() if count > 1 and key != "<<"]
    named = [
        f"frontmatter has the key {_short(key)!r} twice; the last one counts" for key in twice[:_MAX_NAMED]
    ]
    more = len(twice) - len(named)
    return (*named, f"frontmatter has {more} more keys twice") if more else tuple(named)


def _short(key: str) -> str:
    return key if len(key) <= _MAX_KEY_CHARS else f"{key[: _MAX_KEY_CHARS - 1]}…"


def _json_mapping(value: Mapping[Any, Any]) -> dict[str, object]:
    budget = [_MAX_VALUES]
    return {_json_key(key): _json_value(item, budget, 1) for key, item in value.items()}


def _json_key(key: object) -> str:
    value = _json_scalar(key)
    return value if isinstance(value, str) else "null" if value is None else str(value).lower()


def _json_value(value: object, budget: list[int], depth: int) -> object:
    budget[0] -= 1
    if budget[0] < 0 or depth > _MAX_DEPTH:
        _refuse("too many values, or values that contain themselves")
    if isinstance(value, Mapping):
        return {_json_key(key): _json_value(item, budget, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_json_value(item, budget, depth + 1) for item in value]
    return _json_scalar(value)


def _json_scalar(value: object) -> str | int | float | bool | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return hex(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value)


def _refuse(reason: str) -> NoReturn:
    raise _RefusedError(reason)


def _first_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        # Line 0 of the block is line 2 of the file.
        where = f" (line {error.problem_mark.line + 2})" if error.problem_mark else ""
        return f"{error.problem}{where}"
    return (str(error) or type(error).__name__).splitlines()[0]


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc] # which of the two it is depends on the platform
    """The safe loader with the scalars of YAML 1.2 (``no`` and ``12:30`` are text) and dates."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own way to declare them
    yaml_constructors = dict(_SafeLoader.yaml_constructors)  # noqa: RUF012 - likewise

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge the values of ``<<`` into a mapping, unless they multiply beyond what is stored."""
        super().flatten_mapping(node)
        if len(node.value) > _MAX_VALUES:
            _refuse("mappings merged into too many values")


def _timestamp(loader: Any, node: yaml.ScalarNode) -> object:
    try:
        return _SafeLoader.construct_yaml_timestamp(loader, node)
    except (ValueError, OverflowError):
        return node.value  # such as 2024-13-45: not a date, but text


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,307})|0x[0-9a-fA-F]{1,256}", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    (
        "timestamp",
        r"\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)?",
        list("0123456789"),
    ),
    ("merge", "<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})\Z"), _first)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _timestamp)
