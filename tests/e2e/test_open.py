"""``mdvec open`` in a process of its own, with a browser that only notes where it is sent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
from tests.commands import run_here
from tests.waiting import HANG_S, wait_until


def test_the_browser_is_sent_to_the_results(tmp_path: Path, model_cache: Path) -> None:
    """The page is served before the browser comes, the query stands in its address, and Ctrl-C ends it."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "再試行.md").write_text("# 再試行\n\n五回まで再試行する。\n", encoding="utf-8")
    browser, visited = tmp_path / "browser", tmp_path / "visited"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {visited}.part && mv {visited}.part {visited}\n')
    browser.chmod(0o755)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MDVEC_")},
        "BROWSER": f"{browser} %s",
        "HOME": str(tmp_path),
        "MDVEC_EMBEDDING_CACHE_DIR": str(model_cache),
        "MDVEC_STORE_LOCATION": str(tmp_path / "index.sqlite"),
    }
    mdvec = [sys.executable, "-P", "-m", "mdvec"]
    for arguments in (
        ["tool", "add", "-n", "notes", "-d", "Notes", "-s", "notes"],
        ["import", "-n", "notes", "--no-embed"],
    ):
        assert run_here(arguments, cwd=tmp_path, env=environment).returncode == 0
    with subprocess.Popen(
        [*mdvec, "open", "--http", "127.0.0.1:0", "再試行", "五回"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            wait_until(lambda: visited.exists() or process.poll() is not None)
            url = visited.read_text(encoding="utf-8")
            assert url.endswith("/?q=%E5%86%8D%E8%A9%A6%E8%A1%8C+%E4%BA%94%E5%9B%9E")
            assert "<mark>五回</mark>まで<mark>再試行</mark>" in httpx2.get(url, timeout=HANG_S).text
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(HANG_S) == 130
