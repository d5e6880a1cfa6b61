"""Rules of this code base that no tool knows."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 500
# Of all modules; what the source is worth is in docs/decisions/size.md.
MAX_CODE_LINES = 41_545
MIN_MEDIAN_LINES = 130
MAX_MODULES = 25
# All doors call it, so its modules are listed in its docstring; in folders below it they would be hidden.
MAX_MODULES_OF = {"workspace": 12}
MIN_LINES_FOR_ONE_USER = 50
# Methods of the port of the stores, in all and in one of its parts.
MAX_PORT = 63
MAX_PART = 12
STORES = ROOT / "src" / "mdvec" / "stores"
MODULES = [path for path in (ROOT / "src").rglob("*.py") if path.name not in ("__init__.py", "__main__.py")]


@cache
def parsed(module: Path) -> ast.Module:
    """Return the tree of a module."""
    return ast.parse(module.read_text(encoding="utf-8"))


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
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def test_no_name_of_a_class_occurs_twice() -> None:
    """A reader who meets a name finds one class."""
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_a_part_of_the_port_is_learned_at_a_time() -> None:
    """None of the parts of a snapshot has more methods than a reader takes in; see decisions/stores.md."""
    sizes = {
        node.name: sum(isinstance(each, ast.FunctionDef) for each in node.body)
        for name in ("view", "interface")
        for node in ast.parse((STORES / f"{name}.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    assert len(sizes) == 14
    assert sum(sizes.values()) <= MAX_PORT
    assert max(sizes.values()) <= MAX_PART


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


def code_lines(module: Path) -> int:
    """Count the lines that are neither blank, nor a comment, nor a docstring."""
    text = module.read_text(encoding="utf-8")
    lines = {number for number, line in enumerate(text.splitlines(), 1) if line.split("#")[0].strip()}
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return len(lines)


def test_the_source_stays_as_small_as_its_abilities_allow() -> None:
    """A change that needs more code than the bar changes the bar, and says in its decision what it buys."""
    assert sum(map(code_lines, MODULES)) <= MAX_CODE_LINES


def test_modules_are_no_fragments() -> None:
    """Half of the modules have 130 lines or more: an answer is followed through few of them."""
    assert median(len(each.read_text(encoding="utf-8").splitlines()) for each in MODULES) >= MIN_MEDIAN_LINES


def test_a_folder_can_be_surveyed() -> None:
    """No folder has more modules than a reader takes in; the one that all doors call has fewer."""
    counts = Counter(each.parent for each in MODULES)
    many = {
        folder.name: count
        for folder, count in counts.items()
        if count > MAX_MODULES_OF.get(folder.name, MAX_MODULES)
    }
    assert many == {}


def test_a_folder_says_where_to_begin() -> None:
    """Its docstring names the module to read first, and every module that it names is there."""
    for folder in {each.parent for each in MODULES}:
        modules = {path.name for path in folder.glob("*.py")} - {"__init__.py", "__main__.py"}
        text = ast.get_docstring(parsed(folder / "__init__.py")) or ""
        named = re.findall(r"``(\w+\.py)``", text)
        assert modules.issuperset(named), folder
        if len(modules) > 1 and folder.name != "mdvec":
            assert re.search(r"\bRead ``\w+\.py``.{,30}\bfirst\b", text), folder


def imported(module: Path) -> set[str]:
    """Return the names that a module imports, each with and without what it takes from there."""
    names: set[str] = set()
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return names


def test_a_small_module_has_several_users() -> None:
    """A few lines that one other module uses stand in that module; adapters are found by their names."""
    users = Counter(name for module in MODULES for name in imported(module))
    by_name = (ROOT / "src" / "mdvec" / "registry.py").read_text(encoding="utf-8")
    names = {
        ".".join(module.relative_to(ROOT / "src").with_suffix("").parts): module
        for module in MODULES
        if len(module.read_text(encoding="utf-8").splitlines()) < MIN_LINES_FOR_ONE_USER
    }
    assert [name for name in names if users[name] < 2 and f"{name}:" not in by_name] == []


def test_text_of_programs_has_an_encoding() -> None:
    """The system's own would be cp932 or cp1252 on Windows; ruff knows no rule for it outside its preview."""
    modules = [*MODULES, *(ROOT / "scripts").glob("*.py"), *(ROOT / "packages").rglob("*.py")]
    without = [
        f"{module.name}:{node.lineno}"
        for module in modules
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.Call)
        and (given := {each.arg for each in node.keywords}) & {"text", "universal_newlines"}
        and "encoding" not in given
        and ast.unparse(node.func).startswith("subprocess.")
    ]
    assert without == []
