"""Damages databases and what lies next to them, and looks whether answers change without a word.

Each variant alters a copy: bits, pages, cut, longer, files swapped or gone. A process of its own then asks
some questions, examines the copy with ``doctor`` and imports again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.crash import NAME, change
from benchmarks.harness import Patch, applied, write_result
from mdvec.config.schema import Config, StoreSettings
from mdvec.errors import MdvecError
from mdvec.stores import vector_tables
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.types.report import Severity
from mdvec.workspace import open_workspace

SUBJECTS = ("database", "matrix", "published", "sqlite-vec", "lancedb", "chroma")
_INDEXES = ("sqlite-vec", "lancedb", "chroma")
_PAGE_BYTES = 4096
_TIMEOUT_S = 120
_DATABASE, _PUBLISHED, _OUTCOME = "index.sqlite", "published", "outcome.json"

# A matrix is otherwise written to a file only in a large database.
_SMALL = [Patch(vector_tables, "_FEW_ADDED", 0), Patch(vector_tables, "_FEW_CHUNKS", 0)]

EXPECTED = ("same answers", "clear error")
"""What damage should come to."""

OTHER = ("other answers, named by doctor", "other answers, silent")
"""What it comes to where something is not covered by a checksum."""

Answers = list[list[list[object]]]


class Outcome(Struct):
    """What a process saw of a copy.

    Attributes:
        answers: Places and scores, by question; empty after an error.
        findings: What ``doctor`` says of the database and its index, if that is not in order.
        errors: The errors that say what is wrong.
        bugs: All other exceptions.
    """

    answers: Answers
    findings: list[str]
    errors: list[str]
    bugs: list[str]


def run(subject: str, variants: int, *, seed: int, folder: Path) -> dict[str, int]:
    """Damage one kind of thing.

    Args:
        subject: One of :data:`SUBJECTS`.
        variants: How many copies are damaged.
        seed: Makes the damage repeatable.
        folder: An empty directory to work in.

    Returns:
        How many variants came to each outcome.
    """
    chance = random.Random(seed)
    good, docs = folder / "good", folder / "docs"
    docs.mkdir()
    change(docs, chance, 0, files=20)
    good.mkdir()
    with applied(_SMALL):
        _ask(subject, good, docs)  # makes it
        before = _ask(subject, good, docs)
        if before is None or before.findings or before.errors or before.bugs:
            msg = f"{subject} cannot be used undamaged: {before}"
            raise RuntimeError(msg)
        counts: Counter[str] = Counter()
        for number in range(variants):
            copy = folder / "copy"
            shutil.copytree(good, copy)
            damage = _damage(subject, copy, chance)
            after = _ask(subject, copy, docs)
            outcome = _judged(before, after)
            counts[outcome] += 1
            if outcome not in EXPECTED:
                said = "" if after is None else (after.findings, after.errors, after.bugs)
                print(f"{subject} {number} (seed {seed}), {damage}: {outcome} {said}", flush=True)
            shutil.rmtree(copy)
    return dict(counts)


def _judged(before: Outcome, after: Outcome | None) -> str:
    if after is None:
        return "crash or hang"
    if after.bugs:
        return "internal error"
    if after.errors:
        return "clear error"
    if after.answers == before.answers:
        return "same answers"
    return OTHER[0] if after.findings else OTHER[1]


def _damage(subject: str, copy: Path, chance: random.Random) -> str:
    """Damage one file of a copy; return what was done."""
    files = sorted(each for each in _files(subject, copy) if each.stat().st_size)
    file = chance.choice(files)
    raw = file.read_bytes()
    altered = bytearray(raw)
    start = chance.randrange(max(len(raw) // _PAGE_BYTES, 1)) * _PAGE_BYTES
    page = slice(start, min(start + _PAGE_BYTES, len(raw)))
    kind = chance.choice(["bit", "bits", "zeros", "noise", "cut", "longer", "swapped", "gone"])
    match kind:
        case "bit" | "bits":
            for _ in range(1 if kind == "bit" else 20):
                altered[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        case "zeros":
            altered[page] = bytes(page.stop - page.start)
        case "noise":
            altered[page] = chance.randbytes(page.stop - page.start)
        case "cut":
            del altered[chance.randrange(len(raw)) :]
        case "longer":
            altered += chance.randbytes(chance.randrange(1, 9000))
        case "swapped":
            other = chance.choice(files)
            altered = bytearray(other.read_bytes())
            other.write_bytes(raw)
        case "gone":
            file.unlink()
            return f"{kind} {file.relative_to(copy)}"
    file.write_bytes(altered)
    return f"{kind} {file.relative_to(copy)}"


def _files(subject: str, copy: Path) -> list[Path]:
    """Return the files that may be damaged."""
    if subject == "database":
        return [copy / _DATABASE]
    place = copy / _PUBLISHED if subject == "published" else copy
    every = [each for each in place.rglob("*") if each.is_file() and each.name != "mdvec.lock"]
    if subject == "published":
        return every
    mark = "-matrix-" if subject == "matrix" else f".{subject}"
    return [each for each in every if mark in str(each.relative_to(copy))]


def _ask(subject: str, place: Path, docs: Path) -> Outcome | None:
    """Look at a copy in a process of its own; return None if that crashed or did not end."""
    # Forked from a warm process: a new interpreter would take longer than all it does.
    process = multiprocessing.get_context("fork").Process(target=_write_outcome, args=(subject, place, docs))
    process.start()
    process.join(_TIMEOUT_S)
    if process.is_alive():
        process.kill()
        process.join()
    written = place / _OUTCOME
    return msgspec.json.decode(written.read_bytes(), type=Outcome) if process.exitcode == 0 else None


def _write_outcome(subject: str, place: Path, docs: Path) -> None:
    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    found = _look(subject, place, docs)
    (place / _OUTCOME).write_bytes(msgspec.json.encode(found))


def _look(subject: str, place: Path, docs: Path) -> Outcome:
    """Ask, examine and import; the first time, make what is looked at."""
    outcome = Outcome([], [], [], [])
    vectors = subject if subject in _INDEXES else None
    config = Config(store=StoreSettings(vectors=vectors))
    database, published = place / _DATABASE, place / _PUBLISHED
    if not any(place.iterdir()):
        with open_workspace(config, database=database, embedder=HashingEmbedder()) as workspace:
            workspace.add_collection(NAME, "", str(docs))
            workspace.import_collection(NAME)
            if subject == "published":
                workspace.stores.publish(str(published))
    location = published if subject == "published" else database

    def tried(work: Callable[[Any], None]) -> None:
        try:
            with open_workspace(config, database=location, embedder=HashingEmbedder()) as workspace:
                work(workspace)
        except MdvecError as error:
            outcome.errors.append(f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - what is looked for
            outcome.bugs.append(f"{type(error).__name__}: {error}")

    def examine(workspace: Any) -> None:
        outcome.findings += [
            each.message
            for each in workspace.doctor()
            if each.severity is not Severity.OK and each.subject in ("database", "vector index")
        ]

    # The doctor first: a search fills a damaged index again.
    tried(examine)
    tried(lambda workspace: outcome.answers.extend(_answers(workspace)))
    if subject != "published":
        tried(lambda workspace: workspace.import_collection(NAME))
    return outcome


def _answers(workspace: Any) -> Answers:
    chance = random.Random(1)
    questions = [f"語{chance.randrange(500)} word{chance.randrange(500)} note" for _ in range(8)]
    queries = [SearchQuery(each, mode=mode, min_score=0.0) for each in questions for mode in SearchMode]
    return [
        [[hit.path, hit.start_line, hit.text, round(hit.score, 5)] for hit in workspace.search(each).hits]
        for each in queries
    ]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=SUBJECTS)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures = {}
    for subject in arguments.subjects:
        with tempfile.TemporaryDirectory() as scratch:
            counts = run(subject, arguments.variants, seed=arguments.seed, folder=Path(scratch))
        figures[subject] = {**counts, "variants": arguments.variants, "seed": arguments.seed}
        print(subject, figures[subject], flush=True)
    write_result("corruption", figures, arguments.output)


if __name__ == "__main__":
    main()
