"""``mdvec daemon`` with real processes: same output, other versions, kill -9, and what stays behind."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from tests.commands import run_here
from tests.conformance.servers import MDVEC
from tests.waiting import HANG_S, wait_until

from mdvec import __version__
from mdvec.interfaces.cli.main import run
from mdvec.interfaces.daemon import client
from mdvec.interfaces.daemon.client import COMMAND_PATH
from mdvec.types.report import ImportOptions
from mdvec.workspace import open_workspace


@dataclass(frozen=True, slots=True)
class Home:
    """A home with a database of one note, whose words are indexed, and its commands."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **env}
        if args[:2] not in (("daemon", "start"), ("daemon", "run")):  # whose daemon would be our child
            return run_here(args, cwd=self.folder, env=environment)
        return subprocess.run(
            [*MDVEC, *args],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    @property
    def place(self) -> Path:
        """The folder of its daemon."""
        [found] = self.folder.rglob("daemons/*")
        return found

    @property
    def info(self) -> dict[str, Any]:
        """What the daemon says about itself."""
        info: dict[str, Any] = json.loads((self.place / "daemon.json").read_bytes())
        return info


def make_home(folder: Path) -> Home:
    (folder / "notes").mkdir()
    text = "---\ntags: [drink]\n---\n# Tea\n\nGreen tea is steeped. See [[milk]].\n"
    (folder / "notes" / "tea.md").write_text(text, "utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    more = {
        "HOME": str(folder),
        "MDVEC_DATABASE_PATH": str(folder / "index.sqlite"),
        "MDVEC_WATCH_ENABLED": "false",
        # A look before a search says so when it takes long.
        "MDVEC_SEARCH_SYNC_BUDGET_MS": "0",
    }
    with open_workspace(database=folder / "index.sqlite") as workspace:
        workspace.add_collection("notes", "Notes", str(folder / "notes"))
        workspace.import_collection("notes", ImportOptions(embed=False))
    return Home(folder, {**inherited, **more})


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home whose daemon, if any, is ended."""
    home = make_home(tmp_path)
    yield home
    home.run("daemon", "stop")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home whose daemon runs."""
    home = make_home(tmp_path_factory.mktemp("served"))
    started = home.run("daemon", "start")
    assert started.returncode == 0, started.stderr
    yield home
    home.run("daemon", "stop")


COMMANDS = [
    ("search", "green", "tea", "--mode", "lexical"),
    ("search", "green", "tea", "--mode", "lexical", "--explain", "--format", "text"),
    ("search", "green", "--format", "jsonl", "--mode", "lexical"),
    ("search", "green", "--format", "md", "--mode", "lexical"),
    ("search", "nothing", "--mode", "lexical"),
    ("search", "  "),
    ("search", "x", "-n", "nowhere"),
    ("get", "tea.md"),
    ("get", "tea.md", "--lines", "4:4"),
    ("get", "tea.md", "--links"),
    ("get", "tea.md", "--outline"),
    ("get", "tee.md"),
    ("get",),
    ("ls",),
    ("ls", "--tag", "drink", "--format", "json"),
    ("related", "tee.md"),
    ("search", "--help"),
    ("tags",),
    ("tags", "--format", "json"),
    ("status",),
    ("status", "-n", "notes", "--check", "--format", "json"),
]


def test_commands_print_the_same_with_and_without_a_daemon(
    served: Home, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output, messages and exit codes are equal byte for byte; the daemon did the work."""
    monkeypatch.setenv("HOME", str(served.folder))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def printed(*args: str) -> tuple[int, str, str]:
        code = run(args, env=served.environment, cwd=served.folder)
        return code, *capfd.readouterr()

    searches = (served.place / "daemon.log").read_text("utf-8").count(" search ")
    for command in COMMANDS:
        assert printed(*command) == printed(*command, "--no-daemon"), command
    assert (served.place / "daemon.log").read_text("utf-8").count(" search ") == searches + 6
    near, far = (
        json.loads(printed("search", "green", "--mode", "lexical", "--format", "json", *more)[1])
        for more in ((), ("--no-daemon",))
    )
    for moment in ("elapsed_ms", "last_indexed"):  # each search looks at the folder anew
        assert near.pop(moment)
        assert far.pop(moment)
    assert near == far


# What a command imports that a daemon runs, besides what Python's own modules need.
LOADED = {
    "mdvec",
    "mdvec.interfaces",
    "mdvec.interfaces.cli",
    "mdvec.interfaces.cli.main",
    "mdvec.interfaces.cli.screen",
    "mdvec.interfaces.daemon",
    "mdvec.interfaces.daemon.client",
}
SLOW = {"dataclasses", "email", "hashlib", "http", "importlib.metadata", "inspect", "ssl", "typing"}
MOST_MODULES = 90


@pytest.mark.parametrize(
    "args",
    [
        ["search", "green", "--mode", "lexical"],
        ["get", "tea.md"],
        ["get", "tea.md", "--outline"],
        ["ls"],
        ["tags"],
        ["status"],
    ],
)
def test_a_command_through_the_daemon_loads_little(served: Home, args: list[str]) -> None:
    """Of mdvec only the modules that ask the daemon, of other packages one that names folders."""
    code = (
        "import sys\nbefore = {*sys.modules}\nfrom mdvec.interfaces.cli import main\n"
        f"sys.argv[1:] = {args!r}\n"
        "try:\n    main.main()\n"
        "except SystemExit as end:\n    print('\\n', end.code, *{*sys.modules} - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=served.folder,
        env=served.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    exit_code, *loaded = done.stdout.splitlines()[-1].split()
    assert exit_code == "0", done.stderr
    others = {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name for name in others if name.partition(".")[0] != "platformdirs"} == LOADED
    assert SLOW.isdisjoint(loaded)
    assert len(loaded) <= MOST_MODULES


def test_only_its_user_can_reach_it(served: Home) -> None:
    """The socket and its folder are the user's alone, and so is what lies beside the lock."""
    path = Path(served.info["socket"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(served.place.stat().st_mode) == 0o700


def test_the_socket_and_the_port_are_one_server(served: Home) -> None:
    """JSON-RPC, MCP and the page are at both."""
    ping = {"jsonrpc": "2.0", "method": "ping", "id": 1}
    url = served.info["url"]
    for transport in (None, httpx2.HTTPTransport(uds=served.info["socket"])):
        with httpx2.Client(base_url=url, transport=transport) as program:
            assert program.post("/rpc", json=ping).json()["result"] == {"status": "ok"}
            assert program.get("/health").json()["version"] == __version__
            assert program.get("/mcp").status_code in (400, 405, 406)
            assert program.get("/").status_code == 200


def test_commands_need_the_token_of_the_daemon(served: Home) -> None:
    """Anybody of the machine can reach the port; the token is in a file of the user, and not shown."""
    url, token = served.info["url"] + COMMAND_PATH, served.info["token"]
    line: dict[str, object] = {"args": ["tags"], "cwd": "/", "env": {}, "shared": [], "columns": None}
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        assert httpx2.post(url, json=line, headers=headers).status_code == 401
    right = {"Authorization": f"Bearer {token}"}
    assert httpx2.post(url, json=line, headers=right).json()["code"] is None
    assert httpx2.post(url, json={}, headers=right).status_code == 400
    assert stat.S_IMODE((served.place / "daemon.json").stat().st_mode) == 0o600
    for shown in ("text", "json"):
        status = served.run("daemon", "status", "--format", shown)
        assert (status.returncode, url.removesuffix(COMMAND_PATH) in status.stdout) == (0, True)
        assert token not in status.stdout


def test_a_server_with_a_token_runs_commands_of_its_user(home: Home, tmp_path: Path) -> None:
    """Its own token is enough, and opens the API to programs of that user; another one opens nothing."""
    token_file = tmp_path / "token"
    token_file.write_text("a-token-of-the-server")
    token_file.chmod(0o600)
    assert home.run("daemon", "start", "--token-file", str(token_file)).returncode == 0
    found = home.run("search", "green", "--mode", "lexical", "--format", "paths")
    assert (found.returncode, found.stdout) == (0, f"{home.folder}/notes/tea.md\n")
    assert "search" in (home.place / "daemon.log").read_text("utf-8")
    tags = f"{home.info['url']}/api/tags"
    codes = [
        httpx2.get(tags, headers={"Authorization": f"Bearer {token}"}).status_code
        for token in (home.info["token"], "a-token-of-the-server", "a-token-of-somebody-else")
    ]
    assert codes == [200, 200, 401]


def test_without_unix_sockets_commands_go_to_its_port(home: Home) -> None:
    """As on Windows: the same server, found by the same file."""
    code = (
        "import sys\nfrom mdvec.interfaces.daemon import place\nplace.socket_path = lambda *_: None\n"
        "from mdvec.interfaces.cli import main\nmain.main()"
    )
    daemon = subprocess.Popen(
        [sys.executable, "-c", code, "daemon", "run"], cwd=home.folder, env=home.environment
    )
    try:
        wait_until(lambda: home.run("daemon", "status").returncode == 0)
        wait_until(lambda: (home.place / "daemon.json").exists())
        assert home.info["socket"] == ""
        found = home.run("search", "green", "--mode", "lexical", "--format", "paths")
        assert (found.returncode, found.stdout) == (0, f"{home.folder}/notes/tea.md\n")
        assert " search " in (home.place / "daemon.log").read_text("utf-8")
    finally:
        home.run("daemon", "stop")
        assert daemon.wait(HANG_S) == 0


def test_a_second_start_is_no_second_daemon(served: Home) -> None:
    """It says so, and a second one in the foreground is an error."""
    pid = served.info["pid"]
    again = served.run("daemon", "start")
    assert (again.returncode, f"is already running: process {pid}" in again.stderr) == (0, True)
    other = served.run("daemon", "start", "--http", "127.0.0.1:1")
    assert (other.returncode, f"already running: process {pid}" in other.stderr) == (1, True)
    assert "first run: mdvec daemon stop" in other.stderr
    foreground = served.run("daemon", "run")
    assert foreground.returncode == 1
    assert f"error: the daemon of this database is already running: process {pid}" in foreground.stderr
    assert served.run("daemon", "status").returncode == 0


def test_two_starts_at_once_are_one_daemon_whose_end_leaves_nothing(home: Home) -> None:
    """The second start waits for the first, and both succeed; a second stop is no error."""
    with ThreadPoolExecutor() as pool:
        starts = [*pool.map(lambda _: home.run("daemon", "start"), range(2))]
    assert [each.returncode for each in starts] == [0, 0]
    info = home.info
    assert all(f"process {info['pid']}," in each.stderr for each in starts)
    assert [sum(word in each.stderr for each in starts) for word in ("started:", "already running")] == [1, 1]
    assert f"stopped: process {info['pid']}" in home.run("daemon", "stop").stderr
    assert not Path(info["socket"]).exists()
    assert not (home.place / "daemon.json").exists()
    wait_until(lambda: not psutil.pid_exists(info["pid"]))
    assert home.run("daemon", "stop").returncode == 0
    assert home.run("daemon", "status").returncode == 1


def test_a_killed_daemon_is_not_missed_and_starts_again(home: Home) -> None:
    """After kill -9 commands do the work themselves; the next start takes the same places."""
    home.run("daemon", "start")
    before = home.info
    os.kill(before["pid"], signal.SIGKILL)
    wait_until(lambda: not psutil.pid_exists(before["pid"]))
    assert Path(before["socket"]).exists()
    found = home.run("search", "green", "--mode", "lexical", "--format", "paths")
    assert (found.returncode, found.stdout) == (0, f"{home.folder}/notes/tea.md\n")
    assert home.run("daemon", "status").returncode == 1
    Path(before["socket"]).unlink()  # as when the machine starts again
    assert "daemon" not in home.run("search", "green", "--mode", "lexical").stderr
    assert home.run("daemon", "start").returncode == 0
    assert home.info["pid"] != before["pid"]
    assert home.info["socket"] == before["socket"]


def test_a_daemon_of_another_version_is_not_used(home: Home) -> None:
    """Commands say so and do the work themselves; start replaces it."""
    home.run("daemon", "start")
    info = home.info
    (home.place / "daemon.json").write_text(json.dumps({**info, "version": "0.0.1"}))
    found = home.run("search", "green", "--mode", "lexical", "--format", "paths")
    assert found.stdout == f"{home.folder}/notes/tea.md\n"
    assert f"the daemon runs mdvec 0.0.1, and this is {__version__}" in found.stderr
    assert "restarting it" in home.run("daemon", "start").stderr
    assert (home.info["version"], home.info["pid"] != info["pid"]) == (__version__, True)


def test_a_daemon_without_its_socket_is_replaced(home: Home) -> None:
    """What cleans up temporary files may remove it; then the daemon helps nobody."""
    home.run("daemon", "start")
    info = home.info
    Path(info["socket"]).unlink()
    assert "is gone" in home.run("daemon", "status").stderr
    assert "is gone: restarting it" in home.run("daemon", "start").stderr
    assert home.info["pid"] != info["pid"]
    assert Path(info["socket"]).exists()


def test_a_daemon_with_other_settings_is_not_used(served: Home) -> None:
    """What is configured here counts, though how results are shown does not matter to a daemon."""
    other = served.run("search", "green", "--mode", "lexical", "--format", "paths", MDVEC_SEARCH_K="1")
    assert "the daemon was started with other settings" in other.stderr
    same = served.run("search", "green", "--mode", "lexical", MDVEC_DISPLAY_DEFAULT_FORMAT="paths")
    assert (same.stdout, "daemon" in same.stderr) == (f"{served.folder}/notes/tea.md\n", False)


def test_a_daemon_that_hangs_is_not_waited_for(served: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked first, whatever database a command is for; after a while the command does the work."""
    pid, env = served.info["pid"], served.environment
    monkeypatch.setattr(client, "_TIMEOUT_S", 0.2)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert client.outcome_of(["search", "x"], env=env, cwd=served.folder, columns=80) is None
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_daemon_that_cannot_start_says_why(home: Home) -> None:
    """What it said on the way is shown, and nothing stays behind."""
    outcome = home.run("daemon", "start", "--http", "203.0.113.1:1")
    assert outcome.returncode == 1
    assert "can be reached from other machines" in outcome.stderr
    assert "error: the daemon did not start" in outcome.stderr
    assert home.run("daemon", "status").returncode == 1
