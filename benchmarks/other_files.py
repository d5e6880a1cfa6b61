"""Asks real PDF, Office and other files what their readers would, and counts where the right page is found.

    python -m benchmarks.other_files --repositories DIR FOLDER    takes the files from clones, then asks
    python -m benchmarks.other_files FOLDER                       asks files that are there already
    python -m benchmarks.other_files --size FOLDER                reads 1,000 of their pages, and 200 MB

``benchmarks/other_files_data.json`` has the files, each with its repository, commit, licence and SHA-256, and
the questions, written from the originals before anything was searched. A question names the pages, slides,
sheets, cells or parts that answer; of a file without these, words of the answer that a right hit contains.
Half A may be looked at while a converter is changed; half B is only counted. In FOLDER a file is at
``NAME OF THE REPOSITORY/NAME OF THE FILE``; clones are at ``DIR/OWNER/NAME``. A folder of a repository is a
book, whose texts are packed into an EPUB file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import pypdfium2 as pdfium

from benchmarks.harness import RESULTS, write_result
from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config import Config
from mdvec.documents import conversion
from mdvec.evaluation.corpus import temporary_folder
from mdvec.types.hit import SearchHit

DATA = Path(__file__).parent / "other_files_data.json"
SHOWN = 5
RANKS = (1, 3, 5)
_NAME = "files"
_ROWS = {
    "all": "all",
    "half A": "half A",
    "half B": "half B",
    "ja": "Japanese",
    "en": "English",
    "pdf": "PDF",
    "docx": "Word",
    "pptx": "slides",
    "xlsx": "spreadsheets",
    "ipynb": "notebooks",
    "epub": "EPUB",
    "html": "HTML",
}
_COLUMNS = {
    "first 1": "page named first",
    "first 3": "in 3",
    "first 5": "in 5",
    "marked 3": "page of the excerpt in 3",
    "passage in 3": "passage with the answer in 3",
    "file in 3": "file in 3",
}
_PAGES = 1_000
_LARGE_BYTES = 137_000_000
_BOOK_SUFFIXES = (".xml", ".opf", ".ncx", ".xhtml", ".html", ".css")


def path_in_folder(file: Mapping[str, Any]) -> str:
    """Return where a file is in the folder."""
    path = PurePosixPath(file["path"])
    name = path.name if path.suffix else f"{path.name}.epub"
    return f"{PurePosixPath(file['repository']).name}/{name}"


def collect(files: Iterable[Mapping[str, Any]], repositories: Path, folder: Path) -> None:
    """Write files of clones into a folder.

    Raises:
        SystemExit: If a file is not the one that was judged.
    """
    for file in files:
        repository = repositories / file["repository"]
        named = f"{file['commit']}:{file['path']}"
        is_book = _git(repository, "cat-file", "-t", named).strip() == b"tree"
        raw = _book(repository, named) if is_book else _git(repository, "cat-file", "blob", named)
        if hashlib.sha256(raw).hexdigest() != file["sha256"]:
            sys.exit(f"{named} of {repository} is not the file that was judged")
        target = folder / path_in_folder(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)


def _book(repository: Path, tree: str) -> bytes:
    """Return the texts of an unpacked book as an EPUB file, the same bytes each time."""
    listed = _git(repository, "ls-tree", "-r", "-z", "--name-only", tree).decode().strip("\0").split("\0")
    names = sorted(name for name in listed if name == "mimetype" or name.endswith(_BOOK_SUFFIXES))
    written = BytesIO()
    with zipfile.ZipFile(written, "w") as book:
        for name in sorted(names, key=lambda name: name != "mimetype"):
            book.writestr(zipfile.ZipInfo(name), _git(repository, "cat-file", "blob", f"{tree}/{name}"))
    return written.getvalue()


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout


def ask(files: Iterable[Mapping[str, Any]], workspace: Workspace) -> list[dict[str, Any]]:
    """Ask all questions, and return each with the rank of the first right hit and what was found."""
    return [
        {
            **{key: file[key] for key in ("half", "language")},
            "file": path_in_folder(file),
            **_asked(question, path_in_folder(file), workspace),
        }
        for file in files
        for question in file["questions"]
    ]


def _asked(question: Mapping[str, Any], path: str, workspace: Workspace) -> dict[str, Any]:
    hits = workspace.search(SearchQuery(question["query"], limit=SHOWN, min_score=0.0)).hits
    own = [hit for hit in hits if hit.path == path]
    saying = [hit.rank for hit in own if _says(hit, question["says"], workspace)]
    places = question.get("places")
    named = {hit.rank: {hit.place, *hit.other_places} for hit in own}
    right = [rank for rank, each in named.items() if not each.isdisjoint(places)] if places else saying
    marked = [hit.rank for hit in own if hit.place in places] if places else saying
    return {
        "query": question["query"],
        "rank": min(right, default=None),
        "marked_rank": min(marked, default=None),
        "passage_rank": min((*right, *saying), default=None),
        "file_rank": min((hit.rank for hit in own), default=None),
        "hits": [f"{hit.score:.2f} {hit.path}:{hit.start_line} {hit.place}".rstrip() for hit in hits],
    }


def _says(hit: SearchHit, words: str, workspace: Workspace) -> bool:
    """Return True if the lines of a hit have words of the answer, as on a page that goes on in the next."""
    lines = workspace.read(hit.path, collection=hit.collection).text.split("\n")
    return _squashed(words) in _squashed("\n".join(lines[hit.start_line - 1 : hit.end_line]))


def _squashed(text: str) -> str:
    return re.sub(r"<!--.*?-->|[\s\\*_|]+", "", text).casefold()


def counts(asked: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the shares of questions whose right page is named by the first hits, or in their passages."""
    questions = [*asked]
    return {
        "questions": len(questions),
        **{f"first {most}": _share(questions, "rank", most) for most in RANKS},
        **{f"marked {most}": _share(questions, "marked_rank", most) for most in RANKS},
        **{f"passage in {most}": _share(questions, "passage_rank", most) for most in RANKS},
        "file in 3": _share(questions, "file_rank", RANKS[1]),
    }


def _share(questions: Sequence[Mapping[str, Any]], key: str, most: int) -> float:
    found: int = sum(each[key] is not None and each[key] <= most for each in questions)
    return round(found / len(questions), 3)


def groups(asked: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the shares of all questions, of each half, language and kind of file."""
    found: dict[str, list[Mapping[str, Any]]] = {"all": []}
    for each in asked:
        kind = PurePosixPath(each["file"]).suffix[1:]
        for name in ("all", f"half {each['half']}", each["language"], kind, f"{each['language']} {kind}"):
            found.setdefault(name, []).append(each)
    return {name: counts(members) for name, members in found.items()}


def table(result: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of docs/decisions/other-files.md, given the counts of each group."""
    lines = [f"| | questions | {' | '.join(_COLUMNS.values())} |", f"|---|{'---|' * (1 + len(_COLUMNS))}"]
    for group, name in _ROWS.items():
        shares = (f"{result[group][column]:.3f}".lstrip("0") for column in _COLUMNS)
        shown = (each.removesuffix(".000") for each in shares)
        lines.append(f"| {name} | {result[group]['questions']} | {' | '.join(shown)} |")
    return "\n".join(lines)


def read_size(folder: Path) -> dict[str, dict[str, float]]:
    """Convert a thousand pages of the PDF files, alone and in a file of 200 MB; return what that takes.

    Processor time and memory are those of the process that converts.
    """
    made = pdfium.PdfDocument.new()
    for path in [*sorted(folder.rglob("*.pdf"))] * 2:
        with pdfium.PdfDocument(path) as document:
            made.import_pages(document, [*range(min(len(document), _PAGES - len(made)))])
    result: dict[str, dict[str, float]] = {}
    for name, ballast in (("1,000 pages", 0), ("1,000 pages in 200 MB", _LARGE_BYTES)):
        if ballast:
            made.new_attachment("pictures").set_data(os.urandom(ballast))
        written = BytesIO()
        made.save(written)
        raw = written.getvalue()
        conversion.end()
        found = conversion.convert("large.pdf", raw)
        pid = conversion._processes[-1]._process.pid
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        [peak] = re.findall(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
        result[name] = {
            "file MB": round(len(raw) / 1e6, 1),
            "text MB": round(len(found.text) / 1e6, 2),
            "CPU s": round((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), 1),
            "peak MB": round(int(peak) / 1024),
        }
    conversion.end()
    return result


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--repositories", type=Path, metavar="DIR", help="take the files from clones in it")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the index here")
    parser.add_argument("--size", action="store_true", help="measure a large file instead")
    parser.add_argument("--misses", metavar="HALF", help="print the questions of this half that are missed")
    parser.add_argument("--output", type=Path, default=RESULTS / "other_files.json", metavar="F")
    arguments = parser.parse_args()
    if arguments.size:
        size = read_size(arguments.folder)
        write_result("other_files_size", size)
        print(json.dumps(size, indent=2))
        return
    files = json.loads(DATA.read_text(encoding="utf-8"))["files"]
    if arguments.repositories:
        collect(files, arguments.repositories, arguments.folder)
    with temporary_folder() as temporary:
        database = (arguments.embed_cache or temporary) / "files.sqlite"
        command = (sys.executable, "-m", "mdvec", "--database", str(database))
        added = (
            *command,
            "tool",
            "add",
            "-n",
            _NAME,
            "-s",
            str(arguments.folder.resolve()),
            "-d",
            "real files",
        )
        if not database.exists():
            subprocess.run(added, check=True)
        subprocess.run((*command, "import", "--mode", "replace"), check=True)
        with open_workspace(Config(), database=database) as workspace:
            asked = ask(files, workspace)
    result = groups(asked)
    write_result("other_files", {"groups": result, "questions": asked}, arguments.output)
    print(table(result))
    for each in asked:
        if each["half"] == arguments.misses and not (each["rank"] and each["rank"] <= RANKS[1]):
            print("", f"{each['query']}  ({each['file']}, rank {each['rank']})", *each["hits"], sep="\n  ")


if __name__ == "__main__":
    main()
