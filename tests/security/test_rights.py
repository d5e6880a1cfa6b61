"""A token that may read one collection learns nothing of the others: at every door over HTTP."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from starlette.responses import Response
from starlette.testclient import TestClient
from tests.bugs import reported_bugs
from tests.events import heard
from tests.unit.interfaces.mcp.agent import talk
from tests.waiting import HANG_S
from tests.workspaces import workspace_of, written

from mdvec import Workspace, open_workspace
from mdvec.config import Config
from mdvec.config.schema import AccessToken, SearchSettings
from mdvec.errors import CollectionNotFoundError, DocumentNotFoundError, NotAllowedError
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.http.rights import COOKIE, start_session
from mdvec.interfaces.rpc.methods import METHODS
from mdvec.interfaces.web.frame import PageAddresses
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.hit import Correction
from mdvec.types.query import Filters, SearchQuery
from mdvec.types.report import ImportOptions
from mdvec.workspace.serving import RestrictedWorkspace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix

# Scores depend on how rare words are in all collections, so the limit of what is shown does, too.
CONFIG = Config(search=SearchSettings(sync_budget_ms=0, min_score=0.0))
PORT = 8765
BASE = f"http://127.0.0.1:{PORT}"
OWN = "own-token-0123456789abcdef"
NARROW = "narrow-token-0123456789abc"
OTHER = "other-token-0123456789abcd"
TWIN = "twin-token-0123456789"

# What a narrow token gets to see, and what it does not.
OPEN = {
    "plan.md": "---\ntags: [open]\naliases: [Roadmap]\n---\n# Plan\n\nThe launch is in spring. [[vault]]\n",
    "team.md": "# Team\n\n## People\n\nFive people build the launch.\n",
}
SECRET = {
    "merger/zanzibar.md": (
        "---\ntags: [classified]\naliases: [Quokka]\nowner: Wombat\n---\n"
        "# Zanzibar\n\n## Xylophone\n\nThe merger with Umbrella costs 918273645. [[payroll]]\n"
    ),
    "merger/payroll.md": "---\nprevious: zanzibar.md\n---\n# Payroll\n\nUmbrella buyout. 極秘の買収。\n",
    "vault.md": "# Vault\n\nUmbrella again.\n",
    **{f"many/{number}.md": f"# Dossier {number}\n\nEspionage {number}.\n" for number in range(14)},
}
LEAKS = re.compile(
    r"secretplace|hidden-source|merger|zanzibar|classified|quokka|wombat|xylophone|umbrella|918273645|payroll"
    r"|buyout|極秘|買収|dossier|espionage",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of two collections."""
    made = tmp_path_factory.mktemp("rights")
    for place, notes in (("open", OPEN), ("hidden-source", SECRET)):
        written(made / place, notes)
    (made / "hidden-source" / "merger.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    return made


@pytest.fixture(scope="module")
def whole(folder: Path) -> Iterator[Workspace]:
    """Two collections, one of which nobody may hear of; no test changes them."""
    with open_workspace(CONFIG, database=folder / "index.sqlite", embedder=HashingEmbedder()) as made:
        made.add_collection("handbook", "What everybody may read", str(folder / "open"))
        made.add_collection("secretplace", "The merger with Umbrella", str(folder / "hidden-source"))
        made.import_collection("handbook")
        made.import_collection("secretplace")
        yield made


@pytest.fixture(scope="module")
def without(folder: Path) -> Iterator[Workspace]:
    """The same without the other collection: whatever is answered here, may be known."""
    place = folder / "without" / "index.sqlite"
    with workspace_of(
        place, {"handbook": folder / "open"}, CONFIG, description="What everybody may read"
    ) as made:
        yield made


@pytest.fixture(scope="module")
def narrow(whole: Workspace) -> Workspace:
    """What the narrow token sees."""
    return RestrictedWorkspace(whole, ["handbook"])


def access(token: str, *collections: str) -> AccessToken:
    return AccessToken(hash=hashlib.sha256(token.encode()).hexdigest(), collections=collections)


ACCESS = (access(NARROW, "handbook"), access(OTHER, "secretplace"), access(TWIN, "handbook"))


def server(workspace: Workspace, own: str | None = OWN) -> TestClient:
    """Return a client of a server over HTTP, with a token of its own and three narrow ones."""
    env = {} if own is None else {"MDVEC_TOKEN": own}
    options = server_options(f"127.0.0.1:{PORT}", env=env, access=ACCESS)
    app = build_app(workspace, CONFIG, options, PORT)
    return TestClient(app, base_url=BASE, follow_redirects=False)


@pytest.fixture(scope="module")
def http(whole: Workspace) -> Iterator[TestClient]:
    """The server of both collections."""
    with server(whole) as client:
        yield client


@pytest.fixture(autouse=True)
def _no_bugs() -> Iterator[None]:
    """What a narrow token may not read is no bug."""
    with reported_bugs() as bugs:
        yield
    assert not bugs


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


# --- the seam ----------------------------------------------------------------------------------


def test_another_collection_is_like_none(narrow: Workspace) -> None:
    """The error for a forbidden name differs from that for an unknown one in the name alone."""
    errors = []
    for name in ("secretplace", "nowhere"):
        with pytest.raises(CollectionNotFoundError) as caught:
            narrow.search(SearchQuery("launch", collections=(name,)))
        errors.append(f"{caught.value} {caught.value.hint}".replace(name, "NAME"))
    assert errors[0] == errors[1]
    assert not LEAKS.search(errors[0])


WRITES: dict[str, Callable[[Workspace], object]] = {
    "import": lambda workspace: workspace.import_collection("handbook"),
    "add": lambda workspace: workspace.add_collection("more", "More", "/etc"),
    "add what is not there": lambda workspace: workspace.add_collection("more", "More", "/no/such/folder"),
    "update": lambda workspace: workspace.update_collection("handbook", description="x"),
    "delete": lambda workspace: workspace.delete_collection("handbook"),
    "mark": lambda workspace: workspace.sections.mark_dirty("plan.md"),
    "delete sections": lambda workspace: workspace.sections.delete("plan.md"),
    "context": lambda workspace: workspace.folders.set_context("handbook", "", "x"),
    "compact": lambda workspace: workspace.stores.compact(),
}


@pytest.mark.parametrize("write", WRITES)
def test_nothing_can_be_written(narrow: Workspace, write: str) -> None:
    """Whatever writes is refused with the same words."""
    with pytest.raises(NotAllowedError, match="may read, but not change anything"):
        WRITES[write](narrow)


def test_a_path_of_the_server_is_no_reference(narrow: Workspace, whole: Workspace, folder: Path) -> None:
    """What is found by it would tell where files are, and which links exist."""
    for place in (folder / "open" / "plan.md", folder / "hidden-source" / ".." / "open" / "plan.md"):
        for reference in (str(place), f"file://{place}"):
            assert whole.read(reference).path == "plan.md"
            with pytest.raises(DocumentNotFoundError):
                narrow.read(reference)


def test_no_answer_says_where_a_file_is(narrow: Workspace, whole: Workspace) -> None:
    """A hit, a document in a list and a page lead to a file of the server for its owner alone."""
    for workspace, shows in ((whole, True), (narrow, False)):
        places = [
            *(each.file for each in workspace.search(SearchQuery("launch")).hits),
            *(each.file for each in workspace.browse.newest(Filters())),
            workspace.pages.read("plan.md", "handbook", PageAddresses()).file,
        ]
        assert len(places) > 2
        assert {each is not None for each in places} == {shows}


def test_a_right_to_nothing_shows_nothing(whole: Workspace) -> None:
    """Where none of the collections is there any more, there is nothing: no empty list means all of them."""
    nothing = RestrictedWorkspace(whole, ["gone"])
    assert not [*nothing.collections(), *nothing.documents(), *nothing.tags()]
    assert nothing.browse.newest(Filters()) == []
    assert nothing.browse.facets(Filters()).recent == ()
    assert nothing.sections.totals().documents == 0
    assert nothing.sections.at("vault.md") == []
    for query in ("umbrella", "tag:classified", "path:merger", "launch"):
        found = nothing.search(SearchQuery(query))
        assert (found.hits, found.total_chunks, found.unknown_words) == ((), 0, ())


def test_words_of_others_are_unknown(narrow: Workspace, whole: Workspace) -> None:
    """A word that only others use is like one that nobody uses: no correction or confidence shows it."""
    assert whole.search(SearchQuery("launch umbrela")).corrections == (Correction("umbrela", "umbrella"),)
    for word in ("umbrela", "zanzibar"):
        found = narrow.search(SearchQuery(f"launch {word}"))
        nonsense = narrow.search(SearchQuery("launch qwfpgjlu"))
        assert (found.corrections, found.unknown_words) == ((), (word,))
        assert found.confidence == nonsense.confidence
        assert [each.path for each in found.hits] == [each.path for each in nonsense.hits]
        assert found.total_chunks == narrow.status().collections[0].counts.chunks


def test_changes_of_others_are_not_announced(tmp_path: Path) -> None:
    """The generation of a restricted workspace grows with its own collections alone."""
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("# One\n")
    with open_workspace(CONFIG, database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as whole:
        for name in ("mine", "theirs"):
            whole.add_collection(name, "", str(tmp_path / name))
            whole.import_collection(name)
        narrow = RestrictedWorkspace(whole, ["mine"])
        before, everything = narrow.generation(), whole.generation()
        (tmp_path / "theirs" / "a.md").write_text("# Two and more\n")
        update = ImportOptions()
        whole.import_collection("theirs", update)
        assert whole.generation() != everything
        assert narrow.generation() == before
        assert narrow.wait_for_change(before, timeout_s=0) == before
        (tmp_path / "mine" / "a.md").write_text("# Three and more\n")
        whole.import_collection("mine", update)
        assert narrow.wait_for_change(before, timeout_s=HANG_S) != before


def test_models_are_not_listed(http: TestClient) -> None:
    """They name folders of the server and the keys that it lacks."""
    for token, status in ((OWN, 200), (NARROW, 403)):
        assert http.get("/api/models", headers=bearer(token)).status_code == status


def test_processes_are_not_named(whole: Workspace, http: TestClient) -> None:
    """Who may read some collections hears that a process is at work, but not which one, on which machine."""
    with closing(SqliteStore(whole.database)) as store:
        handbook = next(each for each in whole.collections() if each.name == "handbook")
        watching = store.claim(None, "watching", wait_s=0)
        with watching, store.claim(handbook, "importing handbook", wait_s=0):
            own, shown = (rpc(http, "mdvec.status", {}, token)["result"] for token in (OWN, NARROW))
            page = http.get("/status", headers=bearer(NARROW)).text
    assert f"process {os.getpid()} on {platform.node()} has been watching" in own["watcher"]
    assert "a process has been watching" in shown["watcher"]
    assert "a process has been importing handbook" in shown["collections"][0]["activity"]
    for answer in (json.dumps(shown), page):
        assert str(os.getpid()) not in answer
        assert f"on {platform.node()}" not in answer


def test_a_damaged_database_is_not_named(tmp_path: Path) -> None:
    """What SQLite says about its file stays with those who may see everything."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("# Plan\n\nThe launch.\n")
    place = tmp_path / "index.sqlite"
    with workspace_of(place, {"handbook": tmp_path / "notes"}, CONFIG) as whole:
        pass
    content = place.read_bytes()
    place.write_bytes(content[:4096] + bytes(len(content) - 4096))
    damaged = open_workspace(CONFIG, database=place, embedder=HashingEmbedder())
    with damaged as whole, server(whole) as client:
        own, shown = (rpc(client, "mdvec.status", {}, token)["error"] for token in (OWN, NARROW))
        page = client.get("/status", headers=bearer(NARROW)).text
    assert str(place) in own["message"]
    assert own["data"]["code"] == shown["data"]["code"]
    assert "mdvec doctor" in shown["data"]["hint"]
    assert str(tmp_path) not in f"{shown} {page}"


def test_a_file_that_cannot_be_read_is_not_named(tmp_path: Path) -> None:
    """An error of the system is shown without the file, at every door."""

    class Missing(HashingEmbedder):
        def embed_queries(self, texts: Sequence[str]) -> Matrix:
            (tmp_path / "model.bin").read_bytes()
            return super().embed_queries(texts)

    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("# Plan\n\nThe launch.\n")
    made = open_workspace(CONFIG, database=tmp_path / "index.sqlite", embedder=Missing())
    with made as whole, server(whole) as client:
        whole.add_collection("handbook", "", str(tmp_path / "notes"))
        whole.import_collection("handbook")
        params = {"query": "start", "mode": "dense"}
        own, shown = (rpc(client, "mdvec.search", params, token) for token in (OWN, NARROW))
        answers = [
            client.get(path, params={"q": "start", "mode": "dense"}, headers=bearer(NARROW)).text
            for path in ("/search", "/")
        ]
    assert "model.bin" in own["error"]["message"]
    assert shown["error"]["message"] == "No such file or directory"
    assert str(tmp_path) not in f"{shown} {answers}"


# --- who is who --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "seen"),
    [(OWN, ["handbook", "secretplace"]), (NARROW, ["handbook"]), (OTHER, ["secretplace"])],
)
def test_each_token_sees_its_own(http: TestClient, token: str, seen: list[str]) -> None:
    """The server's own token sees everything, the others what the configuration says."""
    status = rpc(http, "mdvec.status", {}, token)["result"]
    assert [each["name"] for each in status["collections"]] == seen


@pytest.mark.parametrize("token", [None, "", "wrong-token-0123456789", NARROW[:-1], NARROW.upper()])
@pytest.mark.parametrize(
    "path", ["/search?q=launch", "/api/search?q=launch", "/api", "/status", "/mcp", "/rpc", "/events"]
)
def test_without_a_token_there_is_nothing(http: TestClient, token: str | None, path: str) -> None:
    """As soon as any token is configured, every request needs one."""
    answer = http.get(path, headers={} if token is None else bearer(token))
    assert answer.status_code == 401
    assert not LEAKS.search(answer.text)


def test_narrow_tokens_alone_close_the_server(whole: Workspace) -> None:
    """Without a token of its own nobody has everything, on this machine either."""
    with server(whole, own=None) as client:
        assert client.get("/search?q=launch").status_code == 401
        assert client.get("/search?q=launch", headers=bearer(NARROW)).status_code == 200


def test_a_session_is_that_of_its_token(whole: Workspace) -> None:
    """A browser that entered the token sees what that sees, also after a restart; a hash signs nothing."""
    with server(whole) as first:
        assert first.post("/login", data={"token": "wrong"}).status_code == 403
        first.post("/login", data={"token": NARROW, "next": "/"})
        session = first.cookies[COOKIE]
        page = first.get("/status")
    assert not LEAKS.search(page.text)
    assert "handbook" in page.text
    with server(whole) as second:
        second.cookies.set(COOKIE, session)
        assert "handbook" in second.get("/status").text
        for key in (ACCESS[0].hash.encode(), bytes.fromhex(ACCESS[0].hash)):
            forged = Response()
            start_session(forged, key)
            second.cookies.clear()
            second.cookies.set(COOKIE, re.split("[=;]", forged.headers["set-cookie"])[1])
            assert second.get("/status").status_code == 401


@pytest.mark.parametrize("token", [OWN, NARROW])
def test_signing_out_ends_a_session(whole: Workspace, token: str) -> None:
    """A copy of the cookie opens nothing any more; other sessions of the token go on."""
    with server(whole) as http:
        sessions = []
        for _ in range(2):
            http.cookies.clear()
            http.post("/login", data={"token": token})
            sessions.append(http.cookies[COOKIE])
        page = http.get("/status")
        csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)
        assert csrf
        assert http.post("/logout", data={"csrf": csrf[1]}).status_code == 303
        for session, status in zip(sessions, (200, 401), strict=True):
            http.cookies.clear()
            http.cookies.set(COOKIE, session)
            assert http.get("/status").status_code == status


def test_an_mcp_session_serves_its_token_alone(http: TestClient) -> None:
    """Whoever learns the id of another one's session cannot use it, with a token for the same collections."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    accepts = {"accept": "application/json, text/event-stream"}
    tools = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for owner in (OWN, NARROW):
        begun = http.post("/mcp", json=hello, headers={**bearer(owner), **accepts})
        assert begun.status_code == 200
        session = {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        for token in (OWN, NARROW, OTHER, TWIN):
            answer = http.post("/mcp", json=tools, headers={**bearer(token), **accepts, **session})
            assert answer.status_code == (200 if token == owner else 404)
            assert ("handbook" in answer.text) is (token == owner)
            assert ("secretplace" in answer.text) is (token == owner == OWN)


# --- every door --------------------------------------------------------------------------------

QUERIES = (
    "umbrella",
    "umbrela merger",
    "極秘の買収",
    '"merger with Umbrella"',
    "espion*",
    "path:merger",
    "tag:classified",
    "title:Zanzibar",
    "launch -umbrella",
    "launch people",
)
PATHS = (
    "merger/zanzibar.md",
    "Quokka",
    "secretplace/vault.md",
    "secretplace: vault.md",
    "mdvec://secretplace/vault.md",
    "vault",
    "plan.md",
)
NAMES = ("secretplace", "secretplac", "handbook")
FORMS: list[tuple[str, dict[str, str]]] = [
    ("/collections", {"folder": "/etc", "name": "secretplace"}),
    *((f"/collections/{name}/{verb}", {}) for name in NAMES for verb in ("import", "cancel")),
    ("/reveal", {"collection": "secretplace", "path": "vault.md"}),
]
WRITING = ("addSection", "addSections", "deleteSectionsByPath", "markDirty", "mdvec.reindex")
SECTIONS = [{"document_path": "x.md", "content": "x"}]

Answers = dict[str, str]
"""What was answered, by what was asked."""


def over_json_rpc(http: TestClient, _: Workspace, token: str, step: int = 1) -> Answers:
    """Call every method with whatever a curious client may think of."""
    calls: list[tuple[str, dict[str, Any]]] = [
        *((name, {}) for name in (*METHODS, "no.such.method")),
        ("mdvec.status", {"check": True}),
        ("addSections", {"sections": SECTIONS}),
        *(("search", {"query": query}) for query in QUERIES),
        *(("mdvec.search", {"query": query, "expand": "document"}) for query in QUERIES),
    ]
    for path in PATHS:
        calls += [(name, {"document_path": path}) for name in ("getSectionsByPath", "markDirty")]
        calls += [
            ("deleteSectionsByPath", {"document_path": path}),
            *((f"mdvec.{name}", {"path": path}) for name in ("get", "outline", "links", "related")),
            ("mdvec.list", {"linked_to": path}),
            ("mdvec.get", {"path": "plan.md", "section": path}),
            ("mdvec.search", {"query": "launch", "linked_to": path, "mode": "lexical"}),
        ]
    for name in NAMES:
        calls += [
            ("mdvec.get", {"path": "vault.md", "collection": name}),
            ("mdvec.tags", {"collections": [name]}),
            ("mdvec.list", {"collections": [name]}),
            *(
                (f"mdvec.{each}", {"path": "vault.md", "collection": name})
                for each in ("outline", "links", "related")
            ),
            ("mdvec.status", {"collection": name}),
            ("mdvec.search", {"query": "launch", "collections": [name]}),
            ("mdvec.search", {"query": "launch", "collections": ["handbook", name]}),
            ("mdvec.reindex", {"collection": name}),
            ("addSections", {"sections": SECTIONS, "collection": name}),
        ]
    if step > 1:  # who may write must not: the others look at the same index
        calls = [each for each in calls if each[0] not in WRITING][::step]
    return {
        f"{method} {params}": json.dumps(rpc(http, method, params, token), ensure_ascii=False)
        for method, params in calls
    }


def rpc(http: TestClient, method: str, params: object, token: str = NARROW) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer: dict[str, Any] = http.post("/rpc", json=message, headers=bearer(token)).json()
    return answer


def over_http(http: TestClient, _: Workspace, token: str, step: int = 1) -> Answers:
    """Open every page and address; with the forms that a page of this process has."""
    asked = [
        *(f"{path}?q={query}" for path in ("/search", "/results") for query in QUERIES),
        *(f"/search?q=launch&collection={name}" for name in NAMES),
        *(f"/{page}?n={name}&q=launch" for page in ("", "filters") for name in NAMES),
        *(
            "/",
            "/?q=umbrella",
            "/filters",
            "/filters?folder=merger",
            "/filters?tag=classified",
            "/status",
            "/mcp",
            "/nowhere",
        ),
        *(f"/status/{name}" for name in NAMES),
        *(f"/doc/{name}/{path}" for name in NAMES for path in ("vault.md", "plan.md", "merger/zanzibar.md")),
        *(f"/similar/{name}/{path}" for name in NAMES for path in ("vault.md", "plan.md")),
        *(f"/file/{name}/merger.png" for name in NAMES),
        *(f"/original/{name}/{path}" for name in NAMES for path in ("vault.md", "merger.png")),
        "/file/handbook/../hidden-source/merger.png",
        "/doc/handbook/..%2Fhidden-source%2Fvault.md",
    ]
    answers = {each: http.get(each, headers=bearer(token)) for each in asked[::step]}
    form = {"csrf": csrf_of(http, token)}
    for path, more in [] if step > 1 else FORMS:
        answers[f"POST {path}"] = http.post(path, data={**form, **more}, headers=bearer(token))
    texts = {each: f"{answer.status_code} {answer.text}" for each, answer in answers.items()}
    return texts | {"/events": heard(http, token)}


def test_events_are_of_what_may_be_read(http: TestClient) -> None:
    """The stream of a narrow token holds its collection, and that of the server's own token both."""
    for token, seen in ((OWN, {"handbook", "secretplace"}), (NARROW, {"handbook"}), (OTHER, {"secretplace"})):
        event = heard(http, token)
        assert event.startswith("200 data: ")
        assert {name for name in ("handbook", "secretplace") if name in event} == seen


def csrf_of(http: TestClient, token: str) -> str:
    """Return what the forms of a page of this process carry."""
    found = re.search(r'name="csrf" value="([^"]+)"', http.get("/status", headers=bearer(token)).text)
    assert found
    return found[1]


def over_mcp(_: TestClient, workspace: Workspace, token: str, step: int = 1) -> Answers:
    """Use every tool, resource, completion and prompt; the server instructions are among them."""
    narrow = workspace if token == OWN else RestrictedWorkspace(workspace, ["handbook"])

    async def use(client: Client) -> Answers:
        answers: Answers = {"instructions": str(client.instructions)}

        async def note(name: str, asked: Any) -> None:
            try:
                answers[name] = (await asked).model_dump_json()
            except MCPError as error:
                answers[name] = f"{error.code} {error} {error.data}"

        await note("tools", client.list_tools())
        await note("resources", client.list_resources())
        await note("templates", client.list_resource_templates())
        await note("prompts", client.list_prompts())
        await note("prompt", client.get_prompt("answer_with_citations", {"question": "?"}))
        calls: list[tuple[str, dict[str, Any]]] = [
            *((name, {}) for name in ("status", "list_tags", "list_docs", "reindex")),
            *(("search", {"query": query}) for query in QUERIES),
            *((tool, {"path": path}) for tool in ("get_doc", "get_outline") for path in PATHS),
        ]
        for name in NAMES:
            calls += [
                (name, {"query": "launch"}),
                ("search", {"query": "launch", "collections": [name]}),
                ("get_doc", {"path": "vault.md", "collection": name}),
                ("get_outline", {"path": "vault.md", "collection": name}),
                ("list_docs", {"collections": [name]}),
                ("list_tags", {"collection": name}),
                ("reindex", {"collection": name}),
            ]
        for tool, arguments in calls[::step]:
            await note(f"{tool} {arguments}", client.call_tool(tool, arguments))
        for address in ("mdvec://status", "mdvec://secretplace/vault.md", "mdvec://handbook/plan.md"):
            await note(address, client.read_resource(address))
        template = ResourceTemplateReference(uri="mdvec://{collection}/{+path}")
        prompt = PromptReference(name="answer_with_citations")
        for argument in (("collection", ""), ("collection", "s"), ("path", ""), ("path", "merger")):
            name, value = argument
            await note(f"complete {argument}", client.complete(template, {"name": name, "value": value}))
        for name in NAMES:
            await note(
                f"complete in {name}",
                client.complete(
                    template, {"name": "path", "value": ""}, context_arguments={"collection": name}
                ),
            )
        await note("complete prompt", client.complete(prompt, {"name": "question", "value": "m"}))
        return answers

    return talk(narrow, use, config=CONFIG)


def comparable(text: str) -> str:
    """Return an answer without what differs between two servers of the same collections.

    These are times, memory, what is new for each process, ids, and figures that count how rare words are.
    """
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+\d\d:\d\d)?", "TIME", text)
    text = re.sub(r"-?\d+\.\d+(e-?\d+)?", "FIGURE", text)
    text = re.sub(r"[^\s\"']*/(without/)?index\.sqlite", "DATABASE", text)
    text = re.sub(r'(name="csrf" value=")[^"]+', r"\1", text)
    text = re.sub(r'("(id|parent_id)": )"\d+"', r"\1ID", text)
    text = re.sub(r"<b>[\d.]+ (kB|MB|GB|TB)</b>", "<b>SIZE</b>", text)
    return re.sub(r"FIGURE (kB|MB|GB|TB)", "SIZE", text)


@pytest.mark.parametrize("ask", [over_json_rpc, over_http, over_mcp])
def test_answers_are_those_of_a_server_without_the_others(
    folder: Path, whole: Workspace, without: Workspace, http: TestClient, ask: Callable[..., Answers]
) -> None:
    """Whatever a narrow token asks, the answer is that of a server with nothing else, and names no path."""
    with server(without) as other:
        expected = ask(other, without, NARROW)
    answers = ask(http, whole, NARROW)
    for asked, answer in answers.items():
        assert comparable(answer) == comparable(expected[asked]), asked
        assert str(folder) not in answer, asked
    # And who may see everything is told, so that this could fail.
    everything = ask(http, whole, OWN, 7)
    leaking = [
        each for each, answer in everything.items() if comparable(answer) != comparable(expected[each])
    ]
    assert len(leaking) > len(everything) / 3


def test_what_writes_is_refused(http: TestClient) -> None:
    """Programs and pages are told that the token may read only; a folder is not even looked for."""
    for method, params in (
        ("addSections", {"sections": SECTIONS}),
        ("markDirty", {"document_path": "plan.md"}),
        ("deleteSectionsByPath", {"document_path": "plan.md"}),
        ("mdvec.reindex", {"collection": "handbook"}),
    ):
        assert rpc(http, method, params)["error"]["data"]["code"] == "not_allowed"
    status = http.get("/status", headers=bearer(NARROW)).text
    assert 'name="folder"' not in status
    csrf = csrf_of(http, NARROW)
    for path in ("/collections", "/collections/handbook/import", "/collections/handbook/cancel", "/reveal"):
        answer = http.post(path, data={"csrf": csrf, "folder": "/etc"}, headers=bearer(NARROW))
        assert answer.status_code == 403
        assert "may read" in answer.text
