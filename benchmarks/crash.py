"""Kills an import again and again, and looks whether the next one puts everything right.

Each round changes a folder (new, changed, renamed and removed documents), starts an import, kills it
with SIGKILL at a random instant, runs the import again and examines the database.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import write_result
from benchmarks.stores import start_postgres
from mdvec.config.schema import Config, StoreSettings
from mdvec.run import Run, bound
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import open_workspace

NAME = "notes"
NAMES = ("sqlite", "sqlite-vec", "lancedb", "chroma", "postgres")
FAILED = 70


def run(
    rounds: int, *, seed: int, folder: Path, vectors: str | None = None, address: str | None = None
) -> dict[str, int]:
    """Run the rounds.

    Args:
        rounds: How many.
        seed: Makes the changes and the instants repeatable, as far as the machine allows.
        folder: An empty directory to work in.
        vectors: A vector index to fill and to search, as in ``[store] vectors``.
        address: Of an empty database to write instead of a file.

    Returns:
        How many rounds ran, and in how many the import was really killed.

    Raises:
        AssertionError: If anything was lost, doubled or damaged; the message names the round.
    """
    chance = random.Random(seed)
    docs, database = folder / "docs", address or folder / "index.sqlite"
    docs.mkdir()
    number = change(docs, chance, 0, files=12)
    _in_child(lambda: _register(database, docs))
    config = Config(store=StoreSettings(vectors=vectors))
    duration = _timed(lambda: _in_child(lambda: _import(database, config)))
    killed = 0
    for round_number in range(rounds):
        number = change(docs, chance, number, files=6)
        child = _fork(lambda: _import(database, config))
        time.sleep(chance.uniform(0, duration))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        duration = 0.7 * duration + 0.3 * _timed(lambda: _in_child(lambda: _import(database, config)))
        try:
            _in_child(lambda: _examine(database, docs, config))
        except RuntimeError as error:
            msg = f"round {round_number} (seed {seed}): {error}"
            raise AssertionError(msg) from error
    return {"rounds": rounds, "killed": killed}


def change(docs: Path, chance: random.Random, number: int, *, files: int) -> int:
    """Change a folder: some new documents, some changed, two moved, and more than twenty removed.

    Args:
        docs: The folder.
        chance: Decides.
        number: How many documents were ever written.
        files: How many to write now.

    Returns:
        The new ``number``.
    """
    known = sorted(docs.rglob("*.md"))
    for _ in range(files):
        number += 1
        path = chance.choice(known) if known and chance.random() < 0.4 else docs / f"note{number}.md"
        sections = "\n\n".join(
            f"## 節 {part}\n\n"
            + " ".join(f"語{chance.randrange(500)} word{chance.randrange(500)}" for _ in range(30))
            for part in range(chance.randrange(1, 5))
        )
        path.write_text(f"# Note marker{number}\n\n{sections}\n", encoding="utf-8")
    known = sorted(docs.rglob("*.md"))
    if len(known) > 20:
        for path in chance.sample(known, len(known) - 20):
            path.unlink()
    renamed, moved = chance.sample(sorted(docs.rglob("*.md")), 2)
    number += 1
    renamed.rename(docs / f"renamed{number}.md")
    folder = docs / f"folder{number}"
    folder.mkdir()
    moved.rename(folder / moved.name)
    return number


def _register(database: Path | str, docs: Path) -> None:
    with open_workspace(database=database, embedder=HashingEmbedder()) as workspace:
        workspace.add_collection(NAME, "crash test", str(docs))


def _import(database: Path | str, config: Config) -> None:
    with open_workspace(config, database=database, embedder=HashingEmbedder()) as workspace:
        workspace.import_collection(NAME)


def _examine(database: Path | str, docs: Path, config: Config) -> None:
    """Compare the database with the folder, document by document; a vector index has to be in use."""
    used: list[object] = []

    def note(name: str, elapsed_ms: float, **details: object) -> None:  # noqa: ARG001 - a listener's names
        if name == "vector index":
            used.append(details["used"])

    with (
        open_workspace(config, database=database, embedder=HashingEmbedder()) as workspace,
        bound(Run(on_step=note)),
    ):
        problems = [finding.message for finding in workspace.doctor() if finding.severity == "problem"]
        status = workspace.status(NAME, files=True, check=True).collections[0]
        on_disk = {
            path.relative_to(docs).as_posix(): path.read_text(encoding="utf-8") for path in docs.rglob("*.md")
        }
        ready = sorted(file.path for file in status.files if file.state == "ready")
        if ready != sorted(on_disk):
            problems.append(f"on disk {sorted(on_disk)}, ready {ready}")
        if status.counts.pending_chunks:
            problems.append(f"{status.counts.pending_chunks} chunks pending")
        for name, text in on_disk.items():
            marker = text.split()[2]
            found = [hit.path for hit in workspace.search(_exactly(marker)).hits]
            if found != [name]:
                problems.append(f"the words of {name} are found in {found}")
        everything = SearchQuery(
            "note", mode=SearchMode.DENSE, limit=1000, per_document=1000, min_score=0.0, all_similar=True
        )
        spans = [(hit.path, hit.start) for hit in workspace.search(everything).hits]
        if len(spans) != len({*spans}) or {path for path, _ in spans} != {*on_disk}:
            problems.append(
                f"by vectors {len(spans)} chunks of {sorted({path for path, _ in spans})} are found"
            )
        # As many as an index proposes.
        workspace.search(SearchQuery("note", mode=SearchMode.DENSE, min_score=0.0, all_similar=True))
        if config.store.vectors is not None and not used[-1]:
            problems.append("the vector index was not used")
        problems += workspace.stores.describe().problems
    if problems:
        raise RuntimeError("; ".join(problems))


def _exactly(marker: str) -> SearchQuery:
    """Search for a word that one document holds, in its title and its first chunk."""
    return SearchQuery(
        marker, mode=SearchMode.LEXICAL, limit=100, per_document=1, min_score=0.0, all_similar=True
    )


def _fork(task: Callable[[], None]) -> int:
    """Run a task in a child of this warm process: a new interpreter would cost more than the import."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = FAILED
    try:
        task()
        code = 0
    except BaseException as error:  # noqa: BLE001 - a child must not fall through into the parent's code
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def _in_child(task: Callable[[], None]) -> None:
    _, status = os.waitpid(_fork(task), 0)
    if status:
        msg = f"a child ended with status {status}"
        raise RuntimeError(msg)


def _timed(task: Callable[[], None]) -> float:
    started = time.monotonic()
    task()
    return time.monotonic() - started


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--stores", nargs="+", choices=NAMES, default=["sqlite"])
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures = {}
    for name in arguments.stores:
        with tempfile.TemporaryDirectory() as scratch:
            folder, started = Path(scratch), time.monotonic()
            result = run(
                arguments.rounds,
                seed=arguments.seed,
                folder=folder,
                vectors=None if name in ("sqlite", "postgres") else name,
                address=start_postgres(folder / "server") if name == "postgres" else None,
            )
        figures[name] = {**result, "seed": arguments.seed, "seconds": round(time.monotonic() - started, 1)}
        print(name, figures[name], flush=True)
    write_result("crash", figures, arguments.output)


if __name__ == "__main__":
    main()
