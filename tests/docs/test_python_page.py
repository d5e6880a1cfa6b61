"""The page about Python: each example runs, in order, and is typed."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mdvec.workspace
from mdvec import open_workspace

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "use-from-python.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
TOMATOES = """---
tags: [vegetables]
rating: 5
---
# Tomatoes

How to water tomatoes: in the morning, at the root.
"""


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_cache: Path) -> None:
    """Each builds on those before it, as a reader types them; what they print is what is there."""
    model_cache.mkdir(exist_ok=True)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "mdvec").symlink_to(model_cache)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tomatoes.md").write_text(TOMATOES, encoding="utf-8")
    (notes / "beans.md").write_text("# Beans\n\nAfter the [[tomatoes]].\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    printed: list[str] = []
    names: dict[str, object] = {"print": lambda *values: printed.append(" ".join(map(str, values)))}
    for example in EXAMPLES:
        exec(compile(example, str(PAGE), "exec"), names)
    text = "\n".join(printed)
    assert "tomatoes.md:" in printed[0]
    assert "2 documents, 2 chunks" in text
    assert "2 unchanged" in text
    assert str(notes / "tomatoes.md") in text
    assert "1 Tomatoes" in text
    assert "beans.md 3" in text
    assert "document_not_found no document 'no such note'" in text
    assert printed[-3:] == ["5", "lexical", "['tomatoes.md'] False"]


def test_every_public_name_is_there(tmp_path: Path) -> None:
    """Of a workspace, of its parts, and of the modules that it comes from."""
    text = PAGE.read_text(encoding="utf-8")
    names = [*mdvec.__all__, *mdvec.workspace.__all__]
    with open_workspace(database=tmp_path / "index.sqlite") as workspace:
        for name, value in inspect.getmembers(workspace):
            if not name.startswith("_"):
                is_part = type(value).__module__.startswith("mdvec.workspace")
                names += [f"{name}.{each}" for each in dir(value) if each[0] != "_"] if is_part else [name]
    assert [name for name in names if f"`{name}" not in text and f"import {name}" not in text] == []


def test_every_example_is_typed(tmp_path: Path) -> None:
    """The strictest checker finds nothing to say."""
    file = tmp_path / "examples.py"
    file.write_text("\n".join(EXAMPLES), encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-P", "-m", "mypy", "--strict", "--no-error-summary", str(file)],
        capture_output=True,
        encoding="utf-8",
        cwd=PAGE.parents[2],
        check=False,
    )
    assert checked.stdout == ""
