"""The whole path of a document: folder, chunks, vectors, search; with a fake model and real SQLite."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tests.fakes.runs import cancelled_when, claimed, noting

from mdvec import MdvecError, SearchQuery, Workspace, open_workspace
from mdvec.config.schema import Config, SearchSettings
from mdvec.embedding.interface import Role
from mdvec.errors import (
    CollectionNotEmptyError,
    EmbedderUnavailableError,
    ImportStoppedError,
    SourceEmptyError,
    SourceMissingError,
    UsageError,
)
from mdvec.indexing import write
from mdvec.run import Stage
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.query import Expansion, Filters, SearchMode
from mdvec.types.report import ImportMode, ImportOptions, ImportReport

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

NAME = "notes"


class Bench:
    """A folder, a database and an embedder that counts."""

    def __init__(self, root: Path) -> None:
        self.docs = root / "docs"
        self.docs.mkdir()
        self.database = root / "index.sqlite"
        self.embedder = HashingEmbedder()
        # A search finds what was imported, and does not look for what has changed since.
        config = Config(search=SearchSettings(sync_budget_ms=0))
        self.workspace: Workspace = open_workspace(config, database=self.database, embedder=self.embedder)
        self.workspace.add_collection(NAME, "Notes", str(self.docs))

    def write(self, path: str, text: str) -> Path:
        target = self.docs / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def sync(self, *, embed: bool = True, allow_empty: bool = False) -> ImportReport:
        return self.workspace.import_collection(NAME, ImportOptions(embed=embed, allow_empty=allow_empty))

    def paths(self, text: str, mode: SearchMode = SearchMode.HYBRID) -> list[str]:
        return [hit.path for hit in self.workspace.search(SearchQuery(text, mode=mode, min_score=0.0)).hits]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.write(
        "retry.md",
        "# 設定\n\n## リトライ\n\nリトライ回数は max_retries で変える。\n\n## 期限\n\n有効期限は 30 日。\n",
    )
    made.write("en/build.md", "---\ntags: [ci, dev/build]\n---\n# Building\n\nRun the build with make.\n")
    made.write("plain.txt", "A plain text about gardening.\n\nTomatoes need sun.\n")
    yield made
    made.workspace.close()


def test_a_folder_is_found_in_both_languages_and_all_modes(bench: Bench) -> None:
    """The main job."""
    report = bench.sync()
    assert (report.added, report.failed, report.pending_chunks) == (3, 0, 0)
    names = ["Building", "build", "plain", "retry", "設定"]
    assert sorted(bench.embedder.embedded[: len(names)]) == names
    assert report.embedded_chunks == report.total_chunks == len(bench.embedder.embedded) - len(names)
    for mode in SearchMode:
        assert bench.paths("リトライの回数", mode)[0] == "retry.md"
        assert bench.paths("how to build", mode)[0] == "en/build.md"
        assert bench.paths("tomatoes", mode)[0] == "plain.txt"


def test_indexing_twice_changes_nothing(bench: Bench) -> None:
    """A second run embeds nothing, writes no chunk and reports everything as unchanged."""
    bench.sync()
    bench.embedder.forget()
    report = bench.sync()
    assert (report.added, report.updated, report.moved, report.deleted, report.unchanged) == (0, 0, 0, 0, 3)
    assert bench.embedder.embedded == []


def rename(bench: Bench) -> None:
    (bench.docs / "retry.md").rename(bench.docs / "renamed.md")


def move(bench: Bench) -> None:
    (bench.docs / "deep" / "er").mkdir(parents=True)
    (bench.docs / "retry.md").rename(bench.docs / "deep" / "er" / "retry.md")


def rename_untitled(bench: Bench) -> None:
    (bench.docs / "plain.txt").rename(bench.docs / "garden.txt")


def touch(bench: Bench) -> None:
    os.utime(bench.docs / "retry.md", ns=(1, 1))


def another_branch_and_back(bench: Bench) -> None:
    text = (bench.docs / "retry.md").read_text(encoding="utf-8")
    (bench.docs / "retry.md").unlink()
    bench.sync()
    bench.write("retry.md", text)


def copy(bench: Bench) -> None:
    shutil.copy(bench.docs / "retry.md", bench.docs / "copy.md")


@pytest.mark.parametrize(
    ("change", "new_names"),
    [
        (rename, ["renamed"]),
        (move, []),
        (rename_untitled, ["garden"]),
        (touch, []),
        (another_branch_and_back, []),
        (copy, ["copy"]),
    ],
)
def test_no_text_is_embedded_twice(
    bench: Bench, change: Callable[[Bench], None], new_names: list[str]
) -> None:
    """Rename, move, touch, copy, checkout of another branch and back: a new name is embedded, and no text."""
    bench.sync()
    bench.embedder.forget()
    change(bench)
    report = bench.sync()
    assert bench.embedder.embedded == new_names
    assert (report.embedded_chunks, report.pending_chunks) == (0, 0)
    assert set(bench.paths("リトライ 回数 tomatoes")) <= {
        path.relative_to(bench.docs).as_posix() for path in bench.docs.rglob("*.*")
    }


def test_a_note_without_text_is_embedded_under_its_new_name(bench: Bench) -> None:
    """It says little else; texts stay embedded under the name that they had."""
    bench.write("aardvark.md", "")
    bench.sync()
    bench.embedder.forget()
    (bench.docs / "aardvark.md").rename(bench.docs / "badger.md")
    assert bench.sync().embedded_chunks == 1
    assert {each.strip() for each in bench.embedder.embedded} == {"badger"}


def test_a_moved_folder_is_written_as_moved_alone(bench: Bench) -> None:
    """Words, links, backlinks, filters and the next import know where its notes are; nothing is embedded."""
    bench.write("old/a.md", "# Aardvark\n\nSee [b](b.md), [[build]].\n")
    bench.write("old/b.md", "# Badger\n\nBurrows.\n")
    bench.write("start.md", "# Start\n\n[[b]] and [a](old/a.md)\n")
    bench.sync()
    (bench.docs / "old").rename(bench.docs / "new")
    report = bench.sync()
    assert (report.moved, report.added, report.updated, report.deleted) == (2, 0, 0, 0)
    assert report.embedded_chunks == 0
    assert {*bench.paths("new", SearchMode.LEXICAL)} == {"new/a.md", "new/b.md"}
    assert "new/b.md" not in bench.paths("old", SearchMode.LEXICAL)
    links = bench.workspace.links("new/a.md")
    assert [each.path for each in links.links] == ["new/b.md", "en/build.md"]
    assert links.backlinks == ()  # its path as a link of start.md has it is gone
    assert {each.path for each in bench.workspace.links("new/b.md").backlinks} == {"new/a.md", "start.md"}
    query = SearchQuery("burrows", filters=Filters(path="new/*"))
    assert bench.workspace.search(query).hits[0].path == "new/b.md"
    assert bench.workspace.search(replace(query, filters=Filters(path="old/*"))).hits == ()
    assert bench.sync().unchanged == 6


def test_a_file_that_is_moved_and_edited_is_another_one(bench: Bench) -> None:
    """Its words are those of the edit."""
    bench.sync()
    move(bench)
    bench.write("deep/er/retry.md", "# 設定\n\nquagga\n")
    report = bench.sync()
    assert (report.moved, report.added, report.deleted) == (0, 1, 1)
    assert bench.paths("quagga", SearchMode.LEXICAL) == ["deep/er/retry.md"]
    assert bench.paths("リトライ", SearchMode.LEXICAL) == []


def test_moving_goes_on_where_it_was_stopped(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each transaction leaves every document at one place."""
    monkeypatch.setattr(write, "_DOCUMENTS_PER_TRANSACTION", 1)
    for name in "abc":
        bench.write(f"old/{name}.md", f"# {name}\n\nquagga {name}\n")
    bench.sync()
    (bench.docs / "old").rename(bench.docs / "new")
    with (
        cancelled_when(lambda stage, done: stage is Stage.TEXT and done == 1),
        pytest.raises(ImportStoppedError),
    ):
        bench.sync()
    assert sorted(bench.paths("quagga", SearchMode.LEXICAL)) == ["new/a.md", "old/b.md", "old/c.md"]
    assert bench.sync().moved == 2
    assert sorted(bench.paths("quagga", SearchMode.LEXICAL)) == ["new/a.md", "new/b.md", "new/c.md"]


def test_a_name_given_by_renaming_counts_at_once(bench: Bench) -> None:
    """A file without a title is called by its name: words and vectors know it, its text after an edit."""
    bench.sync()
    for name in ("first.txt", "second.txt"):
        next(bench.docs.glob("*.txt")).rename(bench.docs / name)
        assert bench.sync().embedded_chunks == 0
    assert bench.paths("second", SearchMode.LEXICAL) == ["second.txt"]
    assert bench.paths("second", SearchMode.DENSE)[0] == "second.txt"
    bench.write("second.txt", "A plain text about gardening.\n\nTomatoes need sun and water.\n")
    bench.embedder.forget()
    bench.sync()
    assert [text.splitlines()[0] for text in bench.embedder.embedded] == ["second"]


def test_a_document_is_found_by_meaning_under_every_name(bench: Bench) -> None:
    """Title, file name and aliases, whatever its text says; a removed alias no longer finds it."""
    bench.write("notes/kyuri.md", "---\naliases: [Gurke, cucumber]\n---\n# 胡瓜\n\n夏の野菜。\n")
    bench.sync()
    scores = []
    for name in ("Gurke", "cucumber", "胡瓜", "kyuri"):
        hit = bench.workspace.search(SearchQuery(name, mode=SearchMode.DENSE, min_score=0.0)).hits[0]
        assert hit.path == "notes/kyuri.md"
        scores.append(hit.score)
    bench.write("notes/kyuri.md", "---\naliases: [cucumber]\n---\n# 胡瓜\n\n夏の野菜。\n")
    bench.embedder.forget()
    assert bench.sync().updated == 1
    assert bench.embedder.embedded == []
    hits = bench.workspace.search(SearchQuery("Gurke", mode=SearchMode.DENSE, min_score=0.0)).hits
    assert max(hit.score for hit in hits) < min(scores)


def test_names_are_made_up_for_after_an_import_without_vectors(bench: Bench) -> None:
    """A rename under --no-embed leaves no chunk pending; the next import embeds the name all the same."""
    bench.sync()
    rename(bench)
    assert bench.sync(embed=False).pending_chunks == 0
    bench.embedder.forget()
    with noting() as watched:
        bench.sync()
    assert bench.embedder.embedded == ["renamed"]
    assert [report for report in watched.reports if report[0] is Stage.EMBED] == [
        (Stage.EMBED, 0, 1),
        (Stage.EMBED, 1, 1),
    ]


def test_an_edit_embeds_only_what_changed(bench: Bench) -> None:
    """One section of two: one text goes through the model."""
    section = "あ" * 400 + "い" * 200
    bench.write("long.md", f"# T\n\n## One\n\n{section}\n\n## Two\n\n{section}う\n")
    bench.sync()
    bench.embedder.forget()
    bench.write("long.md", f"# T\n\n## One\n\n{section}\n\n## Two\n\n{section}え\n")
    report = bench.sync()
    assert report.updated == 1
    assert 0 < len(bench.embedder.embedded) < report.cached_chunks + report.embedded_chunks
    assert all("え" in text for text in bench.embedder.embedded)


def test_lines_of_most_documents_are_found_and_not_embedded(bench: Bench) -> None:
    """Learned from the collection, remembered for small updates, and learned anew when it has doubled."""
    navigation = "[Handbook](index.md) for [gardeners](all.md)"
    plants = ("roses", "leeks", "apples", "ferns", "mint", "beans", "figs", "moss", "kale")
    for plant in plants:
        bench.write(f"{plant}.md", f"{navigation}\n\nHow to water {plant}.\n")
    bench.sync()
    assert not any("Handbook" in text for text in bench.embedder.embedded)
    [hit] = [
        hit
        for hit in bench.workspace.search(SearchQuery("water ferns", min_score=0.0)).hits
        if hit.path == "ferns.md"
    ]
    assert hit.text.startswith(navigation)
    assert len(bench.paths("handbook", SearchMode.LEXICAL)) == 5
    learned = bench.workspace.collections()[0].boilerplate
    assert (learned.documents, len(learned.lines)) == (3 + len(plants), 1)

    bench.embedder.forget()
    bench.write("ivy.md", f"{navigation}\n\nHow to water ivy.\n")
    bench.sync()
    assert bench.embedder.embedded == ["ivy", "ivy\nHow to water ivy."]
    assert bench.workspace.collections()[0].boilerplate == learned

    for number in range(20):
        bench.write(f"bed/{number}.md", f"What grows in bed {'abcdefghijklmnopqrst'[number]}.\n")
    bench.sync()
    assert bench.workspace.collections()[0].boilerplate.lines == ()


def test_excerpts_leave_out_lines_of_many_documents(bench: Bench) -> None:
    """Learned without a vector, too; where only such a line answers, it is there."""
    for plant in ("roses", "leeks", "apples", "ferns", "mint", "beans", "figs", "moss", "kale"):
        bench.write(f"{plant}.md", f"# {plant}\n\nEdit this page.\n\nHow to water {plant}.\n")
    bench.sync(embed=False)
    for query, shown in (("water ferns", ["How to water ferns."]), ("edit page", ["Edit this page."])):
        hit = bench.workspace.search(SearchQuery(query, SearchMode.LEXICAL, min_score=0.0)).hits[0]
        lines = [line for line in hit.chunk_text.splitlines() if line and line[0] != "#"]
        assert lines[: len(shown)] == shown


def test_new_refuses_a_collection_that_was_imported(bench: Bench) -> None:
    """The hint names the modes that do not."""
    bench.workspace.import_collection(NAME)
    with pytest.raises(CollectionNotEmptyError, match="3 documents") as caught:
        bench.workspace.import_collection(NAME, ImportOptions(mode=ImportMode.NEW))
    assert "--mode update" in caught.value.hint


def test_replace_rebuilds_without_embedding_again(bench: Bench) -> None:
    """Everything is written anew; vectors come from the cache."""
    bench.sync()
    bench.embedder.forget()
    (bench.docs / "plain.txt").unlink()
    report = bench.workspace.import_collection(NAME, ImportOptions(mode=ImportMode.REPLACE))
    assert (report.added, report.deleted, report.total_documents) == (2, 1, 2)
    assert bench.embedder.embedded == []


def test_an_overlap_as_large_as_a_chunk_is_refused(bench: Bench) -> None:
    """It would make a chunk of nearly every word."""
    with pytest.raises(UsageError, match="an overlap of 500 tokens in chunks of 8"):
        bench.workspace.import_collection(NAME, ImportOptions(max_tokens=8, overlap_tokens=500))


def test_patterns_that_leave_out_everything_are_named(bench: Bench) -> None:
    """The documents are there; to empty the index is the last thing to do."""
    bench.sync()
    bench.workspace.update_collection(NAME, include=["nowhere/**"])
    with pytest.raises(SourceEmptyError, match="is left out") as caught:
        bench.sync()
    hint = caught.value.hint
    assert f"-n {NAME} --include GLOB" in hint
    assert f"-n {NAME} -m update --allow-empty" in hint


def test_other_chunk_sizes_cut_again(bench: Bench) -> None:
    """The collection remembers its size, and unchanged files are cut anew."""
    long = "文章がここにあります。" * 100
    bench.write("long.md", f"# T\n\n{long}\n")
    before = bench.sync().total_chunks
    report = bench.workspace.import_collection(NAME, ImportOptions(max_tokens=50))
    assert report.total_chunks > before
    assert bench.sync().unchanged == 4


@pytest.mark.parametrize("missing", [False, True])
def test_an_empty_folder_does_not_wipe_the_index(bench: Bench, missing: bool) -> None:
    """An unmounted disk looks like this; --allow-empty says that it is meant."""
    bench.sync()
    shutil.rmtree(bench.docs)
    if not missing:
        bench.docs.mkdir()
    for mode in (ImportMode.UPDATE, ImportMode.REPLACE):
        with pytest.raises(SourceMissingError if missing else SourceEmptyError):
            bench.workspace.import_collection(NAME, ImportOptions(mode=mode))
    assert bench.paths("リトライ回数")
    assert bench.sync(allow_empty=True).deleted == 3
    assert bench.workspace.search(SearchQuery("リトライ回数")).hits == ()


def test_search_works_before_there_are_vectors_and_says_so(bench: Bench) -> None:
    """--no-embed: words are found at once."""
    report = bench.sync(embed=False)
    assert (report.embedded_chunks, report.pending_chunks) == (0, report.total_chunks)
    result = bench.workspace.search(SearchQuery("リトライ回数"))
    assert result.hits[0].path == "retry.md"
    assert result.pending_chunks == result.total_chunks > 0
    assert "no vector yet" in result.warnings[0]


def press_ctrl_c(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    embed = bench.embedder.embed

    def interrupted(texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        if any("Text of" in text for text in bench.embedder.embedded):
            raise KeyboardInterrupt
        yield from embed(texts, role, titles)

    with monkeypatch.context() as patch:
        patch.setattr(bench.embedder, "embed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            bench.sync()


def cancel(bench: Bench, _: pytest.MonkeyPatch) -> None:
    def has_texts(stage: Stage, _done: int) -> bool:
        return stage is Stage.EMBED and any("Text of" in text for text in bench.embedder.embedded)

    with cancelled_when(has_texts), pytest.raises(ImportStoppedError):
        bench.sync()


@pytest.mark.parametrize("interrupt", [press_ctrl_c, cancel])
def test_an_interrupted_run_resumes_where_it_stopped(
    bench: Bench, interrupt: Callable[[Bench, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While embedding: what was committed counts, the next run embeds the rest alone."""
    for number in range(300):
        bench.write(f"many/{number}.md", f"# Note {number}\n\nText of number {number}.\n")
    interrupt(bench, monkeypatch)
    first = list(bench.embedder.embedded)
    pending = bench.workspace.status(NAME).collections[0].counts.pending_chunks
    assert 0 < pending < 303
    bench.embedder.forget()
    report = bench.sync()
    assert report.pending_chunks == 0
    assert len(bench.embedder.embedded) == pending
    assert not set(first) & set(bench.embedder.embedded)


def test_what_cannot_be_read_is_a_failure_and_keeps_its_old_text(bench: Bench) -> None:
    """The run goes on; status names the place and the reason; what was known stays searchable."""
    bench.sync()
    bench.write("en/.mdvecignore", "#" * 1_000_001)  # unlike a mode, this stops root too
    bench.write("new.md", "# New\n\nfresh\n")
    report = bench.sync()
    status = {file.path: file for file in bench.workspace.status(NAME, files=True).collections[0].files}
    assert (report.added, report.failed, report.deleted) == (1, 1, 0)
    assert status["en/"].state == "failed"
    assert ".mdvecignore cannot be used" in status["en/"].reason
    assert bench.paths("how to build")[0] == "en/build.md"


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (bytes(range(256)) * 64, "binary"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 12345\n",
            "Git LFS pointer",
        ),
    ],
    ids=["binary", "pointer"],
)
def test_files_without_text_are_excluded_with_their_rule(bench: Bench, raw: bytes, rule: str) -> None:
    """And one that loses its text leaves the index."""
    bench.sync()
    (bench.docs / "retry.md").write_bytes(raw)
    report = bench.sync()
    status = {file.path: file for file in bench.workspace.status(NAME, files=True).collections[0].files}
    assert report.excluded >= 1
    assert (status["retry.md"].state, status["retry.md"].reason) == ("excluded", rule)
    assert "retry.md" not in bench.paths("リトライ回数")
    assert bench.workspace.status(NAME, check=True).collections[0].check.in_sync  # type: ignore[union-attr]


def test_disk_check_names_what_differs(bench: Bench) -> None:
    """Nothing is written by looking."""
    bench.sync()
    (bench.docs / "retry.md").rename(bench.docs / "moved.md")
    bench.write("en/build.md", "# Other\n\nText.\n")
    bench.write("new.md", "new")
    (bench.docs / "plain.txt").unlink()
    check = bench.workspace.status(NAME, check=True).collections[0].check
    assert check is not None
    assert check.new == ("new.md",)
    assert check.changed == ("en/build.md",)
    assert check.moved == (("retry.md", "moved.md"),)
    assert check.deleted == ("plain.txt",)
    assert bench.paths("リトライ回数")[0] == "retry.md"


@pytest.mark.parametrize("expansion", list(Expansion))
def test_returned_text_is_that_of_the_document(bench: Bench, expansion: Expansion) -> None:
    """Whatever is returned around a hit: text is body[start:end], and the lines are those of its ends."""
    body = (bench.docs / "retry.md").read_text(encoding="utf-8") + "\n\n"
    bench.write("retry.md", body)
    bench.sync()
    hit = bench.workspace.search(SearchQuery("リトライ回数", expand=expansion)).hits[0]
    assert hit.text == body[hit.start : hit.end]
    assert hit.start_line == body.count("\n", 0, hit.start) + 1
    assert hit.end_line == body.count("\n", 0, hit.end - 1) + 1


def test_a_token_budget_limits_what_is_returned(bench: Bench) -> None:
    """The first hit is cut rather than dropped; the others have to fit."""
    bench.write("long.md", "# Long\n\n" + "リトライの説明が続きます。" * 60)
    bench.sync()
    full = bench.workspace.search(SearchQuery("リトライ", limit=5, min_score=0.0))
    small = bench.workspace.search(SearchQuery("リトライ", limit=5, max_tokens=20, min_score=0.0))
    assert len(small.hits) < len(full.hits)
    assert 0 < len(small.hits[0].text) <= len(full.hits[0].text)
    body = (bench.docs / small.hits[0].path).read_text(encoding="utf-8")
    assert small.hits[0].text == body[small.hits[0].start : small.hits[0].end]


def test_one_long_document_does_not_fill_the_answer(bench: Bench) -> None:
    """The others come first; it has as many passages as there is room for, or as are asked for."""
    own = ("".join(letters) for letters in product("abcdefg", repeat=3))  # no part is like another
    parts = zip(range(300), own, strict=False)
    sections = "\n\n".join(f"## Part {part}\n\n{f'gardening tomatoes {word} ' * 40}" for part, word in parts)
    bench.write("huge.md", f"# Huge\n\n{sections}\n")
    bench.sync()
    hits = bench.workspace.search(
        SearchQuery("gardening tomatoes", limit=50, min_score=0.0, all_similar=True)
    ).hits
    assert len(hits) == 50
    assert len({hit.path for hit in hits[:10]}) > 1
    one_each = bench.workspace.search(
        SearchQuery("gardening tomatoes", per_document=1, min_score=0.0, all_similar=True)
    ).hits
    assert len(one_each) == len({hit.path for hit in one_each}) == 4
    first_of_each = list(dict.fromkeys(hit.path for hit in hits))
    assert first_of_each == [hit.path for hit in one_each][: len(first_of_each)]
    several = bench.workspace.search(
        SearchQuery("gardening tomatoes", per_document=3, min_score=0.0, all_similar=True)
    ).hits
    assert [hit.path for hit in several].count("huge.md") == 3


def test_the_other_language_is_known_before_vectors_are(bench: Bench) -> None:
    """A word that both use says less in a text of the other language that is not embedded yet."""
    bench.sync()
    bench.write("english.md", "# Containers\n\nStart docker compose and wait.\n")
    bench.write("japanese.md", "# 容器\n\ndocker compose を起動して待つ。\n")
    assert bench.sync(embed=False).pending_chunks == 2
    found = {
        mode: bench.paths("docker compose とは", mode) for mode in (SearchMode.LEXICAL, SearchMode.HYBRID)
    }
    by_words, by_both = ([path for path in paths if path[0] in "ej"] for paths in found.values())
    assert by_words == ["japanese.md", "english.md"]
    assert [path for path in by_both if path in by_words] == by_words


def test_a_threshold_drops_the_unrelated(bench: Bench) -> None:
    """It is a cosine similarity."""
    bench.sync()
    everything = bench.workspace.search(SearchQuery("リトライ回数", min_score=0.0)).hits
    limit = max(hit.similarity or 0 for hit in everything)
    best = bench.workspace.search(SearchQuery("リトライ回数", threshold=limit, min_score=0.0)).hits
    assert 0 < len(best) < len(everything)
    assert bench.workspace.search(SearchQuery("リトライ回数", threshold=1.0)).hits == ()


def test_nothing_indexed_is_an_answer_with_a_hint(bench: Bench) -> None:
    """Not an error: an agent may ask before the first import."""
    result = bench.workspace.search(SearchQuery("anything"))
    assert (result.hits, result.total_chunks, result.last_indexed_ms) == ((), 0, None)
    assert result.hint == f"Nothing is indexed yet. Run 'mdvec import -n notes --database {bench.database}'."


def test_a_folder_is_searched_without_registering_it(tmp_path: Path) -> None:
    """The first search indexes it, the second does not, and the index lies beside the documents."""
    (tmp_path / "a.md").write_text("# 庭\n\nトマトは日光が必要。\n", encoding="utf-8")
    embedder = HashingEmbedder()
    for _ in range(2):
        with open_workspace(docs_dir=tmp_path, embedder=embedder) as workspace:
            assert workspace.search(SearchQuery("トマト")).hits[0].path == "a.md"
    assert len(embedder.embedded) == 3  # title, file name and text
    assert (tmp_path / ".mdvec" / "index.sqlite").is_file()
    assert (tmp_path / ".mdvec" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_the_database_of_a_folder_takes_no_other_collection(tmp_path: Path) -> None:
    """It would be searched with the folder, unasked."""
    with open_workspace(docs_dir=tmp_path, embedder=HashingEmbedder()) as workspace:
        with pytest.raises(UsageError, match="only"):
            workspace.add_collection("other", "", str(tmp_path))
        assert [collection.name for collection in workspace.collections()] == ["docs"]


def test_the_first_search_of_a_folder_tells_what_its_import_has_to_say(tmp_path: Path) -> None:
    """Bad files and a missing model are named by the search that indexes, not by later ones."""
    (tmp_path / "a.md").write_bytes(b"# Garden\n\nlone \xed\xa0\x80 tomatoes\n")
    embedder = HashingEmbedder(problem=EmbedderUnavailableError("no model", hint="Run this."))
    with open_workspace(docs_dir=tmp_path, embedder=embedder) as workspace:
        first, second = (workspace.search(SearchQuery("tomatoes")).warnings for _ in range(2))
    assert first == ("a.md: 1 place is not valid utf-8", "no model. Run this.", *second)
    assert second == ("searched by words only: no model",)


def test_a_folder_that_another_process_indexes_is_searched_as_far_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader is never turned away because of a writer, not even before the first index is complete."""
    monkeypatch.setattr("mdvec.workspace.importing._BUDGET_S", 0.0)
    database = tmp_path / "i.sqlite"
    with (
        open_workspace(docs_dir=tmp_path, database=database, embedder=HashingEmbedder()) as workspace,
        claimed(workspace, "docs", "first import"),
    ):
        result = workspace.search(SearchQuery("tomatoes"))
    assert "first import" in result.warnings[0]
    command = f"mdvec import --docs-dir {tmp_path} --database {database}"
    assert result.hint == f"Nothing is indexed yet. Run '{command}'."


def test_without_a_model_words_still_work(tmp_path: Path) -> None:
    """Import and search succeed, say what is missing, and only a dense search fails."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# 庭\n\nトマトは日光が必要。\n", encoding="utf-8")
    problem = EmbedderUnavailableError("no model here", hint="Run 'pip install mdvec-e5'.")
    embedder = HashingEmbedder(problem=problem)
    with open_workspace(database=tmp_path / "i.sqlite", embedder=embedder) as workspace:
        workspace.add_collection(NAME, "", str(tmp_path / "docs"))
        report = workspace.import_collection(NAME)
        assert report.warnings == ("no model here. Run 'pip install mdvec-e5'.",)
        result = workspace.search(SearchQuery("トマト"))
        assert (result.hits[0].path, result.mode) == ("a.md", SearchMode.LEXICAL)
        assert "no model here" in result.warnings[0]
        with pytest.raises(EmbedderUnavailableError):
            workspace.search(SearchQuery("トマト", mode=SearchMode.DENSE))
    assert embedder.embedded == []


def test_reading_returns_documents_lines_and_sections(bench: Bench) -> None:
    """As they were indexed, with the lines of the file."""
    bench.sync()
    whole = bench.workspace.read("retry.md")
    assert whole.text == (bench.docs / "retry.md").read_text(encoding="utf-8")
    section = bench.workspace.read("retry.md", section="## リトライ")
    assert (section.start_line, section.end_line) == (3, 5)
    assert section.text.startswith("## リトライ\n")
    assert bench.workspace.read("retry.md#リトライ") == section
    assert bench.workspace.read("[[retry#リトライ]]") == section
    assert bench.workspace.read("retry.md", lines=(5, 5)).text == "リトライ回数は max_retries で変える。\n"
    for wrong in ({"lines": (90, 91)}, {"lines": (3, 2)}, {"section": "Nope"}):
        with pytest.raises(MdvecError):
            bench.workspace.read("retry.md", **wrong)
    with pytest.raises(MdvecError) as caught:
        bench.workspace.read("retri.md")
    assert "retry.md" in caught.value.hint


def test_doctor_finds_what_is_wrong(bench: Bench) -> None:
    """A healthy workspace has no problem; a missing folder is one, and the next step names the collection."""
    bench.sync()
    assert {finding.severity for finding in bench.workspace.doctor()} == {"ok"}
    shutil.rmtree(bench.docs)
    [problem] = [finding for finding in bench.workspace.doctor() if finding.severity == "problem"]
    assert problem.subject == NAME
    assert f"'mdvec tool update -n {NAME} -s DIR'" in problem.hint


def test_a_note_in_the_cloud_stays_and_is_named(bench: Bench) -> None:
    """iCloud Drive replaces a note that it has removed from the disk; nobody has deleted it."""
    bench.sync()
    (bench.docs / "retry.md").rename(bench.docs / ".retry.md.icloud")
    bench.workspace.import_collection(NAME)
    assert [hit.path for hit in bench.workspace.search(SearchQuery("リトライ")).hits] == ["retry.md"]
    [problem] = [each for each in bench.workspace.doctor() if each.severity == "problem"]
    assert problem.message.startswith("1 file could not be read: retry.md: not downloaded")


def test_doctor_tells_a_model_once(bench: Bench) -> None:
    """A new collection will use the configured model, which the imported one names."""
    bench.sync()
    bench.workspace.add_collection("other", "", str(bench.docs))
    assert [finding.subject for finding in bench.workspace.doctor()].count("model") == 1


def test_disabled_collections_are_searched_only_when_named(bench: Bench) -> None:
    """They keep their index."""
    bench.sync()
    bench.workspace.update_collection(NAME, enabled=False)
    assert bench.workspace.search(SearchQuery("リトライ")).hits == ()
    assert bench.workspace.search(SearchQuery("リトライ", collections=(NAME,))).hits
