"""Whatever happens to the bytes of a database: commands answer, or name the damage."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.security.conftest import Mdvec

_COMMANDS = (
    ("search", "install 日本語"),
    ("search", "alias3", "--mode", "dense"),
    ("get", "n3.md"),
    ("status", "-n", "notes"),
    ("tags",),
    ("doctor",),
    ("import", "-n", "notes", "-m", "update"),
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


@pytest.mark.parametrize("kind", ["bits", "cut", "zeros", "swapped", "header", "noise"])
def test_no_damage_is_called_a_bug(mdvec: Mdvec, tmp_path: Path, kind: str) -> None:
    """Of 37 damaged databases of each kind, none ends a command with an internal error."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(40):
        (notes / f"n{number}.md").write_text(
            f"---\ntags: [a, b{number}]\naliases: [alias{number}]\n---\n# Note {number}\n\n日本語 install "
            f"[[n{number - 1}]] words {number}\n\n## More\n\n{'lorem ipsum ' * 30}\n",
            encoding="utf-8",
        )
    index = tmp_path / "index.sqlite"
    assert mdvec("tool", "add", "-n", "notes", "-d", "x", "-s", notes, "--database", index).code == 0
    assert mdvec("import", "-n", "notes", "--database", index).code == 0
    original = index.read_bytes()
    dice = random.Random(kind)
    for variant in range(37):
        raw = corrupted(original, kind, dice)
        for command in (_COMMANDS[0], _COMMANDS[1 + variant % (len(_COMMANDS) - 1)]):
            for left in tmp_path.glob("index.sqlite*"):
                left.unlink()
            index.write_bytes(raw)
            outcome = mdvec(*command, "--database", index)
            assert "bug in mdvec" not in outcome.err, (variant, command, outcome.err)
