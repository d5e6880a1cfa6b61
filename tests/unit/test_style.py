"""Rules of this code base that no tool knows."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 500


def test_modules_stay_short() -> None:
    """A module holds one idea: none has more than 500 lines."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "src").rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


def test_every_test_says_what_it_proves() -> None:
    """The docstring of a test is the fact."""
    silent = [
        f"{path.relative_to(ROOT)}::{node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def test_no_name_of_a_module_occurs_twice_in_a_layer() -> None:
    """A reader who is told a module's name and its layer finds one file; stores have the same modules."""
    layers = [path for path in (ROOT / "src" / "mdvec").iterdir() if (path / "__init__.py").exists()]
    names = Counter(
        f"{layer.name}/{path.name}"
        for layer in layers
        for path in layer.rglob("*.py")
        if path.stem != "__init__" and path.parent != ROOT / "src" / "mdvec" / "stores" / "postgres"
    )
    assert [name for name, count in names.items() if count > 1] == []
