"""What is prose in a Markdown text, and what is left of repeated text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mdvec.text.indexed_terms import index_terms
from mdvec.text.prose import is_form, is_unspaced_prose, prose_of, skeletons, without_marks, without_styles


def skeleton(text: str, names: Sequence[str]) -> str:
    """Return the skeleton of one text."""
    [found] = skeletons([prose_of(text).text], names)
    return found


CODE = "```python\n" + "for record in records:\n    print(record.identifier)\n" * 20 + "```\n"
LINKS = "- https://docs.example.com/en/latest/reference/api/index.html\n" * 20


@pytest.mark.parametrize("foreign", [CODE, LINKS, f"[資料]({'https://example.com/' + 'path/' * 40})\n"])
def test_code_and_addresses_do_not_decide_the_writing(foreign: str) -> None:
    """A Japanese note with much code in it is a Japanese note."""
    assert is_unspaced_prose("検索", f"この章では検索クエリの説明をする。\n\n{foreign}")
    assert not is_unspaced_prose("Search", f"This chapter explains queries.\n\n{foreign}")


def test_the_title_is_prose() -> None:
    """A note that is nothing but links is written as its title is."""
    assert is_unspaced_prose("京都旅行のリンク", LINKS)
    assert not is_unspaced_prose("Links", LINKS)


def test_a_footer_has_one_skeleton_in_every_document() -> None:
    """Names, addresses and numbers differ; the text is the same."""
    footers = [
        f"## This note in GitHub\n\n<span>[Edit {name} in GitHub](https://github.com/{path}.md) · {n}</span>"
        for name, path, n in (("Git Sync", "Git%20Sync", 1), ("obsidian-todo", "obsidian-todo", 22))
    ]
    one, two = (
        skeleton(text, [name]) for text, name in zip(footers, ("Git Sync", "obsidian-todo"), strict=True)
    )
    assert one == two == "this note in github edit in github"


def test_nothing_but_addresses_has_no_skeleton() -> None:
    """Two lists of links are not the same text."""
    assert skeleton(LINKS, []) == skeleton("![[a.png]] [[b]] 2026-05-01", []) == ""


@pytest.mark.parametrize(("one", "other"), [("see <Card", 'title="x"> here'), ("see [[a", "b]] here")])
def test_markup_that_a_chunk_cuts_does_not_join_two_texts(one: str, other: str) -> None:
    """A tag or a link that begins in one text does not end in the next; nor does a name reach over both."""
    assert len(skeletons([one, other], [])) == 2
    assert len(skeletons([one, other], ["see\x01 title", "\x01"])) == 2


def test_other_words_are_another_text() -> None:
    """A name is left out as a whole word, and an empty one not at all."""
    assert skeleton("Sync and synchronise", ["Sync", "", "!"]) == "and synchronise"
    assert skeleton("One thing", []) != skeleton("Another thing", [])


def test_texts_together_have_the_skeletons_that_each_has_alone() -> None:
    """Markup that one text leaves open does not end in the next one."""
    texts = ["a <b", "c> d", "[[e", "f]] g", "\x01", "日本 <b", "> 京都"]
    assert skeletons(texts, ["d"]) == [skeleton(text, ["d"]) for text in texts]


@pytest.mark.parametrize("text", ["The 2nd NOTE of a_b, v1.2: 12 - 4!\n\n| x | y1 |", "1 - 2", "", "*"])
def test_plain_english_has_the_skeleton_it_has_beside_other_letters(text: str) -> None:
    """The quick way for ASCII gives what the general one gives."""
    assert skeleton(f"{text} ж", []).removesuffix("ж").rstrip() == skeleton(text, [])


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x85", "\u2028"])
def test_an_address_ends_with_its_line(end: str) -> None:
    """It goes on in no other line, whatever ends it, and all else stays as it is."""
    text = f"one{end}see [a](b.md){end}https://x.org/y{end}two [c](d.md"
    assert prose_of(text)[:2] == (
        f"one{end}see [a]( ){end} {end}two [c](d.md",
        ["b.md", "https://x.org/y"],
    )


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("(see a.b-c://x)", ["a.b-c://x"]),
        ("9http://x", []),
        ("設定http://x", []),
        ("-http://x", ["http://x"]),
        ("_http://x +ftp://y", ["ftp://y"]),
        (f"{'a' * 41}://x", [f"{'a' * 41}://x"]),
        (f"{'a' * 42}://x {'a-' * 21}b://x", [f"{'a-' * 20}b://x"]),
        ("http://x://y", ["http://x://y"]),
        ("http://x]://y", ["http://x"]),
        ("[a](b://c d)", ["b://c"]),
        ("[a](b/c://d e)", ["b/c://d"]),
        ("[a](b(c)", []),
        ("](](a)", ["a"]),
        (":// ://", []),
    ],
)
def test_an_address_begins_with_its_scheme(text: str, addresses: list[str]) -> None:
    """That is a word of at most 41 characters; the target of a link begins with its bracket."""
    assert list(prose_of(text).addresses) == addresses


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("東**京**都 と 大*阪*府", "東京都 と 大阪府"),
        ("**C**reate, *U*pdate, un**believ**able, ==high==light", "Create, Update, unbelievable, highlight"),
        ("2**10, a**b, x==y, **bold** words", "2**10, a**b, x==y, **bold** words"),
        ("[東京](x)タワーと[[京都]]の塔", "東京タワーと京都の塔"),
        ("[東](x)[京](y)[[塔]]へ、[a](b)[c](d)", "東京塔へ、[a](b)[c](d)"),
        ("東京[[塔|タワー]]と[[x|京都]]の塔", "東京タワーと京都の塔"),
        ("[ShareX](x)is, a[i](b)c", "[ShareX](x)is, a[i](b)c"),  # more often a space is missing
        ("<ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp>京<rt>きょう</rt></ruby>都", "東京都"),
        ("CO~2~ at 10^6^ Pa, a~b~c, x^2", "CO2 at 106 Pa, a~b~c, x^2"),
        ("H<sub>2</sub>O un<b>believ</b>able", "H2O unbelievable"),
        ("&#x691C;&#32034; R&amp;D &copy=1 &nothing;", "検索 R&D &copy=1 &nothing;"),
        ("2**3, a*b, x == y, [[1, 2], [3]]", "2**3, a*b, x == y, [[1, 2], [3]]"),
        ("see [the note](x) and [[other]] there", "see [the note](x) and [[other]] there"),
    ],
)
def test_markup_inside_a_word_is_no_part_of_it(text: str, seen: str) -> None:
    """A reader sees one word; between words, marks stay."""
    assert without_marks(text) == seen


@pytest.mark.parametrize("link", ["[[Kubernetes|クーベ]]", "[[クーベ|Kubernetes]]"])
def test_both_words_of_a_wikilink_are_found(link: str) -> None:
    """Next to Japanese a reader sees the second alone; the first finds the text as an address does."""
    first, second = link.strip("[]").split("|")
    assert prose_of(f"日本{link}の話")[:2] == (f"日本{second}の話", [first])
    terms = index_terms(f"日本{link}の話")
    for word in (first, second):
        assert {*index_terms(word).main.split()} <= {*f"{terms.main} {terms.minor}".split()}
    assert prose_of(f"see {link} there")[:2] == (f"see {link} there", [])


def test_words_of_addresses_are_minor() -> None:
    """They are found, and say little of the text they stand in."""
    terms = index_terms(
        "See [the plugin](https://github.com/obsidian/sync-plugin) at https://docs.example.com/git."
    )
    assert terms.main == "see plugin"
    assert {"github", "obsidian", "sync", "git"} <= set(terms.minor.split())


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ('<span class="git-footer" id=end>Edit</span>', "Edit"),
        ('[Edit](https://example.org/a.md "git-edit-note") it', "[Edit]( ) it"),
        ('[Edit](a.md "Edit this note") it', '[Edit](  "Edit this note") it'),
        ("<Card title='Git' className='big'>", "<Card title='Git' >"),
    ],
)
def test_what_is_for_style_sheets_is_no_prose(text: str, prose: str) -> None:
    """What readers may see stays."""
    assert prose_of(text).text == prose


@pytest.mark.parametrize(
    "text", ['Write `<a class="git">` here.', '```html\n<a class="git">\n```\n', 'A class="git" of 1 > 0']
)
def test_styles_in_code_are_what_a_text_is_about(text: str) -> None:
    """In prose that is no tag, too."""
    assert prose_of(text).text == text


@pytest.mark.parametrize("piece", ['class="a" ', "class=a ", "<a ", '[a](b "a-', '"a-b" ', "<a class='"])
def test_styles_are_found_in_linear_time(piece: str) -> None:
    """The steps grow with the text, whatever it is."""
    assert len(without_styles(f"<a {piece * 100_000}")) <= 3 + len(piece) * 100_000


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("# 2024-06-03\n\n## Tasks\n- [ ] \n\n## Diary\n\nSleep: \n", True),
        ("# 2024-06-03\n\n## Tasks\n- [x] call Ann\n\n## Diary\n", False),
        ("# {{title}}\n\n## Summary\n\n## Quotes\n", True),
        ("# Meeting <% tp.date.now() %>\n\nAttendees: \n\n## Actions\n- [ ] owner, deadline\n", True),
        ("Write `{{ user }}` to show the name.\n\nIt is escaped.", False),
        ("# An outline\n\n## One\n\n## Two\n", False),  # nothing in it is to be filled in
        ("| day | done |\n|---|---|\n| | |\n", False),
        ("感謝：\n- \n", True),
        ("12:30\n", False),
        ("", False),
    ],
)
def test_a_form_has_fields_without_values(text: str, form: bool) -> None:
    """A template may have an example in it."""
    assert is_form(text) is form
