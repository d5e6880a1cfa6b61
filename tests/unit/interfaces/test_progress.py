"""Whoever shows progress has words for every step."""

from __future__ import annotations

import anyio
import pytest
from anyio import to_thread

from mdvec.interfaces.cli.bar import ProgressBar
from mdvec.interfaces.cli.progress import LineProgress
from mdvec.interfaces.mcp.threads import CallProgress
from mdvec.interfaces.present import step_words
from mdvec.run import Stage


def test_a_terminal_shows_every_step() -> None:
    """A step without words of its own would end the import."""
    bar = ProgressBar()
    try:
        for stage in Stage:
            bar.show(stage, 1, 2, "")
            assert step_words(stage)
    finally:
        bar.close()


def test_a_terminal_shows_no_whole_that_nobody_knows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seconds left are seconds, not so many of a hundred."""
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "120")):
        monkeypatch.setenv(name, value)
    bar = ProgressBar()
    bar.show(Stage.LIMIT, 42, 0, "")
    bar.close()
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
    assert told[-1] == (pytest.approx(100.0, abs=0.01), "waiting for a service, seconds left: 7")


def test_a_log_says_how_long_a_wait_is(capsys: pytest.CaptureFixture[str]) -> None:
    """The seconds left are a number without a whole."""
    now = iter([0.0, 11.0])
    LineProgress(lambda: next(now))(Stage.LIMIT, 42, 0)
    assert capsys.readouterr().err == "waiting for a service, seconds left: 42\n"
