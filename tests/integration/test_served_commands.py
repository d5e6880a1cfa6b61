"""Command lines that a daemon runs for other processes, and those that it leaves to them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import takewhile
from pathlib import Path

import msgspec
import pytest
from tests.waiting import HANG_S

from mdvec import __version__
from mdvec.config import Config
from mdvec.config.schema import SearchSettings
from mdvec.interfaces.cli.served import CallOutcome, CommandLine, commands
from mdvec.interfaces.daemon.client import COMMAND_PATH, outcome_of, shared_environment
from mdvec.interfaces.daemon.place import place_of, settings_id
from mdvec.locks import locked
from mdvec.types.report import ImportOptions
from mdvec.workspace import open_workspace

Serve = Callable[..., CallOutcome]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an empty folder ``docs``."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "docs").mkdir()
    return tmp_path


@pytest.fixture
def serve(home: Path) -> Iterator[Serve]:
    """Run a command line as the daemon of the folder ``docs`` would; keywords are variables."""
    (home / "docs" / "tea.md").write_text("# Tea\n\nGreen tea is steeped.\n")
    config = Config(
        search=SearchSettings(sync_budget_ms=0), from_environment=frozenset({"search.sync_budget_ms"})
    )
    with open_workspace(config, docs_dir=home / "docs") as workspace:
        workspace.import_collection("docs", ImportOptions(embed=False))
        place = place_of(workspace.database).name
        run = commands(workspace, place, settings_id(config, home / "docs"))

        def call(
            *args: str,
            cwd: Path = home,
            columns: int | None = None,
            shared: list[str] | None = None,
            **env: str,
        ) -> CallOutcome:
            variables = {"MDVEC_SEARCH_SYNC_BUDGET_MS": "0", **env}
            line = CommandLine(args, str(cwd), variables, shared or shared_environment(), columns)
            return msgspec.json.decode(run(msgspec.json.encode(line)), type=CallOutcome)

        yield call


def test_results_and_notes_are_returned_in_order(
    serve: Serve, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each text names its stream; the daemon itself writes nothing."""
    note = f"using the index in {home / 'docs'}; use -n NAME or --database for another\n"
    document = "# Tea\n\nGreen tea is steeped.\n"
    assert serve("get", "tea.md", cwd=home / "docs") == CallOutcome(0, [(2, note), (1, document)])
    assert capfd.readouterr() == ("", "")


def test_paths_are_relative_to_the_folder_of_the_command(serve: Serve, home: Path) -> None:
    """What a path leads to from there is meant."""
    assert serve("get", "tea.md", "--docs-dir", ".", cwd=home / "docs").code == 0
    assert serve("get", "tea.md", "--docs-dir", "docs", cwd=home / "docs").code is None


def test_the_width_of_a_terminal_is_that_of_the_command(serve: Serve) -> None:
    """A table is laid out for it, and as wide as it is where there is no terminal."""
    [(_, wide)], [(_, narrow)] = (
        serve("ls", "--docs-dir", "docs", columns=columns).output for columns in (None, 20)
    )
    assert wide.startswith("UPDATED")
    assert "UPDATED" not in narrow


def test_an_error_of_the_workspace_is_an_outcome(serve: Serve) -> None:
    """Message, hint and exit code are those of the command."""
    outcome = serve("get", "tee.md", "--docs-dir", "docs")
    assert outcome.code == 1
    assert outcome.output[0][1].startswith("error: ")


@pytest.mark.parametrize(
    "args",
    [
        ("import", "--docs-dir", "docs"),
        ("search", "x", "--docs-dir", "docs", "--verbose"),
        ("search", "x", "--docs-dir", "docs", "--no-daemon"),
        ("search", "x", "--docs-dir", "docs", "--chunker", "vault"),
        ("search", "x", "--docs-dir", "nowhere"),
        ("search", "x", "--docs-dir", "docs", "--nonsense"),
        ("search", "--help"),
        ("get", "a", "--links", "--outline", "--docs-dir", "docs"),
        ("search", "x", "--data-dir", "data"),
        ("--version", "search"),
        (),
    ],
)
def test_what_a_daemon_does_not_run(
    serve: Serve, capfd: pytest.CaptureFixture[str], args: tuple[str, ...]
) -> None:
    """Other commands, wrong ones, help, and what asks for the work to be done there."""
    assert serve(*args) == CallOutcome()
    assert capfd.readouterr() == ("", "")


def test_another_database_is_named_by_its_place(serve: Serve, home: Path) -> None:
    """The command can ask its daemon, which has that name."""
    other = place_of(home / "other.sqlite").name
    assert serve("tags", "--database", "other.sqlite") == CallOutcome(place=other)
    assert serve("tags", MDVEC_STORE_LOCATION=str(home / "other.sqlite")) == CallOutcome(place=other)


def test_other_settings_or_folders_of_the_user_are_not_served(serve: Serve, home: Path) -> None:
    """They are those of the process that runs the command."""
    args = ("tags", "--docs-dir", "docs")
    assert serve(*args).code == 0
    assert serve(*args, MDVEC_SEARCH_K="3") == CallOutcome()
    assert serve(*args, shared=["/elsewhere", *shared_environment()[1:]]) == CallOutcome()
    (home / "docs" / "mdvec.toml").write_text("[store]\nlocation = 'x.sqlite'\n")
    assert serve(*args) == CallOutcome()  # a person may be asked for trust


@contextmanager
def answering(
    home: Path, answers: dict[str, object], *, version: str = __version__, has_unix_sockets: bool = True
) -> Iterator[list[str]]:
    """Listen for each place; None closes the connection, and nothing listens for False.

    Yields:
        The places that were asked, in order.
    """
    asked: list[str] = []
    with ExitStack() as stack:
        for place, outcome in answers.items():
            folder = home / ".local" / "share" / "mdvec" / "daemons" / place
            folder.mkdir(parents=True)
            path = str(home / f"{place}.sock") if has_unix_sockets else ""
            listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
            listener.bind(path or ("127.0.0.1", 0))
            url = "http://127.0.0.1:1" if path else f"http://127.0.0.1:{listener.getsockname()[1]}"
            info = {"version": version, "socket": path, "url": url, "token": f"token-of-{place}"}
            (folder / "daemon.json").write_text(json.dumps(info))
            stack.enter_context(listener)
            if outcome is not False:
                listener.listen()
                stack.enter_context(_answerer(listener, place, outcome, asked))
        yield asked


@contextmanager
def _answerer(listener: socket.socket, place: str, outcome: object, asked: list[str]) -> Iterator[None]:
    def answer() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb") as stream:
            request = b"".join(takewhile(lambda line: line != b"\r\n", stream)).decode()
            if not request:  # the end of the test
                return
            assert request.startswith(f"POST {COMMAND_PATH} HTTP/1.0\r\nHost: 127.0.0.1:")
            assert f"Authorization: Bearer token-of-{place}\r\n" in request
            stream.read(int(request.partition("Content-Length: ")[2]))
            asked.append(place)
            if outcome is not None:
                stream.write(b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps(outcome).encode())

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield
    finally:
        with socket.socket(listener.family) as last:
            last.connect(listener.getsockname())
        thread.join(HANG_S)


DONE = {"code": 0, "output": [[1, "found\n"]], "place": ""}


def ask(*args: str) -> object:
    return outcome_of(args or ("search", "tea"), env={}, cwd=None, columns=None)


def test_the_daemon_of_another_place_is_asked(home: Path) -> None:
    """The first one knows which one is meant."""
    elsewhere: dict[str, object] = {"code": None, "output": [], "place": "b"}
    with answering(home, {"a": elsewhere, "b": DONE}) as asked:
        assert ask() == (0, [[1, "found\n"]])
    assert asked in (["a", "b"], ["b"])  # in the order of the folder


@pytest.mark.parametrize("answer", [False, None, {"status": 500}, {"nonsense": 1}, []])
def test_a_daemon_that_is_gone_or_fails_is_not_missed(home: Path, answer: object) -> None:
    """The command runs in its own process."""
    with answering(home, {"a": answer}):
        assert ask() is None


def test_without_unix_sockets_a_daemon_is_asked_at_its_port_while_it_runs(home: Path) -> None:
    """Another program may have the port of one that was killed, and must not receive the token."""
    with answering(home, {"a": DONE}, has_unix_sockets=False) as asked:
        lock = home / ".local/share/mdvec/daemons/a/lock"
        assert ask() is None
        with locked(lock, wait_s=0):
            assert ask() == (0, [[1, "found\n"]])
    assert asked == ["a"]


def test_a_daemon_is_not_asked_where_it_must_not(home: Path) -> None:
    """Neither one of another version, nor by another command, nor when the user does not want it."""
    with answering(home, {"a": DONE}) as asked:
        for args in (("import",), ("search", "tea", "--no-daemon"), ("search", "a\udcff")):
            assert ask(*args) is None
    assert asked == []
    with answering(home, {"b": DONE}, version="0.0.1") as asked:
        assert ask() is None
    assert asked == []
