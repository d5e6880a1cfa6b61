"""The page in a real browser: a server in this process, and Debian's Chromium."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn
from tests.bugs import reported_bugs
from tests.workspaces import workspace_of, written

from mdvec import Workspace
from mdvec.config import Config
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import Authority, server_options
from mdvec.interfaces.http.server import bind

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request

# The extra `test-heavy` installs it; without it there is nothing here to run.
collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]

LOOPBACK = Authority("127.0.0.1", 0)

WAIT_MS = 30_000
"""The most an element is waited for: other tests run beside these."""

NOTES = {
    "retry.md": (
        "---\ntags: [ops, network]\n---\n# Retry policy\n\nHow clients retry.\n\n"
        + "".join(f"## Part {number}\n\n{'Words about something else. ' * 30}\n\n" for number in range(12))
        + "## Limits\n\nFive retries at most, then the request fails.\n\n```python\ndef retry(): ...\n```\n"
    ),
    "旅行/京都.md": (
        "---\ntags: [旅]\n---\n# 京都の旅\n\n## 宿\n\n四条の静かな旅館に二泊した。\n\n![[map.svg]]\n"
    ),
    "旅行/奈良.md": (
        "---\ntags: [旅]\n---\n# 奈良\n\n鹿を見た。[[京都]]に戻った。\n\n> [!tip]- 持ち物\n> 傘\n"
        f"\n```\n{'wide ' * 40}\n```\n\n| 語 | 意味 |\n|---|---|\n| Backpressure | {'庭の音。' * 40} |\n"
    ),
    "evil.md": (
        "# Evil\n\n<script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"
        "<img src='https://evil.example/p.png'>\n<a href='javascript:window.ran = 3' id=help>click</a>\n"
        "<form action='https://evil.example/'><input autofocus onfocus='window.ran = 4'></form>\n\n"
        "<svg onload='window.ran = 5'></svg><style>@import 'https://evil.example/x.css';</style>\n\n"
        "![x](https://evil.example/q.png) [y](javascript:window.ran=6)\n\n![[map.svg]]\n"
    ),
}
# Text that is repeated in many notes ranks behind all others.
_WORDS = (
    "baker barber butcher carpenter clerk cook dancer doctor driver farmer fisher gardener guard hunter "
    "judge lawyer miller painter pilot plumber potter sailor singer tailor teacher"
)
_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'><script>window.top.ran = 7</script></svg>"
)


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """The library that drives the browser. Its loop of asyncio is in this thread, which other tests need."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as made:
        yield made


@pytest.fixture(scope="module")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """A browser without a window."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program, "the tests need Chromium: apt-get install chromium fonts-noto-cjk"
    browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
    yield browser
    browser.close()


class Site:
    """A server of a workspace.

    Attributes:
        url: Where it is.
        workspace: What it serves.
    """

    def __init__(self, workspace: Workspace, token: str = "") -> None:
        self.workspace = workspace
        listener = bind(LOOPBACK)
        port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        options = server_options(f"127.0.0.1:{port}", env={"MDVEC_TOKEN": token} if token else {})
        app = build_app(workspace, Config(), options, port)
        config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
        self._until_closed = ExitStack()
        self.bugs = self._until_closed.enter_context(reported_bugs())
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._server.should_exit = True
        self._thread.join()
        self._until_closed.close()
        assert self.bugs == []


def write_notes(folder: Path) -> Path:
    """Write the notes below a folder."""
    written(folder, NOTES)
    for number, word in enumerate(_WORDS.split()):
        text = f"# Apple {number}\n\nThe apple of the {word}, and what the {word} does with it.\n"
        (folder / f"apple {number}.md").write_text(text, encoding="utf-8")
    (folder / "images").mkdir()
    (folder / "images" / "map.svg").write_text(_SVG, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server of some notes."""
    folder = tmp_path_factory.mktemp("site")
    with workspace_of(
        folder / "index.sqlite", {"notes": write_notes(folder / "notes")}, description="Notes"
    ) as workspace:
        made = Site(workspace)
        yield made
        made.close()


class Tab:
    """A tab of the browser, and what went wrong in it.

    Attributes:
        page: The tab.
        requests: Addresses that were requested, in order.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console", lambda message: self.errors.append(message.text) if message.type == "error" else None
        )

    def _note(self, request: Request) -> None:
        self.requests.append(request.url)

    def _note_error(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def results(self) -> list[str]:
        """Return the queries that were sent for results."""
        return [url for url in self.requests if "/results?" in url]


@pytest.fixture
def tab(chromium: Browser, site: Site, request: pytest.FixtureRequest) -> Iterator[Tab]:
    """A tab in a window of its own; options are given by the marker ``window``. No test leaves errors."""
    marker = request.node.get_closest_marker("window")
    context = chromium.new_context(base_url=site.url, **(marker.kwargs if marker else {"locale": "en-US"}))
    context.set_default_timeout(WAIT_MS)
    made = Tab(context.new_page())
    yield made
    context.close()
    assert made.errors == []
