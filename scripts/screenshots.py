#!/usr/bin/env python3
"""Makes the screenshots of the documentation anew, from a few notes: ``docs/images/*.png``.

It takes ``pip install -e '.[test-heavy]'`` and Chromium (``apt-get install chromium fonts-noto-cjk``).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

from playwright.sync_api import Browser, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SIZE: ViewportSize = {"width": 1120, "height": 720}
READY = "serving MCP at "

NOTES = {
    "en": {
        "operations/retry policy.md": """---
tags: [operations, network]
owner: Mori
---
# Retry policy

Every call to another service may fail. This note says what our clients do then.

## How often

A request is tried **five times** at most. The waits between the tries double: 0.2, 0.4, 0.8 and 1.6 seconds,
each with some jitter. See [[timeouts]] for how long a single try may take.

> [!warning] Never retry what is not idempotent
> A payment that timed out may have gone through. Look it up before you send it again.

## In code

```python
@retry(attempts=5, first_wait_s=0.2, jitter=True)
def fetch(url: str) -> bytes:
    return client.get(url, timeout_s=3).read()
```

| error | retried |
|---|---|
| connection refused | yes |
| 429 and 503 | yes, after `Retry-After` |
| 4xx | no |
""",
        "operations/timeouts.md": """---
tags: [operations, network]
---
# Timeouts

A single try may take three seconds, the whole call ten. After that the [[retry policy]] gives up.
""",
        "operations/incident 2026-09.md": """---
tags: [operations, incident]
---
# Incident of September

Retries without jitter came all at once and kept the database down for twenty minutes.
Since then the [[retry policy]] asks for jitter.
""",
        "travel/kyoto.md": """---
tags: [travel]
---
# Kyoto in autumn

We stayed in a quiet inn near Shijo and walked along the river each morning.
""",
        "reading/thinking in systems.md": """---
tags: [books]
---
# Thinking in Systems

Feedback loops, delays and leverage points. A retry storm is a reinforcing loop.
""",
    },
    "ja": {
        "運用/再試行の方針.md": """---
tags: [運用, ネットワーク]
担当: 森
---
# 再試行の方針

外部サービスの呼び出しは失敗することがあります。そのときの動作をまとめます。

## 回数と間隔

一つの要求につき、**最大五回まで**再試行します。間隔は 0.2 秒から始めて倍に増やし、揺らぎを加えます。
一回の制限時間は[[タイムアウト]]を参照してください。

> [!warning] 冪等でない処理は再試行しない
> 時間切れになった決済は、成功していることがあります。再送の前に必ず状態を確認します。

## 対象になるエラー

| エラー | 再試行 |
|---|---|
| 接続の拒否 | する |
| 429 と 503 | `Retry-After` の後にする |
| その他の 4xx | しない |
""",
        "運用/タイムアウト.md": """---
tags: [運用, ネットワーク]
---
# タイムアウト

一回の試行は三秒、呼び出し全体では十秒までです。超えた場合は[[再試行の方針]]に従って中止します。
""",
        "運用/2026年9月の障害.md": """---
tags: [運用, 障害]
---
# 2026年9月の障害

再試行が一斉に集中し、データベースが二十分間停止しました。以後、[[再試行の方針]]では間隔に揺らぎを加えています。
""",
        "旅行/京都.md": """---
tags: [旅行]
---
# 秋の京都

四条の近くの静かな旅館に泊まり、毎朝、鴨川沿いを歩いた。
""",
        "読書/世界はシステムで動く.md": """---
tags: [読書]
---
# 世界はシステムで動く

フィードバック、遅れ、てこの支点。再試行の集中は自己強化型のループの一例。
""",
    },
}
QUERIES = {"en": "how often is a request retried?", "ja": "再試行は何回まで？"}
LOCALES = {"en": "en-US", "ja": "ja-JP"}


@contextmanager
def served(language: str, folder: Path) -> Iterator[str]:
    """Index the notes of a language and serve them; yield the address of the page."""
    notes = folder / "Notes"
    for path, text in NOTES[language].items():
        (notes / path).parent.mkdir(parents=True, exist_ok=True)
        (notes / path).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mdvec", "--database", str(folder / "index.sqlite")]
    description = {"en": "Notes on work, books and travels", "ja": "仕事、読書、旅行のノート"}[language]
    for arguments in (
        ["tool", "add", "-n", "notes", "-d", description, "-s", str(notes)],
        ["import", "-n", "notes"],
    ):
        subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen(
        [*command, "serve", "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, encoding="utf-8"
    )
    try:
        assert server.stderr is not None
        line = next(line for line in server.stderr if line.startswith(READY))
        yield line.removeprefix(READY).partition("/mcp")[0]
    finally:
        server.terminate()
        server.wait()


def take(browser: Browser, language: str, url: str) -> None:
    """Take the pictures of one language."""
    query = QUERIES[language]
    document = next(iter(NOTES[language]))
    context = browser.new_context(base_url=url, locale=LOCALES[language], viewport=SIZE)
    page = context.new_page()
    dark = browser.new_context(
        base_url=url,
        locale=LOCALES[language],
        viewport=SIZE,
        color_scheme="dark",
    )
    shots = (
        (page, "search", f"/?{urlencode({'q': query})}"),
        (
            dark.new_page(),
            "reading",
            f"/doc/notes/{quote(document)}?{urlencode({'q': query, 'lines': '9-13'})}",
        ),
        (page, "status", "/status"),
    )
    for tab, name, address in shots:
        tab.goto(address)
        tab.wait_for_load_state("load")
        if name == "reading":
            tab.wait_for_selector("#similar a")
        tab.screenshot(path=IMAGES / f"{name}.{language}.png")
    context.close()
    dark.close()


def main() -> None:
    """Make all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or "chromium", args=["--no-sandbox"]
        )
        for language in NOTES:
            # A short path of its own is what people see on the status page.
            with (
                tempfile.TemporaryDirectory(prefix="mdvec-") as folder,
                served(language, Path(folder)) as url,
            ):
                take(browser, language, url)
        browser.close()


if __name__ == "__main__":
    main()
