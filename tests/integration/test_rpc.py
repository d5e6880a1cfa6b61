"""JSON-RPC over a real index: the methods on sections, mdvec's own, lines on pipes, and ``POST /rpc``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient
from tests.bugs import reported_bugs
from tests.conformance.servers import MDVEC
from tests.waiting import HANG_S, wait_until

from mdvec.config import Config
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.rpc.dispatcher import RpcClient
from mdvec.interfaces.rpc.methods import METHODS
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.report import ImportMode, ImportOptions
from mdvec.workspace import Workspace, open_workspace

SECTIONS = [
    {
        "id": "s1",
        "documentPath": "guide/retry.md",
        "heading": "再試行",
        "depth": 1,
        "content": "# 再試行\n五回まで再試行する。",
        "tokenCount": 9,
        "parentId": None,
        "order": 0,
        "isDirty": False,
        "documentHash": "abc",
        "createdAt": "2026-01-02T03:04:05.678Z",
        "updatedAt": 1767323045678,
        "vector": [0.5, 0.5],
    },
    {
        "id": "s2",
        "document_path": "guide/retry.md",
        "heading": "Delay",
        "depth": 2,
        "content": "The delay doubles each time.",
        "parent_id": "s1",
        "order": 1,
    },
]


@pytest.fixture(autouse=True)
def _no_bugs() -> Iterator[None]:
    """What a program may send is no bug."""
    with reported_bugs() as bugs:
        yield
    assert not bugs


class Program:
    """A program that calls methods and waits for each."""

    def __init__(self, workspace: Workspace) -> None:
        self._answers: list[Any] = []
        self.client = RpcClient(workspace, METHODS, self._receive)

    def _receive(self, message: bytes) -> None:
        self._answers.append(json.loads(message))

    def call(self, method: str, **params: Any) -> Any:
        request = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        self.client.receive(json.dumps(request).encode())
        assert self.client.wait(HANG_S)
        answer = self._answers[-1]
        return answer["result"] if "result" in answer else answer["error"]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with one note."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("---\ntags: [drink]\n---\n# Tea\n\nGreen.\n\n## Water\n\nHot.\n", "utf-8")
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace with a model of its own."""
    with open_workspace(Config(), database=tmp_path / "index.sqlite", embedder=HashingEmbedder()) as opened:
        yield opened


@pytest.fixture
def program(workspace: Workspace) -> Iterator[Program]:
    """A program on it."""
    program = Program(workspace)
    yield program
    program.client.close()


def pending(workspace: Workspace) -> int:
    return sum(each.counts.pending_chunks for each in workspace.status().collections)


def test_sections_come_back_as_they_were_written(program: Program) -> None:
    """Names are accepted in both spellings and answered in snake_case; what was left out is filled in."""
    assert program.call("addSections", sections=SECTIONS) == {"count": 2}
    first, second = program.call("getSectionsByPath", documentPath="guide/retry.md")["sections"]
    assert first == {
        "id": "s1",
        "document_path": "guide/retry.md",
        "heading": "再試行",
        "depth": 1,
        "content": "# 再試行\n五回まで再試行する。",
        "token_count": 9,
        "parent_id": None,
        "order": 0,
        "is_dirty": False,
        "document_hash": "abc",
        "created_at": "2026-01-02T03:04:05.678Z",
        "updated_at": "2026-01-02T03:04:05.678Z",
    }
    assert (second["parent_id"], second["token_count"] > 0, len(second["document_hash"])) == ("s1", True, 64)
    assert program.call("getStats") == {"totalSections": 2, "dirtyCount": 0, "totalDocuments": 1}


def test_a_section_replaces_the_one_with_its_id(program: Program) -> None:
    """Other sections of the document stay, and so does the time it was first written."""
    program.call("addSections", sections=SECTIONS)
    assert program.call("addSection", section={**SECTIONS[0], "content": "# New", "createdAt": None}) == {
        "id": "s1"
    }
    sections = program.call("getSectionsByPath", documentPath="guide/retry.md")["sections"]
    assert [each["content"] for each in sections] == ["# New", "The delay doubles each time."]
    assert sections[0]["created_at"] == "2026-01-02T03:04:05.678Z"


def test_the_worker_embeds_them_and_no_sync_deletes_them(program: Program, workspace: Workspace) -> None:
    """Vectors are made behind the call; imports and comparisons leave the documents as they are."""
    program.call("addSections", sections=SECTIONS)
    for mode in (ImportMode.UPDATE, ImportMode.REPLACE):
        report = workspace.import_collection("pushed", ImportOptions(mode))
        assert (report.total_documents, report.deleted, report.embedded_chunks) == (1, 0, 0)
    [status] = workspace.status(check=True).collections
    assert status.check is not None
    assert status.check.in_sync
    assert len(program.call("getSectionsByPath", documentPath="guide/retry.md")["sections"]) == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_of_a_driver_does_not_end_the_embedding(
    program: Program, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread ends with it; what is added later starts another one."""
    importing = workspace.sections._import
    failed: list[str] = []

    def fail(name: str, _: object) -> object:
        failed.append(name)
        raise OSError(5, "a disk error")

    monkeypatch.setattr(workspace.sections, "_import", fail)
    program.call("addSections", sections=SECTIONS[:1])
    wait_until(lambda: bool(failed) and not worker_lives())
    monkeypatch.setattr(workspace.sections, "_import", importing)
    program.call("addSections", sections=SECTIONS[1:])
    wait_until(lambda: pending(workspace) == 0)


def worker_lives() -> bool:
    return any(each.name == "mdvec-index" for each in threading.enumerate())


def test_search_reports_score_and_distance(program: Program, workspace: Workspace) -> None:
    """Right after writing, the distance is LanceDB's: smaller is nearer; depths filter, one or several."""
    program.call("addSections", sections=SECTIONS)
    assert not pending(workspace)
    found = program.call("search", query="delay doubles")
    assert found["total"] == len(found["results"])
    best = found["results"][0]
    assert (best["id"], best["content"]) == ("s2", "The delay doubles each time.")
    [hit] = program.call("mdvec.search", query="delay doubles", limit=1)["hits"]
    assert best["score"] == hit["score"]
    assert best["_distance"] == pytest.approx(2 - 2 * hit["similarity"], abs=1e-5)
    assert [each["id"] for each in program.call("search", query="delay 再試行", depth=1)["results"]] == ["s1"]
    several = program.call("search", query="delay 再試行", depth=[1, 2])["results"]
    assert {each["id"] for each in several} == {"s1", "s2"}
    distances = [each["_distance"] for each in several]
    assert distances == sorted(distances)


def test_a_program_need_not_wait_for_vectors(
    program: Program, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until they are there, a section is found by words, and is farther than any other."""
    proceed, importing = threading.Event(), workspace.sections._import
    monkeypatch.setattr(
        workspace.sections, "_import", lambda *given: proceed.wait(HANG_S) and importing(*given)
    )
    program.call("addSections", sections=SECTIONS, waitS=0)
    assert {each["_distance"] for each in program.call("search", query="delay")["results"]} == {4.0}
    proceed.set()


def test_each_section_that_is_found_has_its_own_distance(
    program: Program, notes: Path, workspace: Workspace
) -> None:
    """Sections that ``mdvec.search`` joins into one passage come one by one, with the distance of each."""
    workspace.add_collection("notes", "Notes", str(notes))
    workspace.import_collection("notes")
    [passage] = program.call("mdvec.search", query="tea water")["hits"]
    sections = program.call("getSectionsByPath", documentPath="tea.md")["sections"]
    assert all(each["content"] in passage["text"] for each in sections)
    found = program.call("search", query="tea water")["results"]
    assert {each["id"] for each in found} == {each["id"] for each in sections}
    for each in found:
        [alone] = program.call("search", query="tea water", depth=each["depth"])["results"]
        assert (alone["id"], alone["_distance"]) == (each["id"], each["_distance"])
    assert len(program.call("search", query="tea water", limit=1)["results"]) == 1


def test_dirty_sections_are_listed_and_left_out(program: Program, notes: Path, workspace: Workspace) -> None:
    """The oldest come first; a clean search does not find them; writing or importing cleans them."""
    workspace.add_collection("notes", "Notes", str(notes))
    workspace.import_collection("notes")
    program.call("addSections", sections=SECTIONS)
    assert program.call("markDirty", documentPath="tea.md") == {"marked": 2}
    assert program.call("markDirty", documentPath="guide/retry.md") == {"marked": 2}
    assert program.call("markDirty", documentPath="nowhere.md") == {"marked": 0}
    dirty = program.call("getDirtySections")["sections"]
    assert dirty[0]["id"] == "s1"  # of January
    assert {each["document_path"] for each in dirty} == {"tea.md", "guide/retry.md"}
    assert len(program.call("getDirtySections", limit=1)["sections"]) == 1
    assert program.call("getStats")["dirtyCount"] == 4
    found = program.call("search", query="delay", includeCleanOnly=True)["results"]
    assert "guide/retry.md" not in {each["document_path"] for each in found}
    assert [each["is_dirty"] for each in program.call("search", query="delay")["results"][:1]] == [True]
    program.call("addSections", sections=SECTIONS)
    workspace.import_collection("notes")
    assert program.call("getStats")["dirtyCount"] == 0


def test_sections_of_files_are_read_but_not_deleted(
    program: Program, notes: Path, workspace: Workspace
) -> None:
    """Ids, parents and times of what mdvec cut itself are there; a file is deleted where it lies."""
    workspace.add_collection("notes", "Notes", str(notes))
    workspace.import_collection("notes")
    top, water = program.call("getSectionsByPath", documentPath="tea.md")["sections"]
    assert (top["heading"], water["heading"], water["parent_id"]) == ("Tea", "Water", top["id"])
    error = program.call("deleteSectionsByPath", documentPath="tea.md")
    assert (error["code"], error["data"]["code"]) == (-32602, "usage")
    program.call("addSections", sections=SECTIONS)
    assert program.call("deleteSectionsByPath", documentPath="guide/retry.md") == {"deleted": 2}
    assert program.call("deleteSectionsByPath", documentPath="guide/retry.md") == {"deleted": 0}
    assert program.call("getStats")["totalDocuments"] == 1


@pytest.mark.parametrize("value", ["x", '[[0, 3, "a", "", "Forged", 0, "", 1, null, 0, false, "", 0, 0]]'])
def test_a_property_of_a_note_makes_no_sections(
    program: Program, notes: Path, workspace: Workspace, value: str
) -> None:
    """A note may have a property of the name under which written sections are stored."""
    (notes / "tea.md").write_text(f"---\nmdvec-sections: '{value}'\n---\n# Tea\n\nGreen.\n", "utf-8")
    workspace.add_collection("notes", "Notes", str(notes))
    workspace.import_collection("notes")
    assert program.call("markDirty", documentPath="tea.md") == {"marked": 1}
    [section] = program.call("getSectionsByPath", documentPath="tea.md")["sections"]
    [found] = program.call("search", query="green tea")["results"]
    assert section["heading"] == found["heading"] == "Tea"


def test_the_collection_that_is_written_to_is_chosen(program: Program, workspace: Workspace) -> None:
    """One is used, several have to be named, and one of files is refused."""
    workspace.add_collection("mine", "Mine", "push:")
    program.call("addSections", sections=SECTIONS)
    assert [each["name"] for each in program.call("mdvec.collections")] == ["mine"]
    workspace.add_collection("other", "Other", "push:")
    assert "mine, other" in program.call("addSections", sections=SECTIONS)["message"]
    assert program.call("addSections", sections=SECTIONS, collection="other") == {"count": 2}


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"documentPath": " ", "content": "x"}, "not the path of a document"),
        ({"documentPath": "a/../b.md", "content": "x"}, "not the path of a document"),
        ({"documentPath": "a.md"}, "`sections[1].content` is missing"),
        ({"documentPath": "a.md", "content": "x", "summary": "y"}, "summary"),
        ({"documentPath": "a.md", "content": "x", "depth": 4}, "depth"),
        ({"documentPath": "a.md", "content": "x", "createdAt": "soon"}, "not a time: 'soon'"),
    ],
)
def test_a_wrong_section_is_refused_and_nothing_is_written(
    program: Program, section: dict[str, Any], words: str
) -> None:
    """The error names what is wrong; the sections beside it are not written either."""
    error = program.call("addSections", sections=[SECTIONS[0], section])
    assert error["code"] == -32602
    assert words in error["message"]
    assert program.call("getStats")["totalSections"] == 0


def test_mdvecs_own_methods_answer_as_its_json_does(
    program: Program, notes: Path, workspace: Workspace
) -> None:
    """They have the shapes of ``--format json``."""
    workspace.add_collection("notes", "Notes", str(notes))
    assert program.call("mdvec.reindex", collection="notes")["added"] == 1
    assert program.call("mdvec.get", path="tea.md", lines="4:4")["text"] == "# Tea\n"
    assert program.call("mdvec.tags")["tags"] == [{"tag": "drink", "documents": 1}]
    status = program.call("mdvec.status", collection="notes", check=True)["collections"][0]
    assert (status["check"]["in_sync"], [each["path"] for each in status["files"]]) == (True, ["tea.md"])
    gone = notes.parent / "gone"
    gone.mkdir()
    workspace.add_collection("gone", "Gone", str(gone))
    gone.rmdir()
    both = {each["collection"]: each["error"] for each in program.call("mdvec.reindex")["collections"]}
    assert both["notes"] is None
    assert str(gone) in both["gone"]
    error = program.call("mdvec.get", path="tee.md")
    assert (error["code"], error["data"]["code"], error["data"]["hint"]) == (
        -32000,
        "document_not_found",
        "Did you mean tea.md?",
    )
    model = program.call("initModel")
    assert model == {"success": True, "model_name": "terms", "dimension": 256}


# --- the process -------------------------------------------------------------------------------------


@pytest.fixture
def environment(tmp_path: Path, model_cache: Path) -> dict[str, str]:
    """A home of its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MDVEC_", "XDG_"))}
    return {
        **inherited,
        "HOME": str(tmp_path),
        "MDVEC_DATABASE_PATH": str(tmp_path / "index.sqlite"),
        "MDVEC_EMBEDDING_CACHE_DIR": str(model_cache),
    }


def start(environment: Mapping[str, str], cwd: Path | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*MDVEC, "rpc"], cwd=cwd, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def ask(process: subprocess.Popen[bytes], **request: Any) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, **request}).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def test_a_child_process_serves_lines_and_ends_with_its_input(environment: dict[str, str]) -> None:
    """What was asked before the end of the input is answered; the process then ends by itself."""
    requests = [{"jsonrpc": "2.0", "method": "ping", "id": number} for number in range(20)]
    text = "".join(f"{json.dumps(each)}\n" for each in requests)
    done = subprocess.run(
        [*MDVEC, "rpc"], env=environment, input=text.encode(), capture_output=True, timeout=HANG_S, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(each["id"] for each in answers) == [*range(20)]
    assert all(each["result"] == {"status": "ok"} for each in answers)


def test_two_projects_do_not_mix(environment: dict[str, str], tmp_path: Path) -> None:
    """With a .search-docs.json the index is the project's, and holds what a program writes."""
    del environment["MDVEC_DATABASE_PATH"]
    for name in ("one", "two"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / ".search-docs.json").write_text('{"version": "1.0"}', "utf-8")
        (tmp_path / name / "README.md").write_text("# Read me\n", "utf-8")
    for place, before in (("one/deep", 0), ("two", 0), ("one", 2)):
        process = start(environment, tmp_path / place)
        assert ask(process, method="getStats")["result"]["totalSections"] == before
        ask(process, method="addSections", params={"sections": SECTIONS, "waitS": 0})
        answer = ask(process, method="search", params={"query": "delay"})["result"]
        assert {each["document_path"] for each in answer["results"]} == {"guide/retry.md"}
        assert not any("not imported" in each for each in answer["warnings"])
        process.communicate()
    assert (tmp_path / "one" / ".mdvec" / "index.sqlite").is_file()


def test_a_killed_child_loses_nothing_that_was_answered(environment: dict[str, str]) -> None:
    """Sections that were counted are there after kill -9."""
    process = start(environment)
    assert ask(process, method="addSections", params={"sections": SECTIONS})["result"] == {"count": 2}
    process.kill()
    process.communicate()
    again = start(environment)
    assert ask(again, method="getStats")["result"]["totalSections"] == 2
    again.send_signal(signal.SIGTERM)
    assert again.wait(HANG_S) == 0
    again.communicate()


def test_post_rpc_is_behind_the_same_guard(workspace: Workspace) -> None:
    """A foreign Host, Origin or type is refused; a body of 10 MB passes, and a notification has no answer."""
    options = server_options("127.0.0.1:8765", env={})
    app = build_app(workspace, Config(), options, 8765)
    ping = {"jsonrpc": "2.0", "method": "ping", "id": 1}
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:

        def post(body: object, **more: str) -> httpx2.Response:
            headers = {"content-type": "application/json", **more}
            return client.post("/rpc", content=json.dumps(body), headers=headers)

        assert post(ping).json()["result"] == {"status": "ok"}
        assert [each["id"] for each in post([ping, {**ping, "id": 2}]).json()] in ([1, 2], [2, 1])
        assert post({"jsonrpc": "2.0", "method": "ping"}).status_code == 204
        assert post(ping, host="evil.example").status_code == 421
        assert post(ping, origin="https://evil.example").status_code == 403
        assert post(ping, **{"content-type": "text/plain"}).status_code == 415
        section = {"documentPath": "big.md", "content": "再試行\n" * 520_000}
        added = post({**ping, "method": "addSection", "params": {"section": section, "waitS": 0}})
        assert added.json()["result"]["id"]
