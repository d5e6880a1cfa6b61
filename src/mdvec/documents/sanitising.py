"""Sanitises HTML, so that it runs and requests nothing."""

from __future__ import annotations

import re

import nh3
from pygments.token import STANDARD_TYPES

from mdvec.types.page import ANCHOR_PREFIX

# fmt: off
_TAGS = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col",
    "colgroup", "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure",
    "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "mark", "ol", "p",
    "pre", "q", "rp", "rt", "ruby", "s", "samp", "section", "small", "span", "strike", "strong",
    "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "tt", "u", "ul",
    "var", "wbr",
})
# fmt: on
_CLEANED_WITH_CONTENT = {"script", "style", "title", "textarea", "template", "noscript", "iframe", "object"}
_ATTRIBUTES = {
    "*": {"class", "data-line", "dir", "id", "lang"},
    "a": {"href", "title"},
    "details": {"open"},
    "img": {"alt", "height", "loading", "src", "title", "width"},
    "ol": {"start"},
    "td": {"align", "colspan", "rowspan"},
    "th": {"align", "colspan", "rowspan"},
}
# Wide ones scroll sideways. They take the focus, since keys scroll only the element that has it.
_SCROLLED = {"pre": {"tabindex": "0"}, "table": {"tabindex": "0"}}
_SCHEMES = {"http", "https", "mailto"}
# fmt: off
# A note must not look like a part of the page: only the classes of rendered Markdown stay.
_CLASSES = frozenset({
    "callout", "callout-title", "embed", "embed-title", "external", "footnote-backref",
    "footnote-item", "footnote-ref", "footnotes", "footnotes-list", "footnotes-sep", "internal",
    "math", "missing", "passage", "plain", "tag", "task", "done", "word",
})
# fmt: on
_CALLOUT_CLASS = re.compile(r"callout-[\w-]{1,30}")
_LANGUAGE_CLASS = re.compile(r"language-[\w+#.-]{1,30}")
_COLOURS = frozenset(STANDARD_TYPES.values())
# Browsers drop these from an address before they read it, as the URL standard says.
_AROUND_ADDRESS = "".join(map(chr, range(0x21)))
_IN_ADDRESS = str.maketrans("", "", "\t\n\r")
_HAS_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]{2}")
_ALIGNMENT = re.compile(r' style="text-align:(left|center|right)"')


def sanitised(text: str) -> str:
    """Return HTML without scripts, styles, forms, frames, event handlers and requests to other hosts."""
    # HTML in notes aligns cells with a style.
    aligned = _ALIGNMENT.sub(r' align="\1"', text)
    return nh3.clean(
        aligned,
        tags={*_TAGS},
        clean_content_tags=_CLEANED_WITH_CONTENT,
        attributes=_ATTRIBUTES,
        attribute_filter=_filter,
        set_tag_attribute_values=_SCROLLED,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )


def _filter(tag: str, attribute: str, value: str) -> str | None:
    match attribute:
        case "class":
            return " ".join(each for each in value.split() if _is_known(tag, each)) or None
        case "id":
            return f"{ANCHOR_PREFIX}{value.removeprefix(ANCHOR_PREFIX)}"
        case "href" if value.startswith("#"):
            return f"#{ANCHOR_PREFIX}{value[1:].removeprefix(ANCHOR_PREFIX)}"
        case "src" if _HAS_HOST.match(value.strip(_AROUND_ADDRESS).translate(_IN_ADDRESS)):
            return None
        case _:
            return value


def _is_known(tag: str, name: str) -> bool:
    if name in _CLASSES or _CALLOUT_CLASS.fullmatch(name):
        return True
    return (tag == "span" and name in _COLOURS) or (tag == "code" and bool(_LANGUAGE_CLASS.fullmatch(name)))
