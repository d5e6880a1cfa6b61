"""Jupyter notebooks: the text of cells, their code, and what it printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mdvec.documents.converters import NotConvertedError, fenced, place_mark

_MAX_OUTPUT_CHARS = 2_000


def convert_notebook(raw: bytes) -> str:
    """Return the Markdown of a notebook (nbformat 4, and the worksheets of 3).

    Raises:
        NotConvertedError: If it is none.
    """
    try:
        notebook = json.loads(raw)
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        language = notebook.get("metadata", {}).get("language_info", {}).get("name", "python")
        parts = [
            f"{place_mark(f'cell {number}')}\n{text}"
            for number, cell in enumerate(cells, 1)
            if (text := "\n\n".join(_texts(cell, str(language))))
        ]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        msg = "is no Jupyter notebook"
        raise NotConvertedError(msg) from error
    return "\n\n".join(parts)


def _texts(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    source = _text(cell.get("source", cell.get("input", ""))).strip("\n")
    if cell["cell_type"] != "code":
        yield source
        return
    if source:
        yield fenced(source, language)
    for output in cell.get("outputs", ()):
        if text := _text(_printed(output)).strip("\n"):
            yield fenced(text[:_MAX_OUTPUT_CHARS], "text")


def _printed(output: Mapping[str, Any]) -> object:
    """Return the text of an output: of an error its message, of a picture nothing."""
    if "ename" in output:
        return f"{output['ename']}: {output.get('evalue', '')}"
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        return ""
    return output.get("text") or data.get("text/plain") or ""


def _text(value: object) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value)
