"""One table of wrong calls, run through every door: each says the same of them."""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

import pytest
from mcp import MCPError
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import FakeWorkspace
from tests.unit.interfaces.mcp.agent import call, text_of
from tests.unit.interfaces.test_doors import sent

from mdvec.interfaces.operations import OPERATIONS
from mdvec.interfaces.rpc.dispatcher import INVALID_PARAMS

READING = {each.name for each in OPERATIONS if not each.changes}
# Agents have other names for some operations, and none for others.
TOOLS = {
    "search": "search",
    "read": "get_doc",
    "list": "list_docs",
    "outline": "get_outline",
    "tags": "list_tags",
    "reindex": "reindex",
}
# What agents are not offered.
OF_PROGRAMS = {"threshold"}
# People have other names for some arguments, and may repeat these.
OPTIONS = {"tags": "--tag", "collections": "--name", "collection": "--name", "query": "QUERY", "path": "PATH"}


class Wrong(NamedTuple):
    """A wrong call.

    Attributes:
        operation: Its name in the table of operations.
        arguments: As programs and agents send them.
        said: What each door says of it; of an unknown argument it may add all there are.
        line: The command line that is the same call; empty where options cannot say it.
    """

    operation: str
    arguments: dict[str, Any]
    said: str
    line: str = ""


MODES = "`mode` must be one of dense, hybrid, lexical, not 'hybird'; did you mean `hybrid`?"
KINDS = "`expand` must be one of chunk, document, neighbours, passage, section, not 'page'"
LINKS = "`links` must be one of orphan, unresolved, not 'broken'"
DATE = "not a date, a time or an age: 'soon'"
WRONG = [
    Wrong("search", {}, "`query` is missing", "search"),
    Wrong("search", {"query": ["x", "y"]}, "`query` must be text, not ['x', 'y']"),
    Wrong("search", {"query": "x", "limt": 3},
          "unknown argument `limt`; did you mean `limit`?", "search x --limt 3"),
    Wrong("search", {"query": "x", "zzz": 3}, "unknown argument `zzz`", "search x --zzz 3"),
    Wrong("search", {"query": "x", "since": "7d"},
          "unknown argument `since`; did you mean `updated_since`?"),
    Wrong("search", {"query": "x", "limit": "ten"},
          "`limit` must be a whole number, not 'ten'", "search x -k ten"),
    Wrong("search", {"query": "x", "limit": 2.5},
          "`limit` must be a whole number, not 2.5", "search x -k 2.5"),
    Wrong("search", {"query": "x", "limit": 0}, "`limit` must be from 1 to 100", "search x --limit 0"),
    Wrong("search", {"query": "x", "limit": 1, "k": 2}, "`limit` is given more than once"),
    Wrong("search", {"query": "x", "mode": "hybird"}, MODES, "search x --mode hybird"),
    Wrong("search", {"query": "x", "mode": 3}, "`mode` must be one of dense, hybrid, lexical, not"),
    Wrong("search", {"query": "x", "tag_match": "some"},
          "`tag_match` must be one of all, any, not 'some'", "search x --tag-match some"),
    Wrong("search", {"query": "x", "sort": "best"},
          "`sort` must be one of date, score, not 'best'", "search x --sort best"),
    Wrong("search", {"query": "x", "expand": "page"}, KINDS, "search x --expand page"),
    Wrong("search", {"query": "x", "depth": [1, 7]},
          "`depth[1]` must be from 0 to 3, not 7", "search x --depth 1 --depth 7"),
    Wrong("search", {"query": "x", "per_document": 0},
          "`per_document` must be at least 1, not 0", "search x --per-document 0"),
    Wrong("search", {"query": "x", "max_tokens": -1},
          "`max_tokens` must be at least 1, not -1", "search x --max-tokens -1"),
    Wrong("search", {"query": "x", "min_score": 1.5},
          "`min_score` must be from 0 to 1, not 1.5", "search x --min-score 1.5"),
    Wrong("search", {"query": "x", "threshold": 1.5}, "`threshold` must be from -1 to 1, not 1.5",
          "search x --threshold 1.5"),
    Wrong("search", {"query": "x", "min_score": "nan"},
          "`min_score` must be a number, not 'nan'", "search x --min-score nan"),
    Wrong("search", {"query": "x", "include_superseded": "perhaps"},
          "`include_superseded` must be true or false, not 'perhaps'"),
    Wrong("search", {"query": "x", "tags": {"a": 1}}, "`tags` must be a list, not {'a': 1}"),
    Wrong("search", {"query": "x", "where": "nonsense"},
          "not a condition on a property: 'nonsense'", "search x --where nonsense"),
    Wrong("search", {"query": "x", "where": "rating=>4"},
          "not a comparison: '=>' in 'rating=>4'", "search x --where rating=>4"),
    Wrong("search", {"query": "x", "updated_since": "soon"}, DATE, "search x --since soon"),
    Wrong("search", {"query": "x", "updated_until": "soon"}, DATE, "search x --until soon"),
    Wrong("read", {}, "`path` is missing", "get"),
    Wrong("read", {"file": {}}, "`path` must be a list, not {}"),
    Wrong("read", {"path": "a.md", "lines": "first"},
          "not a range of lines: 'first'", "get a.md --lines first"),
    Wrong("read", {"path": "a.md", "lines": "5:2"},
          "not a range of lines: '5:2'", "get a.md --lines 5:2"),
    Wrong("read", {"path": ["a.md", "b.md"], "lines": "1"},
          "`lines` and `section` are for one document"),
    Wrong("read", {"path": "a.md", "max_tokens": 0}, "`max_tokens` must be at least 1, not 0"),
    Wrong("get", {"path": "a.md", "lines": "0"}, "not a range of lines: '0'", "get a.md --lines 0"),
    Wrong("list", {"query": "x"}, "unknown argument `query`"),
    Wrong("list", {"limit": "all"}, "`limit` must be a whole number, not 'all'", "ls -k all"),
    Wrong("list", {"links": "broken"}, LINKS, "ls --links broken"),
    Wrong("list", {"tag_match": "some"},
          "`tag_match` must be one of all, any, not 'some'", "ls --tag-match some"),
    Wrong("list", {"where": "nonsense"},
          "not a condition on a property: 'nonsense'", "ls --where nonsense"),
    Wrong("list", {"updated_since": "soon"}, DATE, "ls --updated-since soon"),
    Wrong("outline", {}, "`path` is missing", "get --outline"),
    Wrong("links", {"path": "a.md", "steps": 9},
          "`steps` must be from 1 to 3, not 9", "get a.md --links --steps 9"),
    Wrong("related", {"path": "a.md", "limit": 0},
          "`limit` must be from 1 to 100, not 0", "related a.md -k 0"),
    Wrong("tags", {"sort": "name"}, "unknown argument `sort`", "tags --sort name"),
    Wrong("status", {"chek": True}, "unknown argument `chek`; did you mean `check`?", "status --chek"),
    Wrong("collections", {"x": 1}, "unknown argument `x`", "tool ls --x 1"),
    Wrong("models", {"x": 1}, "unknown argument `x`", "model ls --x 1"),
    Wrong("reindex", {"collection": "notes", "force": True},
          "unknown argument `force`", "import -n notes --force"),
]  # fmt: skip


@pytest.mark.parametrize(
    "wrong", WRONG, ids=lambda wrong: wrong.line or f"{wrong.operation} {wrong.arguments}"
)
def test_a_wrong_call_is_refused_in_the_same_words_everywhere(
    workspace: FakeWorkspace, mdvec: Mdvec, wrong: Wrong
) -> None:
    """Each door names the argument, what it must be and what it is; nothing reaches the workspace."""
    name, arguments = wrong.operation, wrong.arguments
    message = {"jsonrpc": "2.0", "id": 1, "method": f"mdvec.{name}", "params": arguments}
    error = sent(workspace, "POST", "/rpc", json=message).json()["error"]
    posted = sent(workspace, "POST", f"/api/{name}", json=arguments)
    assert (error["code"], posted.status_code) == (INVALID_PARAMS, 400)
    told = [error["message"], posted.json()["detail"]]
    if name in TOOLS and not OF_PROGRAMS & {*arguments}:
        refused = call(workspace, TOOLS[name], **arguments)
        assert refused.is_error
        told.append(text_of(refused))
    if name in READING and not any(isinstance(each, dict) for each in arguments.values()):
        paths = [f"/api/{name}", *(["/search"] if name == "search" else [])]
        told += [sent(workspace, "GET", path, params=arguments).json()["detail"] for path in paths]
    for each in told:
        assert wrong.said in each
    if wrong.line:
        outcome = mdvec(*shlex.split(wrong.line))
        assert outcome.code == 2
        said = on_the_command_line(wrong.said)
        typed = said.replace("`--limit`", "`-k`") if " -k " in wrong.line else said
        assert outcome.err.startswith(f"error: {typed}")
    reached = [
        name
        for name, _ in workspace.calls
        if name in ("search", "read", "newest", "import_collection", "related")
    ]
    assert reached == []


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("search x --mode LEXICAL", "search x --mode lexical"),
        ("search x --limit 5.0", "search x --limit 5"),
        ("search x --limit 1e1", "search x --limit 10"),
        ("tool ls --format JSON", "tool ls --format json"),
    ],
)
def test_a_value_that_other_doors_take_is_one_of_an_option(
    workspace: FakeWorkspace, mdvec: Mdvec, line: str, meant: str
) -> None:
    """Words in any case, and whole numbers in any notation."""
    outcome, calls = mdvec(*line.split()), [*workspace.calls]
    assert outcome.code == 0
    workspace.calls.clear()
    assert mdvec(*meant.split()).out == outcome.out
    assert workspace.calls == calls


def test_what_was_written_is_named(mdvec: Mdvec) -> None:
    """An option that is refused is shown as its user wrote it."""
    assert "must be from 0 to 3, not 7e0\n" in mdvec("search", "x", "--depth", "7e0").err
    assert "not 'HYBIRD'; did you mean `hybrid`?" in mdvec("search", "x", "--mode", "HYBIRD").err


def test_an_operation_that_is_not_there_is_refused_with_the_nearest(
    workspace: FakeWorkspace, mdvec: Mdvec
) -> None:
    """Tools, methods, addresses and commands have the names of operations."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "mdvec.serch"}
    with pytest.raises(MCPError) as refused:
        call(workspace, "serch")
    assert "there is no tool 'serch'; did you mean `search`?" in str(refused.value)
    said = sent(workspace, "POST", "/rpc", json=message).json()["error"]["message"]
    assert said == "there is no method 'mdvec.serch'; did you mean `mdvec.search`?"
    answer = sent(workspace, "GET", "/api/serch")
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "There is no operation 'serch'; did you mean `search`?",
    )
    assert "there is no command 'serch'; did you mean 'search'?" in mdvec("serch").err


def on_the_command_line(said: str) -> str:
    """Return what is said of an argument with the name of its option."""

    def option(found: re.Match[str]) -> str:
        return f"`{OPTIONS.get(found[1]) or '--' + found[1].replace('_', '-')}`"

    # The nearest of other words is no name of an argument.
    names = 2 if said.startswith("unknown") else 1
    named = re.sub(r"`(\w+)(?:\[\d+\])?`", option, said, count=names)
    return named.replace("unknown argument", "unknown option")
