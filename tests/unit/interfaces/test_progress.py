"""Progress on a terminal, in a log and for a client."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from anyio import to_thread

from mdvec.interfaces.cli.progress import LineProgress, TerminalProgress, shown_progress
from mdvec.interfaces.cli.terminal import warn
from mdvec.interfaces.mcp.threads import CallProgress
from mdvec.interfaces.present import STEP_WORDS, progress_line
from mdvec.run import Stage


def test_a_terminal_shows_every_step() -> None:
    """A step without words of its own would end the import."""
    bar = TerminalProgress()
    try:
        for stage in Stage:
            bar(stage, 1, 2, "")
            assert STEP_WORDS[stage]
    finally:
        bar.hide()


def test_a_terminal_shows_no_whole_that_nobody_knows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seconds left are seconds, not so many of a hundred."""
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "120")):
        monkeypatch.setenv(name, value)
    bar = TerminalProgress()
    bar(Stage.LIMIT, 42, 0, "")
    bar.hide()
    shown = capsys.readouterr().err
    assert "42/?" in shown
    assert "100" not in shown


def test_a_client_hears_of_every_step() -> None:
    """So it would here; how far it is never falls, though a wait comes in between."""
    call = CallProgress()

    def go_on() -> list[tuple[float, str]]:
        told = []
        for stage in (*Stage, Stage.LIMIT):
            call(stage, 7, 7 if stage is not Stage.LIMIT else 0)
            told.append((call.done, call.line))
        return told

    told = anyio.run(to_thread.run_sync, go_on)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (100.0, "waiting for a service, seconds left: 7")


def test_a_log_says_how_long_a_wait_is(capsys: pytest.CaptureFixture[str]) -> None:
    """The seconds left are a number without a whole."""
    now = iter([0.0, 11.0])
    LineProgress(lambda: next(now))(Stage.LIMIT, 42, 0)
    assert capsys.readouterr().err == "waiting for a service, seconds left: 42\n"


WAITING = "process 7 on host has been importing notes since 12:01:22, {} of 6,600 texts embedded"


def test_a_log_shows_a_wait_once_until_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    """Who is waited for and how far that is, at most every ten seconds; never a bare zero."""
    now = iter([0.0, 5.0, 11.0, 22.0, 23.0, 34.0])
    progress = LineProgress(lambda: next(now))
    for done in (1, 1, 1, 2, 2):
        progress(Stage.WAIT, 0, 0, WAITING.format(done))
    assert capsys.readouterr().err == f"waiting: {WAITING.format(1)}\nwaiting: {WAITING.format(2)}\n"


def test_a_wait_without_details_has_no_number() -> None:
    """There is nothing to count."""
    assert progress_line(Stage.WAIT, 0, 0) == "waiting for another process"


def test_a_terminal_shows_a_wait_without_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The details are one line, and nothing in them steers the terminal."""
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "120")):
        monkeypatch.setenv(name, value)
    bar = TerminalProgress()
    bar(Stage.WAIT, 0, 0, WAITING.format(1) + "\x1b]0;x\x07[bold]")
    bar.hide()
    shown = capsys.readouterr().err
    assert "Waiting: process 7 on host has been importing notes" in shown
    assert r"\x1b]0;x\x07[bold]" in shown
    assert "0/?" not in shown


def test_a_narrow_terminal_shows_all_of_a_wait(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The end of the line says how far the other process is."""
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "60")):
        monkeypatch.setenv(name, value)
    bar = TerminalProgress()
    bar(Stage.WAIT, 0, 0, WAITING.format(1))
    bar.hide()
    assert "6,600 texts embedded" in capsys.readouterr().err


def test_a_client_receives_each_change_of_a_wait() -> None:
    """Progress grows with it, or a client would not be sent the line."""
    call = CallProgress()
    call(Stage.WAIT, 0, 0, WAITING.format(1))
    first = call.done
    call(Stage.WAIT, 0, 0, WAITING.format(1))
    assert call.done == first
    call(Stage.WAIT, 0, 0, WAITING.format(2))
    assert call.done > first
    assert call.line == f"waiting: {WAITING.format(2)}"


def test_the_bar_leaves_before_a_line_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning starts at the beginning of a line, and so does the prompt after Ctrl-C."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    hidden: list[str] = []
    with shown_progress() as progress:
        assert isinstance(progress, TerminalProgress)
        progress(Stage.EMBED, 105, 185)
        assert progress._bar is not None
        stop = progress._bar.stop

        def hide() -> None:
            hidden.append(capsys.readouterr().err)
            stop()

        monkeypatch.setattr(progress._bar, "stop", hide)
        warn("a.md: odd")
    assert len(hidden) == 1
    assert capsys.readouterr().err.endswith("warning: a.md: odd\n")


def test_listeners_are_called_from_any_thread_and_never_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal or a log that is closed ends no import."""

    def fail(*_: object, **__: object) -> None:
        msg = "closed"
        raise OSError(msg)

    monkeypatch.setattr("mdvec.interfaces.cli.progress.note", fail)
    monkeypatch.setattr("mdvec.interfaces.cli.progress._bar", fail)
    now = iter(range(0, 10_000, 11))
    line, bar = LineProgress(lambda: float(next(now))), TerminalProgress()
    with ThreadPoolExecutor(4) as pool:
        for listener in (line, bar):
            for stage in Stage:
                pool.submit(listener, stage, 1, 2).result()
    bar.hide()
