"""The plugin for Obsidian: its build, and its use in a stand-in of Obsidian with a real daemon."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import WAIT_MS
from tests.commands import run_here
from tests.conformance.clients import install, npm
from tests.conformance.servers import MDVEC
from tests.fakes.embedding_services import KEY, OpenAiServer
from tests.waiting import HANG_S, wait_until
from tests.workspaces import written

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "clients" / "obsidian"
BUILT = ROOT / "build" / "obsidian"
STAND_IN = Path(__file__).with_name("obsidian.js")
TOKEN = "token-of-the-server-0123456789"
PAGE = "http://localhost/"  # where scripts may use the clipboard; nothing is loaded from there
KEY_VARIABLE = "KEY_OF_THE_SERVICE"
PAUSE_MS = 500  # many pauses of typing

NOTES = {
    "tea.md": (
        "---\ntags: [drink]\n---\n# Tea\n\n## Steeping\n\n"
        "Steep the **green** [[leaves]] for three minutes.\n\n## Storing\n\n"
        "Keep it dry, dark and away from coffee.\n"
    ),
    "coffee.md": "# Coffee\n\nGrind the beans, then pour hot water over them in a filter.\n",
    "旅行/京都.md": "# 京都の旅\n\n## 宿\n\n四条の静かな旅館に二泊した。\n\n## 食事\n\n湯豆腐を食べた。\n",
    "旅行/奈良.md": "# 奈良の旅\n\n## 宿\n\n奈良公園の近くの旅館に泊まり、鹿を見た。\n",
    ".obsidian/app.json": "{}",
}


@pytest.fixture(scope="module")
def program() -> str:
    """The plugin as it is built, with the packages of its lock file."""
    install(PLUGIN, BUILT)
    ignored = shutil.ignore_patterns("node_modules", "main.js")
    shutil.copytree(PLUGIN, BUILT, ignore=ignored, dirs_exist_ok=True)
    built = npm("run", "build", cwd=BUILT)
    assert built.code == 0, built.stderr
    return (BUILT / "main.js").read_text(encoding="utf-8")


@dataclass
class Machine:
    """A home with a vault, in which ``mdvec`` is installed as a user would."""

    home: Path
    environment: Mapping[str, str]
    vault: Path
    bridged: list[str] = field(default_factory=list)

    def run(self, *args: str, code: int = 0) -> str:
        """Run a command; a daemon becomes no child of ours."""
        if args[0] == "daemon":
            done = subprocess.run(
                [*MDVEC, *args],
                cwd=self.home,
                env=dict(self.environment),
                capture_output=True,
                encoding="utf-8",
                timeout=HANG_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        else:
            done = run_here(args, cwd=self.home, env=self.environment)
        assert done.returncode == code, done.stderr
        return done.stdout

    def register(self, name: str, folder: Path) -> None:
        """Make a folder a collection, and import it."""
        self.run("tool", "add", "-n", name, "-d", "Notes", "-s", str(folder))
        self.run("import", "-n", name)

    @property
    def url(self) -> str:
        """The address of its daemon."""
        info: dict[str, Any] = json.loads(self.run("daemon", "status", "--format", "json"))
        url: str = info["daemon"]["url"]
        return url

    def answer(self, name: str, argument: Any) -> object:
        """Do what the plugin asks of the machine."""
        self.bridged.append(name)
        match name:
            case "request":
                return self._requested(argument)
            case "execFile":
                return self._executed(argument)
            case "readdir":
                return [each.name for each in Path(argument).iterdir()]
            case "readFile":
                return Path(argument).read_text(encoding="utf-8")
            case "realpath":
                return os.path.realpath(argument, strict=True)
        raise AssertionError(name)

    def _requested(self, request: Any) -> object:
        try:
            got = httpx2.request(
                request["method"],
                request["url"],
                content=request["body"],
                headers=request["headers"],
                timeout=HANG_S,
            )
        except httpx2.TransportError:
            return {"status": 0, "text": ""}
        return {"status": got.status_code, "text": got.text}

    def _executed(self, command: Any) -> object:
        program = shutil.which(command["file"], path=command["path"])
        if program is None:
            return {"error": {"code": "ENOENT", "message": "spawn ENOENT"}, "stderr": ""}
        done = subprocess.run(
            [program, *command["args"]],
            env={**self.environment, "PATH": command["path"]},
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return {"error": {"code": done.returncode} if done.returncode else None, "stderr": done.stderr}


@contextmanager
def machine_of(home: Path, model_cache: Path) -> Iterator[Machine]:
    """Make a machine; its daemon ends with it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    environment = {
        **inherited,
        "HOME": str(home),
        "MDVEC_EMBEDDING_CACHE_DIR": str(model_cache),
        KEY_VARIABLE: KEY,
        "MDVEC_WATCH_ENABLED": "false",
        "MDVEC_SEARCH_SYNC_BUDGET_MS": "0",
    }
    program = home / ".local" / "bin" / "mdvec"  # where pipx and uv put it
    written(home, {".local/bin/mdvec": f'#!/bin/sh\nexec "{sys.executable}" -m mdvec "$@"\n'})
    program.chmod(0o755)
    machine = Machine(home, environment, written(home / "Vault", NOTES))
    try:
        yield machine
    finally:
        machine.run("daemon", "stop")


@pytest.fixture
def machine(tmp_path: Path, model_cache: Path) -> Iterator[Machine]:
    """A machine of one test, without a collection."""
    with machine_of(tmp_path, model_cache) as made:
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[Machine]:
    """A machine whose daemon serves the vault."""
    with machine_of(tmp_path_factory.mktemp("served"), model_cache) as made:
        made.register("vault", made.vault)
        made.run("daemon", "start")
        yield made


class App:
    """The stand-in with the plugin, and what was done in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.field = page.locator(".mdvec-search input")
        self.hits = page.locator(".mdvec-search .mdvec-hit")
        self.related = page.locator(".view-content .mdvec-hit")
        self.failure = page.locator(".mdvec-failure")

    def command(self, name: str) -> None:
        """Run a command of the plugin."""
        self.page.evaluate(f"plugin.commands.{name}.callback()")

    def search(self, query: str) -> None:
        """Open the search and enter a query at once."""
        self.command("search")
        if query:
            self.field.fill(query)

    def show(self, *notes: str) -> None:
        """Open notes, one right after the other."""
        self.page.evaluate("(paths) => paths.forEach((path) => app.workspace.show(path))", notes)

    def requests(self, operation: str) -> list[Any]:
        """Return the requests that were sent for an operation, in order."""
        sent: list[Any] = self.page.evaluate("requests")
        return [each for each in sent if each["operation"] == operation]

    def opened(self) -> list[Any]:
        """Return what was opened, in order."""
        opened: list[Any] = self.page.evaluate("opened")
        return opened


Open = Callable[..., App]


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Wait longer than elsewhere: for processes that start, and load a model."""
    expect.set_options(timeout=HANG_S * 1000)
    yield
    expect.set_options(timeout=WAIT_MS)


@pytest.fixture
def obsidian(chromium: Browser, program: str) -> Iterator[Open]:
    """Opens a vault of a machine in the app, with settings of the plugin; no test leaves errors."""
    contexts, errors = [], []

    def opened(machine: Machine, *, desktop: bool = True, language: str = "en", **settings: object) -> App:
        context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
        contexts.append(context)
        context.expose_function("bridge", lambda name, argument: machine.answer(name, argument))
        context.set_default_timeout(HANG_S * 1000)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.route(PAGE, lambda route: route.fulfill(body="<body></body>", content_type="text/html"))
        page.goto(PAGE)
        world = {
            "vault": str(machine.vault),
            "name": machine.vault.name,
            "notes": [path.relative_to(machine.vault).as_posix() for path in machine.vault.rglob("*.md")],
            "home": str(machine.home),
            "environment": {"PATH": "/usr/bin:/bin"},
            "isDesktop": desktop,
            "language": language,
            "settings": settings,
            "program": program,
        }
        page.evaluate("(given) => { window.world = given; }", world)
        page.add_style_tag(path=BUILT / "styles.css")
        page.add_script_tag(path=STAND_IN)
        return App(page)

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


# --- the package -----------------------------------------------------------------------------------


@pytest.mark.node
def test_the_plugin_passes_its_checks(program: str) -> None:
    """Its types are those of the oldest app it supports, and the directory's rules find nothing."""
    checked = npm("run", "check", cwd=BUILT)
    assert checked.code == 0, checked.stdout
    manifest = json.loads((PLUGIN / "manifest.json").read_text(encoding="utf-8"))
    package = json.loads((PLUGIN / "package.json").read_text(encoding="utf-8"))
    versions = json.loads((PLUGIN / "versions.json").read_text(encoding="utf-8"))
    assert (
        versions[manifest["version"]] == manifest["minAppVersion"] == package["devDependencies"]["obsidian"]
    )
    assert package["version"] == manifest["version"]
    assert (PLUGIN / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.node
def test_its_packages_are_pinned(program: str) -> None:
    """The lock holds a checksum for each package, and no host to fetch it from."""
    lock = json.loads((PLUGIN / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert len(packages) > 100
    assert [
        name for name, each in packages.items() if not each.get("integrity", "").startswith("sha512-")
    ] == []
    assert [name for name, each in packages.items() if "resolved" in each] == []


# --- search ----------------------------------------------------------------------------------------


def test_results_follow_typing(served: Machine, obsidian: Open) -> None:
    """Nothing is set or pressed: the daemon is found, and characters in quick succession are one search."""
    app = obsidian(served)
    app.search("")
    app.page.evaluate(
        """() => { const field = document.activeElement; for (const each of "steep leaves") {
        field.value += each; field.dispatchEvent(new InputEvent("input", { bubbles: true })); } }"""
    )
    hit = app.hits.first
    expect(hit.locator(".mdvec-title")).to_have_text("Tea")
    expect(hit.locator(".mdvec-heading")).to_contain_text("Steeping")
    expect(hit.locator(".mdvec-excerpt")).to_contain_text("Steep the green leaves for three minutes.")
    expect(hit.locator("mark").first).to_have_text("Steep")
    expect(hit.locator(".mdvec-about")).to_have_text("tea.md")
    expect(app.page.locator(".mdvec-notice").first).to_have_text("Very likely answers this")
    [search] = app.requests("search")
    assert (search["query"], search["collections"]) == ("steep leaves", ["vault"])


def test_enter_opens_the_note_at_the_line(served: Machine, obsidian: Open) -> None:
    """It is the line with most words of the query, or its heading, below frontmatter; Ctrl opens a tab."""
    app = obsidian(served)
    app.search("steep leaves")
    expect(app.hits.first).to_contain_text("Steep the green")
    app.page.keyboard.press("Enter")
    expect(app.field).to_have_count(0)
    app.search("storing tea")
    expect(app.hits.first).to_contain_text("Keep it dry")
    app.page.keyboard.press("Control+Enter")
    lines = NOTES["tea.md"].splitlines()
    steep = next(number for number, each in enumerate(lines) if each.startswith("Steep the"))
    assert app.opened() == [
        {"path": "tea.md", "line": steep, "pane": False},
        {"path": "tea.md", "line": lines.index("## Storing"), "pane": "tab"},
    ]


def test_arrows_choose_and_a_click_opens(served: Machine, obsidian: Open) -> None:
    """The choice stays inside the list; the hit under the pointer is opened."""
    app = obsidian(served)
    app.search("旅館")
    expect(app.hits.nth(1).locator("mark")).to_have_text("旅館")
    for key, index in (("ArrowUp", 0), ("ArrowDown", 1)):
        app.page.keyboard.press(key)
        expect(app.hits.nth(index)).to_have_class("suggestion-item mdvec-hit is-selected")
    paths = [each.split(" · ")[0] for each in app.hits.locator(".mdvec-about").all_inner_texts()]
    app.hits.nth(1).click()
    wait_until(app.opened)
    assert app.opened()[0]["path"] == paths[1]


def test_nothing_is_searched_during_a_conversion(served: Machine, obsidian: Open) -> None:
    """While きょうと is composed nothing is sent; the Enter that ends it opens nothing, as in WebKit."""
    app = obsidian(served, language="ja")
    app.search("")
    page = app.page
    expect(app.field).to_have_attribute("placeholder", "意味とキーワードで検索")
    session = page.context.new_cdp_session(page)
    press = """([isComposing, keyCode]) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown",
        { key: "Enter", isComposing, keyCode, bubbles: true, cancelable: true }))"""
    for text in ("k", "き", "きょ", "きょう", "きょうと"):
        place = {"selectionStart": len(text), "selectionEnd": len(text)}
        session.send("Input.imeSetComposition", {"text": text, **place})
        page.evaluate(press, [True, 13])
    page.wait_for_timeout(PAUSE_MS)
    assert app.requests("search") == []
    session.send("Input.insertText", {"text": "京都の宿"})
    expect(app.hits.first).to_contain_text("四条の静かな旅館")
    expect(app.hits.first.locator(".mdvec-heading")).to_contain_text("宿")
    expect(page.locator(".mdvec-notice").first).to_contain_text("答えが含まれて")
    page.evaluate(press, [False, 229])
    assert app.opened() == []
    assert {each["query"] for each in app.requests("search")} == {"京都の宿"}
    page.keyboard.press("Enter")
    wait_until(app.opened)
    assert app.opened()[0]["path"] == "旅行/京都.md"


def test_a_late_answer_never_replaces_a_newer_one(served: Machine, obsidian: Open) -> None:
    """The first of two answers arrives last, and is dropped."""
    app = obsidian(served)
    app.search("")
    app.page.evaluate(
        """() => { answers = async (send, { query }) => {
          const got = await send();
          if (query === "coffee") await new Promise((resolve) => { window.release = resolve; });
          return got;
        }; }"""
    )
    app.field.fill("coffee")
    app.page.wait_for_function("() => Boolean(window.release)")
    app.field.fill("旅館")
    expect(app.hits.first).to_contain_text("旅館")
    app.page.evaluate("release()")
    app.page.wait_for_timeout(PAUSE_MS)
    expect(app.hits.first).to_contain_text("旅館")


def test_a_hit_tells_its_state(served: Machine, obsidian: Open) -> None:
    """Without a vector beside others that have one, changed since, or gone from the vault."""
    app = obsidian(served)
    app.page.evaluate(
        """() => { world.notes = []; answers = async (send, { operation }) => {
          const got = await send();
          if (operation !== "search") return got;
          const answer = JSON.parse(got.text);
          Object.assign(answer.hits[0], { similarity: null, stale: true });
          return { ...got, text: JSON.stringify({ ...answer, pending_chunks: 1 }) };
        }; }"""
    )
    app.search("steep leaves")
    expect(app.hits.first).to_contain_text("not embedded yet · changed since it was indexed")
    expect(app.page.locator(".mdvec-search")).to_contain_text("1 of 4 passages are not embedded yet")
    app.hits.first.click()
    wait_until(lambda: app.page.evaluate("notices"))
    assert app.page.evaluate("notices") == ["tea.md is not in this vault any more."]
    assert app.opened() == []


# --- related notes ---------------------------------------------------------------------------------


def test_related_notes_follow_the_open_note(served: Machine, obsidian: Open) -> None:
    """The pane shows those of the note that is opened last, opens them, and says which are not indexed."""
    app = obsidian(served)
    app.command("related")
    expect(app.page.locator(".mdvec-related")).to_have_text("Open a note to see related ones.")
    app.show("coffee.md", "旅行/京都.md")
    expect(app.related.first).to_contain_text("奈良の旅")
    assert [each["path"] for each in app.requests("related")] == ["旅行/京都.md"]
    app.related.first.click()
    wait_until(lambda: len(app.requests("related")) == 2)  # it is the open note now
    expect(app.related.first).to_contain_text("京都の旅")
    assert app.opened()[0]["path"] == "旅行/奈良.md"
    app.show("new.md")
    expect(app.failure).to_have_text("This note is not indexed yet.")
    app.command("related")
    assert app.page.locator(".mdvec-related").count() == 1


# --- finding the server ----------------------------------------------------------------------------


def test_the_daemon_is_started_when_asked(machine: Machine, obsidian: Open) -> None:
    """By a button, with the command of the user's folder of programs; a new one on another port is found."""
    machine.register("vault", machine.vault)
    app = obsidian(machine)
    app.search("steep")
    expect(app.failure).to_contain_text("mdvec is not running on this machine.")
    start = app.failure.get_by_text("Start mdvec")
    start.evaluate("(button) => { button.dataset.first = 'yes' }")
    app.field.fill("steeping")  # which fails alike, and leaves the button under the pointer
    app.page.wait_for_timeout(1_000)
    expect(start).to_have_attribute("data-first", "yes")
    start.click()
    expect(app.hits.first).to_contain_text("Tea")
    old = machine.url
    machine.run("daemon", "stop")
    machine.run("daemon", "start", "--http", "127.0.0.1:0")
    assert machine.url != old
    app.field.fill("coffee")
    expect(app.hits.first).to_contain_text("Coffee")


def test_the_daemon_starts_by_itself_if_wanted(machine: Machine, obsidian: Open) -> None:
    """A setting, and only once: what somebody stops is not started again. A missing command is named."""
    machine.register("vault", machine.vault)
    app = obsidian(machine, autostart=True)
    app.search("steep")
    expect(app.hits.first).to_contain_text("Tea")
    machine.run("daemon", "stop")
    app.field.fill("coffee")
    expect(app.failure).to_contain_text("Start mdvec")
    assert machine.bridged.count("execFile") == 1
    app = obsidian(machine, command="no-such-mdvec")
    app.search("steep")
    app.failure.get_by_text("Start mdvec").click()
    expect(app.failure).to_contain_text("There is no command no-such-mdvec.")


def test_a_token_is_needed_only_elsewhere(machine: Machine, obsidian: Open) -> None:
    """On the same machine the daemon's own is found; with an address that of the server is entered once."""
    machine.register("vault", machine.vault)
    token_file = machine.home / "token"
    token_file.write_text(TOKEN, encoding="utf-8")
    token_file.chmod(0o600)
    machine.run("daemon", "start", "--token-file", str(token_file))
    app = obsidian(machine)
    app.search("steep")
    expect(app.hits.first).to_contain_text("Tea")
    app = obsidian(machine, address=f"{machine.url}/", token="wrong-token-0123456789")
    app.search("steep")
    expect(app.failure).to_have_text(f"mdvec at {machine.url} refuses the token in the settings.")
    app.page.keyboard.press("Escape")
    app.page.evaluate("plugin.tab.display(), document.body.prepend(plugin.tab.containerEl)")
    app.page.locator(".setting-item", has_text="Token").locator("input").fill(TOKEN)
    assert app.page.evaluate("world.settings.token") == TOKEN
    app.field.fill("steep leaves")
    expect(app.hits.first).to_contain_text("Tea")


def test_an_unknown_vault_shows_what_to_run(machine: Machine, obsidian: Open) -> None:
    """The commands are copied, and are what makes the vault known: then it is searched."""
    machine.vault = machine.vault.rename(machine.home / "Ann's ノート")
    machine.run("daemon", "start")
    app = obsidian(machine)
    app.search("steep")
    expect(app.failure).to_contain_text("mdvec does not know this vault yet.")
    app.failure.get_by_text("Copy").click()
    expect(app.failure.get_by_text("Copied")).to_be_visible()
    commands = app.page.evaluate("navigator.clipboard.readText()")
    path = f"{machine.home}/.local/bin:{os.environ['PATH']}"
    subprocess.run(["sh", "-ec", commands], env={**machine.environment, "PATH": path}, check=True)
    app.field.fill("steep leaves")
    expect(app.hits.first).to_contain_text("Tea")


@pytest.mark.parametrize(
    ("registered", "vault", "note"),
    [("Vault/旅行", "Vault", "旅行/京都.md"), ("Vault", "Vault/旅行", "京都.md")],
)
def test_a_collection_may_be_a_part_of_the_vault_or_more(
    machine: Machine, obsidian: Open, registered: str, vault: str, note: str
) -> None:
    """Paths are those of the vault, in searches and for related notes; what is outside of it is not found."""
    machine.register("notes", machine.home / registered)
    machine.vault = machine.home / vault
    machine.run("daemon", "start")
    app = obsidian(machine)
    app.search("京都の静かな旅館")
    expect(app.hits.first.locator(".mdvec-about")).to_have_text(note)
    app.page.keyboard.press("Enter")
    wait_until(app.opened)
    assert app.opened()[0]["path"] == note
    app.command("related")
    expect(app.related.first).to_contain_text("奈良の旅")
    app.search("steep leaves")
    expect(app.page.locator(".mdvec-search .mdvec-notice").first).to_be_visible()
    assert "tea.md" not in app.page.locator(".mdvec-search").inner_text()


def test_a_phone_uses_an_address(served: Machine, obsidian: Open) -> None:
    """No part of Node is touched there; the vault is found by the name of its folder, or as it is set."""
    app = obsidian(served, desktop=False)
    app.search("steep")
    expect(app.failure).to_have_text("Enter the address of mdvec in the settings.")
    app = obsidian(served, desktop=False, address=served.url)
    app.search("steep")
    expect(app.hits.first).to_contain_text("Tea")
    app = obsidian(served, desktop=False, address=served.url, collection="notes")
    app.search("steep")
    expect(app.failure).to_contain_text("has no collection notes. Enter one of these in the settings: vault")
    app = obsidian(served, desktop=False, address="http://127.0.0.1:9", language="ja")
    app.search("steep")
    expect(app.failure).to_have_text("http://127.0.0.1:9 の mdvec が応答しません。")


# --- models of services ----------------------------------------------------------------------------


def test_a_service_receives_no_typing(machine: Machine, obsidian: Open) -> None:
    """Words alone are searched at each pause, and Enter searches by meaning; the next one opens the hit."""
    with OpenAiServer() as service:
        configure(machine, f"{service.url}/v1")
        machine.register("vault", machine.vault)
        machine.run("daemon", "start")
        sent = len(service.asked)
        app = obsidian(machine)
        app.search("green leaves")
        expect(app.hits.first).to_contain_text("Tea")
        notice = app.page.get_by_text("Press Enter to search by meaning, too")
        expect(notice).to_be_visible()
        assert len(service.asked) == sent
        app.page.keyboard.press("Enter")
        expect(notice).to_have_count(0)
        assert len(service.asked) == sent + 1
        assert app.opened() == []
        app.page.keyboard.press("Enter")
        wait_until(app.opened)


def test_what_is_not_embedded_is_told(machine: Machine, obsidian: Open) -> None:
    """The service is gone: words find the notes, and the search says how many have no vector."""
    with OpenAiServer() as service:
        configure(machine, f"{service.url}/v1")
        machine.run("tool", "add", "-n", "vault", "-d", "Notes", "-s", str(machine.vault))
    machine.run("import", "-n", "vault", code=1)
    machine.run("daemon", "start")
    app = obsidian(machine)
    app.search("green leaves")
    expect(app.hits.first).to_contain_text("Tea")
    expect(app.page.locator(".mdvec-search")).to_contain_text("4 of 4 passages are not embedded yet")


def configure(machine: Machine, url: str) -> None:
    """Let a service make the vectors of a machine."""
    text = (
        '[embedding]\nprovider = "openai"\nmodel = "text-embedding-3-small"\ndimension = 384\n\n'
        f'[embedding.openai]\nbase_url = "{url}"\nattempts = 1\napi_key_env = "{KEY_VARIABLE}"\n'
    )
    written(machine.home, {".config/mdvec/mdvec.toml": text})
