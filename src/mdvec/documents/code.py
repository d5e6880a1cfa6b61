"""Highlights code, in time that is bounded whatever the code is."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAX_HIGHLIGHTED_CHARS = 20_000
"""Longer code is plain text."""

MAX_LINE_CHARS = 500
"""Code with a longer line is plain text: many lexers take quadratic time in the length of a line."""

MAX_SECONDS = 0.5
"""Processor time for the code of one document; what is left then is plain text."""

# A lexer can be stopped between two parts of the code, but not while it looks for the next one. Of those of
# Pygments, some then take minutes or for ever: these do not, in what tests/unit/documents/test_code.py tries.
# fmt: off
LEXERS = (
    "bash", "c", "console", "cpp", "csharp", "css", "dart", "diff", "docker", "elixir", "go", "graphql",
    "groovy", "haskell", "html", "ini", "java", "javascript", "json", "julia", "kotlin", "lua", "make",
    "nginx", "objective-c", "ocaml", "perl", "php", "powershell", "protobuf", "python", "r", "ruby", "rust",
    "scala", "scss", "sql", "swift", "terraform", "tex", "toml", "typescript", "xml", "yaml",
)
# fmt: on


class Highlighter:
    """The colours of the code of one document.

    Args:
        clock: Returns the processor time of this thread, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._left_s = MAX_SECONDS

    def __call__(self, code: str, language: str) -> str:
        """Return the HTML of code, its parts in spans with the classes of Pygments; empty if it has none."""
        lexer = _known_languages().get(language.lower())
        if lexer is None or self._left_s <= 0 or not _is_short(code):
            return ""
        from pygments import format as formatted
        from pygments.formatters import HtmlFormatter

        parts = [*self._tokens(code, lexer)]
        if "".join(part for _, part in parts) != code:  # some lexers lose text, or repeat it
            return ""
        return str(formatted(parts, HtmlFormatter(nowrap=True)))

    def _tokens(self, code: str, lexer: str) -> Iterator[tuple[Any, str]]:
        """Yield the parts of code with their types; what is left at the deadline is one part."""
        from pygments.lexers import get_lexer_by_name
        from pygments.token import Text

        found = get_lexer_by_name(lexer)
        begun_s, end = self._clock(), 0
        for start, kind, part in found.get_tokens_unprocessed(code):
            yield kind, part
            end = start + len(part)
            if self._clock() - begun_s > self._left_s:
                break
        yield Text, code[end:]
        self._left_s -= self._clock() - begun_s


def _is_short(code: str) -> bool:
    return len(code) <= MAX_HIGHLIGHTED_CHARS and max(map(len, code.split("\n"))) <= MAX_LINE_CHARS


@functools.cache
def _known_languages() -> Mapping[str, str]:
    """Return the lexers by all names of their languages, without those that a plug-in of Pygments brings."""
    from pygments.lexers import get_all_lexers

    known = [
        aliases for _, aliases, _, _ in get_all_lexers(plugins=False) if not set(LEXERS).isdisjoint(aliases)
    ]
    return {alias: aliases[0] for aliases in known for alias in aliases}
