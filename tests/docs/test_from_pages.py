"""The pages for people who come from another tool."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mdvec.config import load_config
from mdvec.interfaces.cli.main import run

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
PAGES = sorted(HOW_TO.glob("from-*.md"))
NAMES = {"yaml": "config.yaml", "json": ".search-docs.json", "toml": "mdvec.toml"}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_there_are_four_of_them_in_two_languages() -> None:
    """Both tests below look at something."""
    assert len(PAGES) == 8


@pytest.mark.parametrize(
    "page", [each for each in PAGES if ".ja." not in each.name], ids=lambda page: page.stem
)
def test_both_languages_have_the_same_commands_and_settings(page: Path) -> None:
    """But for comments and the words between quotation marks."""
    english, japanese = (
        [(kind, re.sub(r' {2,}# .*|"[^"]*"', "", text)) for kind, text in blocks(each)]
        for each in (page, page.with_suffix(".ja.md"))
    )
    assert english == japanese


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_their_commands_and_settings_are_known(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command has the options that are shown; each file is read, and all of it has an effect."""
    commands = [line for kind, text in blocks(page) if kind == "sh" for line in text.splitlines()]
    called = [shlex.split(line, comments=True)[1:] for line in commands if line.startswith("mdvec ")]
    assert len(called) >= 5
    for words in called:
        assert run([*words, "--help"], env={"HOME": str(tmp_path)}, cwd=tmp_path) == 0, (
            capsys.readouterr().err
        )
    for kind, text in blocks(page):
        if kind in NAMES:
            file = tmp_path / NAMES[kind]
            file.write_text(text, encoding="utf-8")
            loaded = load_config(file, cwd=tmp_path, env={})
            assert loaded.config.warnings == ()
            assert loaded.origins
