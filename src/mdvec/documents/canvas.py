"""JSON Canvas, as Obsidian writes it: cards on a board become the paragraphs of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

CANVAS_SUFFIX = ".canvas"


def canvas_text(text: str) -> str:
    """Return the cards of a canvas as Markdown, in reading order: from the top, then from the left.

    A card with text becomes its text, a card with a file an embed of it, a web page its address, and a group
    its label.

    Args:
        text: The file, or the Markdown that this function returned for it.

    Returns:
        Cards separated by blank lines; a text that is not a canvas is returned unchanged.
    """
    try:
        canvas = msgspec.json.decode(text.encode("utf-8", "replace"))
    except msgspec.DecodeError:
        return text
    nodes = canvas.get("nodes", []) if isinstance(canvas, Mapping) else None
    if not isinstance(nodes, list):
        return text
    cards = sorted((node for node in nodes if isinstance(node, Mapping)), key=_place)
    return "\n\n".join(_texts(cards)) + "\n"


def _place(node: Mapping[str, object]) -> tuple[float, float]:
    y, x = (value if isinstance(value, (int, float)) else 0 for value in (node.get("y"), node.get("x")))
    return y, x


def _texts(cards: list[Mapping[str, object]]) -> Iterator[str]:
    for card in cards:
        match card:
            case {"type": "text", "text": str(text)} if text.strip():
                yield text.strip("\n").replace("\r\n", "\n").replace("\r", "\n")
            case {"type": "file", "file": str(file)} if file.strip():
                yield f"![[{file}]]"
            case {"type": "link", "url": str(url)} if url.strip():
                yield f"<{url}>"
            case {"type": "group", "label": str(label)} if label.strip():
                yield label.strip()
