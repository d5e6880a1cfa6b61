"""A newcomer can follow a search and an import: how many modules and functions they enter, and how deep."""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from msgspec import Struct

import mdvec
from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config.schema import Config, SearchSettings
from mdvec.testing.embedder import HashingEmbedder

_ROOT = str(Path(mdvec.__file__).parent) + os.sep


class Way(Struct):
    """The size of what a call enters of mdvec.

    Attributes:
        modules: Different modules.
        functions: Different functions with a name; Python 3.12 calls no comprehension.
        depth: Most frames of mdvec on a stack.
    """

    modules: int
    functions: int
    depth: int


# Today's numbers. What raises one, and the goals, are in docs/decisions/size.md.
SEARCH = Way(modules=57, functions=306, depth=14)
IMPORT = Way(modules=70, functions=360, depth=17)


def followed(call: Callable[[], object]) -> Way:
    """Return what a call enters, in all of its threads."""
    entered: set[tuple[str, str, int]] = set()
    deepest = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal deepest
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(_ROOT) or code.co_name[0] == "<":
            return
        entered.add((code.co_filename, code.co_qualname, code.co_firstlineno))
        depth = 0
        above: FrameType | None = frame
        while above is not None:
            depth += above.f_code.co_filename.startswith(_ROOT)
            above = above.f_back
        deepest = max(deepest, depth)

    gc.collect()  # what other tests left behind must not be closed in the middle of it, nor listen to logs
    gc.disable()
    logging.disable()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        logging.disable(logging.NOTSET)
        gc.enable()
        sys.setprofile(None)
        threading.setprofile(None)
    return Way(len({name for name, _, _ in entered}), len(entered), deepest)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An index of some notes that was searched before."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(20):
        text = (
            f"# Harbour {number}\n\nThe old harbour [[{number + 1}]] is quiet.\n\n## 港\n\n古い港は静かだ。\n"
        )
        (docs / f"{number}.md").write_text(text, encoding="utf-8")
    # A look for changed files depends on the time since the last one.
    config = Config(search=SearchSettings(sync_budget_ms=0))
    made = open_workspace(config, database=tmp_path / "i.sqlite", embedder=HashingEmbedder())
    made.add_collection("docs", "", str(docs))
    made.import_collection("docs")
    made.search(SearchQuery("an old harbour"))
    return made


def within(way: Way, budget: Way) -> bool:
    """Return True if no number of a way is above its budget."""
    return way.modules <= budget.modules and way.functions <= budget.functions and way.depth <= budget.depth


def test_a_search_can_be_followed(workspace: Workspace) -> None:
    """A warm search stays within its budget of modules, functions and depth."""
    with workspace:
        way = followed(lambda: workspace.search(SearchQuery("the quiet harbour")))
    assert within(way, SEARCH), way


def test_the_import_of_a_changed_file_can_be_followed(workspace: Workspace, tmp_path: Path) -> None:
    """So does the way of one changed file, from the source to its vectors."""
    (tmp_path / "docs" / "3.md").write_text("# Lighthouse\n\nIt is dark.\n", encoding="utf-8")
    with workspace:
        way = followed(lambda: workspace.import_collection("docs"))
        assert workspace.status().collections[0].counts.pending_chunks == 0
    assert within(way, IMPORT), way
