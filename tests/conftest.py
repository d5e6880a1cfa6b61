"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def user_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What mdvec remembers of databases and trusted folders is not written into the home of who runs tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests did not run."""
    if os.environ.get("MDVEC_FAIL_ON_SKIP") and terminalreporter.stats.get("skipped"):
        terminalreporter.write_line("Skipped tests count as failed here (MDVEC_FAIL_ON_SKIP).", red=True)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the run when a test was skipped though all of them can run here."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter is not None else []
    if os.environ.get("MDVEC_FAIL_ON_SKIP") and skipped and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
