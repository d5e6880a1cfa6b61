"""Translates between the names of documents in judgements and their paths in a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from mdvec.evaluation.judgements import Question
from mdvec.text.folding import nfc

# A name of these holds no word: no letter, no digit, and nothing with a meaning for file systems or ignore
# rules.
_SIGNS = "-=+,"


class Naming(Struct, frozen=True):
    """A translation of names; one that is not listed is a path, perhaps in another Unicode form.

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
        return self.paths.get(name) or nfc(name)

    def name_of(self, path: str) -> str:
        """Return the name of the document at a path."""
        return self.names.get(path, path)

    def located(self, question: Question) -> Question:
        """Return the question with paths for names."""
        scope = question.scope
        return replace(
            question,
            relevant={self.path_of(name): grade for name, grade in question.relevant.items()},
            scope=self.folders.get(scope) or nfc(scope),
            exclude=frozenset(map(self.path_of, question.exclude)),
            bad=frozenset(map(self.path_of, question.bad)),
        )


def naming_by_path(names: Iterable[str]) -> Naming:
    """Return the naming for names that are paths, perhaps in another Unicode form than mdvec's."""
    return naming({name: nfc(name) for name in names if not name.isascii()})


def naming(paths: Mapping[str, str], folders: Mapping[str, str] | None = None) -> Naming:
    """Return the naming with these paths by name, and folders by name."""
    return Naming(paths, folders or {}, {path: name for name, path in paths.items()})


def neutral_naming(ids: Iterable[str]) -> Naming:
    """Return paths without words for ids that are no file names.

    An index searches file names too, which is right for people's notes and wrong for ``doc123``. The folders
    of ids become folders, also without words, so that a question can be limited to one.

    Args:
        ids: Any texts, each once.

    Returns:
        A path for each id and each folder; without letters and digits but for ``.md``.
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
    """Return a number from 1 on, written in signs that are no words."""
    digits = ""
    while number:
        number, digit = divmod(number, len(_SIGNS))
        digits = _SIGNS[digit] + digits
    return digits
