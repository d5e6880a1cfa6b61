"""Builds the reading site of real vaults, checks every link in it, and reports time and size.

    python -m benchmarks.reading_site VAULT... --output benchmarks/results/reading_site.json

It takes Node, and the network once. Dead links of a vault stay dead on its site; they are counted apart.
"""

from __future__ import annotations

import argparse
import html
import re
import resource
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from benchmarks.harness import write_result
from mdvec import open_workspace
from mdvec.interfaces.site.build import build_site
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.collection import ChunkingSpec

_BASE = "/notes/"
_ID = re.compile(r'\sid="([^"]+)"')
# In a tag: a page may quote HTML, too.
_ADDRESS = re.compile(r'<[^<>]*\s(?:href|src)="([^"]+)"')


def dead_links(dist: Path, base: str) -> list[tuple[str, str]]:
    """Return the links of a built site that lead to no file, or to no place in a page.

    Args:
        dist: The built site.
        base: Its path on its host.

    Returns:
        Pairs of the page and the address, as written there.
    """
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(dist.rglob("*.html"))}
    places = {path: {html.unescape(each) for each in _ID.findall(text)} for path, text in pages.items()}
    dead = []
    for path, text in pages.items():
        own = base + str(path.relative_to(dist))
        for raw in _ADDRESS.findall(text):
            address, fragment = urldefrag(urljoin(own, html.unescape(raw)))
            if re.match(r"[a-z]+:", address):
                continue
            target = dist / unquote(address).removeprefix(base)
            target = target / "index.html" if target.is_dir() else target
            place = unquote(fragment)
            if not target.is_file() or (place and place not in places.get(target, {place})):
                dead.append((own, raw))
    return dead


def run(vault: Path) -> dict[str, Any]:
    """Build the site of a vault twice, and return its figures."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        with open_workspace(database=root / "index.sqlite", embedder=HashingEmbedder()) as workspace:
            workspace.add_collection("vault", "", str(vault), chunking=ChunkingSpec("vault"))
            workspace.import_collection("vault")

            def build() -> Any:
                return build_site(
                    workspace,
                    "vault",
                    root / "site",
                    base=_BASE,
                    language=None,
                    project_only=False,
                    note=lambda _: None,
                )

            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            report = build()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            again = build()
        dist = root / "site" / "dist"
        dead = dead_links(dist, _BASE)
        return {
            "vault": vault.parent.name if vault.name == "tree" else vault.name,
            "pages": report.pages,
            "node_cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
            "site_mb": round(sum(each.stat().st_size for each in dist.rglob("*") if each.is_file()) / 1e6, 1),
            "dead_in_the_vault": len(report.dead_links),
            "dead_files_on_the_site": sum("#" not in address for _, address in dead),
            "dead_places_on_the_site": sum("#" in address for _, address in dead),
            "written_again": again.written,
        }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vaults", type=Path, nargs="+", metavar="VAULT")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures = [run(vault.resolve()) for vault in arguments.vaults]
    for each in figures:
        print(each)
    write_result("reading_site", {"vaults": figures}, arguments.output)


if __name__ == "__main__":
    main()
