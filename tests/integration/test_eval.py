"""``mdvec eval`` and ``mdvec feedback`` on real indexes, with an embedder that needs no model."""

from __future__ import annotations

import json
import tarfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.embedding_services import VllmServer
from tests.fakes.http_server import Answer

from mdvec import Workspace, open_workspace
from mdvec.config import Config
from mdvec.config import paths as config_paths
from mdvec.errors import EmbedderUnavailableError
from mdvec.evaluation.metrics import measure
from mdvec.interfaces.cli.main import run
from mdvec.testing.embedder import HashingEmbedder
from mdvec.workspace import FolderChoice

TOPICS = {
    "tomatoes": "Tomatoes need sun and a lot of water in summer.",
    "plumbing": "The dripping tap in the kitchen was mended by the plumber.",
    "account": "Reset your password from the account page.",
    "kyoto": "四条の静かな旅館に二泊した。",
    "train": "新幹線で二時間十五分、駅からはバスに乗る。",
}


@dataclass(slots=True)
class Shell:
    """Runs commands in a folder of its own.

    Attributes:
        cwd: The folder.
        capture: Takes what was printed.
        embedder: Shared by all workspaces that are opened.
    """

    cwd: Path
    capture: pytest.CaptureFixture[str]
    embedder: HashingEmbedder
    err: str = ""

    def open(
        self,
        config: Config | None = None,
        *,
        database: Path | str | None = None,
        docs_dir: Path | None = None,
        data_dir: Path | None = None,
        choice: FolderChoice | None = None,
        makes: bool = True,
    ) -> Workspace:
        """Open a workspace; an :class:`mdvec.interfaces.cli.session.Opener`."""
        database = database or (None if docs_dir else self.cwd / "home" / "mine.sqlite")
        return open_workspace(
            config,
            database=database,
            docs_dir=docs_dir,
            data_dir=data_dir,
            embedder=self.embedder,
            choice=choice,
            makes=makes,
        )

    def run(self, *args: str, code: int = 0) -> str:
        """Run a command, check its exit code and return what it prints."""
        got = run(args, env={}, cwd=self.cwd, opener=self.open)
        out, self.err = self.capture.readouterr()
        assert got == code, self.err
        return out

    def json(self, *args: str, code: int = 0) -> Any:
        """Run ``mdvec eval … --format json``."""
        return json.loads(self.run("eval", *args, "--format", "json", code=code))

    def write(self, path: str, text: str) -> Path:
        """Write a file below the working directory."""
        target = self.cwd / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def lines(self, path: str, *entries: object) -> Path:
        """Write one JSON object a line."""
        return self.write(path, "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries))

    def qrels(self, path: str, *rows: tuple[str, str, int]) -> Path:
        """Write judgements."""
        return self.write(
            path,
            "query-id\tcorpus-id\tscore\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows),
        )


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell with a set of five documents in ``set``, in a tree with one folder for each language."""
    monkeypatch.setattr(config_paths, "user_config_dir", lambda: tmp_path / "user")
    shell = Shell(tmp_path, capsys, HashingEmbedder())
    for name, text in TOPICS.items():
        shell.write(f"set/tree/{'en' if text.isascii() else 'ja'}/{name}.md", f"# About {name}\n\n{text}\n")
    shell.lines(
        "set/queries.jsonl",
        {"_id": "1", "text": "sun and water", "lang": "en", "type": "a"},
        {"_id": "2", "text": "password of the account", "lang": "en", "type": "b"},
        {"_id": "3", "text": "静かな旅館", "lang": "ja", "type": "a", "scope": "ja"},
    )
    shell.qrels(
        "set/qrels.tsv",
        ("1", "en/tomatoes.md", 2),
        ("1", "en/plumbing.md", 1),
        ("2", "en/account.md", 2),
        ("3", "ja/kyoto.md", 2),
    )
    return shell


def system(report: Mapping[str, Any], name: str) -> Any:
    """Return a system of the first set."""
    return next(each for each in report["sets"][0]["systems"] if each["system"] == name)


def rankings(report: Mapping[str, Any], name: str = "hybrid") -> list[list[str]]:
    return [each["ranking"] for each in system(report, name)["outcomes"]]


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- judged sets -------------------------------------------------------------------------------


def test_a_set_is_measured(shell: Shell) -> None:
    """All modes answer every question; the figures are those of the rankings; the set is left as it was."""
    before = files_below(shell.cwd)
    report = shell.json("set", "--by", "lang,type")
    [measured] = report["sets"]
    assert [each["system"] for each in measured["systems"]] == ["lexical", "dense", "hybrid"]
    assert (measured["name"], measured["documents"], measured["chunks"]) == ("set", 5, 5)
    for each in measured["systems"]:
        values = [
            measure(outcome["ranking"], question["relevant"])
            for question, outcome in zip(measured["questions"], each["outcomes"], strict=True)
        ]
        for metric, interval in each["metrics"].items():
            assert interval["mean"] == pytest.approx(sum(value[metric] for value in values) / 3, abs=1e-6)
        assert [(group["name"], group["questions"]) for group in each["groups"]] == [
            ("en/a", 1),
            ("en/b", 1),
            ("ja/a", 1),
        ]
    assert [outcome["ranking"][0] for outcome in system(report, "hybrid")["outcomes"]] == [
        "en/tomatoes.md",
        "en/account.md",
        "ja/kyoto.md",
    ]
    assert [(each["better"], each["other"]) for each in measured["comparisons"]] == [
        ("hybrid", "lexical"),
        ("hybrid", "dense"),
    ]
    assert files_below(shell.cwd) == before


def with_reranker(shell: Shell, server: VllmServer, *args: str) -> Any:
    """Measure the set with a reranker in the user's own configuration.

    Two documents answer the first question: one alone is not sent.
    """
    shell.write("set/tree/en/beach.md", "# About beaches\n\nThe sun is hot, the water cold.\n")
    shell.write(
        "own.toml",
        f"[search]\nrerank = 'vllm:{server.MODEL}'\n[rerank]\ntimeout_s = 20\n"
        f"[rerank.vllm]\nbase_url = '{server.url}/v1'\n"
        f"[prices]\nusd_per_million_tokens = {{ 'vllm:{server.MODEL}' = 10.0 }}\n",
    )
    return shell.json("set", "--config", "own.toml", *args)


def test_a_reranker_is_a_system_of_its_own(shell: Shell) -> None:
    """The best mode is measured with and without it, and its tokens and their price are told."""
    with VllmServer() as server:
        report = with_reranker(shell, server)
        names = [each["system"] for each in report["sets"][0]["systems"]]
        assert names == ["lexical", "dense", "hybrid", "hybrid+rerank"]
        assert report["sets"][0]["comparisons"][-1]["other"] == "hybrid+rerank"
        assert all(each["reranked"] is None for each in system(report, "hybrid")["outcomes"])
        read = [each["reranked"] for each in system(report, "hybrid+rerank")["outcomes"] if each["reranked"]]
        tokens = sum(each["tokens"] for each in read)
        assert tokens > 0
        line = f"hybrid+rerank: {sum(each['passages'] for each in read)} passages reranked by vllm:"
        assert line in shell.err
        assert f"{tokens:,} tokens, {tokens / 100_000:.6f} USD" in shell.err
        report = with_reranker(shell, server, "--mode", "lexical")
        assert [each["system"] for each in report["sets"][0]["systems"]] == ["lexical", "lexical+rerank"]


def test_figures_of_both_orders_are_not_mixed(shell: Shell) -> None:
    """If the reranker fails for one question, the system is left out, and the report says why."""
    with VllmServer() as server:
        server.failures.extend([Answer(500)] * 9)
        report = with_reranker(shell, server, "--mode", "hybrid")
    assert [each["system"] for each in report["sets"][0]["systems"]] == ["hybrid"]
    [warning] = report["sets"][0]["warnings"]
    assert warning.startswith("hybrid+rerank is left out: not reranked: the server at 127.0.0.1")


def test_labels_that_a_set_does_not_have(shell: Shell) -> None:
    """One list of labels does for sets that have some of them; which one is missing is told."""
    report = shell.json("set", "--mode", "lexical", "--by", "lang,subset")
    assert [group["name"] for group in system(report, "lexical")["groups"]] == ["en/(none)", "ja/(none)"]
    assert "no question has the label 'subset'" in shell.err


def test_questions_without_any_label(shell: Shell) -> None:
    """The same list does for a set that has none: it is measured, and has no groups."""
    shell.lines("set/queries.jsonl", {"_id": "1", "text": "sun"})
    report = shell.json("set", "--mode", "lexical", "--by", "type,lang,type")
    assert report["by"] == ["type", "lang"]
    assert system(report, "lexical")["groups"] == []
    assert "no question has the label 'lang'" in shell.err


def test_scope_and_exclude(shell: Shell) -> None:
    """Only documents below the scope are ranked, and none that is excluded."""
    shell.lines("set/queries.jsonl", {"_id": "1", "text": "sun", "scope": "ja", "exclude": ["ja/train.md"]})
    shell.qrels("set/qrels.tsv", ("1", "ja/kyoto.md", 1))
    assert rankings(shell.json("set")) == [["ja/kyoto.md"]]


def test_exclusions_take_no_places(shell: Shell) -> None:
    """However many documents do not count, ten of the others are ranked."""
    for number in range(30):
        shell.write(f"set/tree/many/{number}.md", f"# Number {number}\n\nSun and water.\n")
    gone = [f"many/{number}.md" for number in range(20)]
    shell.lines("set/queries.jsonl", {"_id": "1", "text": "sun and water", "exclude": gone})
    shell.qrels("set/qrels.tsv", ("1", "en/tomatoes.md", 1))
    for name in ("lexical", "dense", "hybrid"):
        [ranking] = rankings(shell.json("set"), name)
        assert len(ranking) == 10
        assert not set(gone) & set(ranking)


def test_a_corpus_goes_through_the_pipeline(shell: Shell) -> None:
    """Long documents are cut, ids with odd characters come back, and an id is no word of its document."""
    long = "\n\n".join(f"## Part {part}\n\n{'Words about gardening. ' * 60}" for part in range(5))
    shell.lines(
        "odd/corpus.jsonl",
        {"_id": "doc/1 ?*", "title": "Tomatoes", "text": "They need sun."},
        {"_id": "DOC/1 ?*", "title": "", "text": f"{long}\n\nThe secret word is rhubarb."},
        {"_id": "sun", "text": "Nothing of the kind."},
    )
    shell.lines("odd/queries.jsonl", {"_id": "1", "text": "sun"}, {"_id": "2", "text": "rhubarb"})
    shell.qrels("odd/qrels.tsv", ("1", "doc/1 ?*", 1), ("2", "DOC/1 ?*", 1))
    report = shell.json("odd")
    assert rankings(report, "lexical") == [["doc/1 ?*"], ["DOC/1 ?*"]]
    assert report["sets"][0]["chunks"] > 5
    assert not any("doc" in text.casefold() for text in shell.embedder.embedded)
    assert "Nothing of the kind." in shell.embedder.embedded


def test_a_scope_inside_a_corpus(shell: Shell) -> None:
    """Ids that lie in folders can be limited to one."""
    shell.lines("ids/corpus.jsonl", *({"_id": f"{folder}/x", "text": "sun"} for folder in ("a", "ab", "a/b")))
    shell.lines("ids/queries.jsonl", {"_id": "1", "text": "sun", "scope": "a"})
    shell.qrels("ids/qrels.tsv", ("1", "a/x", 1))
    [ranking] = rankings(shell.json("ids"))
    assert sorted(ranking) == ["a/b/x", "a/x"]


def test_all_question_files_have_suffixes(shell: Shell) -> None:
    """Each is a set of its own with the suffix in its name; the documents they share are embedded once."""
    folder = shell.cwd / "set"
    for suffix in ("_a", "_b"):
        for name in ("queries.jsonl", "qrels.tsv"):
            stem, _, extension = name.partition(".")
            shell.write(f"set/{stem}{suffix}.{extension}", (folder / name).read_text(encoding="utf-8"))
    (folder / "queries.jsonl").unlink()
    report = shell.json("set")
    assert [each["name"] for each in report["sets"]] == ["set_a", "set_b"]
    assert len(shell.embedder.embedded) == len(set(shell.embedder.embedded))
    assert report["elapsed_ms"] == pytest.approx(sum(each["elapsed_ms"] for each in report["sets"]), abs=0.01)
    assert [each["name"] for each in shell.json("set", "--suffix", "_b")["sets"]] == ["set_b"]


def test_an_archive_is_a_tree(shell: Shell) -> None:
    """``tree.tar.gz`` gives the figures of ``tree/``."""
    expected = rankings(shell.json("set"))
    with tarfile.open(shell.cwd / "set" / "tree.tar.gz", "w:gz") as tar:
        tar.add(shell.cwd / "set" / "tree", "tree")
    (shell.cwd / "set" / "tree").rename(shell.cwd / "elsewhere")
    assert rankings(shell.json("set")) == expected


def test_judgements_of_documents_that_are_not_there(shell: Shell) -> None:
    """They count as not found, and a warning names the first."""
    shell.qrels("set/qrels.tsv", ("1", "en/gone.md", 1), ("2", "en/account.md", 1), ("9", "en/account.md", 1))
    report = shell.json("set")
    assert "relevant documents that are not among the documents: 1, such as 'en/gone.md'" in shell.err
    assert "questions in qrels.tsv that are not in queries.jsonl: 1, such as '9'" in shell.err
    assert report["sets"][0]["notes"] == ["1 of 3 questions have no relevant document and are left out"]
    assert system(report, "hybrid")["metrics"]["R@10"]["mean"] == 0.5


def test_grades_below_the_least_do_not_count(shell: Shell) -> None:
    """``--min-grade 2`` leaves one relevant document to each question; a set may have its own grade."""
    shell.lines("set/queries.jsonl", {"_id": "1", "text": "plumber"})
    assert system(shell.json("set"), "lexical")["metrics"]["R@10"]["mean"] == 0.5
    for grades in (("2",), ("3", "--min-grade", "set=2")):
        report = shell.json("set", "--min-grade", *grades)
        assert report["sets"][0]["min_grade"] == 2
        assert system(report, "lexical")["metrics"]["R@10"]["mean"] == 0


def test_settings_of_chunking_count(shell: Shell) -> None:
    """The user's chunk size is measured; which files the user takes is not."""
    shell.write("set/tree/en/tomatoes.md", "# About tomatoes\n\n" + "Tomatoes need sun and water. " * 40)
    shell.write(
        "mdvec.toml", '[chunking]\nmax_tokens = 40\nmin_tokens = 0\n[scanner]\nextensions = [".txt"]\n'
    )
    report = shell.json("set")
    assert report["sets"][0]["documents"] == 5
    assert report["sets"][0]["chunks"] > 8


# --- the cache ---------------------------------------------------------------------------------


def test_the_cache_embeds_only_what_changed(shell: Shell) -> None:
    """A second run embeds nothing, a changed document alone is embedded again; a removed one is not found."""
    corpus = [{"_id": name, "text": text} for name, text in TOPICS.items()]
    shell.lines("odd/corpus.jsonl", *corpus)
    shell.lines("odd/queries.jsonl", {"_id": "1", "text": "sun"})
    shell.qrels("odd/qrels.tsv", ("1", "tomatoes", 1))
    for place in ("set", "odd"):
        first = shell.json(place, "--embed-cache", "cache")
        known = len(shell.embedder.embedded)
        again = shell.json(place, "--embed-cache", "cache")
        assert rankings(first) == rankings(again)
        assert len(shell.embedder.embedded) == known
    shell.lines("odd/corpus.jsonl", {"_id": "new", "text": "Sun sun sun."}, *corpus[1:])
    assert "tomatoes" not in rankings(shell.json("odd", "--embed-cache", "cache"))[0]
    assert shell.embedder.embedded[known:] == ["Sun sun sun."]
    names = sorted(path.name.rpartition("-")[0] for path in (shell.cwd / "cache").iterdir())
    assert names == ["odd", "set"]


def test_without_a_cache_nothing_is_kept(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Databases and documents are in a temporary folder that is deleted, also after an error."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    shell.json("set")
    shell.write("set/tree/en/tomatoes.md", "")
    for file in (shell.cwd / "set" / "tree").rglob("*.md"):
        file.unlink()
    shell.run("eval", "set", code=1)
    assert "contains no document" in shell.err
    assert list(temporary.iterdir()) == []


def test_two_runs_share_a_cache(shell: Shell) -> None:
    """Started at the same moment they end with the same figures, and the database is sound."""
    shell.lines("odd/corpus.jsonl", *({"_id": name, "text": text} for name, text in TOPICS.items()))
    shell.lines("odd/queries.jsonl", {"_id": "1", "text": "sun"})
    shell.qrels("odd/qrels.tsv", ("1", "tomatoes", 1))
    together = threading.Barrier(2)

    def measure_once(number: int) -> int:
        together.wait()
        output = f"run{number}.json"
        args = ("eval", "odd", "--embed-cache", "cache", "--format", "json", "--output", output)
        return run(args, env={}, cwd=shell.cwd, opener=shell.open)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(measure_once, range(2))) == [0, 0]
    one, other = (json.loads((shell.cwd / f"run{number}.json").read_text()) for number in range(2))
    assert rankings(one) == rankings(other)
    [database] = (shell.cwd / "cache").rglob("index.sqlite")
    with open_workspace(database=database, embedder=shell.embedder) as workspace:
        assert not [
            each for each in workspace.doctor() if each.severity == "problem" and each.subject == "database"
        ]


# --- what is run -------------------------------------------------------------------------------


def test_one_mode(shell: Shell) -> None:
    """Alone it has nothing to be compared with; words need no vectors."""
    report = shell.json("set", "--mode", "lexical")
    assert [each["system"] for each in report["sets"][0]["systems"]] == ["lexical"]
    assert report["sets"][0]["comparisons"] == []
    assert shell.embedder.embedded == []


def test_baselines(shell: Shell) -> None:
    """They rank the same documents under the questions' own names, and hybrid is held against each."""
    report = shell.json("set", "--baselines")
    names = [each["system"] for each in report["sets"][0]["systems"]]
    assert names[:3] == ["lexical", "dense", "hybrid"]
    assert "grep" in names
    assert rankings(report, "grep")[1][0] == "en/account.md"
    assert [each["other"] for each in report["sets"][0]["comparisons"]] == [*names[:2], *names[3:]]


def test_baselines_of_a_corpus(shell: Shell) -> None:
    """Ids come back from baselines, too; scope and exclusions hold."""
    shell.lines("ids/corpus.jsonl", *({"_id": f"{place}/x", "text": "the sun"} for place in "abc"))
    shell.lines("ids/queries.jsonl", {"_id": "1", "text": "sun", "scope": "a"})
    shell.qrels("ids/qrels.tsv", ("1", "a/x", 1))
    report = shell.json("ids", "--baselines")
    for each in report["sets"][0]["systems"]:
        assert each["outcomes"][0]["ranking"] == ["a/x"], each["system"]


def test_without_a_model(shell: Shell) -> None:
    """All modes are those that can be used; one that was asked for by name is an error."""
    shell.embedder = HashingEmbedder(problem=EmbedderUnavailableError("there is no model here"))
    report = shell.json("set", "--baselines")
    names = [each["system"] for each in report["sets"][0]["systems"]]
    assert "lexical" in names
    assert "grep" in names
    assert not {"dense", "hybrid", "rrf-60"} & set(names)
    assert "hybrid is left out" in shell.err
    shell.run("eval", "set", "--mode", "hybrid", code=1)
    assert "there is no model here" in shell.err


# --- output ------------------------------------------------------------------------------------


def test_the_table_says_all_there_is(shell: Shell) -> None:
    """Systems with every metric and interval, the paired test, and the groups."""
    out = shell.run("eval", "set", "--by", "lang")
    assert out.startswith("set: 3 questions, 5 documents, 5 chunks\n")
    for word in ("NDCG@10", "R@5", "R@10", "MRR@10", "HIT@1", "P50 MS", "P95 MS", "TOKENS", "95 %"):
        assert word in out
    assert "nDCG@10 of hybrid less that of …" in out
    assert "\nja     1          hybrid" in out
    assert out.endswith("\n")


def test_output_goes_to_a_file(shell: Shell) -> None:
    """Then nothing is printed; folders are made; the page is one file."""
    for kind in ("table", "json", "html"):
        assert shell.run("eval", "set", "--format", kind, "--output", f"new/report.{kind}") == ""
        assert f"report.{kind}" in shell.err
    assert (shell.cwd / "new/report.table").read_text(encoding="utf-8").startswith("set: 3 questions")
    assert (
        json.loads((shell.cwd / "new/report.json").read_text(encoding="utf-8"))["sets"][0]["min_grade"] == 1
    )
    assert "<html" in (shell.cwd / "new/report.html").read_text(encoding="utf-8")


def test_the_gate(shell: Shell) -> None:
    """The record of a run holds for the next one; a better record does not, and the exit code says so."""
    shell.run("eval", "set", "--format", "json", "--output", "baseline.json")
    shell.run("eval", "set", "--gate", "baseline.json")
    assert "15 values are as good as recorded" in shell.err
    shell.qrels("set/qrels.tsv", ("1", "en/plumbing.md", 1), ("2", "ja/kyoto.md", 1), ("3", "ja/train.md", 1))
    assert shell.run("eval", "set", "--gate", "baseline.json", code=1).startswith("set: 3 questions")
    assert "gate: set hybrid nDCG@10 is 0." in shell.err
    assert "the gate is closed" in shell.err
    assert "recorded 1.0000" in shell.err
    shell.run("eval", "set", "--gate", "baseline.json", "--mode", "lexical", code=1)
    assert "was not measured" in shell.err
    shell.run("eval", "set", "--gate", "set/qrels.tsv", code=2)
    assert "is not a report of 'mdvec eval'" in shell.err


def test_the_record_of_a_gate_is_not_replaced(shell: Shell) -> None:
    """What is held against a record cannot become it in the same run, however its path is written."""
    shell.run("eval", "set", "--format", "json", "--output", "baseline.json")
    before = files_below(shell.cwd)
    again = ("eval", "set", "--format", "json", "--gate", "baseline.json", "--output", "set/../baseline.json")
    shell.run(*again, code=2)
    assert "Give --output another file" in shell.err
    assert files_below(shell.cwd) == before
    (shell.cwd / "latest.json").hardlink_to(shell.cwd / "baseline.json")
    shell.run("eval", "set", "--format", "json", "--gate", "baseline.json", "--output", "latest.json", code=2)


def test_a_report_that_cannot_be_written(shell: Shell) -> None:
    """It is told before anything is measured, and an older report stays when measuring fails."""
    shell.write("old.json", "older")
    shell.write("file", "no folder")
    shell.run("eval", "set", "--output", "file/report.json", code=1)
    assert shell.embedder.embedded == []
    shell.write("set/queries.jsonl", "{")
    for output in ("old.json", "new.json"):
        shell.run("eval", "set", "--output", output, code=2)
    assert (shell.cwd / "old.json").read_text(encoding="utf-8") == "older"
    assert not (shell.cwd / "new.json").exists()


def test_a_report_is_written_where_a_link_leads(shell: Shell) -> None:
    """A link to a file that is not there yet stays a link."""
    (shell.cwd / "latest.json").symlink_to("reports.json")
    shell.run("eval", "set", "--mode", "lexical", "--format", "json", "--output", "latest.json")
    assert (shell.cwd / "latest.json").is_symlink()
    assert json.loads((shell.cwd / "reports.json").read_text(encoding="utf-8"))["sets"]


def test_wrong_calls(shell: Shell) -> None:
    """Each is told before anything is indexed, with what to do instead."""
    for args, message in [
        (("eval",), "nothing to measure"),
        (("eval", "nowhere"), "nowhere does not exist"),
        (("eval", "set", "--by", "color"), "The questions have: lang, type."),
        (("eval", "set", "set"), "two sets are called set"),
        (("eval", "set", "--suffix", "_xl"), "no --suffix"),
        (("eval", "set", "-n", "notes"), "brings its own documents"),
        (("eval", "set", "--questions", "3"), "Add --auto"),
        (("eval", "--auto", "--min-grade", "2"), "for folders with a set"),
        (("eval", "set/queries.jsonl", "--suffix", "_xl"), "for folders with a set"),
        (("eval", "set", "--min-grade", "set=0"), "a whole number from 1"),
        (("eval", "set", "--min-grade", "sett=2"), "a set that is not measured: 'sett'"),
        (("eval", "--embed-cache", "cache"), "for folders with a set"),
        (("eval", "set/qrels.tsv"), "neither a set nor a file of questions"),
    ]:
        assert run(args, env={}, cwd=shell.cwd, opener=shell.open) in (1, 2)
        _, err = shell.capture.readouterr()
        assert message in err, args
    assert shell.embedder.embedded == []


# --- own questions -----------------------------------------------------------------------------


@pytest.fixture
def noted(shell: Shell) -> Shell:
    """A shell whose database holds the English documents as ``notes`` and the Japanese ones as ``trips``."""
    tree = shell.cwd / "set" / "tree"
    shell.run("tool", "add", "-n", "notes", "-d", "Notes", "-s", str(tree / "en"))
    shell.run("tool", "add", "-n", "trips", "-d", "Trips", "-s", str(tree / "ja"))
    shell.run("import", "-n", "notes", "-n", "trips")
    return shell


def test_own_questions_are_put_to_the_index(noted: Shell) -> None:
    """The collections are asked as they are: nothing is embedded again; questions may name one."""
    known = len(noted.embedder.embedded)
    noted.lines(
        "mine.jsonl",
        {"query": "sun", "good": ["tomatoes.md"], "bad": ["plumbing.md"]},
        {"query": "sun", "good": ["kyoto.md"], "collection": "trips"},
        {"query": "tap", "good": ["plumbing.md", "old.md"]},
    )
    report = noted.json("mine.jsonl")
    assert len(noted.embedder.embedded) == known
    assert "no collection has these documents, so they count as not found: old.md" in noted.err
    assert report["sets"][0]["documents"] == 5
    first, second, third = system(report, "hybrid")["outcomes"]
    assert first["ranking"][0] == "tomatoes.md"
    assert first["bad"] == ["plumbing.md"]
    assert "hybrid: 1 of 1 document marked bad" in noted.err
    assert set(second["ranking"]) == {"kyoto.md", "train.md"}
    assert third["metrics"]["R@10"] == 0.5


def test_failed_questions_are_shown(noted: Shell) -> None:
    """Own questions that failed are listed with what was found instead; ``--failures`` limits them."""
    noted.lines(
        "mine.jsonl",
        {"query": "sun", "good": ["tomatoes.md"]},
        *({"query": f"sun {number}", "good": [f"gone-{number}.md"]} for number in range(7)),
    )
    out = noted.run("eval", "mine.jsonl")
    assert "mine: 7 of 8 questions failed with hybrid" in out
    assert "gone-4.md" in out
    assert "gone-5.md" not in out
    [failed] = [line for line in out.splitlines() if line.startswith("sun 0 ")]
    assert "tomatoes.md" in failed
    assert "gone-6.md" in noted.run("eval", "mine.jsonl", "--failures", "7")
    assert "failed with" not in noted.run("eval", "mine.jsonl", "--failures", "0")
    page = noted.run("eval", "mine.jsonl", "--failures", "1", "--format", "html")
    assert "7 of 8 questions have no relevant document" in page
    assert "gone-1.md" not in page[page.index("Not found by") :]


def test_failed_questions_of_a_set_are_shown_on_request(shell: Shell) -> None:
    """A judged set may have hundreds: they are listed with ``--failures`` alone."""
    shell.qrels("set/qrels.tsv", ("1", "en/gone.md", 1))
    assert "failed with" not in shell.run("eval", "set")
    assert "set: 1 of 1 questions failed with lexical" in shell.run(
        "eval", "set", "--mode", "lexical", "--failures", "3"
    )


def test_own_questions_about_a_folder(noted: Shell) -> None:
    """A folder that is not registered is asked, too; the limit to one collection holds."""
    noted.write("mine.toml", '[[question]]\nquery = "sun"\npaths = ["en/tomatoes.md"]\n')
    report = noted.json("mine.toml", "--docs-dir", str(noted.cwd / "set" / "tree"), "--baselines")
    assert rankings(report)[0][0] == "en/tomatoes.md"
    report = noted.json("mine.toml", "-n", "trips")
    assert set(rankings(report)[0]) == {"kyoto.md", "train.md"}


def test_questions_to_an_empty_index(shell: Shell) -> None:
    """The error says what to do first."""
    shell.write("mine.toml", '[[question]]\nquery = "sun"\npaths = ["a.md"]\n')
    shell.run("eval", "mine.toml", code=1)
    assert "there is no index yet" in shell.err
    assert "mdvec tool add" in shell.err


# --- feedback ----------------------------------------------------------------------------------


def test_feedback_is_asked_again(noted: Shell) -> None:
    """What was good and bad is written beside the database, and ``mdvec eval`` alone asks it."""
    out = noted.run("feedback", "what", "needs", "sun", "--good", "./tomatoes.md", "--bad", "plumbing.md")
    file = noted.cwd / "home" / "questions.jsonl"
    assert out == f"1 good, 1 bad written to {file}\n"
    noted.run("feedback", "旅館", "--good", "kyoto.md", "--bad", "train.md", "-n", "trips")
    assert [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] == [
        {"query": "what needs sun", "good": ["tomatoes.md"], "bad": ["plumbing.md"]},
        {"query": "旅館", "good": ["kyoto.md"], "bad": ["train.md"], "collection": "trips"},
    ]
    report = noted.json()
    assert [ranking[0] for ranking in rankings(report)] == ["tomatoes.md", "kyoto.md"]


def test_feedback_names_the_collection_where_another_has_the_path(noted: Shell) -> None:
    """A document of the other one at the same path does not count as right."""
    other = noted.write("other/kyoto.md", "# Tomatoes\n\nTomatoes need sun, much sun.\n").parent
    noted.run("tool", "add", "-n", "other", "-d", "Others", "-s", str(other))
    noted.run("import", "-n", "other")
    noted.run("feedback", "tomatoes need sun", "--good", "trips/kyoto.md", "--file", "q.jsonl")
    assert '"good": ["trips/kyoto.md"]' in (noted.cwd / "q.jsonl").read_text(encoding="utf-8")
    [ranking] = rankings(noted.json("q.jsonl"))
    assert ranking[0] == "other/kyoto.md"
    assert "trips/kyoto.md" in ranking
    noted.write("plain.jsonl", '{"query": "旅館", "good": ["trips/train.md"]}\n')
    assert "trips/train.md" in rankings(noted.json("plain.jsonl"))[0]
    assert "no collection has these documents" not in noted.err


def test_a_folder_named_like_its_collection_is_no_collection(noted: Shell) -> None:
    """``trips/kyoto.md`` is that file in the folder, and the one beside the folder is another."""
    [note] = noted.cwd.rglob("kyoto.md")
    inner = note.parent.relative_to(noted.cwd) / "trips" / "kyoto.md"
    noted.write(str(inner), "# Inn\n\nA quiet inn.\n")
    noted.run("import", "-n", "trips")
    noted.write("inner.jsonl", '{"query": "旅館", "good": ["trips/kyoto.md"]}\n')
    [ranking] = rankings(noted.json("inner.jsonl"))
    assert "kyoto.md" in ranking


def test_a_report_replaces_no_questions(noted: Shell) -> None:
    """They are written by hand."""
    questions = noted.write("mine.toml", '[[question]]\nquery = "sun"\npaths = ["tomatoes.md"]\n')
    before = questions.read_bytes()
    noted.run("eval", "mine.toml", "--format", "json", "--output", "mine.toml", code=2)
    assert "mine.toml holds the questions" in noted.err
    assert questions.read_bytes() == before


@pytest.mark.parametrize("name", ["new/q.jsonl", "new/q.toml"])
def test_feedback_into_a_file(noted: Shell, name: str) -> None:
    """Either form is made, added to (a last line without its end included), and read back."""
    noted.run("feedback", 'say "it" \x7f\\', "--good", "tomatoes.md", "--file", name)
    file = noted.cwd / name
    file.write_text(file.read_text(encoding="utf-8").rstrip("\n"), encoding="utf-8")
    noted.run("feedback", "tap", "--good", "plumbing.md", "--file", name)
    report = noted.json(name)
    assert [each["text"] for each in report["sets"][0]["questions"]] == ['say "it" \x7f\\', "tap"]


def test_feedback_that_is_refused(noted: Shell) -> None:
    """An unknown document has near ones named; nothing is written, least of all into other files."""
    notes = noted.write("notes.md", "# My notes\n")
    broken = noted.write("broken.jsonl", "{\n")
    for args, message in [
        (("--good", "tomatos.md"), "Did you mean tomatoes.md?"),
        (("--good", "tomatoes.md", "--bad", "tomatoes.md"), "cannot be good and bad"),
        ((), "at least one document"),
        (("--good", "tomatoes.md", "--file", "notes.md"), "not a file of questions"),
        (("--good", "tomatoes.md", "--file", "broken.jsonl"), "broken.jsonl:1: not JSON"),
    ]:
        assert run(("feedback", "sun", *args), env={}, cwd=noted.cwd, opener=noted.open) in (1, 2)
        assert message in noted.capture.readouterr().err
    assert notes.read_text() == "# My notes\n"
    assert broken.read_text() == "{\n"
    assert not (noted.cwd / "home" / "questions.jsonl").exists()


def test_feedback_before_anything_is_indexed(noted: Shell) -> None:
    """Who judges a folder that was never searched is told the command that indexes it, which helps."""
    folder = noted.write("fresh/sun.md", "# Sun\n").parent
    judge = ("feedback", "sun", "--good", "sun.md", "--docs-dir", str(folder))
    noted.run(*judge, code=1)
    assert f"hint: 'mdvec import --docs-dir {folder}' creates it." in noted.err
    noted.run("import", "--docs-dir", str(folder))
    assert noted.run(*judge).startswith("1 good written")
    noted.run("feedback", "sun", "--good", "moon.md", "--docs-dir", str(folder), code=1)
    assert "makes it" not in noted.err


def test_feedback_about_an_empty_document(noted: Shell) -> None:
    """Who hoped for something in it may say that there is nothing."""
    noted.write("set/tree/en/empty.md", "")
    noted.run("import", "-n", "notes", "-m", "update")
    assert noted.run("feedback", "sun", "--bad", "empty.md").startswith("1 bad written")


def test_feedback_of_many_at_once(noted: Shell) -> None:
    """Lines that are written at the same moment do not mix."""

    def give(number: int) -> int:
        args = ("feedback", f"question {number} {'long ' * 500}", "--good", "tomatoes.md")
        return run(args, env={}, cwd=noted.cwd, opener=noted.open)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(give, range(12))) == [0] * 12
    lines = (noted.cwd / "home" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({json.loads(line)["query"] for line in lines}) == 12


# --- automatic questions -----------------------------------------------------------------------


def long_notes(shell: Shell, count: int = 12) -> Callable[[], dict[str, bytes]]:
    """Write notes with titles and sentences of their own; return what reads them."""
    for number in range(count):
        word = f"word{number}"
        shell.write(
            f"docs/Guide to {word}.md",
            f"# Guide to {word}\n\nSentence{number} opens{number} with {word} alone{number}. "
            f"Then {word} is told of again, with {f'more of matter{number} ' * 6} to be found by.\n",
        )
    return lambda: files_below(shell.cwd / "docs")


def test_automatic_questions(shell: Shell) -> None:
    """Titles and first sentences find their documents though they are cut out; the files stay as they are."""
    read = long_notes(shell)
    before = read()
    report = shell.json("--auto", "--docs-dir", str(shell.cwd / "docs"), "--by", "type")
    [measured] = report["sets"]
    assert read() == before
    assert not (shell.cwd / "docs" / ".mdvec").exists()
    assert (measured["name"], measured["documents"], len(measured["questions"])) == ("auto", 12, 12)
    assert {each["labels"]["type"] for each in measured["questions"]} == {"title", "sentence"}
    assert "first sentences of 12 documents were cut out of copies" in shell.err
    for question, outcome in zip(measured["questions"], system(report, "lexical")["outcomes"], strict=True):
        [path] = question["relevant"]
        assert outcome["ranking"][0] == path
        if question["labels"]["type"] == "title":
            assert not any(
                text.startswith((f"{question['text']}\n", f"# {question['text']}\n"))
                for text in embedded(shell)
            )
        else:
            assert not any(question["text"] in text for text in embedded(shell))


def embedded(shell: Shell) -> list[str]:
    return shell.embedder.embedded


def test_automatic_questions_of_collections(noted: Shell) -> None:
    """``--questions`` limits them; documents of several collections carry its name; one can be chosen."""
    long_notes(noted)
    noted.run("tool", "add", "-n", "guides", "-d", "Guides", "-s", str(noted.cwd / "docs"))
    known = len(embedded(noted))
    report = noted.json("--auto", "--questions", "4")
    assert len(report["sets"][0]["questions"]) == 4
    assert all(
        path.startswith("guides/")
        for question in report["sets"][0]["questions"]
        for path in question["relevant"]
    )
    alone = noted.json("--auto", "-n", "guides", "--mode", "lexical")
    assert alone["sets"][0]["documents"] == 12
    assert len(embedded(noted)) > known
    noted.run("eval", "--auto", "-n", "trips", code=1)
    assert "no question can be made from 2 documents in trips" in noted.err
