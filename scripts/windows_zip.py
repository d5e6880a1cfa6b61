#!/usr/bin/env python3
r"""Builds what winget installs: a folder with Python, mdvec with all that it needs, and ``mdvec.exe``.

    python scripts/windows_zip.py dist\*.whl

It runs on Windows, with the Python that goes into the folder, and takes ``pip install distlib``. The zip is
left in ``dist/`` once a search with it has found its answer.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from scripts.check_install import DIST, NOTES, ROOT, run, search
from scripts.release import versions

LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "Doc", "idlelib", "tcl", "tkinter", "test", "site-packages", "Scripts"
)


def main(wheels: list[str]) -> int:
    """Build the zip, from the wheels of mdvec and its model."""
    from distlib.scripts import ScriptMaker

    (_, version), *_ = versions()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "zip" / "mdvec"
        packages = folder / "python" / "Lib" / "site-packages"
        shutil.copytree(sys.base_prefix, folder / "python", ignore=LEFT_OUT)
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--target", packages)
        run(*pip, "--require-hashes", "--only-binary=:all:", "-r", ROOT / "requirements" / "core.txt")
        run(*pip, "--no-deps", *wheels)
        maker = ScriptMaker(None, str(folder), add_launchers=True)
        maker.executable, maker.variants = r"<launcher_dir>\python\python.exe", {""}
        maker.make("mdvec = mdvec.interfaces.cli.main:main")
        notes = Path(work) / "notes"
        notes.mkdir()
        for name, text in NOTES.items():
            (notes / name).write_text(text, encoding="utf-8")
        search(Path(work), folder / "mdvec.exe", name="zip for Windows")
        shutil.make_archive(str(DIST / f"mdvec-{version}-windows-x64"), "zip", folder.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
