"""The part of GitHub's REST interface that mdvec asks, as it speaks over the wire: formats and errors."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.http_server import Answer, Asked, HttpServer

REPOSITORY = "acme/notes"
TOKEN = "github_pat_of_the_test_0123"
RESET = 2_000_000_042
"""When the limits end, in seconds since 1970."""

_DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True)
class Link:
    """A symbolic link in a commit."""

    target: str


@dataclass(frozen=True)
class Submodule:
    """Another repository in a commit."""

    commit: str = "1" * 40


Files = Mapping[str, bytes | Link | Submodule]


@dataclass
class _Tree:
    entries: dict[str, tuple[str, str, int | None]] = field(default_factory=dict)
    trees: dict[str, _Tree] = field(default_factory=dict)
    sha: str = ""


def object_id(kind: str, content: bytes) -> str:
    """Return what git calls an object."""
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()


class GithubServer(HttpServer):
    """One repository.

    Attributes:
        branches: Id of the latest commit, by name; no branch means an empty repository.
        default_branch: What HEAD names.
        token: Whoever brings another one is refused; who brings none is let in when ``public``.
        public: Whether everybody may read.
        prefix: What comes before all paths, as ``/api/v3`` on GitHub Enterprise Server.
        most_items: A recursive tree with more is cut off.
        damaged: Paths whose contents arrive changed.
        left_out: Paths that archives do not hold.
        archive_status: Of the answer to who asks for an archive; 302 leads to another host.
    """

    def __init__(self, *, public: bool = True, prefix: str = "") -> None:
        super().__init__()
        self.branches: dict[str, str] = {}
        self.default_branch = "main"
        self.token = TOKEN
        self.public = public
        self.prefix = prefix
        self.most_items = 100_000
        self.damaged: set[str] = set()
        self.left_out: set[str] = set()
        self.archive_status = 302
        self._commits: dict[str, Files] = {}
        self._trees: dict[str, _Tree] = {}

    @property
    def base_url(self) -> str:
        return self.url + self.prefix

    def commit(self, files: Files, branch: str = "main") -> str:
        """Point a branch to a commit with these files, whatever it pointed to before."""
        root = _tree(files)
        for tree in _every(root):
            self._trees[tree.sha] = tree
        sha = object_id("commit", f"tree {root.sha}\n\n{branch} {len(self._commits)}".encode())
        self._trees[sha] = root
        self._commits[sha] = dict(files)
        self.branches[branch] = sha
        return sha

    def calls(self) -> list[str]:
        """Return what was asked since the last time: such as ``commits``, ``trees`` and ``blobs``."""
        kinds = [urlsplit(asked.path).path.removeprefix(self.prefix) for asked in self.asked]
        self.asked.clear()
        return [_kind(path) for path in kinds]

    def answer(self, asked: Asked) -> Answer:
        url = urlsplit(asked.path)
        path = unquote(url.path)
        if path.startswith("/codeload/"):
            return Answer(200, self._archive(path.rpartition("/")[2]), {"Content-Type": "application/x-gzip"})
        if not path.startswith(f"{self.prefix}/"):
            return Answer(404, b"<html>not the REST interface</html>", {"Content-Type": "text/html"})
        answer = self._answer(asked, path.removeprefix(self.prefix), parse_qs(url.query))
        limits = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4999", "x-ratelimit-used": "1"}
        limits |= {"x-ratelimit-reset": str(RESET), "x-ratelimit-resource": "core"}
        return Answer(answer.status, answer.body, {**limits, **answer.headers})

    def _answer(self, asked: Asked, path: str, query: Mapping[str, list[str]]) -> Answer:
        sent = asked.headers.get("authorization")
        if sent is not None and sent != f"Bearer {self.token}":
            return problem(401, "Bad credentials")
        root = f"/repos/{REPOSITORY}"
        if (sent is None and not self.public) or not (path == root or path.startswith(f"{root}/")):
            return problem(404, "Not Found")
        kind, _, rest = path.removeprefix(f"{root}/").partition("/")
        match kind:
            case "commits":
                return self._head(asked, rest)
            case "git" if rest.startswith("trees/"):
                return self._listed(rest.removeprefix("trees/"), recursive="recursive" in query)
            case "git" if rest.startswith("blobs/"):
                return self._blob(asked, rest.removeprefix("blobs/"))
            case "tarball" if self.archive_status != 302:
                return problem(self.archive_status, "Forbidden")
            case "tarball":
                # Another host, as codeload.github.com is one.
                location = f"http://localhost:{self.port}/codeload/{rest}"
                return Answer(302, b"", {"Location": location})
            case _ if path == root:
                return Answer(200, {"full_name": REPOSITORY, "default_branch": self.default_branch})
        return problem(404, "Not Found")

    def _head(self, asked: Asked, ref: str) -> Answer:
        if not self.branches:
            return problem(409, "Git Repository is empty.")
        name = self.default_branch if ref == "HEAD" else ref
        sha = self.branches.get(name) or (ref if ref in self._commits else None)
        if sha is None:
            return problem(422, f"No commit found for SHA: {ref}")
        etag = f'W/"{sha}"'
        if asked.headers.get("if-none-match") == etag:
            return Answer(304, b"", {"ETag": etag})
        if asked.headers.get("accept") != "application/vnd.github.sha":
            return Answer(200, {"sha": sha}, {"ETag": etag})
        kind = {"Content-Type": "application/vnd.github.sha; charset=utf-8"}
        return Answer(200, sha.encode(), {"ETag": etag, **kind})

    def _listed(self, sha: str, *, recursive: bool) -> Answer:
        tree = self._trees.get(sha)
        if tree is None:
            return problem(404, "Not Found")
        items = [_json(*item) for item in _items(tree, "", recursive=recursive)]
        cut_off = recursive and len(items) > self.most_items
        return Answer(
            200,
            {"sha": tree.sha, "tree": items[: self.most_items] if cut_off else items, "truncated": cut_off},
        )

    def _blob(self, asked: Asked, sha: str) -> Answer:
        found = next(
            (
                (path, content)
                for files in self._commits.values()
                for path, content in files.items()
                if isinstance(content, bytes) and object_id("blob", content) == sha
            ),
            None,
        )
        if found is None:
            return problem(404, "Not Found")
        path, content = found
        if path in self.damaged:
            content = content[:-1] + b"?"
        if asked.headers.get("accept") == "application/vnd.github.raw+json":
            return Answer(200, content, {"Content-Type": "application/vnd.github.raw+json; charset=utf-8"})
        body = {"sha": sha, "size": len(content), "encoding": "base64"}
        return Answer(200, {**body, "content": base64.encodebytes(content).decode()})

    def _archive(self, sha: str) -> bytes:
        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
            for path, content in self._commits[sha].items():
                member = tarfile.TarInfo(f"acme-notes-{sha[:7]}/{path}")
                if path in self.left_out or isinstance(content, Submodule):
                    continue
                if isinstance(content, Link):
                    member.type, member.linkname = tarfile.SYMTYPE, content.target
                    archive.addfile(member)
                else:
                    content = content[:-1] + b"?" if path in self.damaged else content
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
        return written.getvalue()


def problem(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Write an error as GitHub does."""
    body = {"message": message, "documentation_url": _DOCS, "status": str(status)}
    return Answer(status, body, headers or {})


def _kind(path: str) -> str:
    parts = path.removeprefix(f"/repos/{REPOSITORY}").strip("/").split("/")
    return "repository" if parts == [""] else parts[1] if parts[0] == "git" else parts[0]


def _tree(files: Files) -> _Tree:
    root = _Tree()
    for path, content in files.items():
        *above, name = path.split("/")
        tree = root
        for part in above:
            tree = tree.trees.setdefault(part, _Tree())
        match content:
            case Link(target):
                tree.entries[name] = ("120000", object_id("blob", target.encode()), len(target.encode()))
            case Submodule(commit):
                tree.entries[name] = ("160000", commit, None)
            case bytes():
                tree.entries[name] = ("100644", object_id("blob", content), len(content))
    for tree in reversed(list(_every(root))):
        lines = [(name, mode, sha) for name, (mode, sha, _) in tree.entries.items()]
        lines += [(f"{name}/", "40000", inner.sha) for name, inner in tree.trees.items()]
        content = b"".join(
            f"{mode} {name.rstrip('/')}\0".encode() + bytes.fromhex(sha) for name, mode, sha in sorted(lines)
        )
        tree.sha = object_id("tree", content)
    return root


def _every(root: _Tree) -> list[_Tree]:
    """Return a tree and all below, parents first."""
    found = [root]
    for tree in found:
        found += tree.trees.values()
    return found


def _items(tree: _Tree, prefix: str, *, recursive: bool) -> list[tuple[str, str, str, int | None]]:
    items = [(prefix + name, *entry) for name, entry in tree.entries.items()]
    for name, inner in tree.trees.items():
        items.append((prefix + name, "040000", inner.sha, None))
        if recursive:
            items += _items(inner, f"{prefix}{name}/", recursive=True)
    return sorted(items)


def _json(path: str, mode: str, sha: str, size: int | None) -> dict[str, object]:
    kind = {"040000": "tree", "160000": "commit"}.get(mode, "blob")
    item: dict[str, object] = {"path": path, "mode": mode, "type": kind, "sha": sha}
    return item if size is None else {**item, "size": size}
