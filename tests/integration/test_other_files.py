"""PDF, Word and other files in a folder, from the import to the hit."""

from __future__ import annotations

import random
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient
from tests import files
from tests.fakes.git_repository import GitRepository
from tests.fakes.s3_server import S3Server
from tests.workspaces import workspace_of

from mdvec import SearchQuery, Workspace, open_workspace, registry
from mdvec.config import Config
from mdvec.config.schema import EmbeddingSettings
from mdvec.documents import conversion
from mdvec.documents.conversion import convert
from mdvec.documents.encodings import Decoded
from mdvec.errors import DocumentNotFoundError, UnreadableFileError
from mdvec.interfaces.answers import to_json
from mdvec.interfaces.app import build_app
from mdvec.interfaces.http.options import server_options
from mdvec.interfaces.web.frame import PageAddresses
from mdvec.settings import BucketSettings
from mdvec.sources import selection
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.change import NEEDS_FILES
from mdvec.types.document import DocumentState
from mdvec.types.query import SearchMode

SENTENCE = "The harbour crane must be inspected every spring, before the first ships arrive from the north. "


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files of each kind, and two that cannot be read."""
    folder = tmp_path_factory.mktemp("docs")
    parts = [
        ("Heading2", f"Part {number}") if at == 0 else ("BodyText", f"{SENTENCE * 9} Word{number}.")
        for number in range(12)
        for at in range(3)
    ]
    made = {
        "manual.pdf": files.pdf(parts),
        "locked.pdf": files.pdf(parts[:3], password="x"),
        "broken.xlsx": b"PK",
        "minutes.docx": files.docx(),
        "plan.pptx": files.pptx(),
        "stock.xlsx": files.xlsx({"Stock": [["part", "count"], ["bolts", 12]]}),
        "tides.html": b"<title>Tides</title><h1>Tides</h1><p>High water at noon."
        b"<h2 id=sea>Waves</h2><p>The rough sea.",
        "book.epub": files.epub(["<h1>Storm</h1><p>A gale in October.</p>"], title="Winds"),
        "reply.eml": files.mail([("text/plain", "Yes."), ("list.xlsx", files.xlsx({"A": [["sluices", 3]]}))]),
        "notes.ipynb": files.ipynb([{"cell_type": "markdown", "source": "# Gulls\nThey nest on roofs."}]),
        "list.csv": "part;price\nwindlass;1.200,50\n".encode("utf-16"),
        "plain.md": b"# Plain\n\nA plain note.",
    }
    for name, raw in made.items():
        (folder / name).write_bytes(raw)
    return folder


@pytest.fixture(scope="module")
def workspace(docs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """An index of the folder, for tests that only read."""
    with workspace_of(tmp_path_factory.mktemp("index") / "i.sqlite", {"docs": docs}) as opened:
        yield opened


@pytest.fixture
def changing(workspace: Workspace, docs: Path) -> Iterator[Workspace]:
    """The same index, for tests that change files: at their end they are as they were."""
    before = {path: path.read_bytes() for path in docs.iterdir()}
    yield workspace
    for path in {*before, *docs.iterdir()}:
        if path in before:
            path.write_bytes(before[path])
        else:
            path.unlink()
    workspace.import_collection("docs")


def client_of(workspace: Workspace) -> TestClient:
    app = build_app(workspace, Config(), server_options("127.0.0.1:8471", env={}), 8471)
    return TestClient(app, base_url="http://127.0.0.1:8471")


@pytest.mark.parametrize(
    ("query", "path", "place"),
    [
        ("Word11", "manual.pdf", "page 5"),
        ("paint the crane green", "minutes.docx", ""),
        ("Mia colour", "plan.pptx", "slide 1"),
        ("ships in May", "plan.pptx", "slide 2"),
        ("bolts", "stock.xlsx", "sheet Stock"),
        ("windlass", "list.csv", ""),
        ("high water", "tides.html", ""),
        ("gale in October", "book.epub", "part 1"),
        ("gulls nest", "notes.ipynb", "cell 1"),
        ("sluices", "reply.eml", "attachment list.xlsx"),
    ],
)
def test_every_file_is_found_with_its_place(workspace: Workspace, query: str, path: str, place: str) -> None:
    """A hit names the page, the slide, the sheet or the cell."""
    hit = workspace.search(SearchQuery(query, mode=SearchMode.LEXICAL)).hits[0]
    assert (hit.path, hit.place) == (path, place)
    assert to_json(hit)["place"] == place


def test_files_without_text_are_found_by_their_names(changing: Workspace, docs: Path) -> None:
    """And say why they have none, in the report, in the state of the file and when they are read."""
    reasons = {
        "locked.pdf": "is encrypted; save it without its password",
        "broken.xlsx": "is not a spreadsheet, or damaged",
    }
    [collection] = changing.status(files=True).collections
    assert {each.path: each.reason for each in collection.files if each.reason} == reasons
    assert {each.state for each in collection.files} == {DocumentState.READY}
    for path, reason in reasons.items():
        assert (
            changing.read(path).warnings
            == changing.pages.read(path, "docs", PageAddresses()).warnings
            == (reason,)
        )
        stem = path.partition(".")[0]
        assert changing.search(SearchQuery(stem, mode=SearchMode.LEXICAL)).hits[0].path == path
    (docs / "other.pdf").write_bytes((docs / "locked.pdf").read_bytes() + b" ")
    report = changing.import_collection("docs")
    assert report.warnings == (f"other.pdf: {reasons['locked.pdf']}",)


def test_a_file_that_ends_its_converter_keeps_its_text(
    changing: Workspace, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a failure, as of a file that cannot be read."""

    def fail(_: object, __: object) -> Decoded:
        msg = "ends its converter"
        raise UnreadableFileError(msg)

    monkeypatch.setattr("mdvec.indexing.prepare.convert", fail)
    (docs / "tides.html").write_bytes(b"<h1>Tides</h1><p>Low water at six.")
    assert changing.import_collection("docs").warnings == ("tides.html: ends its converter",)
    assert changing.search(SearchQuery("high water", mode=SearchMode.LEXICAL)).hits[0].path == "tides.html"


def test_the_text_of_a_file_is_its_markdown(workspace: Workspace) -> None:
    """With a mark where each page begins; title and author are properties."""
    minutes = workspace.read("minutes.docx")
    assert minutes.title == "Minutes of March"
    assert minutes.text.startswith('---\ntitle: "Minutes of March"\nauthor: "Mia Keel"')
    assert "<!-- place: page 2 -->" in workspace.read("manual.pdf").text


@pytest.mark.parametrize("named", ["manual.pdf#page=2", "manual.pdf#Page 2", "[[manual.pdf#page=2]]"])
def test_a_page_is_read_by_its_number(workspace: Workspace, named: str) -> None:
    """As viewers and links name it; of one that is not there, the error says which there are."""
    page = workspace.read(named).text
    assert page.startswith("<!-- place: page 2 -->") or "<!-- place: page 2 -->" in page.split("\n")[0]
    assert "<!-- place: page 1 -->" not in page
    with pytest.raises(DocumentNotFoundError, match="page=99") as raised:
        workspace.read("manual.pdf#page=99")
    assert re.fullmatch(r"It has page 1 to page \d+\.", raised.value.hint or "")


def test_the_page_leads_to_the_original_at_its_place(workspace: Workspace, docs: Path) -> None:
    """A PDF file at the page of the passage; a browser runs nothing of a web page, and saves other kinds."""
    [hit] = workspace.search(SearchQuery("Word11", mode=SearchMode.LEXICAL, limit=1)).hits
    with client_of(workspace) as client:
        shown = client.get(f"/doc/docs/{hit.path}?lines={hit.start_line}-{hit.end_line}&q=Word11").text
        assert 'href="/original/docs/manual.pdf#page=5"' in shown
        assert (
            'href="/original/docs/tides.html#sea"' in client.get("/doc/docs/tides.html?lines=9-12&q=sea").text
        )
        assert "/original/" not in client.get("/doc/docs/plain.md").text
        answers = {
            name: client.get(f"/original/docs/{name}") for name in ("manual.pdf", "tides.html", "plan.pptx")
        }
        assert client.get("/original/docs/plain.md").status_code == 404
        assert client.get("/original/docs/..%2Fdocs%2Fmanual.pdf").status_code == 404
    for name, answer in answers.items():
        assert answer.content == (docs / name).read_bytes()
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert answers["manual.pdf"].headers["content-type"] == "application/pdf"
    assert "sandbox" in answers["tides.html"].headers["content-security-policy"]
    assert answers["plan.pptx"].headers["content-disposition"].startswith("attachment")


@pytest.fixture(
    params=["git", pytest.param("s3", marks=[pytest.mark.s3, pytest.mark.filterwarnings("ignore")])]
)
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Workspace, bytes]]:
    """A workspace with a collection of a repository or a bucket that has a PDF file, and that file."""
    raw = files.pdf([("BodyText", SENTENCE), ("break", ""), ("BodyText", "The cranes are green.")])
    with ExitStack() as stack:
        config = Config(embedding=EmbeddingSettings(cache_dir=tmp_path / "cache"))
        if request.param == "s3":
            server = stack.enter_context(S3Server("documents"))
            server.put("manual.pdf", raw)
            bucket = BucketSettings(endpoint=server.endpoint)
            config, where = replace(config, extension_sections={"s3": bucket}), "s3://documents"
        else:
            repository = GitRepository(tmp_path / "r.git")
            repository.commit({"manual.pdf": raw})
            where = f"git+{repository.url}"
        opened = stack.enter_context(
            open_workspace(config, database=tmp_path / "i.sqlite", embedder=HashingEmbedder())
        )
        opened.add_collection("docs", "", where)
        opened.import_collection("docs")
        yield opened, raw


def test_originals_come_from_repositories_and_buckets(elsewhere: tuple[Workspace, bytes]) -> None:
    """As from a folder, at the page of the hit."""
    workspace, raw = elsewhere
    [hit] = workspace.search(SearchQuery("green cranes", mode=SearchMode.LEXICAL, limit=1)).hits
    assert (hit.path, hit.place, hit.file) == ("manual.pdf", "page 2", None)
    with client_of(workspace) as client:
        shown = client.get(f"/doc/docs/manual.pdf?lines={hit.start_line}-{hit.end_line}&q=green").text
        assert 'href="/original/docs/manual.pdf#page=2"' in shown
        assert client.get("/original/docs/manual.pdf").content == raw


def test_a_section_of_a_web_page_is_known_by_its_anchor(workspace: Workspace) -> None:
    """In hits, and for whoever reads it by its link."""
    [hit] = workspace.search(SearchQuery("rough sea", mode=SearchMode.LEXICAL, limit=1)).hits
    assert (hit.path, hit.place) == ("tides.html", "#sea")
    assert "rough" in workspace.read("tides.html#sea").text


def test_a_file_is_converted_once(changing: Workspace, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until its bytes change: not by another import, and not when it is cut anew."""
    converted: list[str] = []

    def counted(path: str, raw: bytes) -> Decoded:
        converted.append(path)
        return convert(path, raw)

    monkeypatch.setattr("mdvec.indexing.prepare.convert", counted)
    changing.import_collection("docs")
    assert converted == []
    (docs / "tides.html").write_bytes(b"<h1>Tides</h1><p>Low water at six.")
    changing.import_collection("docs")
    assert converted == ["tides.html"]
    assert changing.search(SearchQuery("low water", mode=SearchMode.LEXICAL)).hits[0].path == "tides.html"


def test_without_the_extra_files_are_left_out(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And say what is needed; notebooks and rows of values need nothing."""
    monkeypatch.setattr(
        registry, "is_installed", lambda _, name: name in ("csv", "ipynb", "org", "rst", "adoc")
    )
    monkeypatch.setattr(selection, "_converter_rule", selection._converter_rule.__wrapped__)
    with open_workspace(database=tmp_path / "without.sqlite", embedder=HashingEmbedder()) as opened:
        opened.add_collection("docs", "", str(docs))
        first, second = (opened.import_collection("docs") for _ in range(2))
        found = opened.status(files=True).collections[0].files
        notes = [each.message for each in opened.doctor() if each.subject == "docs"]
    assert [each.path for each in found if each.state is DocumentState.READY] == [
        "list.csv",
        "notes.ipynb",
        "plain.md",
    ]
    assert {each.reason for each in found if each.state is DocumentState.EXCLUDED} == {NEEDS_FILES}
    assert first.warnings == (f"book.epub and 8 more: {NEEDS_FILES}",)
    assert second.warnings == ()
    assert f"9 files not searched: {NEEDS_FILES}" in notes


def _with_entities(raw: bytes, member: str) -> bytes:
    """Return a file of Office in which a part defines entities that expand to a billion letters."""
    with zipfile.ZipFile(BytesIO(raw)) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    names = "abcdefghij"
    nested = (f'<!ENTITY {name} "{f"&{inner};" * 10}">' for inner, name in pairwise(names))
    entities = f'<!DOCTYPE z [<!ENTITY a "aaaaaaaaaa">{"".join(nested)}]>'
    declaration, end, rest = members[member].decode().rpartition("?>")
    root, close, last = rest.rpartition("</")
    members[member] = f"{declaration}{end}{entities}{root}&j;{close}{last}".encode()
    return files.archive(members)


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        ("a.docx", _with_entities(files.docx(), "word/document.xml")),
        ("a.pptx", _with_entities(files.pptx(), "ppt/slides/slide1.xml")),
        ("a.html", b"<div>" * 3_000 + b"x"),
        ("a.epub", files.epub(["<div>" * 3_000 + "x"])),
        ("a.ipynb", b"[" * 100_000),
    ],
)
def test_bombs_of_markup_say_that_they_are_damaged(path: str, raw: bytes) -> None:
    """Entities in entities, and elements in elements; the process goes on."""
    assert convert(path, raw).warning
    assert convert("b.ipynb", files.ipynb([{"cell_type": "markdown", "source": "text"}])).text


@pytest.mark.harness
@pytest.mark.parametrize(
    ("path", "raw"),
    [
        ("a.pdf", files.pdf([("Title", "On cranes"), ("BodyText", SENTENCE * 20)])),
        ("a.docx", files.docx()),
        ("a.pptx", files.pptx()),
        ("a.xlsx", files.xlsx({"Stock": [["part", "count"], ["bolts", 12]]})),
        ("a.csv", b"part;count\nbolts;12\n" * 90),
        ("a.html", b"<title>T</title><nav>x</nav><table><tr><td>1</table><p>" + SENTENCE.encode() * 5),
        ("a.epub", files.epub(["<h1>Storm</h1><p>A gale.</p>"], title="Winds")),
        ("a.ipynb", files.ipynb([{"cell_type": "code", "source": "1", "outputs": [{"text": "1"}]}])),
        ("a.odt", files.opendocument(f"<office:text><text:p>{SENTENCE * 5}</text:p></office:text>")),
        ("a.eml", files.mail([("text/plain", SENTENCE), ("a.xlsx", files.xlsx({"A": [["a", 1]]}))])),
        ("a.mbox", files.mailbox(*[files.mail([("text/html", SENTENCE), ("a.csv", "1;2")])] * 3)),
        ("a.org", b"#+TITLE: T\n* Tides :sea:\n#+BEGIN_SRC c\nx\n#+END_SRC\n" + SENTENCE.encode() * 40),
        ("a.rst", b"Tides\n=====\n\n.. code:: c\n\n   x\n\n`a <b>`_ " + SENTENCE.encode() * 40),
        (
            "a.tex",
            rb"\title{T}\begin{document}\section{A $x$}\begin{verbatim}x\end{verbatim}"
            + SENTENCE.encode() * 40,
        ),
        ("a.rtf", files.rtf(f"{SENTENCE}\n\\'e9\\u28526?\n" * 9)),
        ("a.enex", files.enex(f"<h1>Storm</h1><en-todo/>{SENTENCE * 5}", tags=["sea"])),
        ("a.adoc", b"= Tides\n:author: Mia\n\n[source,c]\n----\nx\n----\n" + SENTENCE.encode() * 40),
        (
            "b.pdf",
            files.drawn_pdf(
                [(50 + 90 * (at % 4), 700 - 12 * (at // 4), 9, f"cell {at}") for at in range(40)],
                lines=[(40, 690 - 12 * at, 400, 690 - 12 * at) for at in range(10)],
            ),
        ),
    ],
)
def test_no_damaged_file_ends_an_import(path: str, raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 of each kind every one is converted or says why not; none takes long or ends the process."""
    monkeypatch.setattr(conversion, "_TIMEOUT_S", 20.0)
    chance = random.Random(path)
    for _ in range(200):
        damaged = bytearray(raw)
        for _ in range(chance.choice((1, 3, 30))):
            at = chance.randrange(len(damaged))
            match chance.randrange(4):
                case 0:
                    damaged[at] = chance.randrange(256)
                case 1:
                    del damaged[at : at + chance.randrange(1, 200)]
                case 2:
                    damaged[at:at] = damaged[at : at + chance.randrange(1, 200)]
                case _:
                    damaged[at : at + 4] = b"\xff\xff\xff\x7f"
            damaged = damaged or bytearray(b"x")
        converted = convert(path, bytes(damaged))
        assert converted.text or converted.warning or not damaged
