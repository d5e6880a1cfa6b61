"""What starting the command line costs, in modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ENGINE = [
    "mcp",
    "starlette",
    "onnxruntime",
    "onnx",
    "numpy",
    "numkong",
    "tokenizers",
    "torch",
    "transformers",
    "sentence_transformers",
    "huggingface_hub",
    "httpx2",
    "chromadb",
    "lancedb",
    "ray",
    "obstore",
    "apsw",
]
TEXT_AND_SCREEN = ["markdown_it", "pyromark", "rich", "yaml", "platformdirs"]


def loaded(statement: str) -> set[str]:
    """Run a statement in a fresh interpreter and return the top-level modules it loaded."""
    code = f"import sys\n{statement}\nprint('\\n', *{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_command_line_loads_no_engine() -> None:
    """``import mdvec.interfaces.cli`` loads nothing heavy."""
    statement = "import mdvec.interfaces.cli.commands, mdvec.interfaces.cli.main"
    assert loaded(statement).isdisjoint([*ENGINE, *TEXT_AND_SCREEN, "msgspec"])


@pytest.mark.parametrize(
    "args", [["--version"], ["--help"], ["search", "--help"], ["tool", "add", "--help"], ["serve", "--help"]]
)
def test_version_and_help_load_no_engine(args: list[str]) -> None:
    """``--version`` and ``--help`` load neither the engine nor what reads and shows text."""
    statement = f"from mdvec.interfaces.cli.main import run; run({args!r}, env={{}})"
    assert loaded(statement).isdisjoint([*ENGINE, *TEXT_AND_SCREEN])


def test_version_loads_no_command() -> None:
    """``--version`` does not even import the commands, nor msgspec."""
    statement = "import sys; from mdvec.interfaces.cli.main import run; run(['--version'], env={})"
    code = f"{statement}\nassert {{'mdvec.interfaces.cli.search', 'msgspec'}}.isdisjoint(sys.modules)"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_the_package_itself_loads_nothing() -> None:
    """``import mdvec`` loads the engine only when a name of it is used."""
    assert loaded("import mdvec").isdisjoint([*ENGINE, *TEXT_AND_SCREEN, "msgspec", "click"])


def test_a_server_starts_without_the_engine() -> None:
    """The model, its arrays and the Markdown reader are loaded when a question needs them."""
    engine = {
        "onnxruntime",
        "onnx",
        "numpy",
        "numkong",
        "tokenizers",
        "markdown_it",
        "pyromark",
        "jsonschema",
    }
    assert loaded("import mdvec.interfaces.mcp.stdio, mdvec.workspace").isdisjoint(engine)


@pytest.mark.parametrize("provider", ["sentence-transformers", "plamo"])
def test_naming_a_local_model_loads_none_of_its_libraries(provider: str) -> None:
    """Only what embeds is imported, when it embeds."""
    statement = f"""from pathlib import Path
from mdvec import registry
from mdvec.embedding.interface import Runtime
make = registry.load('embedding', {provider!r})
make(model='', dimension=None, runtime=Runtime(Path('unused'))).unload(idle_s=0)"""
    assert loaded(statement).isdisjoint([*ENGINE, "safetensors"])


def test_a_look_before_a_search_loads_nothing_that_reads_documents(tmp_path: Path) -> None:
    """Whether a folder changed shows in its listing; Markdown is read for what did."""
    tmp_path.joinpath("notes").mkdir()
    tmp_path.joinpath("notes", "a.md").write_text("# A\n\ngarden\n")
    database = ["--database", str(tmp_path / "i.sqlite")]
    add = ["tool", "add", "-n", "notes", "-d", "", "-s", str(tmp_path / "notes"), *database]
    for args in (add, ["import", "--no-embed", *database]):
        subprocess.run([sys.executable, "-m", "mdvec", *args], capture_output=True, check=True)
    search = ["search", "garden", "--mode", "lexical", *database]
    statement = f"from mdvec.interfaces.cli.main import run; assert run({search!r}, env={{}}) == 0"
    assert loaded(statement).isdisjoint(["pyromark", "yaml", "onnxruntime", "email", "difflib"])


def test_a_search_creates_no_dataclass() -> None:
    """Each takes longer to create than a dozen structs; the doors have some, for ``--version``."""
    code = """import sys, mdvec.workspace, mdvec.stores.sqlite.store, mdvec.stores.matrix_file
modules = [module for name, module in sys.modules.items() if name.startswith("mdvec.")]
values = [each for module in modules for each in vars(module).values()]
names = {each.__module__ for each in values if hasattr(each, "__dataclass_fields__")}
print(*(name for name in names if not name.startswith("mdvec.interfaces.")))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
