"""The presets of the four design documents, from registering to searching, on real documentation."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Shell
from tests.fakes.embedding_services import KEY, GeminiServer, VoyageServer

from mdvec.embedding.builtin.embedder import available
from mdvec.text.tokens import estimate_token_count

pytestmark = pytest.mark.skipif(not available(), reason="the builtin model is not installed here")

TREE = Path(__file__).parents[1] / "data" / "astro_docs" / "tree"
PAGES = 3  # of each language
QUESTION = "エンドポイントで JSON を返す"


@pytest.fixture
def docs(shell: Shell) -> Shell:
    """A shell beside a few pages of documentation in two languages, and a text file."""
    for language in ("en", "ja"):
        for page in sorted((TREE / language).rglob("*.md*"))[:PAGES]:
            target = shell.cwd / "docs" / page.relative_to(TREE).with_suffix(".md")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(page, target)
    shell.write(
        "docs/notes.txt", "First paragraph about endpoints.\n\nSecond paragraph about islands.\n" * 30
    )
    return shell


def with_variables(shell: Shell, **variables: str) -> Shell:
    return replace(shell, env={**shell.env, **variables})


def imported(shell: Shell, preset: str, *options: str) -> dict[str, Any]:
    """Register and import the documents with a preset; return what ``import`` reports."""
    shell.run("tool", "add", "-n", "docs", "-d", "Docs", "-s", "docs", "--preset", preset, *options)
    report: dict[str, Any] = shell.json("import", "-n", "docs")
    assert report["failed"] == 0
    assert report["pending_chunks"] == 0
    return report


def hits(shell: Shell, *options: str) -> list[dict[str, Any]]:
    """Search by words and meaning; there is always something."""
    found: list[dict[str, Any]] = shell.json("search", QUESTION, "-n", "docs", "--all", *options)["hits"]
    assert found
    return found


def test_local_rag(docs: Shell) -> None:
    """Chunks at headings of at most 3,000 characters, Markdown and text, five hits."""
    imported(docs, "local-rag")
    found = hits(docs, "--per-document", "9", "-k", "40")
    assert max(hit["end"] - hit["start"] for hit in found) > 1_000
    assert all(hit["end"] - hit["start"] <= 3_000 for hit in found)
    assert len(hits(docs)) == 5
    assert hits(docs, "--path", "*.txt")


def test_local_rag_with_its_own_model(docs: Shell) -> None:
    """Gemini gets 768 dimensions and task types, and its vectors are what is searched."""
    with GeminiServer() as server:
        shell = with_variables(docs, GEMINI_API_KEY=KEY, MDVEC_EMBEDDING_GEMINI_BASE_URL=server.url)
        imported(shell, "local-rag-gemini")
        assert hits(shell, "--mode", "dense")
        kinds = {
            (request["taskType"], request["outputDimensionality"])
            for asked in server.asked
            for request in asked.body["requests"]
        }
    assert kinds == {("RETRIEVAL_DOCUMENT", 768), ("RETRIEVAL_QUERY", 768)}


def test_vault(docs: Shell) -> None:
    """Chunks at second headings, Markdown alone, and a warning where the model reads less than a section."""
    docs.write("docs/long.md", "# Islands\n\n## All of them\n\n" + "One more island in the sea. " * 200)
    report = imported(docs, "vault")
    assert [each for each in report["warnings"] if each.startswith("long.md: ") and "All of them" in each]
    found = hits(docs)
    assert 0 < len(found) <= 5
    assert {hit["path"].rpartition(".")[2] for hit in hits(docs, "-k", "40")} == {"md"}
    whole = docs.json("search", "One more island", "-n", "docs", "--path", "long.md", "-k", "9")["hits"]
    assert [hit["end"] - hit["start"] > 5_000 for hit in whole] == [True]  # nothing is cut at a length


def test_vault_with_its_own_model(docs: Shell) -> None:
    """Voyage gets 512 dimensions, and documents under their line of title and tags.

    What is set later, for the collection or in the environment, beats the preset's threshold.
    """
    with VoyageServer() as server:
        shell = with_variables(docs, VOYAGE_API_KEY=KEY, MDVEC_EMBEDDING_VOYAGE_BASE_URL=f"{server.url}/v1")
        imported(shell, "vault-voyage")
        shell.json("search", QUESTION, "-n", "docs", "--threshold", "-1")
        assert not shell.json("search", QUESTION, "-n", "docs", "--mode", "dense")["hits"]
        now = with_variables(shell, MDVEC_SEARCH_THRESHOLD="-1")
        assert hits(now, "--mode", "dense")
        shell.run("tool", "update", "-n", "docs", "--threshold", "-1")
        assert hits(shell, "--mode", "dense")
        bodies = [asked.body for asked in server.asked]
    assert {body["output_dimension"] for body in bodies} == {512}
    assert {body["input_type"] for body in bodies} == {"document", "query"}
    assert any(text.startswith("title:") for body in bodies for text in body["input"])


def test_token_windows(docs: Shell) -> None:
    """Windows of 1,024 tokens of the model's own tokenizer; what neighbours share is in a passage once."""
    imported(docs, "token-windows")
    collection = docs.json("status", "-n", "docs")["collections"][0]
    assert collection["documents"] == 2 * PAGES + 1
    many = ("-n", "docs", "--per-document", "9", "-k", "40")
    found = docs.json("search", "how to contribute to Astro", *many)["hits"]
    joined = [hit for hit in found if estimate_token_count(hit["text"]) > 1_100]
    assert joined
    for hit in joined:
        text = (docs.cwd / "docs" / hit["path"]).read_text(encoding="utf-8")
        assert hit["text"] == text[hit["start"] : hit["end"]]
    assert len(found) < collection["chunks"]


def test_section_tree(docs: Shell) -> None:
    """Sections down to the third level, which can be searched by depth, ten hits."""
    imported(docs, "section-tree")
    assert len(hits(docs)) == 10
    for depth in ("2", "3"):
        assert {hit["depth"] for hit in hits(docs, "--depth", depth)} == {int(depth)}
    assert {hit["depth"] for hit in hits(docs, "--depth", "2", "--depth", "3", "-k", "40")} == {2, 3}


@pytest.mark.parametrize(
    ("preset", "said"),
    [
        ("local-rag-gemini", "GEMINI_API_KEY"),
        ("vault-voyage", "VOYAGE_API_KEY"),
        pytest.param("token-windows-plamo", "trust_remote_code", marks=pytest.mark.torch),
        pytest.param("section-tree-ruri", "ruri-v3-30m", marks=pytest.mark.torch),
    ],
)
def test_what_a_preset_needs_is_told_at_once(docs: Shell, preset: str, said: str) -> None:
    """Nothing is registered when a key, a permission or a model is missing, and the next step is named."""
    names = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "VOYAGE_API_KEY")
    env = {name: value for name, value in docs.env.items() if name not in names}
    shell = replace(docs, env={**env, "HF_HUB_OFFLINE": "1"})
    done = shell.run("tool", "add", "-n", "docs", "-d", "D", "-s", "docs", "--preset", preset, code=1)
    assert said in done.stderr
    assert "hint:" in done.stderr
    assert json.loads(shell.run("tool", "ls", "--format", "json").stdout) == []


def test_what_is_said_beside_a_preset_wins(docs: Shell) -> None:
    """Options replace what the preset says, and nothing else of it."""
    imported(
        docs, "section-tree-ruri", "--embedder", "builtin", "--chunker", "headings", "--include", "*.txt"
    )
    (collection,) = docs.json("tool", "ls")
    assert collection["include"] == ["*.txt"]
    assert {hit["path"] for hit in hits(docs, "-k", "40")} == {"notes.txt"}


def test_a_preset_is_shown_as_the_file_it_is(shell: Shell) -> None:
    """What ``preset show`` prints can be saved and used as a preset of one's own."""
    shell.write("mine.toml", shell.run("preset", "show", "section-tree-ruri").stdout)
    shell.run(
        *("tool", "add", "-n", "notes", "-d", "N", "-s", "notes"),
        *("--preset", "mine.toml", "--embedder", "builtin"),
    )
    shell.run("import", "-n", "notes")
    names = [each["name"] for each in shell.json("preset", "ls")]
    assert {"folder", "local-rag", "section-tree-ruri", "token-windows", "vault"} <= {*names}
