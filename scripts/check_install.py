#!/usr/bin/env python3
"""Builds what is published, installs it in clean environments, and searches with it.

    python scripts/check_install.py                  # by uv, with this Python and each other one that is here
    python scripts/check_install.py 3.12 3.13        # with these, too, which uv may download
    python scripts/check_install.py --ways           # also by pip, pipx, uv tool and uvx

It takes ``pip install -e '.[release]'`` and the registry. Files are left in ``dist/``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

RELEASE = "MDVEC_RELEASE"  # see requirements.py
ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
UV = [sys.executable, "-m", "uv", "--quiet"]
NOTES = {
    "tap.md": "# Kitchen\n\nThe faucet drips: close the valve under the sink and change the washer.\n",
    "trip.md": "# Trip\n\nThe train to Kyoto leaves at nine from platform four.\n",
    "bread.md": "# Bread\n\nKnead flour, water, salt and yeast; let the dough rise overnight.\n",
}
QUESTION = "水道の蛇口から水が漏れている"  # shares no word with its answer: only the model finds it
ANSWER = "tap.md"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SCRIPTS = "Scripts" if os.name == "nt" else "bin"


def main(arguments: list[str]) -> int:
    """Run all checks; raise where one fails."""
    parser = argparse.ArgumentParser(description="Build, install in clean environments, and search.")
    parser.add_argument("pythons", nargs="*", default=[], help="further versions, such as 3.13, or paths")
    parser.add_argument("--ways", action="store_true", help="also by pip, pipx, uv tool and uvx")
    chosen = parser.parse_args(arguments)
    wheels = build()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, text in NOTES.items():
            (work / "notes").mkdir(exist_ok=True)
            (work / "notes" / name).write_text(text, encoding="utf-8")
        for python in [sys.executable, *pythons_here(), *chosen.pythons]:
            environment = work / "environment"
            run(*UV, "venv", "--clear", "--python", python, environment)
            run(*UV, "pip", "install", "--python", environment, *wheels)
            search(work, environment / SCRIPTS / "mdvec", name=f"uv pip, Python {python}")
            report_size(environment)
        if chosen.ways:
            ways(work, wheels)
    return 0


def pythons_here() -> list[str]:
    """Return the supported Pythons of this machine besides the one that runs this."""
    others = [each for each in PYTHONS if each != f"{sys.version_info.major}.{sys.version_info.minor}"]
    command = [*UV, "python", "find", "--system", "--no-python-downloads"]
    found = [
        each
        for each in others
        if not subprocess.run([*command, each], capture_output=True, check=False).returncode
    ]
    print(f"other Pythons here: {', '.join(found) or 'none'}", flush=True)
    return found


def build() -> list[Path]:
    """Build both wheels and mdvec's sdist; return the wheels. mdvec's is built from the sdist."""
    shutil.rmtree(DIST, ignore_errors=True)
    os.environ[RELEASE] = "1"
    run(*UV, "build", "--wheel", "--out-dir", DIST, ROOT / "packages" / "mdvec-e5")
    run(*UV, "build", "--sdist", "--out-dir", DIST, ROOT)
    [sdist] = DIST.glob("*.tar.gz")
    run(*UV, "build", "--wheel", "--out-dir", DIST, sdist)
    wheels = sorted(DIST.glob("*.whl"))
    run(sys.executable, "-m", "twine", "check", "--strict", *wheels, sdist)
    for file in (*wheels, sdist):
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB", flush=True)
    return wheels


def ways(work: Path, wheels: list[Path]) -> None:
    """Install in the other ways that ``docs/how-to/install.md`` names, from the wheels."""
    venv.create(work / "pip", with_pip=True)
    run(work / "pip" / SCRIPTS / "python", "-m", "pip", "install", "--quiet", *wheels)
    search(work, work / "pip" / SCRIPTS / "mdvec", name="pip")
    [mdvec] = [wheel for wheel in wheels if wheel.name.startswith("mdvec-")]
    found = ["--find-links", str(DIST)]
    os.environ["PIPX_HOME"], os.environ["PIPX_BIN_DIR"] = str(work / "pipx"), str(work / "pipx-bin")
    pip_arguments = f"--find-links {DIST}"
    run(sys.executable, "-m", "pipx", "install", "--quiet", f"--pip-args={pip_arguments}", mdvec)
    search(work, work / "pipx-bin" / "mdvec", name="pipx")
    os.environ["UV_TOOL_DIR"], os.environ["UV_TOOL_BIN_DIR"] = str(work / "tools"), str(work / "tools-bin")
    run(*UV, "tool", "install", *found, mdvec)
    search(work, work / "tools-bin" / "mdvec", name="uv tool install")
    search(work, *UV, "tool", "run", *found, "--from", mdvec, "mdvec", name="uvx")


def search(work: Path, *command: str | Path, name: str) -> None:
    """Search the notes, which are indexed anew, with an installed mdvec."""
    shutil.rmtree(work / "notes" / ".mdvec", ignore_errors=True)
    asked = [*command, "search", "--docs-dir", work / "notes", QUESTION, "--format", "json", "-k", "1"]
    # Nothing of this user is used or left behind.
    home = {"HOME": str(work), "USERPROFILE": str(work), "UV_CACHE_DIR": str(work / "uv")}
    others = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "PYTHONPATH"))}
    done = subprocess.run(
        asked, cwd=work, env={**others, **home}, check=True, capture_output=True, encoding="utf-8"
    )
    [hit] = json.loads(done.stdout)["hits"]
    if hit["path"] != ANSWER or "Warning" in done.stderr:
        msg = f"{name}: found {hit['path']}, expected {ANSWER}\n{done.stderr}"
        raise SystemExit(msg)
    print(f"{name}: finds {hit['path']}", flush=True)


def report_size(environment: Path) -> None:
    """Print what is installed: megabytes without bytecode, and distributions."""
    files = [path for path in environment.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    packages = [path for path in environment.rglob("*.dist-info") if path.is_dir()]
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"installed: {size:.0f} MB without bytecode, {len(packages)} distributions", flush=True)


def run(*command: str | Path) -> None:
    """Run a command; raise if it fails."""
    subprocess.run(command, check=True, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
