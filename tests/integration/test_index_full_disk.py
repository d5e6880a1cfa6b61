"""A disk that takes no more bytes while an index is filled: answers stay, and the next run completes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.workspaces import workspace_of

NAMES = [
    "sqlite-vec",
    pytest.param("lancedb", marks=pytest.mark.lancedb),
    pytest.param("chroma", marks=pytest.mark.chroma),
]

# In a process of its own: a limit that was lowered cannot be raised again.
CODE = """
import resource, sys
from pathlib import Path
from mdvec.config.schema import Config, StoreSettings
from mdvec.indexing.embed import update_vector_index
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import open_workspace
from mdvec.workspace.database import open_store

folder, name, limit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
database, config = folder / "index.sqlite", Config(store=StoreSettings(vectors=name))
store = open_store(database, config)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
print("warned" if update_vector_index(store) else "filled")
store.close()
with open_workspace(config, database=database, embedder=HashingEmbedder()) as workspace:
    print(",".join(each.path for each in workspace.search(SearchQuery("old harbour", SearchMode.DENSE)).hits))
"""


def run(folder: Path, name: str, limit: int) -> list[str]:
    """Fill the index and search, with files of at most ``limit`` bytes; 0 for no limit."""
    command = [sys.executable, "-P", "-c", CODE, str(folder), name, str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk(tmp_path: Path, name: str) -> None:
    """Filling warns, searches answer from the store, and without the limit the index is filled."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(150):
        (docs / f"{number}.md").write_text(f"# Note {number}\n\nThe old harbour {number} is quiet.\n")
    with workspace_of(tmp_path / "index.sqlite", {"docs": docs}, description="Docs"):
        pass
    outcome, hits = run(tmp_path, name, 60_000)
    assert outcome == "warned"
    assert hits
    assert run(tmp_path, name, 0) == ["filled", hits]


# The disk is full from the first text that is embedded on.
FIRST_CODE = """
import resource, sys
from pathlib import Path
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchQuery
from mdvec.workspace import open_workspace

class Filling(HashingEmbedder):
    def embed(self, *arguments, **options):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
        return super().embed(*arguments, **options)

with open_workspace(docs_dir=Path(sys.argv[1]), embedder=Filling()) as workspace:
    for _ in range(2):
        result = workspace.search(SearchQuery("old harbour"))
        print([each.path for each in result.hits], *result.warnings)
"""


def test_a_disk_that_is_full_before_vectors_are_stored(tmp_path: Path) -> None:
    """The first search of a folder, and the next ones, answer by words and say why."""
    (tmp_path / "a.md").write_text("# Note\n\nThe old harbour is quiet.\n")
    command = [sys.executable, "-P", "-c", FIRST_CODE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert line.startswith("['a.md'] vectors cannot be stored: the disk is full")
