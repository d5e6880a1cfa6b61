"""Small folders, and questions with the answers that a person would give, written before any search."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml
from tests.workspaces import written

from mdvec import SearchQuery, open_workspace
from mdvec.embedding.builtin.embedder import BuiltinEmbedder, available
from mdvec.embedding.interface import Role, Runtime
from mdvec.types.hit import SearchResult

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts, Vector

pytestmark = [
    pytest.mark.harness,
    pytest.mark.skipif(not available(), reason="the builtin model is not installed here"),
]

FOLDERS = sorted((Path(__file__).parent / "folders").glob("*.yaml"))

LEAST = 0.94
"""The share of the questions for which everything holds. A person may disagree with some expectations."""

_MARKS = re.compile(r"[\s*_`#>|]+")


class RememberingEmbedder(BuiltinEmbedder):
    """The builtin model, which embeds a text once: every new database measures it with the same texts."""

    def __init__(self, cache_dir: Path) -> None:
        super().__init__(Runtime(cache_dir))
        self._known: dict[tuple[Role, str], Vector] = {}

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Embed the texts that are new."""
        new = [text for text in dict.fromkeys(texts) if (role, text) not in self._known]
        for positions, vectors in super().embed(new, role, titles) if new else ():
            self._known |= {(role, new[at]): vector for at, vector in zip(positions, vectors, strict=True)}
        yield range(len(texts)), np.stack([self._known[role, text] for text in texts])


def notes_of(folder: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of each file of a folder by its path, templates filled in."""
    notes = {path: text or "" for path, text in (folder.get("notes") or {}).items()}
    for template in folder.get("templates") or ():
        for row in template["rows"]:
            path, text = template["path"], template["text"]
            for field, value in row.items():
                path, text = (each.replace(f"{{{field}}}", str(value)) for each in (path, text))
            notes[path] = text
    return notes


def failures(question: Mapping[str, Any], result: SearchResult) -> Iterator[str]:
    """Yield what a person would miss in an answer."""
    paths = [hit.path for hit in result.hits]
    first = result.hits[0] if result.hits else None
    if wanted := question.get("first"):
        if first is None or not is_one_of(first.path, wanted):
            yield f"first is {paths[:1]}, not {wanted}"
            return
        if question.get("shows") and _plain(question["shows"]) not in _plain(first.text):
            yield f"does not show {question['shows']!r}"
        if question.get("heading") and _plain(question["heading"]) not in _plain(first.heading):
            yield f"under {first.heading!r}, not {question['heading']!r}"
    for path in question.get("among") or ():
        if not any(is_one_of(each, [path]) for each in paths):
            yield f"{path} is missing"
    if wrong := [path for path in paths if is_one_of(path, question.get("not") or ())]:
        yield f"shows {wrong}"
    levels = question.get("confidence")
    if levels and result.confidence.value not in levels:
        yield f"confidence {result.confidence.value}, not one of {levels}"


def is_one_of(path: str, patterns: Any) -> bool:
    """Return True if a path is one of some paths or matches one of some globs."""
    return any(path == pattern or fnmatchcase(path, pattern) for pattern in patterns)


def _plain(text: object) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFKC", str(text))).casefold()


def test_answers_are_what_a_person_would_say(tmp_path: Path, model_cache: Path) -> None:
    """Nearly all questions to a hundred and fifty small folders are answered as a person expects."""
    embedder = RememberingEmbedder(model_cache)
    wrong: list[str] = []
    asked = 0
    for file in FOLDERS:
        folder = yaml.safe_load(file.read_text(encoding="utf-8"))
        home = tmp_path / file.stem
        written(home, notes_of(folder))
        with open_workspace(database=tmp_path / f"{file.stem}.sqlite", embedder=embedder) as workspace:
            workspace.add_collection("notes", "Notes", str(home))
            workspace.import_collection("notes")
            for question in folder["questions"]:
                asked += 1
                result = workspace.search(SearchQuery(str(question["ask"])), wait_for_vectors=True)
                if found := list(failures(question, result)):
                    wrong.append(f"{file.stem}: {question['ask']}: {'; '.join(found)}")
    assert len(wrong) <= (1 - LEAST) * asked, "\n".join((f"{len(wrong)} of {asked}", *wrong))
