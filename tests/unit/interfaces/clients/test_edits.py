"""Adding an entry to the text of a client's file, and removing it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.errors import ClientFileError
from mdvec.interfaces.clients.catalogue import CLIENTS
from mdvec.interfaces.clients.edits import ClientFile, installed, snippet, uninstalled

CODEX, CURSOR = CLIENTS["codex"], CLIENTS["cursor"]
ENTRY = {"command": "/usr/bin/python", "args": ["-m", "mdvec"]}

# Statements that make it hard to see where one ends, and where ours begin.
PIECES = [
    "# a remark\n",
    "\n",
    'a{n} = "[mcp_servers.mdvec]"\n',
    'b{n} = """\n[mcp_servers.other]\n# no remark ""\n""""\n',
    "c{n} = '''\n[x]\n'''\n",
    'd{n} = [\n  "]", # ]\n  "#",\n]\n',
    "e{n} = {{ x = [1], y = '}}' }}\n",
    "[t{n}]\n",
    "  [mcp_servers.s{n}] # ours?\ncommand = 'x'\n",
    "[[list{n}]]\nx = 1\n",
    '[mcp_servers."with.dot{n}"]\nurl = "x"\n',
]
DOCUMENTS = st.lists(st.sampled_from(PIECES), max_size=8).map(
    lambda pieces: "".join(piece.format(n=number) for number, piece in enumerate(pieces))
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def file(text: str) -> ClientFile:
    return ClientFile(Path("/nowhere/file"), text.encode(), text)


@given(DOCUMENTS, st.booleans())
def test_removing_undoes_adding_to_toml(text: str, windows: bool) -> None:
    """An entry goes to the end; without it a document is what it was, but for empty lines at its end."""
    if windows:
        text = text.replace("\n", "\r\n")
    changed = installed(file(text), CODEX, "mdvec", ENTRY)
    assert changed.startswith(text)
    assert ("\r\n" in changed) is ("\r\n" in text)
    assert tomllib.loads(changed)["mcp_servers"].pop("mdvec") == ENTRY
    removed = uninstalled(file(changed), CODEX, "mdvec") or ""
    assert removed.rstrip() == text.rstrip()


@given(DOCUMENTS, DOCUMENTS)
def test_what_stands_around_an_entry_in_toml_stays(before: str, after: str) -> None:
    """An entry between others is changed and removed, and takes nothing of its neighbours along."""
    after = after.translate({ord(digit): f"9{digit}" for digit in "0123456789"})
    ours = '[mcp_servers.mdvec]\ncommand = "old" # mine\n\n# ours, too\n[mcp_servers.mdvec.env]\nA = "1"\n'
    rest = "\n# about the next\n[next]\n" + after
    changed = installed(file(before + ours + rest), CODEX, "mdvec", {"command": "new", "env": {"B": "2"}})
    expected = ours.replace('"old"', '"new"') + 'B = "2"\n'
    assert changed == before + expected + rest
    removed = uninstalled(file(before + ours + rest), CODEX, "mdvec") or ""
    assert removed.strip() == (before.rstrip() + "\n" + rest).strip()


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.sampled_from([2, 4, "\t"]), st.booleans())
def test_removing_undoes_adding_to_json(data: dict[str, Any], indent: int | str, windows: bool) -> None:
    """Indent, order and line ends stay, whatever a file holds."""
    data = {**data, "mcpServers": {"other": {"command": "npx"}}}
    text = json.dumps(data, ensure_ascii=False, indent=indent) + "\n"
    if windows:
        text = text.replace("\n", "\r\n")
    changed = installed(file(text), CURSOR, "mdvec", ENTRY)
    assert json.loads(changed)["mcpServers"] == {"other": {"command": "npx"}, "mdvec": ENTRY}
    assert uninstalled(file(changed), CURSOR, "mdvec") == text


def test_lists_on_one_line_stay_there() -> None:
    """Lists that were on one line are not spread over many."""
    text = '{\n  "mcpServers": {\n    "a": {\n      "args": ["-y", "a]b"]\n    }\n  }\n}\n'
    assert '"args": ["-y", "a]b"]' in installed(file(text), CURSOR, "mdvec", ENTRY)


@pytest.mark.parametrize("text", ["", "\n", "{}", '{"mcpServers": {}}'])
def test_an_empty_file_gets_the_entry_alone(text: str) -> None:
    """The same text as is printed for adding it by hand."""
    assert installed(file(text), CURSOR, "mdvec", ENTRY).strip() == snippet(CURSOR, "mdvec", ENTRY).strip()


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = { mdvec = { command = 'x' } }\n",
        "[mcp_servers]\nmdvec.command = 'x'\n",
        "[mcp_servers]\nmdvec = { command = 'x' }\n",
        "a = '''\n[mcp_servers.mdvec]\n'''\n[mcp_servers.mdvec]\ncommand = 'x'\n",
        "[mcp_servers.mdvec]\ncommand = 'x'\n[z]\n[mcp_servers.mdvec.env]\nA = '1'\n",
    ],
)
def test_toml_in_another_form_is_refused(text: str) -> None:
    """An entry that is not written as tables of its own is not removed, whatever the text looks like."""
    with pytest.raises(ClientFileError, match="cannot be edited safely"):
        uninstalled(file(text), CODEX, "mdvec")


@pytest.mark.parametrize("value", ["NaN", "1e400", "0.10", "1e5", "12345678901234567890.123456789"])
def test_a_number_that_would_be_written_in_another_way_is_refused(value: str) -> None:
    """The whole file is written anew, and it may be another number then."""
    with pytest.raises(ClientFileError, match="without loss"):
        installed(file(f'{{"x": {value}}}'), CURSOR, "mdvec", ENTRY)


def test_a_file_goes_only_where_install_made_it(tmp_path: Path) -> None:
    """One written by hand stays, with an entry by hand or as the target of a link."""
    path = tmp_path / "mcp.json"
    for entry, is_gone in ((ENTRY, True), ({"command": "/usr/bin/mdvec"}, False), ({**ENTRY, "x": 1}, False)):
        text = json.dumps({"mcpServers": {"mdvec": entry}})
        path.write_text(text, encoding="utf-8")
        left = uninstalled(ClientFile(path, text.encode(), text), CURSOR, "mdvec")
        assert (left is None) is is_gone
    link = tmp_path / "link.json"
    link.symlink_to(path)
    text = json.dumps({"mcpServers": {"mdvec": ENTRY}})
    assert uninstalled(ClientFile(link, text.encode(), text), CURSOR, "mdvec") is not None
