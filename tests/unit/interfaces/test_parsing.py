"""What clients are told of arguments that mdvec does not take."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.errors import InvalidArgumentsError
from mdvec.interfaces import requests
from mdvec.interfaces.answers import schema_of
from mdvec.interfaces.parsing import decode_json, parse, problem_of
from mdvec.interfaces.rpc.methods import SectionsParams
from mdvec.types.query import SearchMode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=10,
)


def problem(**arguments: Any) -> str:
    """Return what is said of some arguments."""
    with pytest.raises(InvalidArgumentsError) as caught:
        parse(arguments, requests.AgentSearchRequest)
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": "x", "limt": 3}, "unknown argument `limt`; did you mean `limit`?"),
        ({"query": "x", "Mode": "dense"}, "unknown argument `Mode`; did you mean `mode`?"),
        ({"limit": 3}, "`query` is missing"),
        ({"query": {"a": 3}}, "`query` must be text, not {'a': 3}"),
        ({"query": "x", "limit": "five"}, "`limit` must be a whole number, not 'five'"),
        ({"query": "x", "limit": True}, "`limit` must be a whole number, not true"),
        ({"query": "x", "limit": 1_000_000}, "`limit` must be from 1 to 100, not 1000000"),
        ({"query": "x", "limit": 0}, "`limit` must be from 1 to 100, not 0"),
        ({"query": "x", "max_tokens": 0}, "`max_tokens` must be at least 1, not 0"),
        ({"query": "x", "tags": {"a": 1}}, "`tags` must be a list, not {'a': 1}"),
        ({"query": "x", "tags": ["a", {}]}, "`tags[1]` must be text, not {}"),
        ({"query": None}, "`query` is missing"),
        ({"query": "x", "limit": 3, "top_k": 5}, "`limit` is given more than once"),
        ({"query": "x", "zzzzz": None}, "unknown argument `zzzzz`; it takes"),
        (
            {"query": "x", "mode": "densee"},
            "`mode` must be one of dense, hybrid, lexical, not 'densee'; did you mean `dense`?",
        ),
    ],
)
def test_each_problem_is_a_sentence(arguments: dict[str, Any], said: str) -> None:
    """It names the argument, what it must be, and what it is."""
    assert problem(**arguments).startswith(said)


def test_a_value_that_can_mean_only_one_thing_is_taken() -> None:
    """Models write numbers and truth values as texts, and one value as a list."""
    given = {"query": 3, "limit": "3", "threshold": "0.5", "include_superseded": "true", "mode": ["Dense"]}
    assert parse(given, requests.SearchRequest) == requests.SearchRequest(
        query="3", limit=3, threshold=0.5, include_superseded=True, mode=SearchMode.DENSE
    )


def test_a_list_may_be_a_text_of_json() -> None:
    """As some clients send it; any other text is one value."""
    given = {"query": "x", "tags": '["a", "b"]', "depth": "[0, 1]", "where": "[draft]", "collections": "[1"}
    assert parse(given, requests.SearchRequest) == requests.SearchRequest(
        query="x", tags=("a", "b"), depth=(0, 1), where=("[draft]",), collections=("[1",)
    )
    quoted = {"query": "x", "tags": '"a b"', "collections": '"notes'}
    assert parse(quoted, requests.SearchRequest) == requests.SearchRequest(
        query="x", tags=("a b",), collections=('"notes',)
    )


def test_a_request_is_parsed_as_it_is_meant() -> None:
    """The same at every door; what an address repeats comes as a list."""
    sent = {"q": ["x"], "tag": "ai", "depth": ["1", 2.0], "k": 5.0, "where": None, "path": None}
    wanted = requests.SearchRequest(query="x", tags=("ai",), depth=(1, 2), limit=5)
    assert parse(sent, requests.SearchRequest) == wanted


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (3, "`sections[0]` must be an object, not 3"),
        ({"content": ""}, "`sections[0].document_path` is missing"),
        (
            {"document_path": "a.md", "content": "", "depth": 7},
            "`sections[0].depth` must be from 0 to 3, not 7",
        ),
        (
            {"document_path": "a.md", "content": "", "token_count": 10**20},
            "`sections[0].token_count` must be from 0 to 2147483647, not 100000000000000000000",
        ),
        (
            {"document_path": "a.md", "content": "", "updated_at": []},
            "`sections[0].updated_at` must be text or a number, not []",
        ),
        (
            {"document_path": "a.md", "content": "", "depht": 1},
            "unknown argument `sections[0].depht`; did you mean `depth`?",
        ),
    ],
)
def test_a_problem_inside_a_list_of_objects_is_named_with_its_place(section: object, said: str) -> None:
    """Position and field."""
    with pytest.raises(InvalidArgumentsError) as caught:
        parse({"sections": [section]}, SectionsParams)
    assert str(caught.value) == said
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert({"sections": [section]}, SectionsParams)
    assert problem_of(refused.value, {"sections": [section]}, schema_of(SectionsParams, "programs")) == said


@pytest.mark.parametrize(
    ("text", "number"), [(".5", 0.5), ("1e-3", 0.001), ("-0.12345678901", -0.12345678901)]
)
def test_numbers_are_read_as_people_write_them(text: str, number: float) -> None:
    """An address and a model write them as texts."""
    assert parse({"query": "x", "threshold": text}, requests.SearchRequest).threshold == number
    assert (
        parse({"query": "x", "max_tokens": "9999999999"}, requests.SearchRequest).max_tokens == 9_999_999_999
    )


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "0x10", "1_000", "٣", " ", "9" * 1000])
def test_what_is_no_number_stays_a_text(text: str) -> None:
    """Python would read some of them."""
    with pytest.raises(InvalidArgumentsError, match="`max_tokens` must be a whole number"):
        parse({"query": "x", "max_tokens": text}, requests.SearchRequest)


def test_a_byte_order_mark_is_no_part_of_json() -> None:
    """Programs on Windows write one before their first message; a second one is an error, as ever."""
    assert decode_json(BOM_UTF8 + b'{"a": "\\ud83d"}') == {"a": "?"}
    with pytest.raises(InvalidArgumentsError, match="not JSON"):
        decode_json(BOM_UTF8 * 2 + b"{}")


def test_null_stands_for_an_argument_that_is_left_out() -> None:
    """Many clients send all arguments, those without a value as null."""
    arguments = {"query": "x", "limit": None, "tags": None, "threshold": None, "collection": None}
    assert parse(arguments, requests.SearchRequest) == requests.SearchRequest(query="x")


@pytest.mark.parametrize("nothing", ["", "null"])
def test_so_does_an_empty_text_where_no_text_is_wanted(nothing: str) -> None:
    """Some clients send all arguments so; a text may be meant as it is."""
    arguments = {"query": "x", "limit": nothing, "tags": nothing, "mode": nothing}
    assert parse(arguments, requests.SearchRequest) == requests.SearchRequest(query="x")
    assert parse({"query": nothing}, requests.SearchRequest).query == nothing


def test_an_empty_text_leaves_out_each_argument_that_may_be_left_out() -> None:
    """No collection, path, section or date has an empty name; ``null`` may be one."""
    names = [each.name for each in msgspec.structs.fields(requests.SearchRequest) if not each.required]
    assert parse(
        {"query": "x", **dict.fromkeys(names, "")}, requests.SearchRequest
    ) == requests.SearchRequest(query="x")
    for name in ("collection", "collections"):
        assert parse({name: ""}, requests.CollectionRequest).collection is None
        assert parse({name: "null"}, requests.CollectionRequest).collection == "null"
    part = {"path": "a.md", "collection": "", "lines": "", "section": ""}
    assert parse(part, requests.DocumentRequest) == requests.DocumentRequest(path="a.md")


def test_all_problems_are_told_in_the_order_of_the_arguments() -> None:
    """One correction is enough; what is missing comes last."""
    assert problem(limit=0, mode=3, collectoin="a").splitlines() == [
        "`limit` must be from 1 to 100, not 0",
        "`mode` must be one of dense, hybrid, lexical, not 3",
        "unknown argument `collectoin`; did you mean `collections`?",
        "`query` is missing",
    ]


def test_an_argument_that_resembles_none_is_told_with_all_there_are() -> None:
    """A tool without arguments says so."""
    assert problem(query="x", zzz=1).startswith(
        "unknown argument `zzz`; it takes `query`, `queries`, `collections`"
    )
    with pytest.raises(InvalidArgumentsError, match="unknown argument `zzz`; it takes none"):
        parse({"zzz": 1}, requests.NoArguments)


def test_a_door_takes_some_arguments_and_decides_others() -> None:
    """The others are unknown there."""
    wanted = requests.SearchRequest(query="", limit=3)
    assert parse({"k": 3}, requests.SearchRequest, ["tags", "limit"], query="") == wanted
    with pytest.raises(InvalidArgumentsError, match="unknown argument `query`; it takes `tags`, `limit`"):
        parse({"query": "x"}, requests.SearchRequest, ["tags", "limit"], query="")


def test_long_values_and_long_lists_of_problems_are_cut() -> None:
    """An answer stays short, whatever was sent."""
    many = problem(query="x", limit="y" * 1_000_000, **{f"q{number}": 1 for number in range(100)})
    assert len(many) < 1_500
    assert many.splitlines()[-1] == "and 96 more"


@given(st.dictionaries(st.sampled_from([*requests.SearchRequest.__struct_fields__, "k", "other"]), JSON))
def test_whatever_is_sent_is_parsed_or_refused_in_words(arguments: dict[str, Any]) -> None:
    """No arguments make the check itself fail; what is refused is named."""
    try:
        parse(arguments, requests.SearchRequest)
    except InvalidArgumentsError as refused:
        assert str(refused)  # noqa: PT017 - whether it is refused is what varies


@given(JSON)
def test_whatever_stands_in_a_section_is_parsed_or_refused_in_words(section: object) -> None:
    """What fits the schema fits the class, too."""
    try:
        parse({"sections": [section]}, SectionsParams)
    except InvalidArgumentsError as refused:
        assert str(refused)  # noqa: PT017 - whether it is refused is what varies
