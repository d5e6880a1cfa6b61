"""``mdvec serve --http`` with the conformance suites' own tools, resources and prompts laid over it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.conformance.wrapping import add_fixtures

from mdvec.config import Config, load_config
from mdvec.interfaces import logs
from mdvec.interfaces.app import serve_http
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.mcp import application
from mdvec.interfaces.mcp.application import AnnouncingServer, build_server
from mdvec.workspace import Workspace, open_workspace


def build_with_fixtures(workspace: Workspace, config: Config) -> AnnouncingServer:
    """Build what mdvec serves, and add the fixtures."""
    server = build_server(workspace, config)
    add_fixtures(server)
    return server


def main() -> int:
    """Serve at a free port until SIGTERM; the URL goes to stderr."""
    config = load_config(None, cwd=Path.cwd(), env=os.environ).config
    options = server_options(
        "127.0.0.1:0", env={}, token_file=None, insecure=False, allowed_hosts=(), allowed_origins=()
    )
    application.build_server = build_with_fixtures
    with open_workspace(config) as workspace:
        logs.configure(config.log, serves=True, verbose=True)
        return serve_http(workspace, config, options, ready=_show)


def _show(url: str) -> None:
    sys.stderr.write(f"{url}/mcp\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
