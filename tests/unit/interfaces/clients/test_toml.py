"""TOML, edited in place."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.interfaces.clients.jsonc import SyntaxProblem
from mdvec.interfaces.clients.toml import load, remove_member, set_member

ENTRY = {"command": "/usr/bin/python", "args": ["-m", "mdvec"]}
PATH = ("mcp_servers", "mdvec")

# Statements that make it hard to see where one ends, and where ours begin.
PIECES = [
    "# a remark\n",
    "\n",
    'a{n} = "[mcp_servers.mdvec]"\n',
    'b{n} = """\n[mcp_servers.mdvec]\n# no remark ""\n""""\n',
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


@given(DOCUMENTS, st.booleans())
def test_removing_undoes_adding_to_the_byte(text: str, windows: bool) -> None:
    """Whatever a document holds, it is the same after a table came and went, and its values are all along."""
    if windows:
        text = text.replace("\n", "\r\n")
    before = tomllib.loads(text)
    changed = set_member(text, PATH, ENTRY)
    assert changed.startswith(text)
    assert tomllib.loads(changed)["mcp_servers"].pop("mdvec") == ENTRY
    removed = remove_member(changed, PATH)
    assert tomllib.loads(removed) == before
    assert removed.rstrip() == text.rstrip()


@given(DOCUMENTS, DOCUMENTS)
def test_what_stands_around_a_table_stays(before: str, after: str) -> None:
    """A table between others is changed and removed, and takes nothing of its neighbours along."""
    after = after.translate({ord(digit): f"9{digit}" for digit in "0123456789"})
    ours = '[mcp_servers.mdvec]\ncommand = "old" # mine\n\n# ours, too\n[mcp_servers.mdvec.env]\nA = "1"\n'
    text = before + ours + "\n# about the next\n[next]\n" + after
    changed = set_member(text, (*PATH, "command"), "new")
    assert changed == text.replace('command = "old" # mine', 'command = "new" # mine')
    removed = remove_member(text, PATH)
    assert removed == before + "\n# about the next\n[next]\n" + after or removed == (
        before + "# about the next\n[next]\n" + after
    )


def test_a_new_value_goes_to_its_table() -> None:
    """It stands behind the table's last value, even at an end without a line end."""
    assert set_member("[mcp_servers.mdvec]\na = 1\n\n[z]\n", (*PATH, "url"), "x") == (
        '[mcp_servers.mdvec]\na = 1\nurl = "x"\n\n[z]\n'
    )
    assert set_member("[mcp_servers.mdvec]", (*PATH, "url"), "x") == '[mcp_servers.mdvec]\nurl = "x"\n'


def test_dotted_keys_are_found() -> None:
    """A server that is written with dotted keys is removed like any other."""
    text = "[mcp_servers]\nmdvec.command = 'x'\nother.command = 'y'\n"
    assert remove_member(text, PATH) == "[mcp_servers]\nother.command = 'y'\n"


def test_names_are_quoted_where_they_must_be() -> None:
    """A name that is no bare key is written in quotes."""
    assert tomllib.loads(set_member("", ("mcp_servers", "my notes"), ENTRY)) == {
        "mcp_servers": {"my notes": ENTRY}
    }


def test_without_a_member_nothing_is_removed() -> None:
    """A document without the table comes back as it is."""
    assert remove_member("a = 1 # x\n", PATH) == "a = 1 # x\n"


def test_what_cannot_be_read_is_told_with_its_line() -> None:
    """The error has the line and what is wrong."""
    with pytest.raises(SyntaxProblem) as caught:
        load("a = 1\nb = \n")
    assert caught.value.line == 2
    assert "value" in str(caught.value).lower()
