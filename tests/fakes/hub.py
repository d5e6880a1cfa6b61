"""A Hugging Face hub of one model, on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub(ThreadingHTTPServer):
    """Answers what ``huggingface_hub`` asks for to download a model.

    Attributes:
        hub_id: ``owner/name`` of its model.
        folder: The files of it.
        sent: The files that were asked for whole, in order.
    """

    daemon_threads = True

    def __init__(self, hub_id: str, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub_id = hub_id
        self.folder = folder
        self.sent: list[str] = []

    @property
    def url(self) -> str:
        """Its address, for ``HF_ENDPOINT``."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def paths(self) -> list[str]:
        """Return the files of the model, relative."""
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return [path.relative_to(self.folder).as_posix() for path in files]


@contextmanager
def fake_hub(hub_id: str, folder: Path) -> Iterator[FakeHub]:
    """Serve a model until the end of the block."""
    with FakeHub(hub_id, folder) as hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: FakeHub

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, *_arguments: Any) -> None:
        """Stay quiet."""

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        model = self.server.hub_id
        if path in (f"/api/models/{model}", f"/api/models/{model}/revision/main"):
            listed = [{"rfilename": name} for name in self.server.paths()]
            self._send_json({"id": model, "sha": COMMIT, "siblings": listed})
        elif path == f"/api/models/{model}/tree/{COMMIT}":
            self._send_json([self._entry(name) for name in self.server.paths()])
        elif path.startswith(f"/{model}/resolve/{COMMIT}/"):
            self._send_file(path.removeprefix(f"/{model}/resolve/{COMMIT}/"), with_body=with_body)
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _entry(self, name: str) -> dict[str, Any]:
        raw = (self.server.folder / name).read_bytes()
        return {"type": "file", "path": name, "size": len(raw), "oid": hashlib.sha1(raw).hexdigest()}

    def _send_json(self, value: object) -> None:
        raw = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _send_file(self, name: str, *, with_body: bool) -> None:
        raw = (self.server.folder / name).read_bytes()
        self.send_response(200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha1(raw).hexdigest()}"')
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if with_body:
            self.server.sent.append(name)
            self.wfile.write(raw)
