"""What comes first, with the real model: exact evidence, the query's own writing, and like texts once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config import Config
from mdvec.config.schema import EmbeddingSettings
from mdvec.embedding.builtin.embedder import available
from mdvec.types.query import Expansion, SearchMode

pytestmark = pytest.mark.skipif(not available(), reason="the builtin model is not installed here")

WORDS = re.findall(
    r"\w+",
    "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar "
    "papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu amber basil cedar daisy",
)
FOOTER = """
## This note in GitHub

<span class="links">[Edit {name} in GitHub](https://github.com/vault/hub/edit/main/{name}.md)
[Sync it with git](https://github.com/vault/obsidian-hub/sync/{name})</span>
"""


@contextmanager
def searched(folder: Path, model_cache: Path, files: Mapping[str, str]) -> Iterator[Workspace]:
    docs = folder / "docs"
    docs.mkdir()
    for name, text in files.items():
        (docs / name).write_text(text, encoding="utf-8")
    config = Config(embedding=EmbeddingSettings(cache_dir=model_cache))
    with open_workspace(config, database=folder / "index.sqlite") as workspace:
        workspace.add_collection("docs", "", str(docs))
        workspace.import_collection("docs")
        yield workspace


def found(workspace: Workspace, text: str, mode: SearchMode = SearchMode.HYBRID) -> list[str]:
    return [hit.path for hit in workspace.search(SearchQuery(text, mode=mode)).hits]


def test_an_unrelated_text_in_the_other_writing_does_not_win(tmp_path: Path, model_cache: Path) -> None:
    """Two files; the one that is about the query holds it word for word."""
    files = {
        "search.md": "# 検索\n\nこの章では検索クエリの説明をする。\n",
        "guide.md": "# Guide\n\nStart here.\n",
    }
    with searched(tmp_path, model_cache, files) as workspace:
        assert found(workspace, "検索クエリの説明")[0] == "search.md"
        assert found(workspace, "クエリを説明している章")[0] == "search.md"
        assert found(workspace, "how to start")[0] == "guide.md"


def test_exact_evidence_is_first(tmp_path: Path, model_cache: Path) -> None:
    """A number, an identifier in a heading and a phrase, before texts that are nearer in meaning."""
    files = {
        "about.md": "# About errors\n\nValidation errors and status codes of the server.\n",
        "codes.md": "# Answers\n\nA body that does not fit gives 422 at once, with a list.\n",
        "api.md": "# API\n\n## defineProps() {#defineprops}\n\nDeclares what a component takes.\n",
        "blog.md": "# Props\n\nWe like defineProps: defineProps is short, and defineProps is typed.\n",
        "sync.md": "# 同期\n\n同期が途中で止まったときは、端末を再起動してからやり直してください。\n",
        "stop.md": "# 同期が止まる\n\n同期の停止には多くの理由がある。同期を止めるには設定を開く。\n",
    }
    with searched(tmp_path, model_cache, files) as workspace:
        for mode in (SearchMode.HYBRID, SearchMode.LEXICAL):
            assert found(workspace, "422", mode)[0] == "codes.md"
            assert found(workspace, "defineProps", mode)[0] == "api.md"
            assert found(workspace, "同期が途中で止まったときは", mode)[0] == "sync.md"


def test_a_name_of_several_words_is_found_where_it_is_written(tmp_path: Path, model_cache: Path) -> None:
    """Its words side by side in other texts, however often, do not come before it."""
    others = {
        f"stream-{word}.md": f"# Stream of {word}\n\nGenerate stream data: to generate {word}, stream it.\n"
        for word in WORDS[:9]
    }
    code = "# Dependencies\n\n```python\ndef generate_stream(query):\n    yield query\n```\n"
    with searched(tmp_path, model_cache, {**others, "dependencies.md": code}) as workspace:
        for mode in (SearchMode.HYBRID, SearchMode.LEXICAL):
            assert found(workspace, "generate_stream", mode)[0] == "dependencies.md"
        assert found(workspace, "generate-stream")[0] != "dependencies.md"


def test_exact_evidence_may_stand_in_many_passages_of_a_document(tmp_path: Path, model_cache: Path) -> None:
    """What few documents hold tells them from others, however often they hold it."""
    other = " ".join(WORDS * 4)
    sections = "".join(
        f"## Day {at}\n\nWe painted the red door {at} times.\n\n{other}\n\n" for at in range(12)
    )
    files = {
        "log.md": f"# Log\n\n{sections}",
        "doors.md": "# Doors\n\nA door, a door, and each door is red, red, red.\n",
    }
    with searched(tmp_path, model_cache, files) as workspace:
        assert found(workspace, "red door", SearchMode.LEXICAL)[0] == "log.md"


def test_a_footer_of_every_note_is_one_hit(tmp_path: Path, model_cache: Path) -> None:
    """It stands for the others, which come after all else; each is a hit where that is wanted."""
    kinds = ("Tasks", "Mail", "Calendar", "Books", "Photos")
    ways = ("Sync", "Bridge", "Inbox", "Feed", "Link", "Box")
    plugins = [f"{kind} {way}" for kind in kinds for way in ways]
    files = {}
    for name, word in zip(plugins, WORDS, strict=True):
        text = f"Keeps {name.split()[0].lower()} of {word} in the vault."
        files[f"{name}.md"] = f"# {name}\n\n{text}\n{FOOTER.format(name=name.replace(' ', '%20'))}"
    files["obsidian-git.md"] = "# Obsidian Git\n\nBack up your vault with Git, on every device.\n"
    with searched(tmp_path, model_cache, files) as workspace:
        query = SearchQuery("edit this note in GitHub", limit=40, expand=Expansion.CHUNK, min_score=0.0)
        first, *others = workspace.search(query).hits
        assert (first.heading, first.similar) == ("This note in GitHub", len(plugins) - 1)
        unlike = [hit for hit in others if "GitHub" not in hit.heading]
        assert others[: len(unlike)] == unlike
        every = workspace.search(replace(query, all_similar=True)).hits
        assert {hit.heading for hit in every[: len(plugins)]} == {"This note in GitHub"}
        assert not any(hit.similar for hit in every)
        passages = workspace.search(SearchQuery("how to sync a vault with git", limit=7)).hits
        assert "obsidian-git.md" in [hit.path for hit in passages[:2]]
        assert sum("GitHub" in hit.heading for hit in passages) <= 1


def test_the_markup_of_a_footer_makes_no_word_common(tmp_path: Path, model_cache: Path) -> None:
    """A word that only classes and targets repeat still tells its note from others that lack it."""
    footer = '<span class="git-footer">[Edit](https://example.org/{} "git-edit-note")</span>'
    files = {
        f"{word}.md": f"# Notes on {word}\n\n{say} {word} with the vault.\n\n{footer.format(word)}\n"
        for word, say in zip(WORDS, ("Sync", "Open") * 15, strict=True)
    }
    files["versions.md"] = f"# Versions\n\nKeep old versions with git.\n\n{footer.format('versions')}\n"
    with searched(tmp_path, model_cache, files) as workspace:
        first = workspace.search(SearchQuery("how to sync with git", mode=SearchMode.LEXICAL)).hits[0]
        assert first.path == "versions.md"
        assert first.score > 0.5  # if each note held the word, it would tell nothing


@pytest.mark.parametrize("query", ["the", "of the"])
def test_function_words_alone_are_no_question(tmp_path: Path, model_cache: Path, query: str) -> None:
    """Every text holds them, which says nothing."""
    files = {
        "a.md": "# The garden\n\nThe tomatoes of the garden need sun.\n",
        "b.md": "# Bread\n\nThe dough rests.\n",
    }
    with searched(tmp_path, model_cache, files) as workspace:
        assert workspace.search(SearchQuery(query)).confidence in {"low", "none"}


def test_an_answer_in_the_other_language_is_not_called_none(tmp_path: Path, model_cache: Path) -> None:
    """It holds no word of the question, which counts neither for nor against it."""
    files = {
        "static.md": "# Static files\n\nYou can serve static files from a directory with StaticFiles.\n",
        "tests.md": "# Testing\n\nUse TestClient to write tests of an application.\n",
    }
    with searched(tmp_path, model_cache, files) as workspace:
        right = workspace.search(SearchQuery("静的ファイルの配信"))
        assert right.hits[0].path == "static.md"
        assert right.confidence != "none"
        assert workspace.search(SearchQuery("味噌汁の作り方")).confidence in ("none", "low")


def test_a_threshold_that_hides_everything_says_so(tmp_path: Path, model_cache: Path) -> None:
    """With the number of passages and the nearest one; the similarity is the plain cosine."""
    files = {"a.md": "# Garden\n\nTomatoes need sun.\n", "b.md": "# Bread\n\nThe dough rests.\n"}
    with searched(tmp_path, model_cache, files) as workspace:
        best = workspace.search(SearchQuery("tomatoes")).hits[0].similarity
        assert best is not None
        nothing = workspace.search(SearchQuery("tomatoes", threshold=0.99))
        assert nothing.hits == ()
        assert nothing.hint is not None
        assert f"hides 2 passages; the nearest has a similarity of {best:.3f}" in nothing.hint
