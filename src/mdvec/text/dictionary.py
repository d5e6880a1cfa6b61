"""Tables of words: each line of a file has a word and its others, sorted, so that few lines are ever read."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

SPELLINGS = "spellings.txt"
"""Japanese words with their other spellings; see ``scripts/spellings.py``."""
TRANSLATIONS = "translations.txt"
"""Words with their translations, of English ones the stems; see ``scripts/translations.py``."""


def others_of(word: str, name: str) -> list[str]:
    """Return the others of a word in a table; nothing if the table does not have it.

    Args:
        word: A word as the table writes it, with hiragana in place of katakana.
        name: The file of the table.
    """
    key, table = f"{word} ".encode(), _table(name)
    start, stop = 0, len(table)  # of the lines among which it is
    while start < stop:
        line = table.rfind(b"\n", start, (start + stop) // 2) + 1 or start
        end = table.index(b"\n", line)
        if table[line:end] < key:
            start = end + 1
        else:
            stop = line
    return (
        table[start : table.index(b"\n", start)].decode().split()[1:] if table.startswith(key, start) else []
    )


@lru_cache(2)
def _table(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()
