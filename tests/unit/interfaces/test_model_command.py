"""``mdvec model``, ``import --estimate``, and the options of ``tool`` that are about models and cutting."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import CHANGE, COLLECTION, ESTIMATE, MODEL, FakeWorkspace

from mdvec.errors import EmbedderUnavailableError
from mdvec.interfaces import present
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.model_report import ModelChangeOutcome, Price
from mdvec.types.report import ChangeProgress, CollectionCounts, CollectionStatus, ImportMode, ImportOptions


def test_list(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """The table has what a choice needs; where figures are from, and what is missing, is said beside it."""
    priced = replace(
        MODEL,
        spec="gemini:g",
        price=Price(0.15, "2026-04-30"),
        offline=False,
        benchmarks=(),
        problem="no key",
        hint="Run 'export K=…'.",
        collections=(),
    )
    workspace.answers["known"] = lambda: [MODEL, priced]
    outcome = mdvec("model", "ls")
    assert outcome.code == 0
    header, builtin, gemini = outcome.out.splitlines()
    assert [word in header for word in ("MODEL", "DIMENSION", "LANGUAGES", "OFFLINE", "JMTEB")] == [True] * 5
    assert builtin.split() == ["builtin", "384", "many", "95", "yes", "62.92", "yes", "notes"]
    assert gemini.split() == ["gemini:g", "384", "many", "95", "0.15", "no", "no"]
    assert "https://example.com/jmteb" in outcome.err
    assert "prices as of 2026-04-30" in outcome.err
    assert "gemini:g: no key. Run 'export K=…'." in outcome.err


def test_list_as_json(mdvec: Mdvec) -> None:
    """Every figure comes with its source."""
    (model,) = json.loads(mdvec("model", "ls", "--format", "json").out)
    assert model["benchmarks"][0]["source"] == "https://example.com/jmteb"
    assert (model["dimensions"], model["price"], model["collections"]) == ([384], None, ["notes"])


def test_use(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """The spec, the collections and the time to wait reach the workspace; the outcome is one line."""
    outcome = mdvec("model", "use", "openai:bge:m3@512", "-n", "notes", "-n", "b", "--wait", "2")
    assert outcome.code == 0
    assert workspace.calls[-1] == (
        "use",
        {"spec": EmbeddingSpec("openai", "bge:m3", 512), "names": ("notes", "b"), "wait_s": 2.0},
    )
    assert outcome.out == "notes: voyage:voyage-4-lite@1024 from now on; 8 of 9 chunks embedded, in 1.2 s\n"


@pytest.mark.parametrize(
    ("outcome", "model", "said"),
    [
        (ModelChangeOutcome.CHOSEN, "m", "notes: m will embed it; next: mdvec import -n notes"),
        (ModelChangeOutcome.SAME, "m", "notes: uses m; nothing to change"),
        (ModelChangeOutcome.CANCELLED, "", "notes: the change was cancelled; uses the configured model"),
    ],
)
def test_outcomes(outcome: ModelChangeOutcome, model: str, said: str) -> None:
    """Each is said in its own words."""
    change = replace(CHANGE, outcome=outcome, model=model)
    assert present.model_change_line(change, "mdvec import -n notes") == said


def test_warnings_go_to_standard_error(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """In JSON they are part of what is printed."""
    warned = replace(CHANGE, warnings=("the folder is away",))
    workspace.answers["use"] = lambda **_: [warned]
    assert mdvec("model", "use", "builtin").err == "warning: the folder is away\n"
    outcome = mdvec("model", "use", "builtin", "--format", "json")
    [found] = json.loads(outcome.out)
    assert found["warnings"] == ["the folder is away"]
    assert (found["outcome"], found["elapsed_ms"]) == ("changed", 1234.6)


def test_the_changes_of_several_collections_are_one_value(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A program reads all of them at once."""
    workspace.answers["use"] = lambda **_: [CHANGE, replace(CHANGE, collection="wiki")]
    outcome = mdvec("model", "use", "builtin", "--format", "json")
    assert [each["collection"] for each in json.loads(outcome.out)] == ["notes", "wiki"]


def test_cancel(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """It takes no model."""
    outcome = mdvec("model", "use", "--cancel", "-n", "notes")
    assert (outcome.code, workspace.calls[-1]) == (0, ("cancel", {"names": ("notes",)}))
    assert "the change was cancelled" in outcome.out


@pytest.mark.parametrize("args", [(), ("builtin", "--cancel"), ("not a model",), ("gemini@big",)])
def test_wrong_calls(mdvec: Mdvec, workspace: FakeWorkspace, args: tuple[str, ...]) -> None:
    """A model or --cancel, and a model that can be one: nothing is asked of the workspace else."""
    outcome = mdvec("model", "use", *args)
    assert outcome.code == 2
    assert "hint: " in outcome.err
    assert not workspace.calls


def test_without_collections(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """The hint is the command that makes one with this model."""
    workspace.known = []
    outcome = mdvec("model", "use", "gemini")
    assert outcome.code == 2
    assert "-s DIR --embedder gemini'" in outcome.err


def test_what_is_missing_is_said(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """The hint is what mends it."""
    workspace.error = EmbedderUnavailableError("no key", hint="Run 'export K=…'.")
    outcome = mdvec("model", "use", "gemini")
    assert (outcome.code, outcome.err) == (1, "error: no key\nhint: Run 'export K=…'.\n")


def test_interruption(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """After Ctrl-C it says how far the index is, and that the same command goes on."""
    workspace.interrupted = True
    outcome = mdvec("model", "use", "gemini", "-n", "notes")
    assert outcome.code == 130
    assert "the same command again" in outcome.err


def test_estimate(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Chunks, tokens, requests and price with its day; nothing is imported."""
    outcome = mdvec("import", "-n", "notes", "--estimate", "--chunk-size", "99", "--allow-empty")
    assert outcome.code == 0
    assert outcome.out == (
        "notes: 3 documents to read, model voyage:voyage-4-lite@1024\n"
        "to embed: 9 chunks, 6 names, 12,345 tokens (estimated), 2 requests\n"
        "price: 0.0002 USD, at 0.02 USD per million tokens as of 2026-04-30\n"
    )
    assert workspace.calls == [
        (
            "estimate",
            {
                "name": "notes",
                "options": ImportOptions(
                    ImportMode.UPDATE,
                    allow_empty=True,
                    max_tokens=99,
                    accept_pending=True,
                    processes=None,
                ),
            },
        )
    ]


def test_estimate_as_json(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A list with an object for each collection."""
    outcome = mdvec("import", "-n", "a", "-n", "b", "--estimate", "--format", "json")
    first, second = json.loads(outcome.out)
    assert (first["collection"], second["collection"]) == ("a", "b")
    assert (first["usd"], first["price"]) == (
        0.000247,
        {"usd_per_million_tokens": 0.02, "as_of": "2026-04-30"},
    )
    unpriced = replace(ESTIMATE, warnings=("odd",), usd=None, price=None)
    workspace.answers["estimate"] = lambda **_: unpriced
    text = mdvec("import", "-n", "a", "--estimate")
    assert text.err == "warning: odd\n"
    assert text.out.endswith("price: not known\n")


def test_exact_counts_are_not_called_estimates(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A model on this machine counts with its own tokenizer and costs nothing."""
    exact = replace(ESTIMATE, exact=True, requests=0, usd=None, price=None)
    workspace.answers["estimate"] = lambda **_: exact
    lines = mdvec("import", "-n", "notes", "--estimate").out.splitlines()
    assert lines[1:] == ["to embed: 9 chunks, 6 names, 12,345 tokens", "price: none"]


def test_status_shows_a_change(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """In words and in JSON; a model that is not the configured one is a warning."""
    change = ChangeProgress("gemini:g@768", 5000, 3800)
    counts = CollectionCounts(3, 0, 0, 5000, 0)
    status = CollectionStatus(COLLECTION, counts, model="m", change=change, warnings=("not as configured",))
    workspace.statuses = (status,)
    outcome = mdvec("status")
    assert "notes: changing to gemini:g@768: 1,200 of 5,000 chunks\n" in outcome.out
    assert "warning: not as configured\n" in outcome.err
    (found,) = json.loads(mdvec("status", "--format", "json").out)["collections"]
    assert found["change"] == {"model": "gemini:g@768", "chunks": 5000, "pending_chunks": 3800}
    assert (found["model"], found["warnings"]) == ("m", ["not as configured"])
