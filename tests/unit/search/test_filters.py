"""What a query may ask."""

from __future__ import annotations

import pytest

from mdvec.errors import InvalidQueryError, UsageError
from mdvec.search.filters import MAX_QUERY_CHARS, clean
from mdvec.text.globs import compile_glob
from mdvec.types.query import Comparison, Filters, PropertyCondition, SearchMode, SearchQuery, SortBy


@pytest.mark.parametrize("text", ["", "  \n\t", "\x00", "\u3000"])
def test_a_blank_query_is_refused(text: str) -> None:
    """There is nothing to look for."""
    with pytest.raises(InvalidQueryError):
        clean(SearchQuery(text))


@pytest.mark.parametrize("text", ["-", "---", "。", "…", "?!", '""', "* ", "( )", "_"])
def test_a_query_without_a_word_is_refused(text: str) -> None:
    """Nearness alone would find something, and call it likely."""
    with pytest.raises(InvalidQueryError, match="has no words"):
        clean(SearchQuery(text))


@pytest.mark.parametrize("text", ["1", "🍣", "+", "€", "ー", "a"])
def test_a_sign_with_a_meaning_is_a_query(text: str) -> None:
    """A number, a symbol or an emoji may stand in a text."""
    assert clean(SearchQuery(text))[0].text == text


def test_the_words_of_an_enumeration_are_taken() -> None:
    """Programs in Python write ``mode="lexical"``; a wrong one is an error of ours."""
    assert SearchQuery("x", mode="lexical") == SearchQuery("x", mode=SearchMode.LEXICAL)  # type: ignore[arg-type]
    assert SearchQuery("x", sort="date").sort is SortBy.DATE  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'fast' is not a valid SearchMode"):
        SearchQuery("x", mode="fast")  # type: ignore[arg-type]


def test_a_huge_query_is_cut_with_a_warning() -> None:
    """The answer says that not all of it was used."""
    cleaned, warnings = clean(SearchQuery("word " * 20_000))
    assert len(cleaned.text) <= MAX_QUERY_CHARS
    assert "99,999 characters" in warnings[0]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        (SearchQuery("a", limit=0), "limit"),
        (SearchQuery("a", limit=1_000_001), "limit"),
        (SearchQuery("a", per_document=0), "per_document"),
        (SearchQuery("a", max_tokens=0), "max_tokens"),
        (SearchQuery("a", threshold=1.5), "threshold"),
        (SearchQuery("a", threshold=float("nan")), "threshold"),
        (SearchQuery("a", min_score=2), "min_score"),
        (SearchQuery("a", min_score=float("nan")), "min_score"),
        (SearchQuery("a", filters=Filters(depths=(4,))), "depth"),
        (SearchQuery("a", filters=Filters(updated_since_ns=-1)), "updated_since_ns"),
        (SearchQuery("a", filters=Filters(updated_since_ns=2**63)), "updated_since_ns"),
        (SearchQuery("a", filters=Filters(updated_until_ns=-1)), "updated_until_ns"),
        (SearchQuery("a", filters=Filters(tags=("#",))), "tag"),
    ],
)
def test_numbers_out_of_range_are_named(query: SearchQuery, named: str) -> None:
    """The message says which one."""
    with pytest.raises(UsageError, match=named):
        clean(query)


def test_tags_are_brought_into_one_form() -> None:
    """`#a/b/` and `a/b` are the same tag."""
    cleaned, _ = clean(SearchQuery("a", filters=Filters(tags=("#a/b/", " c ", "d, #e、f"))))
    assert cleaned.filters.tags == ("a/b", "c", "d", "e", "f")


def test_a_prefix_may_be_written_as_in_sql() -> None:
    """``jira:%`` means ``jira:``; a wildcard alone asks for nothing."""
    for written, meant in (("jira:%", "jira:"), ("jira:", "jira:"), ("%", None), ("50%%", "50%")):
        query, _ = clean(SearchQuery("x", filters=Filters(alias_prefix=written)))
        assert query.filters.alias_prefix == meant


def test_bytes_that_are_not_utf8_are_spelled() -> None:
    """A query and its filters hold nothing that a store cannot hold, spelled as in the paths of documents."""
    condition = PropertyCondition("\udcff", Comparison.EQUAL, "\udcff")
    asked = Filters(
        tags=("\udcff",),
        path="\udcff*.md",
        alias_prefix="\udcff",
        linked_to="\udcff",
        properties=(condition,),
    )
    cleaned, _ = clean(SearchQuery("a\udcffb", filters=asked))
    assert cleaned.text == r"a\xffb"
    assert cleaned.filters == Filters(
        tags=(r"\xff",),
        path=r"\xff*.md",
        alias_prefix=r"\xff",
        linked_to=r"\xff",
        properties=(PropertyCondition(r"\xff", Comparison.EQUAL, r"\xff"),),
    )


@pytest.mark.parametrize(
    ("typed", "inside"),
    [
        ("finance", ["finance/a.md", "teams/finance/process/b.md"]),
        ("finance/", ["finance/a.md"]),
        ("/finance", ["finance/a.md"]),
        ("teams/finance", ["teams/finance/process/b.md"]),
        ("a.md", ["finance/a.md", "teams/a.md"]),
        ("[2026]", ["old [2026]/[2026]/c.md"]),
        ("old [2026]", ["old [2026]/[2026]/c.md"]),
        ("old [2026]/", ["old [2026]/[2026]/c.md"]),
    ],
)
def test_a_name_alone_is_that_of_a_folder_anywhere(typed: str, inside: list[str]) -> None:
    """As a file's name is that of a file anywhere; a path counts from the root."""
    cleaned, _ = clean(SearchQuery("a", filters=Filters(path=typed)))
    matches = compile_glob(cleaned.filters.path or "")
    paths = ["finance/a.md", "teams/a.md", "teams/finance/process/b.md", "teams/finances.md"]
    paths += ["old [2026]/[2026]/c.md", "old 9/d.md"]
    assert [path for path in paths if matches(path)] == inside
