"""Asks real PDF, Office and other files what their readers would, and counts where the right page is found.

    python -m benchmarks.other_files --repositories DIR FOLDER    takes the files from clones, then asks
    python -m benchmarks.other_files FOLDER                       asks files that are there already

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
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.harness import RESULTS, write_result
from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config import Config
from mdvec.evaluation.corpus import temporary_folder
from mdvec.types.hit import SearchHit

DATA = Path(__file__).parent / "other_files_data.json"
SHOWN = 5
RANKS = (1, 3, 5)
_NAME = "files"
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
    right = [hit.rank for hit in hits if hit.path == path and _answers(hit, question, workspace)]
    return {
        "query": question["query"],
        "rank": min(right, default=None),
        "file_rank": min((hit.rank for hit in hits if hit.path == path), default=None),
        "hits": [f"{hit.score:.2f} {hit.path}:{hit.start_line} {hit.place}".rstrip() for hit in hits],
    }


def _answers(hit: SearchHit, question: Mapping[str, Any], workspace: Workspace) -> bool:
    if places := question.get("places"):
        return hit.place in places
    lines = workspace.read(hit.path, collection=hit.collection).text.split("\n")
    shown = "\n".join(lines[hit.start_line - 1 : hit.end_line])
    return _squashed(question["says"]) in _squashed(shown)


def _squashed(text: str) -> str:
    return re.sub(r"[\s\\*_]+", "", text).casefold()


def counts(asked: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return in how many questions the right page is among the first hits, as shares."""
    ranks = [each["rank"] for each in asked]
    shares = {
        f"first {most}": round(sum(rank is not None and rank <= most for rank in ranks) / len(ranks), 3)
        for most in RANKS
    }
    return {"questions": len(ranks), **shares}


def groups(asked: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the shares of all questions, of each half, language and kind of file."""
    found: dict[str, list[Mapping[str, Any]]] = {"all": []}
    for each in asked:
        kind = PurePosixPath(each["file"]).suffix[1:]
        for name in ("all", f"half {each['half']}", each["language"], kind, f"{each['language']} {kind}"):
            found.setdefault(name, []).append(each)
    return {name: counts(members) for name, members in found.items()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--repositories", type=Path, metavar="DIR", help="take the files from clones in it")
    parser.add_argument("--embed-cache", type=Path, metavar="DIR", help="keep the index here")
    parser.add_argument("--misses", metavar="HALF", help="print the questions of this half that are missed")
    parser.add_argument("--output", type=Path, default=RESULTS / "other_files.json", metavar="F")
    arguments = parser.parse_args()
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
    for name, shares in result.items():
        print(f"{name:12}", *(f"{key} {value}" for key, value in shares.items()), sep="  ")
    for each in asked:
        if each["half"] == arguments.misses and not (each["rank"] and each["rank"] <= RANKS[1]):
            print("", f"{each['query']}  ({each['file']}, rank {each['rank']})", *each["hits"], sep="\n  ")


if __name__ == "__main__":
    main()
