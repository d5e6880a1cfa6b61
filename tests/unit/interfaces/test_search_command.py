"""``mdvec search``: what it asks, and what it prints."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import COLLECTION, HIT, RESULT, FakeWorkspace

from mdvec.errors import InvalidQueryError
from mdvec.interfaces.cli.search import hits_text
from mdvec.interfaces.present import hit_address, trail
from mdvec.text.cells import cell_width
from mdvec.types.hit import Confidence, Correction
from mdvec.types.query import Expansion, Filters, SearchMode, SearchQuery, SortBy, TagMatch

HIT_KEYS = [
    "rank", "collection", "path", "title", "heading", "heading_path", "depth", "start_line", "end_line",
    "start", "end", "score", "similarity", "dense_rank", "lexical_rank", "text", "stale",
    "supersedes", "superseded_by", "file", "chunk_index", "folder_contexts", "cut_lines",
    "similar", "updated", "created", "tags", "properties", "place", "other_places",
]  # fmt: skip
ANSWER_KEYS = ["query", "mode", "hits", "total_chunks", "pending_chunks", "last_indexed", "elapsed_ms"]


def test_a_plain_search_asks_with_the_defaults(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Without options the query is hybrid, over all collections, for five hits."""
    assert mdvec("search", "宿").code == 0
    assert workspace.query == SearchQuery("宿")
    assert workspace.closed


def test_every_option_reaches_the_query(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Each option of the command sets the field it is named after."""
    outcome = mdvec(
        *("search", "how", "to", "sign in", "-n", "a", "-n", "b", "--tag", "x", "--tag", "y/z"),
        *("--tag-match", "all", "--alias-prefix", "al", "--path", "docs/**", "--depth", "1", "--depth", "2"),
        *("--updated-since", "1970-01-02T00:00:00+00:00", "--mode", "dense", "-k", "9"),
        *("--updated-until", "1970-01-03T00:00:00Z", "--linked-to", "旅行/宿.md", "--include-superseded"),
        *(
            "--threshold",
            "0.5",
            "--min-score",
            "0.25",
            "--all-similar",
            "--per-document",
            "3",
            "--expand",
            "neighbours",
            "--max-tokens",
            "800",
        ),
    )
    assert outcome.code == 0
    assert workspace.query == SearchQuery(
        text="how to sign in",
        mode=SearchMode.DENSE,
        collections=("a", "b"),
        filters=Filters(
            tags=("x", "y/z"),
            tag_match=TagMatch.ALL,
            alias_prefix="al",
            path="docs/**",
            depths=(1, 2),
            updated_since_ns=86_400 * 10**9,
            updated_until_ns=2 * 86_400 * 10**9,
            linked_to="旅行/宿.md",
            include_superseded=True,
        ),
        limit=9,
        min_score=0.25,
        all_similar=True,
        threshold=0.5,
        per_document=3,
        expand=Expansion.NEIGHBOURS,
        max_tokens=800,
    )


def test_configured_defaults_give_way_to_options(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """``[search]`` settings hold for what no option says."""
    env = {
        "MDVEC_SEARCH_K": "7",
        "MDVEC_SEARCH_MODE": "lexical",
        "MDVEC_SEARCH_PER_DOCUMENT": "2",
        "MDVEC_SEARCH_MIN_SCORE": "0.3",
    }
    mdvec("search", "x", "--mode", "dense", **env)
    query = workspace.query
    assert (query.limit, query.mode, query.per_document) == (7, SearchMode.DENSE, 2)
    assert query.min_score == 0.3


@pytest.mark.parametrize("others", [(), ("--min-score", "0.5")])
def test_all_has_no_smallest_score(mdvec: Mdvec, workspace: FakeWorkspace, others: tuple[str, ...]) -> None:
    """``--all`` is ``--min-score 0``, whatever is configured or given."""
    assert mdvec("search", "x", "--all", *others, MDVEC_SEARCH_MIN_SCORE="0.3").code == 0
    assert workspace.query.min_score == 0


def test_json_has_exactly_the_documented_keys(mdvec: Mdvec) -> None:
    """One object on one line, keys in the documented order, in UTF-8 without escapes."""
    outcome = mdvec("search", "宿", "--format", "json")
    assert outcome.out.count("\n") == 1
    assert "京都の旅" in outcome.out
    answer = json.loads(outcome.out)
    keys = [
        "warnings",
        "hint",
        "confidence",
        "corrections",
        "unknown_words",
        "left_out",
        "weaker",
        "reranked",
    ]
    assert list(answer) == [*ANSWER_KEYS, *keys]
    assert list(answer["hits"][0]) == HIT_KEYS
    assert answer["hits"][0]["score"] == 0.876543
    assert answer["hits"][0]["heading_path"] == ["京都の旅", "宿"]
    assert (answer["elapsed_ms"], answer["mode"]) == (12.3, "hybrid")
    assert outcome.err == ""


def test_jsonl_has_a_hit_on_each_line(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Each line of ``jsonl`` is the object of one hit."""
    workspace.result = replace(RESULT, hits=(HIT, replace(HIT, rank=2, similarity=None)))
    lines = mdvec("search", "宿", "--format", "jsonl").out.splitlines()
    assert [list(json.loads(line)) for line in lines] == [HIT_KEYS, HIT_KEYS]
    assert json.loads(lines[1])["similarity"] is None


def test_properties_with_words_of_the_query_are_shown(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """They are why the document was found, and above the text that is searched."""
    workspace.result = replace(RESULT, hits=(replace(HIT, properties=("budget: 8500",)),))
    assert "  budget: 8500\n" in mdvec("search", "budget").out


def test_paths_are_unique(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """``paths`` prints each file once, best first, and a document that is no file by its collection."""
    first = replace(HIT, file="/notes/旅行/京都.md")
    workspace.result = replace(RESULT, hits=(first, replace(HIT, path="b.md"), first))
    assert mdvec("search", "宿", "--format", "paths").out == "/notes/旅行/京都.md\nnotes/b.md\n"


def test_a_hit_has_an_address_for_an_editor() -> None:
    """Its file and line stand where the template says; without a file there is none."""
    hit = replace(HIT, file="/my notes/京都.md")
    assert hit_address(hit, "vscode://file{file}:{line}") == (
        "vscode://file/my%20notes/%E4%BA%AC%E9%83%BD.md:12"
    )
    assert hit_address(HIT, "file://{file}") == ""


def test_the_place_of_a_hit_is_a_link() -> None:
    """A terminal opens it with a click; what is printed reads the same."""
    result = replace(RESULT, hits=(replace(HIT, file="/n/京都.md"),))
    plain = hits_text(result, colored=True, explain=False, several=False)
    linked = hits_text(result, colored=True, explain=False, several=False, editor="file://{file}")
    start, end = "\x1b]8;;file:///n/%E4%BA%AC%E9%83%BD.md\x1b\\", "\x1b]8;;\x1b\\"
    assert start in linked
    assert linked.replace(start, "").replace(end, "") == plain


def test_a_long_passage_is_shown_by_its_best_part(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """The place, the heading and the lines belong together, though words of the question stand elsewhere."""
    text = "## 交通\nx までバスで行った。\n\n## 宿\n朝は静かだった。"
    hit = replace(HIT, text=text, chunk_text="## 宿\n朝は静かだった。", line=15)
    workspace.result = replace(RESULT, hits=(hit,))
    _, place, *lines = mdvec("search", "x").out.splitlines()
    assert place.strip() == "旅行/京都.md:15"
    assert [line.strip() for line in lines] == ["朝は静かだった。"]
    assert hit_address(replace(hit, file="/a.md"), "x://{file}#{line}") == "x:///a.md#15"


def test_markdown_is_a_list_of_links(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """``md`` links each hit to its line, whatever is in title and path."""
    workspace.result = replace(RESULT, hits=(replace(HIT, title="[a] b", heading_path=(), path="a b#c.md"),))
    assert mdvec("search", "宿", "--format", "md").out == (
        "- [\\[a\\] b](<notes/a b%23c.md#L12>) (0.88)\n"
        "  > ## 宿\n  > 四条の宿に泊まった。\n  > 朝は静かだった。\n"
    )


def test_like_texts_are_counted_behind_their_hit(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """In text and Markdown, and as a number in JSON; nothing is said of a hit that stands for itself."""
    workspace.result = replace(RESULT, hits=(replace(HIT, similar=1_059), replace(HIT, similar=1), HIT))
    lines = [line.strip() for line in mdvec("search", "宿").out.splitlines()]
    assert [line for line in lines if "like it" in line] == ["and 1,059 like it", "and 1 like it"]
    assert lines.index("and 1,059 like it") == lines.index("朝は静かだった。") + 1
    shown = mdvec("search", "宿", "--format", "md").out
    assert shown.startswith(
        "- [京都の旅 › 宿](<notes/旅行/京都.md#L12>) (0.88)\n  (and 1,059 like it)\n  > ## 宿\n"
    )
    answer = json.loads(mdvec("search", "宿", "--format", "json").out)
    assert [hit["similar"] for hit in answer["hits"]] == [1_059, 1, 0]


def test_a_hit_has_its_day_and_its_tags(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Behind the place in text, on a line of its own in Markdown, in full in JSON."""
    dated = replace(HIT, updated_ms=1_777_627_800_123, created_ms=0, tags=("旅行/国内", "宿"))
    workspace.result = replace(RESULT, hits=(dated,))
    shown = mdvec("search", "宿", "--sort", "date", "--also", "旅館").out
    assert "旅行/京都.md:12  2026-05-01 · written 1970-01-01 · #旅行/国内 #宿\n" in shown
    assert (workspace.query.sort, workspace.query.queries) == (SortBy.DATE, ("旅館",))
    assert (
        "\n  (2026-05-01 · written 1970-01-01 · #旅行/国内 #宿)\n"
        in mdvec("search", "宿", "--format", "md").out
    )
    [hit] = json.loads(mdvec("search", "宿", "--format", "json").out)["hits"]
    assert (hit["updated"], hit["created"]) == ("2026-05-01T09:30:00Z", "1970-01-01T00:00:00Z")
    assert hit["tags"] == ["旅行/国内", "宿"]
    workspace.result = replace(RESULT, hits=(replace(HIT, tags=tuple("abcdefgh")),))
    assert "旅行/京都.md:12  #a #b #c #d #e #f …\n" in mdvec("search", "宿").out


def test_passages_left_out_are_counted_at_the_end(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Beside the hits with what shows them, and as a number in JSON; programs are told of doubts alone."""
    workspace.result = replace(RESULT, weaker=4)
    assert mdvec("search", "宿").err == "confidence: high\n4 weaker passages left out (shown with --all)\n"
    assert mdvec("search", "宿", "--format", "paths").err == ""
    assert json.loads(mdvec("search", "宿", "--format", "json").out)["weaker"] == 4
    workspace.result = replace(RESULT, weaker=1)
    assert mdvec("search", "宿").err.endswith("\n1 weaker passage left out (shown with --all)\n")
    workspace.result = replace(RESULT, hits=(), weaker=4, confidence=Confidence.NONE)
    none, left_out = mdvec("search", "宿").err.splitlines()[-2:]
    assert none.startswith("confidence: none; ")
    assert left_out == "4 weaker passages left out (shown with --all)"


def test_text_is_for_people(mdvec: Mdvec) -> None:
    """Text shows title › heading path, score, path:line and the passage; no colour when piped."""
    outcome = mdvec("search", "宿")
    first, place, *passage = outcome.out.splitlines()
    assert first.split() == ["1.", "京都の旅", "›", "宿", "0.88"]
    assert place == "   旅行/京都.md:12"
    assert passage == ["   四条の宿に泊まった。", "   朝は静かだった。"]
    assert "\x1b" not in outcome.out


def test_a_list_has_no_scores(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A query of operators alone ranks nothing: for people, its hits have no score."""
    hit = replace(HIT, score=1.0, similarity=None, dense_rank=None, lexical_rank=None)
    workspace.result = replace(RESULT, hits=(hit,))
    outcome = mdvec("search", "tag:x")
    assert outcome.out.splitlines()[0] == "1. 京都の旅 › 宿"
    assert "confidence" not in outcome.err
    assert "1.00" not in mdvec("search", "tag:x", "--format", "md").out
    assert json.loads(mdvec("search", "tag:x", "--format", "json").out)["hits"][0]["score"] == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# 京都の旅\n\n## 宿 ##\n静か\n## 交通\nバス", ["静か", "› 交通", "バス"]),
        ("## 別\n静か", ["静か"]),
        ("## 宿", ["## 宿"]),
        ("京都の旅\n====\n\n宿\n--\n静か", ["静か"]),
        ("静か\n\n---\n宿", ["静か", "宿"]),
    ],
)
def test_headings_are_not_said_twice(
    mdvec: Mdvec, workspace: FakeWorkspace, text: str, shown: list[str]
) -> None:
    """Headings are left out of the passage, unless nothing else is there: the first line says them."""
    workspace.result = replace(RESULT, hits=(replace(HIT, text=text, chunk_text=text),))
    assert [line.strip() for line in mdvec("search", "x").out.splitlines()[2:]] == shown


def test_scores_line_up_under_wide_titles(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A Japanese title takes two columns a character, and the score ends in column 100 all the same."""
    from mdvec.text.cells import cell_width

    workspace.result = replace(RESULT, hits=(HIT, replace(HIT, title="Plain", heading_path=())))
    heads = [line for line in mdvec("search", "宿").out.splitlines() if line.endswith("0.88")]
    assert [cell_width(head) for head in heads] == [100, 100]


def test_matched_words_are_coloured_on_demand(mdvec: Mdvec) -> None:
    """``--color always`` marks the words of the query, and nothing else of the passage, in red."""
    outcome = mdvec("search", "宿", "--color", "always")
    assert "四条の\x1b[31m\x1b[1m宿\x1b[0mに泊まった。" in outcome.out


def test_collections_are_named_when_there_are_several(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Hits of different collections say which one they are from."""
    workspace.result = replace(RESULT, hits=(HIT, replace(HIT, collection="work")))
    assert "work/旅行/京都.md:12" in mdvec("search", "宿").out


def test_the_collection_is_named_when_several_are_searched(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Even when all hits are from one: the reader cannot know which."""
    assert "notes/旅行/京都.md:12" in mdvec("search", "宿", "-n", "notes", "-n", "work").out
    assert "notes/旅行/京都.md:12" not in mdvec("search", "宿").out
    workspace.known = [COLLECTION, replace(COLLECTION, name="work")]
    assert "notes/旅行/京都.md:12" in mdvec("search", "宿").out
    assert "notes/旅行/京都.md:12" not in mdvec("search", "宿", "-n", "notes").out


def test_explain_gives_the_reasons(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """``--explain`` shows similarity and both ranks, or that there is none."""
    workspace.result = replace(
        RESULT, hits=(HIT, replace(HIT, similarity=None, dense_rank=None, lexical_rank=None))
    )
    out = mdvec("search", "宿", "--explain").out
    assert "score 0.8765; similarity 0.812; by meaning #1; by words #3" in out
    assert "similarity not compared; by meaning not among the nearest; by words no word found" in out


def test_a_changed_file_is_marked(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A stale hit says so."""
    workspace.result = replace(RESULT, hits=(replace(HIT, stale=True),))
    assert "changed or gone since it was indexed" in mdvec("search", "宿").out


def test_documents_cannot_steer_the_terminal(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Escape sequences in a document or its title are not printed."""
    workspace.result = replace(
        RESULT, hits=(replace(HIT, title="a\x1b[2J", text="宿 \x1b]0;x\x07", chunk_text="宿 \x1b]0;x\x07"),)
    )
    out = mdvec("search", "宿").out
    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.parametrize("output", ["text", "jsonl", "md", "paths"])
def test_nothing_found_is_not_an_error(mdvec: Mdvec, workspace: FakeWorkspace, output: str) -> None:
    """Without hits stdout is empty, the hint is on stderr and the exit code is 0."""
    workspace.result = replace(RESULT, hits=(), hint="Import something.")
    outcome = mdvec("search", "宿", "--format", output)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "no hits\nhint: Import something.\n"


def test_what_became_of_words_is_said(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """A corrected word and an unknown one, on stderr for people and in fields of JSON."""
    workspace.result = replace(
        RESULT,
        searched="retention",
        corrections=(Correction("retnetion", "retention"),),
        unknown_words=("samesite",),
    )
    lines = mdvec("search", "retnetion").err.splitlines()
    assert lines[:2] == [
        "searched for 'retention' instead of 'retnetion'",
        "no document contains 'samesite'",
    ]
    answer = json.loads(mdvec("search", "retnetion", "--format", "json").out)
    assert answer["corrections"] == [{"typed": "retnetion", "searched": "retention"}]
    assert answer["unknown_words"] == ["samesite"]
    workspace.result = replace(RESULT, unknown_words=("x" * 9_000,))
    assert len(mdvec("search", "x").err.splitlines()[0]) < 90


def test_a_query_may_begin_with_a_minus(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """After ``--``, as the error says where it is forgotten; in the middle of a query it is plain."""
    outcome = mdvec("search", "-python retry")
    assert outcome.code == 2
    assert "'mdvec search -- -WORD'" in outcome.err
    assert mdvec("search", "retry -python").code == 0
    assert workspace.query.text == "retry -python"
    workspace.calls.clear()
    assert mdvec("search", "--", "-python retry").code == 0
    assert workspace.query.text == "-python retry"


def test_nothing_found_as_json_carries_the_hint(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """JSON of no hits is the same object with an empty list, and stderr stays silent."""
    workspace.result = replace(RESULT, hits=(), hint="Import something.", warnings=("cut",))
    outcome = mdvec("search", "宿", "--format", "json")
    answer = json.loads(outcome.out)
    assert (answer["hits"], answer["hint"], answer["warnings"]) == ([], "Import something.", ["cut"])
    assert outcome.err == ""


def test_warnings_go_to_stderr(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """What the asker should know, such as pending vectors, is told beside the result."""
    workspace.result = replace(RESULT, warnings=("4 of 9 chunks have no vector yet",))
    lines = mdvec("search", "宿").err.splitlines()
    assert lines[0] == "warning: 4 of 9 chunks have no vector yet"


def test_people_are_told_how_sure_an_answer_is(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Beside the hits, so that what a program reads stays as it is."""
    assert mdvec("search", "宿").err == "confidence: high\n"
    workspace.result = replace(RESULT, confidence=Confidence.NONE)
    doubt = "confidence: none; the documents probably do not answer the question\n"
    assert mdvec("search", "宿").err == doubt
    assert mdvec("search", "宿", "--format", "paths").err == doubt


def test_programs_are_not_told_that_all_is_well(mdvec: Mdvec) -> None:
    """A format for programs is only accompanied by doubts; JSON says it itself."""
    assert mdvec("search", "宿", "--format", "paths").err == ""
    outcome = mdvec("search", "宿", "--format", "json")
    assert (outcome.err, json.loads(outcome.out)["confidence"]) == ("", "high")


@pytest.mark.parametrize(
    ("configured", "starts"),
    [("json", '{"query"'), ("table", "1. "), ("text", "1. "), ("paths", "notes/旅行"), ("jsonl", '{"rank"')],
)
def test_the_format_can_be_configured(mdvec: Mdvec, configured: str, starts: str) -> None:
    """``display.default_format`` holds where ``--format`` is not given."""
    assert mdvec("search", "宿", MDVEC_DISPLAY_DEFAULT_FORMAT=configured).out.startswith(starts)


@pytest.mark.parametrize(
    "args",
    [
        ("--depth", "4"),
        ("-k", "0"),
        ("--threshold", "1.5"),
        ("--min-score", "-0.1"),
        ("--min-score", "1.5"),
        ("--mode", "fast"),
        ("--format", "xml"),
        ("--updated-since", "someday"),
        ("--tag-match", "none"),
        ("--expand", "world"),
        ("--max-tokens", "0"),
        ("--nonsense",),
    ],
)
def test_wrong_options_are_usage_errors(
    mdvec: Mdvec, workspace: FakeWorkspace, args: tuple[str, ...]
) -> None:
    """A value outside its limits is told on stderr with exit code 2, before anything is searched."""
    outcome = mdvec("search", "x", *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert "\nhint: " in outcome.err
    assert workspace.calls == []


def test_a_missing_query_is_a_usage_error(mdvec: Mdvec) -> None:
    """``mdvec search`` alone exits with 2."""
    assert mdvec("search").code == 2


def test_a_blank_query_is_a_usage_error(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """What the workspace refuses as a query exits with 2, with its hint."""
    workspace.error = InvalidQueryError("the query is blank")
    outcome = mdvec("search", " ")
    assert outcome.code == 2
    assert outcome.err == f"error: the query is blank\nhint: {InvalidQueryError.default_hint}\n"


def test_json_is_always_utf8_and_harmless(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Bytes that are not UTF-8 are spelled, and no control character is left that a terminal obeys."""
    workspace.result = replace(
        RESULT, query="a\udcffb", hits=(replace(HIT, text="\x9b31m\x1b", chunk_text="\x9b31m\x1b"),)
    )
    out = mdvec("search", "a\udcffb", "--format", "json").out
    found = json.loads(out)
    assert (found["query"], found["hits"][0]["text"]) == (r"a\xffb", "\x9b31m\x1b")
    assert not {"\x9b", "\x1b"} & set(out)


@pytest.mark.parametrize("output", ["md", "paths"])
def test_documents_do_not_steer_the_terminal(
    mdvec: Mdvec, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    """In every format a terminal gets no control character of a document; a pipe gets the text as it is."""
    workspace.result = replace(
        RESULT, hits=(replace(HIT, path="a\x1b[31m.md", text="\x1b[31mred", chunk_text="\x1b[31mred"),)
    )
    assert "\x1b" in mdvec("search", "x", "--format", output).out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b" not in mdvec("search", "x", "--format", output).out


def test_verbose_tells_the_time_of_each_step(mdvec: Mdvec) -> None:
    """``--verbose`` prints a line for each step on stderr, and stdout stays the same."""
    outcome = mdvec("search", "宿", "--format", "paths", "--verbose")
    assert outcome.out == "notes/旅行/京都.md\n"
    [line] = outcome.err.splitlines()
    name, elapsed, unit, details = line.split()
    assert (name, unit, details) == ("[dense]", "ms", "hits=50")
    assert float(elapsed) >= 0


def test_a_trail_has_the_title_once() -> None:
    """Though the heading has wide characters or spaces where the title has others."""
    hit = replace(HIT, title="学年だより 7月号", heading_path=("学年だより\u3000７月号", "行事"))
    assert trail(hit) == "学年だより 7月号 › 行事"
    assert trail(replace(hit, heading_path=("行事",))) == "学年だより 7月号 › 行事"


@pytest.mark.parametrize("columns", [60, 80])
def test_a_long_trail_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Headings in its middle give way first, the title and the nearest heading stay; no line is wider."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    path = ("始めに", "設定の説明と注意", "詳しい設定", "環境変数から読み込む方法")
    long = replace(HIT, heading_path=path)
    endless = replace(HIT, title="A title of many words " * 9, heading_path=())
    text = hits_text(replace(RESULT, hits=(long, endless)), colored=False, explain=True, several=False)
    assert max(map(cell_width, text.splitlines())) <= columns
    first = text.splitlines()[0]
    assert first.startswith("1. 京都の旅 › …")
    assert "環境変数から読み込む方法" in first
    assert "… " in next(line for line in text.splitlines() if line.startswith("1. A title"))


def test_paths_are_those_of_different_documents(mdvec: Mdvec, workspace: FakeWorkspace) -> None:
    """Each is printed once, so no further passage of a document takes a place."""
    mdvec("search", "宿", "--format", "paths")
    assert workspace.query.per_document == 1
