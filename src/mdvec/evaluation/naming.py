"""Between the names that judgements use for documents and the paths these have in a workspace."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mdvec.evaluation.model import Question

# A name made of these says nothing: no letter, no digit, and nothing that a file system or an ignore
# rule gives a meaning.
_SIGNS = "-=+,"


@dataclass(frozen=True, slots=True)
class Naming:
    """Translates names; what is not listed is a path already, but for its Unicode form.

    Attributes:
        paths: Path of each document whose name is not its path.
        folders: Path of each folder whose name is not its path, without a final ``/``.
        names: The inverse of ``paths``.
    """

    paths: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def path_of(self, name: str) -> str:
        """Return the path of a document."""
        return self.paths.get(name) or unicodedata.normalize("NFC", name)

    def name_of(self, path: str) -> str:
        """Return what judgements call the document at a path."""
        return self.names.get(path, path)

    def located(self, question: Question) -> Question:
        """Return the question with paths for names."""
        scope = question.scope
        return replace(
            question,
            relevant={self.path_of(name): grade for name, grade in question.relevant.items()},
            scope=self.folders.get(scope) or unicodedata.normalize("NFC", scope),
            exclude=frozenset(map(self.path_of, question.exclude)),
            bad=frozenset(map(self.path_of, question.bad)),
        )


def naming_by_path(names: Iterable[str]) -> Naming:
    """Translate names that are paths: judgements may spell one in another Unicode form than mdvec does.

    Args:
        names: Those that judgements use.
    """
    paths = {name: unicodedata.normalize("NFC", name) for name in names if not name.isascii()}
    return naming(paths)


def naming(paths: Mapping[str, str], folders: Mapping[str, str] | None = None) -> Naming:
    """Translate by a table of paths by name, and one of folders."""
    return Naming(paths, folders or {}, {path: name for name, path in paths.items()})


def neutral_naming(ids: Iterable[str]) -> Naming:
    """Choose paths that say nothing about the documents, for ids that are no file names.

    An index takes a file's name for a part of what the file says, which is right for what people call
    their notes and wrong for ``doc123``. The folders that ids lie in are kept, under such names too,
    so that a question can be limited to one.

    Args:
        ids: Any texts, each once.

    Returns:
        A path for each id, and one for each folder; none holds a letter or a digit but in ``.md``.
    """
    paths: dict[str, str] = {}
    folders: dict[str, str] = {}
    taken: dict[str, int] = {}

    def place(folder: str) -> str:
        if not folder:
            return ""
        if folder not in folders:
            above = place(folder.rpartition("/")[0])
            folders[folder] = above + next_name(above)
        return folders[folder] + "/"

    def next_name(above: str) -> str:
        taken[above] = taken.get(above, 0) + 1
        return wordless_name(taken[above])

    for each in ids:
        above = place(each.rpartition("/")[0])
        paths[each] = f"{above}{next_name(above)}.md"
    return naming(paths, folders)


def wordless_name(number: int) -> str:
    """Write a number, from 1, in signs that are no words: each number gives another name."""
    digits = ""
    while number:
        number, digit = divmod(number, len(_SIGNS))
        digits = _SIGNS[digit] + digits
    return digits
