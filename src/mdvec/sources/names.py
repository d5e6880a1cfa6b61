"""How the names of a file system become the names in a document's path."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from mdvec.text.undecodable import spelled


def path_names(names: Sequence[str]) -> dict[str, str]:
    r"""Choose the name in the path for each name of one folder.

    A path is valid UTF-8 in NFC. A byte that is not UTF-8 is written ``\xNN``. Where that gives two
    files one name, the file that really has the name keeps it; the others keep their own spelling, or
    when that is impossible or taken, get a number.

    Args:
        names: All names of the folder, as :func:`os.fsdecode` gives them.

    Returns:
        The chosen name by real name, of those that are not ASCII (ASCII names are always kept). All
        names of the folder are different; their order does not matter.
    """
    wanted = {name: spelled(unicodedata.normalize("NFC", name)) for name in names if not name.isascii()}
    if not wanted:
        return {}
    taken = {name for name in names if wanted.get(name, name) == name}
    chosen: dict[str, str] = {}
    for name in sorted(wanted):
        if wanted[name] == name:
            chosen[name] = name
            continue
        choice = next(candidate for candidate in _candidates(name, wanted[name]) if candidate not in taken)
        taken.add(choice)
        chosen[name] = choice
    return chosen


def _candidates(name: str, wanted: str) -> Iterator[str]:
    yield wanted
    if spelled(name) == name:
        yield name
    stem, dot, extension = wanted.rpartition(".")
    number = 2
    while True:
        yield f"{stem}~{number}{dot}{extension}" if stem else f"{wanted}~{number}"
        number += 1
