"""The command line as a whole: common options, errors, exit codes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import FakeWorkspace

from mdvec import __version__
from mdvec.errors import MdvecError, NotADatabaseError
from mdvec.interfaces.cli.commands import cli
from mdvec.interfaces.cli.main import run
from mdvec.interfaces.errors import translate


def test_version(mdvec: Mdvec) -> None:
    """``--version`` prints name and version."""
    assert mdvec("--version").out == f"mdvec {__version__}\n"


@pytest.mark.parametrize(
    "args",
    [
        ("--database", "x", "--docs-dir", ".", "--data-dir", "y", "tool", "ls"),
        ("tool", "--database", "x", "--docs-dir", ".", "--data-dir", "y", "ls"),
        ("tool", "ls", "--database", "x", "--docs-dir", ".", "--data-dir", "y"),
        ("--database", "other", "--docs-dir", ".", "tool", "--data-dir", "y", "ls", "--database", "x"),
    ],
)
def test_common_options_stand_anywhere(
    mdvec: Mdvec, workspace: FakeWorkspace, tmp_path: Path, args: tuple[str, ...]
) -> None:
    """They are taken before and after the command's name; the last one counts."""
    assert mdvec(*args).code == 0
    opened = {key: value for key, value in workspace.opened.items() if key != "config"}
    assert opened == {"database": tmp_path / "x", "docs_dir": tmp_path, "data_dir": tmp_path / "y"}


def test_config_option_names_the_file(mdvec: Mdvec, workspace: FakeWorkspace, tmp_path: Path) -> None:
    """``--config`` is relative to the working directory and its settings reach the workspace."""
    (tmp_path / "other.toml").write_text("[search]\nk = 3\n")
    mdvec("tool", "ls", "--config", "other.toml")
    assert workspace.opened["config"].search.k == 3


def test_a_wrong_configuration_is_a_usage_error(mdvec: Mdvec, tmp_path: Path) -> None:
    """It exits with 2 and names file, line and the nearest valid name."""
    (tmp_path / "mdvec.toml").write_text("[search]\nkk = 3\n")
    outcome = mdvec("tool", "ls")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"error: {tmp_path / 'mdvec.toml'}:2: unknown setting search.kk; did you mean search.k?\n"
        "hint: Correct it and run again.\n"
    )


def test_data_dir_needs_docs_dir(mdvec: Mdvec) -> None:
    """``--data-dir`` alone is a usage error."""
    outcome = mdvec("tool", "ls", "--data-dir", "x")
    assert outcome.code == 2
    assert "--docs-dir" in outcome.err


@pytest.mark.parametrize(
    ("folder", "why"),
    [("nope", ", which does not exist"), ("a file.md", ", which is a file"), ("", "")],
)
def test_docs_dir_must_be_there(mdvec: Mdvec, tmp_path: Path, folder: str, why: str) -> None:
    """A folder that does not exist is a usage error, in the words of other wrong values."""
    (tmp_path / "a file.md").touch()
    outcome = mdvec("search", "x", "--docs-dir", folder)
    assert outcome.code == 2
    said = f"error: `--docs-dir` must be a folder that can be read, not {folder!r}{why}\n"
    assert outcome.err.startswith(said)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("serch", "x"), "error: there is no command 'serch'; did you mean 'search'?\n"),
        (("xyzzy",), "error: there is no command 'xyzzy'; 'mdvec search xyzzy' searches for it\n"),
        (("rent",), "error: there is no command 'rent'; 'mdvec search rent' searches for it\n"),
        (("tool", "lss"), "error: there is no command 'lss'; did you mean 'ls'?\n"),
        (("help",), "error: there is no command 'help'; did you mean '--help'?\n"),
    ],
)
def test_unknown_commands_are_usage_errors(mdvec: Mdvec, args: tuple[str, ...], message: str) -> None:
    """An unknown command exits with 2 and suggests the nearest one."""
    outcome = mdvec(*args)
    assert outcome.code == 2
    assert outcome.err.startswith(message)


@pytest.mark.parametrize(
    ("args", "said", "where"),
    [
        (("search", "rent", "-n"), "`-n` needs a value", "mdvec search"),
        (("status", "--check=yes"), "`--check` takes no value", "mdvec status"),
        (("tool", "add", "-n"), "`-n` needs a value", "mdvec tool add"),
    ],
)
def test_an_option_without_its_value(mdvec: Mdvec, args: tuple[str, ...], said: str, where: str) -> None:
    """The error is in the words of the others, and its hint names the command that has the option."""
    assert mdvec(*args).err == f"error: {said}\nhint: Run '{where} --help' to see its options.\n"


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("status", "notes"), "A collection is named with -n: 'mdvec status -n NAME'. "),
        (("status", "-n", "notes", "out"), ""),
        (("related", "-n", "notes", "two", "words"), "Put quotation marks around a name with spaces. "),
    ],
)
def test_an_argument_too_many(mdvec: Mdvec, args: tuple[str, ...], hint: str) -> None:
    """The hint says how to name a collection only if none was named."""
    said = f"error: unexpected extra argument ({args[-1]})\n"
    assert mdvec(*args).err == f"{said}hint: {hint}Run 'mdvec {args[0]} --help' to see its options.\n"


def test_no_command_shows_the_help(mdvec: Mdvec) -> None:
    """``mdvec`` alone shows what there is on stderr, as a usage error."""
    outcome = mdvec()
    assert (outcome.code, outcome.out) == (2, "")
    assert "search" in outcome.err


def test_help_describes_eight_commands_and_names_the_others(mdvec: Mdvec) -> None:
    """Every command is there, in 80 columns, but for old spellings, which still work."""
    help_ = mdvec("--help").out
    described, more = help_.partition("Commands:\n")[2].split("\nMore commands", 1)
    named = [line.split()[0] for line in described.splitlines()]
    lists = re.findall(r"^  .*?  +(.*)$", more.partition("\nOptions")[0], re.MULTILINE)
    named += [name for each in lists for name in each.split(", ")]
    assert len(described.splitlines()) == 8
    assert sorted(named) == sorted(cli.list_commands(click.Context(cli)))
    assert max(map(len, help_.splitlines())) <= 80
    assert (mdvec("compact", "--help").code, mdvec("store", "compact", "--help").code) == (0, 0)


def test_help_lists_the_common_options_apart(mdvec: Mdvec) -> None:
    """Help of a command ends with the options that all commands have."""
    outcome = mdvec("search", "--help")
    assert outcome.code == 0
    assert (
        outcome.out.index("--explain") < outcome.out.index("Common options:") < outcome.out.index("--verbose")
    )


@pytest.mark.parametrize("error", [MdvecError("it broke"), NotADatabaseError()])
def test_failures_exit_with_1(mdvec: Mdvec, workspace: FakeWorkspace, error: MdvecError) -> None:
    """An error of ours is one line and a hint, never a traceback, even with ``--verbose``."""
    workspace.error = error
    outcome = mdvec("tool", "ls", "--verbose")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.splitlines()[0] == f"error: {error}"
    assert "Traceback" not in outcome.err


def test_bugs_are_one_line(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """An unexpected exception is one line with how to see more; ``--verbose`` shows where."""
    workspace.error = ZeroDivisionError("division by zero")
    outcome = mdvec("tool", "ls")
    assert outcome.code == 1
    assert outcome.err == (
        "error: ZeroDivisionError: division by zero\n"
        "hint: This is a bug in mdvec. Run again with --verbose to see where it happened.\n"
    )
    assert "Traceback" in mdvec("--verbose", "tool", "ls").err


def test_a_collection_without_its_option_is_answered_with_the_option(mdvec: Mdvec) -> None:
    """Only where the command has it."""
    assert "with -n: 'mdvec import -n NAME'" in mdvec("import", "notes").err
    assert "-n" not in mdvec("doctor", "notes").err


def test_errors_of_the_system_name_the_file(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """An error of the operating system is told as path and reason, with what to do about it."""
    workspace.error = PermissionError(13, "Permission denied", "/secret")
    outcome = mdvec("tool", "ls")
    assert outcome.code == 1
    assert outcome.err == (
        "error: /secret: Permission denied\nhint: Give yourself access to it, or choose another place.\n"
    )


def test_an_error_of_the_system_without_a_file_has_no_hint() -> None:
    """It may be of a port or of the watching of folders, which no access and no space would help."""
    assert translate(PermissionError(13, "Permission denied")).hint == ""
    assert translate(OSError(28, "No space left on device", "/disk/a")).hint.endswith("then try again.")


def test_an_exception_without_a_message_still_says_what_it_is() -> None:
    """The type is told when there is nothing else."""
    assert translate(RuntimeError()).message == "RuntimeError"


def test_the_working_directory_may_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a directory that was removed, mdvec says so instead of breaking."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run(["tool", "ls"], env={}) == 1
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this platform has no /dev/full")
def test_a_full_disk_is_told(
    workspace: FakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result that cannot be written is a failure with a reason."""
    with Path("/dev/full").open("w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert run(["tool", "ls"], env={}, cwd=tmp_path, opener=workspace) == 1


def test_every_command_is_described_in_full() -> None:
    """At 80 columns the lists of commands cut no description."""
    context = click.Context(cli)
    groups = [cli, *(cli.get_command(context, name) for name in cli.list_commands(context))]
    for group in groups:
        if isinstance(group, click.Group):
            names = group.list_commands(context)
            for name in names:
                command = group.get_command(context, name)
                assert command is not None
                # Two columns stay free at the right, and six are around the names.
                shown = command.get_short_help_str(80 - 2 - 6 - max(map(len, names)))
                assert not shown.endswith("..."), (name, shown)


def test_words_that_look_like_options_have_a_hint(mdvec: Mdvec) -> None:
    """Code is searched for, too."""
    err = mdvec("search", "--root-path").err
    assert "Put -- before words that start with a dash: 'mdvec search -- -WORD'." in err
    assert "'mdvec get -- -WORD'" in mdvec("get", "-dash.md").err
    assert "Put --" not in mdvec("tags", "--root-path").err
