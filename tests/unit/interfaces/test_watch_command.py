"""``mdvec watch``."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from msgspec.structs import replace
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import FakeWorkspace

from mdvec.errors import CollectionNotFoundError


def end_soon(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    """Send this process a signal as soon as it waits for one; threads of other tests may wait, too."""
    wait = threading.Event.wait
    before = signal.getsignal(signal.SIGTERM)

    def waiting(self: threading.Event, timeout: float | None = None) -> bool:
        is_prepared = signal.getsignal(signal.SIGTERM) is not before
        if is_prepared and threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), number)
        return wait(self, timeout)

    monkeypatch.setattr(threading.Event, "wait", waiting)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_watches_until_it_is_ended(
    mdvec: Mdvec, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Whatever is configured; it leaves the handling of signals as it was."""
    before = signal.getsignal(signal.SIGTERM)
    end_soon(monkeypatch, number)
    outcome = mdvec("watch", "-n", "notes", MDVEC_WATCH_ENABLED="false")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "keeping the index up to date; press Ctrl-C to end\n"
    assert workspace.calls[0] == ("watch", {"names": ("notes",), "force": True})
    assert workspace.closed
    assert signal.getsignal(signal.SIGTERM) is before


def test_disabled_collections_are_no_missing_ones(
    mdvec: Mdvec, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that take all say that all are disabled, and do not advise to add one."""
    workspace.known = [replace(each, enabled=False) for each in workspace.known]
    end_soon(monkeypatch, signal.SIGINT)
    for command in ("watch", "import", "tool ls"):
        said = mdvec(*command.split()).err
        assert said.startswith("all collections are disabled\nhint: 'mdvec tool ls --all' lists them")
        assert "Register" not in said


def test_a_signal_that_another_thread_gets_ends_it(
    mdvec: Mdvec, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may hand it to any thread of the process; the one that waits then sleeps on."""
    others: list[threading.Thread] = []

    def send_to_another_thread() -> None:
        time.sleep(0.1)  # the command waits by then
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    def wait(self: threading.Event, timeout: float | None = None, wait=threading.Event.wait) -> bool:  # type: ignore[no-untyped-def]
        if threading.current_thread() is threading.main_thread() and not others:
            others.append(threading.Thread(target=send_to_another_thread))
            others[0].start()
        return bool(wait(self, timeout))

    monkeypatch.setattr(threading.Event, "wait", wait)
    assert mdvec("watch", "-n", "notes").code == 0
    assert workspace.closed


def test_a_collection_that_is_not_there_is_an_error(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """And it does not wait."""
    workspace.error = CollectionNotFoundError("there is no collection 'x'")
    outcome = mdvec("watch", "-n", "x")
    assert outcome.code == 1
    assert "there is no collection" in outcome.err
