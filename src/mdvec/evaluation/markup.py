"""HTML and SVG elements, escaped by default."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Html(str):
    """Markup. Any other text is escaped when it becomes part of an element."""

    __slots__ = ()


# SVG elements that are written without an end tag.
_EMPTY = frozenset({"rect", "line"})


def element(name: str, *content: str, **attributes: str | float | None) -> Html:
    """Return an element.

    Args:
        name: Its tag.
        content: Texts and elements.
        attributes: Values by name; None leaves one out. A final ``_`` of a name is dropped, another ``_`` is
            a hyphen. Numbers are written with at most two decimals.
    """
    written = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{joined(content)}</{name}>")


def joined(content: Iterable[str], separator: str = "") -> Html:
    """Return texts and elements as one piece of markup."""
    return Html(separator.join(each if isinstance(each, Html) else escape(each) for each in content))


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
