"""Whatever happens to the bytes of a database: commands answer as before, or the damage is named."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks import corruption
from tests.security.conftest import Mdvec, Outcome

_SEARCH = ("search", "install 日本語", "--format", "json")
_OTHERS: tuple[tuple[str, ...], ...] = (
    ("search", "alias3", "--mode", "dense", "--format", "json"),
    ("get", "n3.md"),
    ("get", "n30.md"),
    ("status", "-n", "notes"),
    ("tags",),
    ("search", "lorem ipsum", "-k", "40", "--format", "json"),
)
# What does not depend on the order in which documents were read, as ties of a search do.
_READING = _OTHERS[1:5]
_UPDATE = ("import", "-n", "notes", "-m", "update")
_CHECK = ("import", "-n", "notes", "--check")
_KINDS = ("bits", "cut", "zeros", "swapped", "header", "noise")
# All of these say that something is wrong with the file, and what to do.
_NAMED = (
    "is damaged",
    "are damaged",
    "not an mdvec database",
    "another program",
    "newer mdvec",
    "the disk failed",
)


def corrupted(original: bytes, kind: str, dice: random.Random) -> bytes:
    """Return a database that something has happened to."""
    raw = bytearray(original)
    size = int.from_bytes(raw[16:18], "big")
    pages = len(raw) // size
    match kind:
        case "bits":
            for _ in range(dice.choice([1, 1, 4, 40])):
                raw[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
        case "cut":
            del raw[dice.randrange(len(raw)) :]
        case "zeros":
            page = dice.randrange(1, pages) * size
            raw[page : page + size] = bytes(size)
        case "swapped":
            one, other = (dice.randrange(1, pages) * size for _ in range(2))
            raw[one : one + size] = original[other : other + size]
        case "header":
            for _ in range(3):
                raw[dice.randrange(16, 100)] = dice.randrange(256)
        case "noise":
            start = dice.randrange(len(raw) - 200)
            raw[start : start + 200] = dice.randbytes(200)
    return bytes(raw)


@dataclass(frozen=True, slots=True)
class Subject:
    """A database to be damaged, and what it answers before."""

    index: Path
    original: bytes
    answers: dict[tuple[str, ...], str]
    mdvec: Mdvec

    def ask(self, *command: str) -> Outcome:
        """Run a command on the database as it is now."""
        outcome = self.mdvec(*command, "--database", self.index)
        assert "bug in mdvec" not in outcome.err, (command, outcome.err)
        return outcome

    def put(self, raw: bytes) -> None:
        """Let the database be these bytes, without a log."""
        for left in self.index.parent.glob("index.sqlite*"):
            left.unlink()
        self.index.write_bytes(raw)

    def problem(self) -> tuple[str, str]:
        """Return what ``mdvec doctor`` says of the database, and its advice; empty where it finds nothing."""
        findings = json.loads(self.ask("doctor", "--format", "json").out)
        found = [each for each in findings if each["severity"] != "ok" and each["subject"] != "model"]
        return (found[0]["message"], found[0]["hint"]) if found else ("", "")


@pytest.fixture
def subject(mdvec: Mdvec, tmp_path: Path) -> Subject:
    """A database of forty documents."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(40):
        (notes / f"n{number}.md").write_text(
            f"---\ntags: [a, b{number}]\naliases: [alias{number}]\n---\n# Note {number}\n\n日本語 install "
            f"[[n{number - 1}]] words {number}\n\n## More\n\n{'lorem ipsum ' * 30}\n",
            encoding="utf-8",
        )
    index = tmp_path / "database" / "index.sqlite"
    assert mdvec("tool", "add", "-n", "notes", "-d", "x", "-s", notes, "--database", index).code == 0
    assert mdvec("import", "-n", "notes", "--database", index).code == 0
    subject = Subject(index, index.read_bytes(), {}, mdvec)
    for command in (_SEARCH, *_OTHERS):
        subject.answers[command] = steady(subject.ask(*command).out)
    return subject


def steady(answer: str) -> str:
    """Leave out times, which differ from call to call, and the size of the file, which damage changes."""
    return re.sub(
        r"elapsed_ms\W+[\d.]+|[\d-]{10}[T ][\d:]{5,8}Z?|^database: .*$", "", answer, flags=re.MULTILINE
    )


@pytest.mark.parametrize("kind", _KINDS)
def test_no_damage_is_called_a_bug(subject: Subject, kind: str) -> None:
    """Of 8 damaged databases of each kind, none ends a command with an internal error."""
    dice = random.Random(kind)
    for variant in range(8):
        raw = corrupted(subject.original, kind, dice)
        for command in (_SEARCH, (*_OTHERS, _UPDATE)[variant % 7]):
            subject.put(raw)
            subject.ask(*command)


@pytest.mark.harness
@pytest.mark.parametrize("kind", _KINDS)
def test_no_damage_is_silent(subject: Subject, kind: str) -> None:
    """Of 15 damaged databases of each kind, each answers as before, or the damage is named.

    Where the advice is an import, it brings back what was there.
    """
    dice = random.Random(f"silent {kind}")
    silent: list[object] = []
    for variant in range(15):
        raw = corrupted(subject.original, kind, dice)
        subject.put(raw)
        message, hint = subject.problem()
        for command in (_SEARCH, _OTHERS[variant % 6], _OTHERS[(variant + 1) % 6]):
            outcome = subject.ask(*command)
            same = outcome.code == 0 and steady(outcome.out) == subject.answers[command]
            if not (same or message or any(each in outcome.err for each in _NAMED)):
                silent.append((variant, command, outcome))
        if "import --check" in hint:
            assert subject.ask(*_CHECK).code == 0
            assert subject.problem() == ("", "")
            for command in _READING:
                assert steady(subject.ask(*command).out) == subject.answers[command], (variant, message)
    assert silent == []


@pytest.mark.harness
@pytest.mark.parametrize(
    "subject",
    [
        *("database", "matrix", "published", "sqlite-vec"),
        pytest.param("lancedb", marks=pytest.mark.lancedb),
        pytest.param("chroma", marks=pytest.mark.chroma),
    ],
)
def test_no_damage_ends_in_a_bug(tmp_path: Path, subject: str) -> None:
    """Two copies of each kind, damaged as ``benchmarks.corruption`` does: no crash, no internal error."""
    outcomes = corruption.run(subject, 2, seed=20261128, folder=tmp_path)
    assert outcomes.keys() <= {*corruption.EXPECTED, *corruption.OTHER}
    assert sum(outcomes.values()) == 2
