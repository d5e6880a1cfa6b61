#!/usr/bin/env python3
"""Prepares a release: ``python scripts/release.py 1.0.0rc1``.

Writes the version wherever a file of the tree names it, and gives what is new in the changelog its heading.
With ``--check`` it fails unless all of them have the version; with ``--notes`` it prints the part of the
changelog that is about the version; with ``--packaging`` it writes the formula for Homebrew and the manifests
for winget to ``extra/``, with the digests of the files in ``dist/``.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = ROOT / "CHANGELOG.md"
VERSION = r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?"
DIGESTS = {
    "SDIST_SHA256": "mdvec-*.tar.gz",
    "MODEL_SHA256": "mdvec_e5-*.whl",
    "WINDOWS_SHA256": "mdvec-*-windows-x64.zip",
}
WINGET = ("", ".installer", ".locale.en-US")
# A file and the text around the version; the first decides what the version is.
PLACES = (
    ("src/mdvec/__init__.py", r'(__version__ = ")({})(")'),
    ("server.json", r'("version": ")({})(")'),
    ("packaging/mcpb/manifest.json", r'("version": ")({})(")'),
    ("packaging/mcpb/pyproject.toml", r'(version = "|mdvec==)({})(")'),
    *(
        (f"packaging/winget/mdvec.mdvec{kind}.yaml", r"(PackageVersion: |/v|/mdvec-)({})(\n|(?=/)|-windows)")
        for kind in WINGET
    ),
    ("packaging/homebrew/mdvec.rb", r"(/v|/mdvec-)({})((?=/)|\.tar)"),
)


def main(arguments: list[str]) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Prepare a release.")
    parser.add_argument("version", help="such as 1.0.0rc1; with --check and --notes a tag such as v1.0.0rc1")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--notes", action="store_true")
    parser.add_argument(
        "--packaging", action="store_true", help="write the formula and the manifests, with digests"
    )
    chosen = parser.parse_args(arguments)
    version = chosen.version.removeprefix("v")
    if not re.fullmatch(VERSION, version):
        parser.error(f"not a version: {version}")
    if chosen.check:
        wrong = [f"{name} has {found}" for name, found in versions() if found != version]
        print("\n".join(wrong))
        return int(bool(wrong))
    if chosen.notes:
        print(notes(CHANGELOG.read_text(encoding="utf-8"), version))
        return 0
    if chosen.packaging:
        write_packaging(ROOT / "dist", ROOT / "extra")
        return 0
    for name, pattern in PLACES:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(pattern.format(VERSION), rf"\g<1>{version}\g<3>", text), encoding="utf-8")
    today = datetime.datetime.now(datetime.UTC).date()
    CHANGELOG.write_text(cut(CHANGELOG.read_text(encoding="utf-8"), version, today), encoding="utf-8")
    print(f"next: git commit -am 'Release {version}' && git tag v{version} && git push --follow-tags")
    return 0


def write_packaging(dist: Path, extra: Path) -> None:
    """Write what package managers read, with the digests of the files that are published."""
    digests = {}
    for word, pattern in DIGESTS.items():
        [file] = dist.glob(pattern)
        digests[word] = hashlib.sha256(file.read_bytes()).hexdigest()
    (extra / "winget").mkdir(parents=True, exist_ok=True)  # alone: winget reads whole folders
    for path in (ROOT / "packaging" / "homebrew" / "mdvec.rb", *(ROOT / "packaging" / "winget").iterdir()):
        text = path.read_text(encoding="utf-8")
        for word, digest in digests.items():
            text = text.replace(word, digest)
        (extra / ("winget" if path.suffix == ".yaml" else "") / path.name).write_text(text, encoding="utf-8")


def versions() -> list[tuple[str, str]]:
    """Return each version that the tree names, with its file."""
    return [
        (name, match[2])
        for name, pattern in PLACES
        for match in re.finditer(pattern.format(VERSION), (ROOT / name).read_text(encoding="utf-8"))
    ]


def cut(changelog: str, version: str, day: datetime.date) -> str:
    """Give what is unreleased the heading of a version, below an empty heading for what comes next."""
    return changelog.replace("## [Unreleased]\n", f"## [Unreleased]\n\n## [{version}] - {day}\n", 1)


def notes(changelog: str, version: str) -> str:
    """Return the part of a version, without its heading."""
    _, _, rest = changelog.partition(f"## [{version}]")
    return rest.partition("\n")[2].partition("\n## [")[0].strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
