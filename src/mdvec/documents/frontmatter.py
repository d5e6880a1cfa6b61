"""Frontmatter: the block of YAML, TOML or JSON, or of Logseq's properties, that may open a Markdown file."""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import yaml
from msgspec import Struct, field

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

# The most repeated keys that a warning names, and the most characters of their names.
_MAX_NAMED = 8
_MAX_KEY_CHARS = 80

# tomllib takes cubic time for a key such as a.a.a.a; no ordinary line has so many dots.
_MAX_DOTS_IN_TOML_LINE = 500

_OPENING = re.compile(
    r"(?:[ \t]*\n){0,9}(?:---(?:ya?ml|json|(?P<toml>toml))?|(?P<plus>\+{3})|(?P<odd>-{4,}))[ \t]*\n"
)
_CLOSING = re.compile(r"^(?:-{3}|\.{3})[ \t]*$", re.MULTILINE)
_PLUS_CLOSING = re.compile(r"^\+{3}[ \t]*$", re.MULTILINE)
# Fences as people type them: a dash too few or too many, or the one dash that a phone makes of them.
_ODD_CLOSING = re.compile(r"^(?:-{2,}|—)[ \t]*$", re.MULTILINE)
_JSON_OPENING = re.compile(r"\{\s*[\"}]")
_JSON_END = re.compile(r"^\}[ \t]*$", re.MULTILINE)
_BLANK_LINE = re.compile(r"^[ \t]*$", re.MULTILINE)
# Keys that name a note.
_IDENTITY = frozenset({"id", "permalink", "slug", "title", "uid"})
# A line that looks like metadata even when the whole does not parse.
_KEY = re.compile(r"""^["']?\w[\w .-]{0,60}["']?[ \t]*:(?:[ \t]|$)""", re.MULTILINE)
# A property that nothing else in a text begins with.
_KNOWN_KEY = re.compile(
    r"^(?:title|tags?|alias(?:es)?|date|created|updated)[ \t]*[:：=]", re.MULTILINE | re.IGNORECASE
)
# Tags, and numbers in titles, as their authors write them; to YAML, they are comments, or anchors.
_HASH = re.compile(
    r"^([ \t]*+(?:-|tags?:|keywords?:)[ \t]++(?=#)|title:[ \t]++(?![#\"'|>]))"
    r"([^\n]*?(?<!\S)#[^\s#][^\n]*|&[^\n]*)$",
    re.MULTILINE | re.IGNORECASE,
)
# The first line of a property in a block that is repaired, and the lines of Logseq's properties.
_ENTRY = re.compile(
    r"""^["']?(?P<key>[^\s"'#:：=-][^:：=\n"']{0,60})["']?[ \t]*"""
    r"(?::(?=\s|\Z)|(?<=[A-Za-z]):(?!/)|：|=(?=[ \t]))[ \t]*",
    re.MULTILINE,
)
_OF_PROPERTY = re.compile(rf"{_ENTRY.pattern}|[ \t]|-[ \t]|[ \t]*$")
_TOML_TABLE = re.compile(r"^\[.*\][ \t]*$", re.MULTILINE)
_STRAIGHT = str.maketrans("“”", '""')
_INDICATOR = re.compile(r"^#|(?:^|[\s,\[{:?-])[&*!]")
# A tab before a property; a list below one is behind a tab, too.
_TAB_BEFORE_KEY = re.compile(r"^\t+(?=[A-Za-z_]+:(?:[ \t]|$))", re.MULTILINE)
# Nor is one behind a single space, where lists and values that continue have two.
_INDENTED_KEY = re.compile(r"^ (?=[A-Za-z_]+:[ \t])", re.MULTILINE)
# The lines that git writes around the two sides of a conflict.
_CONFLICT_MARK = re.compile(r"^(?:[<>|]{7} .*|={7})(?:\n|\Z)", re.MULTILINE)
# Blanks and invisible characters that come with a text from a page or a word processor.
_BLANKS = dict.fromkeys((0xA0, 0x3000), " ") | dict.fromkeys((0x200B, 0x2060, 0xFEFF))
_QUOTED_TWICE = re.compile(r"""(["'])[^"'\n]*(?<=[^\s"'])\1[\s,]""")  # 'A' and 'B'
_BETWEEN_LINKS = re.compile(r",(?=\s*\[\[)")
_COMMENT = re.compile(r"#+(?:[ \t]|$)")
_ITEM = re.compile(r"^[ \t]*-(?:[ \t]+|(?=\w))", re.MULTILINE)
# The metadata of MultiMarkdown and Pelican, and the title block of Pandoc.
_UNFENCED = re.compile(
    r"Title:[ \t]+\S[^\n]*\n(?:[A-Za-z][\w -]{0,30}:[ \t]+\S[^\n]*\n|[ \t]+\S[^\n]*\n)+\n", re.IGNORECASE
)
_TITLE_BLOCK = re.compile(
    r"%[ \t]+(?P<title>\S[^\n]*)\n(?:%[ \t]*([^\n]*)\n)?(?:%[ \t]*([^\n]*)\n)?(?:\n|\Z)"
)
_PROPERTIES = re.compile(r"(?:[^\W\d_][\w-]{0,60}::[ \t][^\n]*(?:\n|\Z))+\n?")
# More lines are data; reading each of them by itself takes time.
_MAX_REPAIRED_LINES = 500
_UNREAD_KEY = "frontmatter"
_TEMPLATE_WARNING = "frontmatter has placeholders of a template, such as {{date}}; they are taken as text"
_OPEN_WARNING = "frontmatter is repaired: it has no closing line of ---"


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

    YAML is between lines of ``---`` (or ends in ``...``), TOML between lines of ``+++``; the first line
    opens it. If the text between the fences is not a mapping (a quotation between two rules, say), the first
    line is a thematic break. A block that looks like metadata but does not parse is read property by
    property, with a warning. One that is closed in another way, or by a blank line, must be whole. JSON is an
    object (Hugo); Logseq writes lines of ``key:: value``, MultiMarkdown lines from ``Title: …`` to
    a blank one, and Pandoc lines of ``% …``.

    Args:
        text: The whole file, line ends as ``\n``.

    Returns:
        Its values, and the start of the content.
    """
    front = _read_block(text)
    rest = text[front.content_start :]
    if front.values.keys().isdisjoint(_IDENTITY) or not _OPENING.match(rest):
        return front
    # Programs that do not read a block, as it is broken, write one of their own before it.
    behind = _read_block(rest)
    values = _joined(front.values, behind.values)
    if values is None:
        return front
    end = front.content_start + behind.content_start
    return Frontmatter(values, end, (*front.warnings, *behind.warnings))


def _joined(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, object] | None:
    """Return the values of two blocks of one note; None if notes differ or blocks contradict each other."""
    if all(first.get(key) is None or first[key] != second.get(key) for key in _IDENTITY):
        return None
    joined = {**second, **first}
    for key in first.keys() & second.keys():
        one, other = first[key], second[key]
        if isinstance(one, list) and isinstance(other, list):
            joined[key] = [*one, *other]
        elif one is None:
            joined[key] = other
        elif other is not None and one != other:
            return None
    return joined


def _read_block(text: str) -> Frontmatter:
    opening = _OPENING.match(text)
    if opening is None:
        return _read_json(text) if _JSON_OPENING.match(text) else _read_properties(text)
    start = opening.end()
    read = _read_toml if opening["toml"] or opening["plus"] else _read_yaml
    exact = None if opening["odd"] else (_PLUS_CLOSING if opening["plus"] else _CLOSING).search(text, start)
    front = Frontmatter()
    if exact is not None and exact.start() - start <= MAX_CHARS:
        source = text[start : exact.start()]
        front = read(source, min(exact.end() + 1, len(text)))
        if not front.warnings or all(map(_OF_PROPERTY.match, source.splitlines())):
            return front
    # Rules, lines below headings and signatures look like such fences, so the block must be whole.
    odd = _ODD_CLOSING.search(text, start)
    for closing in (odd, None if exact or opening["odd"] else _BLANK_LINE.search(text, start)):
        if closing is not None and (sure := _whole(text[start : closing.start()], read)):
            warnings = () if closing is odd else (_OPEN_WARNING,)
            return Frontmatter(sure, min(closing.end() + 1, len(text)), warnings)
    return front


def _whole(source: str, read: Callable[[str, int], Frontmatter]) -> Mapping[str, object]:
    """Return the values of a block of mere properties that begins with a known one; nothing of others."""
    if _KNOWN_KEY.match(source) is None or len(source) > MAX_CHARS:
        return {}
    front = read(source, 0) if all(map(_OF_PROPERTY.match, source.splitlines())) else Frontmatter()
    return {} if front.warnings else front.values


def _read_toml(source: str, content_start: int) -> Frontmatter:
    try:
        if any(line.count(".") > _MAX_DOTS_IN_TOML_LINE for line in source.splitlines()):
            _refuse("a line with too many dots")
        values = _json_mapping(tomllib.loads(source))
    except (_RefusedError, ValueError, RecursionError) as error:
        return _recovered(_TOML_TABLE.sub("", source).translate(_STRAIGHT), content_start, error)
    return Frontmatter(values, content_start)


def _read_json(text: str) -> Frontmatter:
    try:
        values, end = json.JSONDecoder().raw_decode(text[:MAX_CHARS])
        stored = _json_mapping(values)
    except (_RefusedError, ValueError, RecursionError):
        # To YAML, a comma before a bracket and comments are correct.
        closing = _JSON_END.search(text, 0, MAX_CHARS)
        end = min(closing.end() + 1, len(text)) if closing else 0
        front = _read_values(text[:end].expandtabs(2), end)
        return Frontmatter() if front.warnings else front
    ends_line = text[end : end + 1] in ("", "\n")
    return Frontmatter(stored, min(end + 1, len(text))) if ends_line else Frontmatter()


def _read_properties(text: str) -> Frontmatter:
    if found := _TITLE_BLOCK.match(text):
        named = zip(("title", "author", "date"), found.groups(), strict=True)
        return Frontmatter({key: value for key, value in named if value}, found.end())
    if (found := _UNFENCED.match(text)) and (sure := _whole(found[0], _read_yaml)):
        return Frontmatter(sure, found.end())
    found = _PROPERTIES.match(text)
    if found is None:
        return Frontmatter()
    values: dict[str, list[str]] = {}
    for line in filter(None, found[0].splitlines()):
        key, _, value = line.partition("::")
        values.setdefault(key, []).append(value.strip())
    several = {key: each if len(each) > 1 else each[0] for key, each in values.items()}
    return Frontmatter(several, found.end())


def _recovered(source: str, content_start: int, error: Exception) -> Frontmatter:
    """Return the properties of a block that does not parse, or else its lines, which are found as text."""
    if not isinstance(error, _RefusedError) and source.count("\n") <= _MAX_REPAIRED_LINES:
        # A folder has many templates, and equal warnings are one.
        is_template = "{{" in source
        warning = _TEMPLATE_WARNING if is_template else f"frontmatter is repaired: {_first_line(error)}"
        return Frontmatter(_repaired(source), content_start, (warning,))
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    warning = f"frontmatter is read as text: {_first_line(error)}"
    return Frontmatter({_UNREAD_KEY: lines}, content_start, (warning,))


def _read_yaml(source: str, content_start: int) -> Frontmatter:
    source = source.translate(_BLANKS)
    is_hidden = "#" in source or ": &" in source
    return _read_values(_HASH.sub(_quoted, source) if is_hidden else source, content_start)


def _quoted(found: re.Match[str]) -> str:
    return found[1] + json.dumps(found[2], ensure_ascii=False)


def _read_values(source: str, content_start: int) -> Frontmatter:
    try:
        _refuse_bombs(source)
        loader = _Loader(source)
        node = loader.get_single_node()
        if node is None:  # at most comments; with blank lines, they are headings between two rules
            lines = source.splitlines()
            if not any(map(str.strip, lines)):
                return Frontmatter({}, content_start)
            is_comment = all(map(_COMMENT.match, lines))
            return Frontmatter({_UNREAD_KEY: lines}, content_start) if is_comment else Frontmatter()
        if not isinstance(node, yaml.MappingNode):
            is_known = _KNOWN_KEY.match(source) and all(map(_OF_PROPERTY.match, source.splitlines()))
            return Frontmatter(_repaired(source), content_start) if is_known else Frontmatter()
        warnings = _duplicate_keys(node)
        values = _json_mapping(loader.construct_document(node))
    except (_RefusedError, yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        keys = _TAB_BEFORE_KEY.sub("", source)
        if not (_KNOWN_KEY if source[:1].isspace() else _KEY).search(keys):  # indented text may be code
            return Frontmatter()
        return _recovered(source, content_start, error)
    return Frontmatter(values, content_start, warnings)


def _repaired(source: str) -> dict[str, object]:
    """Read each property by itself: as YAML, or else as the text that its author wrote."""
    source = _INDENTED_KEY.sub("", _TAB_BEFORE_KEY.sub("", _CONFLICT_MARK.sub("", source)))
    entries = list(_ENTRY.finditer(source))
    starts = [found.start() for found in entries]
    values: dict[str, object] = {}
    above = source[: starts[0] if starts else len(source)].split("\n")
    if unread := [line.strip() for line in above if line.strip()]:
        values[_UNREAD_KEY] = unread
    for found, end in zip(entries, [*starts[1:], len(source)], strict=True):
        key, text = found["key"].strip(), source[found.end() : end].expandtabs(2)
        # In a broken block, the name of an anchor, an alias or a tag of YAML is a word, as is a value with a
        # number sign before it.
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
    is_around = len(line) > 1 and line[0] == line[-1] and line[0] in "\"'" and not _QUOTED_TWICE.match(line)
    return line.strip("\"'") if is_around or any(line.count(mark) == 1 for mark in "\"'") else line


def _refuse_bombs(source: str) -> None:
    """Check the events, which libyaml yields without recursion, before values are built."""
    if "*" not in source and sum(map(source.count, _COLLECTION_SIGNS)) <= _MAX_DEPTH:
        return  # too few mappings and lists for a bomb
    depth = aliases = 0
    for event in yaml.parse(source, Loader=_SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > _MAX_DEPTH:
            _refuse(f"values nested deeper than {_MAX_DEPTH} levels")
        if aliases > _MAX_ALIASES:
            _refuse(f"more than {_MAX_ALIASES} aliases")


def _duplicate_keys(node: yaml.MappingNode) -> tuple[str, ...]:
    keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
    twice = [key[:_MAX_KEY_CHARS] for key, count in keys.items() if count > 1 and key != "<<"]
    named = ", ".join(map(repr, twice[:_MAX_NAMED]))
    more = f" and {len(twice) - _MAX_NAMED} more" if len(twice) > _MAX_NAMED else ""
    return (f"frontmatter has {named}{more} twice; the last one counts",) if twice else ()


def _json_mapping(value: Mapping[Any, Any]) -> dict[str, object]:
    budget = [_MAX_VALUES]
    # People who know Logseq or Dataview write "title::" here, too.
    return {_json_key(key).rstrip(":"): _json_value(item, budget, 1) for key, item in value.items()}


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
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else str(value)


def _refuse(reason: str) -> NoReturn:
    raise _RefusedError(reason)


def _first_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        # A bracket or a quotation mark that is never closed is wrong where it begins.
        is_open = "quoted" in (error.context or "") or "flow" in (error.context or "")
        mark = error.context_mark if is_open and error.context_mark else error.problem_mark
        # Line 0 of the block is line 2 of the file. What YAML expected there is no help to a writer.
        return f"line {mark.line + 2} is not valid YAML"
    return (str(error) or type(error).__name__).splitlines()[0]


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc] # which of the two it is depends on the platform
    """The safe loader with the scalars of YAML 1.2 (``no`` and ``12:30`` are text) and dates.

    A version such as ``3.10`` is text: as a number it would be ``3.1``. Properties compare it as a number all
    the same.
    """

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
        r"[-+]?(?:\.[0-9]+|[0-9]+\.(?:0|[0-9]*[1-9])?|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
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
