"""The README shows what really happens."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.e2e.conftest import Shell
from tests.e2e.test_cli import needs_model

ROOT = Path(__file__).resolve().parents[2]
# The last digit of a score depends on the processor, the line of a passage on every edit above it, and the
# day on the copy.
VARYING = re.compile(r" {2,}\d\.\d\d$|(?<=\.md):\d+| {2}\d{4}-\d\d-\d\d$", re.MULTILINE)


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's own docs, with the index of the README's first command, if that ran."""
    copied = tmp_path_factory.mktemp("readme") / "docs"
    return Path(shutil.copytree(ROOT / "docs", copied))


@pytest.mark.harness
@needs_model
@pytest.mark.parametrize("readme", ["README.md", "README.ja.md"])
def test_the_demonstration_is_real(shell: Shell, docs: Path, readme: str) -> None:
    """Its commands, run on the project's own docs, print what stands below them."""
    text = (ROOT / readme).read_text(encoding="utf-8")
    demonstration = re.findall(r"```console\n(.*?)```", text, re.DOTALL)[0]
    (shell.cwd / "docs").symlink_to(docs)
    shell.env["HOME"] = str(docs.parent)  # an index made under another one is foreign
    del shell.env["MDVEC_DATABASE_PATH"]
    if (docs / ".mdvec").is_dir():
        shell.run("trust", "docs")
    commands = re.findall(r"^\$ mdvec (.*)\n((?:(?!\$ ).*\n)+)", demonstration, re.MULTILINE)
    assert len(commands) == 2
    for arguments, expected in commands:
        printed = shell.run(*shlex.split(arguments), process=True).stdout
        assert VARYING.sub("", printed) == VARYING.sub("", expected)
