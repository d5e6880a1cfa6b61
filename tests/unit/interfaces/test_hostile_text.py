"""What documents, files, configuration and servers say cannot steer a terminal."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import COLLECTION, HIT, RESULT, FakeWorkspace

from mdvec.errors import DocumentNotFoundError, SourceMissingError
from mdvec.interfaces.cli.terminal import json_text
from mdvec.interfaces.printing import STEERING, one_line, printable, visible
from mdvec.types.document import DocumentState
from mdvec.types.links import DocumentLinks
from mdvec.types.report import CollectionCounts, CollectionStatus, FileStatus, Finding, Severity, TagCount

HOSTILE = "\x1b]0;PWN\x07\x1b[31m\u202eabc\u2066\u200b\u2028\x9b\U000e0041"
STEERERS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def is_harmless(text: str) -> bool:
    """Return True if nothing but line feeds steers."""
    return not any(unicodedata.category(char) in STEERERS for char in text.replace("\n", ""))


def test_every_character_that_steers_is_known() -> None:
    """The pattern has all control and format characters of this Python's Unicode, and no others."""
    found = {char for char in map(chr, range(sys.maxunicode + 1)) if STEERING.fullmatch(char)}
    steering = {
        char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(char) in STEERERS
    }
    assert steering <= found
    assert {unicodedata.category(char) for char in found - steering} <= {"Cn"}


@given(st.text())
def test_texts_become_harmless(text: str) -> None:
    """As spaces, as escapes, or on one line; the length of a passage stays."""
    assert len(printable(text)) == len(text)
    for shown in (printable(text), visible(text).replace("\t", ""), one_line(text)):
        assert is_harmless(shown)
        assert "\n" not in shown
    assert visible(text, keep_newlines=True).count("\n") == text.count("\n")


@given(st.text())
def test_json_becomes_harmless_and_says_the_same(text: str) -> None:
    """Escapes of JSON are read back as what they stand for; half characters are spelled."""
    line = json_text([text])
    assert is_harmless(line)
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert json.loads(line) == [text]


def test_escapes_are_visible() -> None:
    """A reader sees that something was there, and what."""
    assert visible("a\x1b[31m\u202eb\U000e0041\n") == r"a\x1b[31m\u202eb\U000e0041\x0a"


COMMANDS = (
    ("search", "x"),
    ("search", "x", "--explain"),
    ("search", "x", "--format", "json"),
    ("get", "a.md", "--links"),
    ("tags",),
    ("tags", "--format", "json"),
    ("status", "-n", "notes", "--check"),
    ("status", "--format", "json"),
    ("doctor",),
    ("tool", "ls"),
    ("import", "-n", "notes"),
    ("model", "ls"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_writes_it(mdvec: Mdvec, workspace: FakeWorkspace, command: tuple[str, ...]) -> None:
    """Neither in a result nor in a warning."""
    hit = replace(HIT, path=HOSTILE, title=HOSTILE, heading_path=(HOSTILE,), supersedes=(HOSTILE,))
    workspace.result = replace(
        RESULT, hits=(replace(hit, text=HOSTILE, chunk_text=HOSTILE),), warnings=(HOSTILE,)
    )
    workspace.report = replace(workspace.report, warnings=(HOSTILE,))
    workspace.found_links = DocumentLinks("notes", HOSTILE, HOSTILE, (), (), (HOSTILE,), (HOSTILE,))
    workspace.found_tags = [TagCount(HOSTILE, 1)]
    workspace.findings = [Finding(Severity.NOTE, HOSTILE, HOSTILE, HOSTILE)]
    workspace.known = [replace(COLLECTION, description=HOSTILE)]
    files = (FileStatus(HOSTILE, DocumentState.FAILED, HOSTILE),)
    counts = CollectionCounts(3, 1, 2, 9, 4)
    workspace.statuses = (
        CollectionStatus(workspace.known[0], counts, files, check_error=HOSTILE, warnings=(HOSTILE,)),
    )
    outcome = mdvec(*command)
    assert is_harmless(outcome.out)
    assert is_harmless(outcome.err)
    assert "PWN" in outcome.out + outcome.err or command[0] == "model"


@pytest.mark.parametrize("error", [SourceMissingError(HOSTILE), DocumentNotFoundError("no", hint=HOSTILE)])
def test_no_error_writes_it(mdvec: Mdvec, workspace: FakeWorkspace, error: Exception) -> None:
    """Nor its hint."""
    workspace.error = error
    outcome = mdvec("search", "x")
    assert outcome.code == 1
    assert is_harmless(outcome.err)
    assert r"\x1b]0;PWN\x07" in outcome.err


def test_no_configuration_writes_it(mdvec: Mdvec, tmp_path: Path) -> None:
    """A key of a file that came with a folder is shown with its escapes."""
    (tmp_path / "mdvec.toml").write_text(f"{json.dumps(HOSTILE)} = 1\n", encoding="utf-8")
    outcome = mdvec("search", "x")
    assert outcome.code == 2
    assert is_harmless(outcome.err)


def test_a_warning_stays_on_its_line(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """The name of a file cannot forge a line of ours."""
    workspace.report = replace(workspace.report, warnings=("a\nerror: forged.md: odd",))
    assert mdvec("import", "-n", "notes").err == "warning: a\\x0aerror: forged.md: odd\n"


def test_long_input_is_not_repeated(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """An error shows 200 characters of it, which is enough to recognise it."""
    path = "x" * 100_000
    workspace.error = DocumentNotFoundError(f"no document {path!r} in notes")
    err = mdvec("get", path).err
    assert f"error: no document '{'x' * 200}…' in notes\n" in err
    assert len(err) < 1_000
    assert len(mdvec("search", "x", "--mode", path).err) < 1_000
    assert len(mdvec("x" * 100_000).err) < 1_000
