"""Documents: titles, sections, tags, aliases and links."""

from __future__ import annotations

import pytest
from tests.growth import assert_grows_linearly

from mdvec.chunking.sections import SectionChunker
from mdvec.documents.parse import parse_document
from mdvec.indexing.prepare import make_record
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.change import SourceEntry
from mdvec.types.document import BlockKind, LinkKind, TitleSource, with_comments

PATH_LINE, LINE_END = "M 10 20\n", "\n"
CODE = "if(aaaaaaaa){bbbbbbbbbb(cccccccc);}"


@pytest.mark.parametrize(
    ("path", "text", "title", "source"),
    [
        ("a.md", "---\ntitle: '  From\n  above '\n---\n# H\n", "From above", TitleSource.FRONTMATTER),
        ("a.md", "---\ntitle: 2024\n---\n# H\n", "2024", TitleSource.FRONTMATTER),
        ("a.md", "---\nTitle: X\n---\n# H\n", "X", TitleSource.FRONTMATTER),
        ("a.md", "---\ntitle: 2024-01-02\n---\n", "2024-01-02", TitleSource.FRONTMATTER),
        ("a.md", "---\ntitle: '  '\n---\n# H\n", "H", TitleSource.HEADING),
        ("a.md", "---\ntitle: [Draft]\n---\n# H\n", "Draft", TitleSource.FRONTMATTER),
        ("a.md", "---\ntitle: true\n---\n", "a", TitleSource.FILE_NAME),
        ("a.md", "## Two\n\n# One\n", "One", TitleSource.HEADING),
        ("a.md", "#\n\n# One\n", "One", TitleSource.HEADING),
        ("a.md", f"Holism is {'an idea ' * 9}\n\n# Sources\n", "a", TitleSource.FILE_NAME),
        ("a.md", f"[![{'badge ' * 9}](b.svg)](https://b)\n\n# One\n", "One", TitleSource.HEADING),
        ("a.mdx", f"import {{{'A, ' * 20}}} from 'a';\n\n# One\n", "One", TitleSource.HEADING),
        ("Sets.md", "# Members\n\n# Union\n", "Sets", TitleSource.FILE_NAME),  # all of them are parts
        ("猫.md", "# えさ\n\n# トイレ\n", "猫", TitleSource.FILE_NAME),
        ("2024-05-24.md", "# Habits\n\n# Log\n", "2024-05-24", TitleSource.FILE_NAME),
        ("custom-cards.md", "# Custom\n\n# Releases\n", "Custom", TitleSource.HEADING),
        ("猫のえさ.md", "# えさ\n\n# トイレ\n", "えさ", TitleSource.HEADING),
        ("202601051011.md", "# Compost\n\n# Links\n", "Compost", TitleSource.HEADING),
        ("docs/README.md", "# Ferry\n\n# Usage\n", "Ferry", TitleSource.HEADING),
        ("Sets.md", "# Members\n\n- # Union\n\n> # Cut\n", "Sets", TitleSource.FILE_NAME),
        ("Sets.md", "# Members\n\n## Union\n", "Members", TitleSource.HEADING),
        ("talk.html", "# Members\n\n# Union\n", "Members", TitleSource.HEADING),
        ("Manual.pdf", "# 1 Cranes\n\n# 2 Quays\n", "Manual", TitleSource.FILE_NAME),
        ("pages/a___b.md", "- x\n", "a/b", TitleSource.FILE_NAME),  # Logseq
        ("a.md", "---\na: [\n---\n# H\n", "H", TitleSource.HEADING),
        ("a.md", "---\ntitle: {a: b, c: d}\n---\n# H\n", "H", TitleSource.HEADING),
        ("dir/メモ 1.md", "## Two\n", "メモ 1", TitleSource.FILE_NAME),
        ("Daily.md", "# {{title}}\n", "Daily", TitleSource.FILE_NAME),  # a template
        (
            "Daily.md",
            "---\ntitle: <% tp.date %>\n---\n# <% tp.file.title %>\n",
            "Daily",
            TitleSource.FILE_NAME,
        ),
        ("dir/..md", "", ".", TitleSource.FILE_NAME),
        ("two\nlines.md", "", "two lines", TitleSource.FILE_NAME),
        (" .md", "", " .md", TitleSource.FILE_NAME),
        ("g++.md", "", "g++", TitleSource.FILE_NAME),
        ("a.b.txt", "# Not a heading\n", "a.b", TitleSource.FILE_NAME),
        (f"Notes {'0af9' * 8}.md", "x", "Notes", TitleSource.FILE_NAME),  # as Notion exports it
        (f"Notes {'0af9' * 8}_all.csv", "x", "Notes", TitleSource.FILE_NAME),
        (f"Notes 0af90af9{'-0af9' * 4}0af90af9.md", "x", "Notes", TitleSource.FILE_NAME),
        ("pages/a%2Fb.md", "- x\n", "a/b", TitleSource.FILE_NAME),  # older Logseq
    ],
)
def test_the_title_is_the_first_one_there_is(path: str, text: str, title: str, source: TitleSource) -> None:
    """Frontmatter, else the heading of level 1 that names the whole note, else the name of the file."""
    document = parse_document(path, text)
    assert (document.title, document.title_source) == (title, source)


def test_headings_make_a_tree_with_positions() -> None:
    """Parents, paths and spans follow the levels, jumps included; spans leave no gap."""
    text = "---\na: 1\n---\nIntro\n\n# A\n\n### B\n\ntext\n\n## C\n\nD\n===\n"
    document = parse_document("x.md", text)
    sections = document.sections
    assert [(s.level, s.heading, s.parent) for s in sections] == [
        (0, "", None),
        (1, "A", 0),
        (3, "B", 1),
        (2, "C", 1),
        (1, "D", 0),
    ]
    assert [s.heading_path for s in sections] == [(), ("A",), ("A", "B"), ("A", "C"), ("D",)]
    assert [text[s.start : s.end] for s in sections] == [
        "Intro\n\n",
        "# A\n\n",
        "### B\n\ntext\n\n",
        "## C\n\n",
        "D\n===\n",
    ]
    assert text[sections[1].start : sections[1].subtree_end] == "# A\n\n### B\n\ntext\n\n## C\n\n"
    assert (sections[0].start, sections[0].subtree_end) == (document.content_start, len(text))


@pytest.mark.parametrize(
    "text",
    [
        "```\n# no\n```\n",
        "~~~~\n# no\n~~~\n# no\n",
        "```\n# no, the fence is not closed\n",
        "    # no\n",
        "<div>\n# no\n</div>\n",
        "<!--\n# no\n\nNo\n==\n-->\n",
        "> # no\n",
        "- a\n  - # no\n",
        "#no\n",
        "\\# no\n",
        "####### no\n",
        "$$\na\n# no\nno\n===\n$$\n",
        "$$ a\n# no\nb $$\n",
        "text with <h2>no</h2>\n",
        "<h2><img></h2>\n",
        "<!-- <h2>no</h2> -->\n",
        "```\n<h2>no</h2>\n```\n",
    ],
)
def test_what_only_looks_like_a_heading_opens_no_section(text: str) -> None:
    """Fences, code, HTML blocks, comments, quotations and lists hold no section."""
    assert len(parse_document("x.md", text).sections) == 1


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# A *b* **c** `d_e` ##", "A b c d_e"),
        ("# [text](url) ![alt](image.png)", "text alt"),
        ("# [[Note|shown]] and [[Other#part]]", "shown and Other#part"),
        ("# Title {#anchor}", "Title"),
        ("# Title {/*anchor*/}", "Title"),
        ("# Title {: .c }", "Title"),
        ("# Title { #anchor }", "Title"),
        ("# Title {.class}", "Title"),
        ('# Title { id="3.2.0" }', "Title"),
        ("# Title { data-search-exclude }", "Title"),
        ("# Title {-}", "Title"),
        ("# {braces}", "{braces}"),
        ("# f(x) = {a=b, c} holds", "f(x) = {a=b, c} holds"),
        ("# 日本語　見出し", "日本語 見出し"),
        ('# <a id="x"></a>Title &amp; more', "Title & more"),
        ("# snake_case_name", "snake_case_name"),
        ("Two\nlines\n===", "Two lines"),
        ("  # Indented", "Indented"),
        ('<div align="center">\n\n<h1 id="x">\n  HTML &amp; <b>more</b>\n</h1>', "HTML & more"),
        ('<div align="center"><br>\n<h1>In a block</h1>\n</div>', "In a block"),
    ],
)
def test_a_heading_is_what_the_reader_sees(line: str, heading: str) -> None:
    """Markup and anchors are no part of a heading's text."""
    assert parse_document("x.md", f"{line}\n\ntext\n").sections[1].heading == heading


def test_a_heading_has_a_largest_length() -> None:
    """A paragraph over dashes becomes a long heading; it is kept short, its text stays in the body."""
    document = parse_document("x.md", "word " * 1000 + "\n---\n")
    assert len(document.sections[1].heading) == 1000
    assert len(parse_document("x.md", "# " + "あ" * 272 + "\n").sections[1].heading) == 272


@pytest.mark.parametrize(
    ("frontmatter", "tags"),
    [
        ("tags: [a, B, a/b, A]", ("a", "B", "a/b")),
        ("tags: a, 日本語, web dev", ("a", "日本語", "web dev")),
        ("tags: a b", ("a", "b")),
        ("tags: one", ("one",)),
        ("tags:\n- \n- x", ("x",)),
        ("tags:\n-\n", ()),
        ("tags:", ()),
        ("tags: ['#a', [b, 2024], true, {c: d}, '  ', '/']", ("a", "b", "2024", "true", "c: d")),
        ("tags: [会議，議事録]", ("会議", "議事録")),
        ("tags:\n  * a\n  * b", ("a", "b")),
        ("tag: x\nTags: [y]", ("x", "y")),
        ("tags: ['machine learning']", ("machine learning",)),
        ("keywords: retrieval augmented generation", ("retrieval augmented generation",)),
        ("keywords: web dev; b, c d", ("web dev", "b", "c d")),
        ("tags: R&amp;D, x", ("R&amp;D", "x")),
        ("tags: R&amp;D x", ("R&amp;D", "x")),
        ("tags: AT&T; b c", ("AT&T", "b c")),
        ("tags: [“a”, b”]", ("a", "b")),
    ],
)
def test_frontmatter_lists_tags_in_many_ways(frontmatter: str, tags: tuple[str, ...]) -> None:
    """Lists, comma strings, scalars and nulls all give clean tags."""
    assert parse_document("x.md", f"---\n{frontmatter}\n---\n").tags == tags


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one and #two/deep, #two-b_c.", ("one", "two/deep", "two-b_c")),
        ("#タグ と（#括弧）、#読点。#続き", ("タグ", "括弧", "読点", "続き")),
        ("#हिन्दी #e\u0301te\u0301 #🗂️", ("हिन्दी", "e\u0301te\u0301", "🗂️")),
        ("#2024 #12/34 #y2024 #2024-01", ("y2024", "2024-01")),
        ("C# a#b x/#y http://a.b/#c", ()),
        ("`#no` \\#no <a href=#no>", ()),
        ("    #no\n", ()),
        ("```\n#no\n```\n", ()),
        ("[see #no](x) [[note #no]] ![#no](y)", ()),
        ("# Heading #yes\n## Two\n", ("yes",)),
        ("- #item\n\n> #quote\n\n| #cell |\n|-|\n", ("item", "quote", "cell")),
        ("#A #a", ("A",)),
        ("## H\n{: #id}\n\n# T { #other }\n", ()),
        ('![a](b.png){ .c #id w=3 } :ok:{ style="color: #4db6ac" } [t]{: .m #id }', ()),
        ('{{< box color=" #fff" >}} {% set x = "a #fff" %} ==x=={style="c: #abc"} #yes', ("yes",)),
        ("{a=1 #b\n} {x=1} #c } {and #d} { #e", ("b", "c", "d", "e")),
        ("#two words# #work/a 2026#, #v4.0_b# #日 本#", ("two words", "work/a 2026", "v4.0_b", "日")),
        ("#one and C# #two #three a#", ("one", "two", "three")),
        ("**#bold** *#it* ==#hl== ~~#st~~ a**#no** b*#no *", ("bold", "it", "hl", "st")),
        ("\\#no\n- \\#no\n\\*#no", ()),
        ("タグ：#重要 」#次", ("重要", "次")),
        ("## #\n#- #/ ##", ()),
    ],
)
def test_inline_tags_are_found_where_they_are_meant(text: str, tags: tuple[str, ...]) -> None:
    """Tags of any script count, outside code, links, addresses and heading marks; numbers do not."""
    assert parse_document("x.md", text).tags == tags


def test_tags_of_frontmatter_come_first_and_once() -> None:
    """The first spelling of a tag is kept."""
    assert parse_document("x.md", "---\ntags: [Work]\n---\n#work #home").tags == ("Work", "home")


@pytest.mark.parametrize(
    ("frontmatter", "aliases"),
    [
        ("aliases: [A, 'b  c', A]", ("A", "b c")),
        ("aliases: One name", ("One name",)),
        ("aliases: one, two", ("one", "two")),
        ("aliases:\n- Re: the plan\n- B", ("Re: the plan", "B")),
        ("alias: 12", ("12",)),
        ("aliases:\n- \n", ()),
    ],
)
def test_aliases_are_a_list_or_a_string(frontmatter: str, aliases: tuple[str, ...]) -> None:
    """Aliases keep their inner spaces."""
    assert parse_document("x.md", f"---\n{frontmatter}\n---\n").aliases == aliases


def test_links_of_all_kinds_are_found_with_their_lines() -> None:
    """Wikilinks, embeds, inline, reference and automatic links have target, fragment, text and line."""
    text = "\n".join(
        [
            "---",
            "a: 1",
            "---",
            "[[Note]] and `code",  # 4
            "span` [[Note#Head|shown]] ![[img.png]]",
            "",
            "- [inline *text*](../a%20b.md#part 'title')",  # 7
            "  [ref] [full][ref] <https://x.example/#y> [odd](Note%20#1.md)",
            "",
            "| [[T\\|cell]] |",  # 10
            "|---|",
            "| [[#Here]] [[B#^block|c]] |",
            "",
            "[ref]: /abs/path.md#frag",
            "## [[InHeading]]",  # 15
        ]
    )
    links = parse_document("x.md", text).links
    assert [(link.kind, link.target, link.fragment, link.text, link.line) for link in links] == [
        (LinkKind.WIKI, "Note", "", "", 4),
        (LinkKind.WIKI, "Note", "Head", "shown", 5),
        (LinkKind.EMBED, "img.png", "", "", 5),
        (LinkKind.MARKDOWN, "../a%20b.md", "part", "inline text", 7),
        (LinkKind.MARKDOWN, "/abs/path.md", "frag", "ref", 8),
        (LinkKind.MARKDOWN, "/abs/path.md", "frag", "full", 8),
        (LinkKind.MARKDOWN, "https://x.example/", "y", "https://x.example/#y", 8),
        (LinkKind.MARKDOWN, "Note%20#1.md", "", "odd", 8),
        (LinkKind.WIKI, "T", "", "cell", 10),
        (LinkKind.WIKI, "", "Here", "", 12),
        (LinkKind.WIKI, "B", "^block", "c", 12),
        (LinkKind.WIKI, "InHeading", "", "", 15),
    ]


def test_links_of_html_are_links() -> None:
    """As in a README: inside a line and in a block, but not in code."""
    text = (
        "あ<a href='b.md#x'>b</a> and <A\nHREF=\"c&amp;d.md\">c</A>\n\n"
        "<p align=center>\n<a class=k href=e.md>e</a> | <a name=x>no</a> <img src=no.png>\n</p>\n\n"
        "`<a href=no.md>` <abbr href=no.md> [[f]]\n\n```\n<a href=no.md>\n```\n"
    )
    found = [(link.target, link.fragment, link.line) for link in parse_document("x.md", text).links]
    assert found == [("b.md", "x", 1), ("c&d.md", "", 1), ("e.md", "", 5), ("f", "", 8)]


@pytest.mark.parametrize(
    "text", ["`[[a]]`", "```\n[[a]] [b](c)\n```", "\\[[a]]", "[[]]", "[[a\nb]]", "[a] (b)", "    [b](c)"]
)
def test_code_and_escapes_hold_no_links(text: str) -> None:
    """What is not rendered as a link is none."""
    assert parse_document("x.md", text).links == ()


def test_blocks_tell_fences_from_the_rest() -> None:
    """Lists are given item by item and their fences by themselves; definitions are covered too."""
    text = "# H\n\ntext\n\n- a\n- b\n\n  ```\n  x\n  ```\n- c\n\n```\ny\n```\n[ref]: /x\n"
    blocks = parse_document("x.md", text).blocks
    assert [(block.kind, text[block.start : block.end]) for block in blocks] == [
        (BlockKind.HEADING, "# H"),
        (BlockKind.PARAGRAPH, "text"),
        (BlockKind.OTHER, "- a"),
        (BlockKind.OTHER, "- b"),
        (BlockKind.FENCE, "  ```\n  x\n  ```"),
        (BlockKind.OTHER, "- c"),
        (BlockKind.FENCE, "```\ny\n```"),
        (BlockKind.OTHER, "[ref]: /x"),
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"![x](data:image/png;base64,{'iVBO' * 99}) y", "![x](data:image/png;base64,…) y"),
        (f'<img src="data:image/png;base64,{"iVBO" * 99}"> y', '<img src="data:image/png;base64,…"> y'),
        (
            f"<img src=\"data:image/svg+xml,<svg a='b'>{'<x/> ' * 30}\"> y",
            '<img src="data:image/svg+xml,…"> y',
        ),
        (f"[i]: data:image/gif;base64,{'R0lG' * 99}\n\ny", "[i]: data:image/gif;base64,…\n\ny"),
        (f'<path d="{PATH_LINE * 50}"/> y', f'<path d="…{LINE_END * 50}"/> y'),
        (f"a\n\n{('iVBO' * 19 + chr(10)) * 30}iV==\n\ny", f"a\n\n{'iVBO' * 15}…{chr(10) * 30}\n\ny"),
        (f"a\n\n{('> ' + 'iVBO' * 19 + chr(10)) * 30}\ny", f"a\n\n> {'iVBO' * 15}…{chr(10) * 30}\ny"),
        ('<path d="M1 2"/>\n' * 30 + "y", f'<path d="M1 2"/>…{chr(10) * 29}\ny'),
        (".key:hover{color:red;margin:0 auto}" * 60 + " y", ".key:hover{color:red;margin:0… auto} y"),
        (("0af9" * 16 + "\n") * 30, ("0af9" * 16 + "\n") * 30),  # a list of hashes
        ("a1b2" * 300, "a1b2" * 15 + "…"),
        ("var a=b(c);" * 100, ("var a=b(c);" * 100)),
        (f"x{'f(a){return(b)};' * 100} y", f"x{('f(a){return(b)};' * 4)[:59]}… y"),
        (f'<polyline points="{"1 2, " * 50}"/> y', '<polyline points="…"/> y'),
        (f"see {f'{CODE} d=' * 40} y z", f"see {CODE}… d= y z"),
        ("|a|b|c" * 300, "|a|b|c" * 300),
        ("[Some note](folder/some-longer-name.md), " * 40, "[Some note](folder/some-longer-name.md), " * 40),
        ("-" * 2000, "-" * 2000),
        ("日本語" * 500, "日本語" * 500),
    ],
)
def test_data_is_no_text(text: str, kept: str) -> None:
    """Its beginning says that it is there; the lines stay where they are."""
    assert parse_document("x.md", text).body == kept
    assert parse_document("x.txt", text).body == kept


@pytest.mark.parametrize(
    "line",
    [
        " ".join(f"[Quagga {n}](https://example.org/a/path?q={n}&amp;size=10&amp;page=2)" for n in range(30)),
        "".join(
            f'<li><a href="q/{n}" style="color:#333;text-decoration:none;">Quagga {n}</a></li>'
            for n in range(30)
        ),
        '<td style="text-align:center;padding:4px;">Cell number</td>' * 35,
        r"Note that $\nabla_{\theta}\mathcal{L}_{\mathrm{total}}(\theta)=\sum_{i}\frac{1}{N_{i}}$ shows; "
        * 12,
        f"| row | {' | '.join(f'`function_of_number_{n}{{return_value;}}`' for n in range(30))} |",
        r"\frac{\partial\mathcal{L}}{\partial\theta}\;=\;\sum_{i}\left\{x_{i}\;y_{i}\right\} " * 20,
    ],
)
def test_long_lines_of_prose_are_text(line: str) -> None:
    """Signs of code in tags, links, references, formulas and code between backticks make no minified code."""
    assert len(line) > 1_000
    assert parse_document("x.txt", line).body == line


def test_headings_of_html_divide_their_block() -> None:
    """A section begins at the line of its heading; the rest of the block is text."""
    text = '<div>\n<h2 id="x">One</h2>\nof one\n<h3>Two\n</h3>\n</div>\n\nof two\n'
    document = parse_document("x.md", text)
    assert [(s.level, text[s.start : s.end]) for s in document.sections] == [
        (0, "<div>\n"),
        (2, '<h2 id="x">One</h2>\nof one\n'),
        (3, "<h3>Two\n</h3>\n</div>\n\nof two\n"),
    ]
    assert [(block.kind.value, text[block.start : block.end]) for block in document.blocks] == [
        ("other", "<div>"),
        ("heading", '<h2 id="x">One</h2>'),
        ("other", "of one"),
        ("heading", "<h3>Two\n</h3>"),
        ("other", "</div>"),
        ("paragraph", "of two"),
    ]


def test_admonitions_and_tabs_hold_text() -> None:
    """Their indented lines are no code; fences and indented code in them are."""
    text = (
        '!!! note "T"\n\n    [[one]] #tag\n\n    ```\n    [[no]] #no\n    ```\n\n'
        "        [[no]] #no\n\nafter\n\n"
        '???+ tip\n\n    [two](two.md)\n\n=== "Tab"\n\n    [[three]]\n\n    [[no code of its own]]\n'
    )
    document = parse_document("x.md", text)
    assert [link.target for link in document.links] == ["one", "two.md", "three", "no code of its own"]
    headings = '=== "Tab"\n\n    ## Inside {#x}\n\n    text\n\n> ## quoted\n'
    assert [each.heading for each in parse_document("x.md", headings).sections] == ["", "Inside"]
    assert document.tags == ("tag",)
    assert parse_document("x.md", "Title\n===\n\n    [[no]]\n").links == ()


def test_headings_of_an_outline_open_sections() -> None:
    """A page of Logseq is a list. Such a heading is no title, and its line a block of its own."""
    document = parse_document("x.md", "- # One\n\t- text\n\t- ## inner\n- two\n- ## Three #t\n  more\n")
    assert [(each.level, each.heading) for each in document.sections[1:]] == [(1, "One"), (2, "Three #t")]
    assert document.title == "x"
    assert document.tags == ("t",)
    blocks = [document.body[each.start : each.end] for each in document.blocks]
    assert blocks == ["- # One", "\t- text\n\t- ## inner", "- two", "- ## Three #t", "  more"]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ('[é]({{< ref "é/b.md#x" >}}) t', "é/b.md"),
        ('[a]({{% relref path="/b" lang="ja" %}})', "b"),
        ("[a]({% link _posts/2026-01-02-b.md %})", "_posts/2026-01-02-b.md"),
        ("[a]({{ site.baseurl }}{% post_url 2026-01-02-b %})", "2026-01-02-b"),
    ],
)
def test_links_of_site_generators_name_files(text: str, target: str) -> None:
    """Hugo and Jekyll write them as calls."""
    [link] = parse_document("x.md", text).links
    assert (link.kind, link.target) == (LinkKind.MARKDOWN, target)


@pytest.mark.parametrize(
    ("address", "target", "fragment"),
    [
        ("#readme.md", "", "readme.md"),
        ("https://x.org/a#readme.md", "https://x.org/a", "readme.md"),
        ("a.md#readme.md", "a.md", "readme.md"),
        ("C#%20notes.md", "C#%20notes.md", ""),
    ],
)
def test_a_number_sign_is_part_of_the_name_of_a_note_alone(address: str, target: str, fragment: str) -> None:
    """Of an anchor in the same note and in an address of the web it is none."""
    [link] = parse_document("x.md", f"[x]({address})").links
    assert (link.target, link.fragment) == (target, fragment)


def test_dendron_writes_the_text_of_a_link_first() -> None:
    """All of its notes have an id and a description; a target that begins like the note is a name, too."""
    text = "[[The plan|proj.plan#h]] [[plain]] [[Plan]]"
    note = parse_document("proj.a.md", f"---\nid: x\ndesc: ''\n---\n{text} [[b|c]]")
    assert [(each.target, each.fragment, each.text) for each in note.links] == [
        ("proj.plan", "h", "The plan"),
        ("plain", "", ""),
        ("Plan", "", ""),
        ("c", "", "b"),
    ]
    assert parse_document("proj.a.md", text).links[0].target == "proj.plan"
    for path, target in (("a.md", "The plan"), ("proj.a.md", "Plan")):
        assert parse_document(path, f"[[{target}|proj.plan]]").links[0].target == target


def test_pages_of_notion_have_properties_below_their_title() -> None:
    """The text stays as it is; others may begin so without meaning it."""
    text = "# Page\n\nTags: a, b c\nCreated: January 5, 2026 3:04 PM\n\nText\n"
    page = parse_document(f"Page {'0af9' * 8}.md", text)
    assert page.tags == ("a", "b c")
    assert page.updated_ns is not None
    assert page.body == text
    assert parse_document("Page.md", text).tags == ()


def test_tags_of_several_words_are_links_of_logseq() -> None:
    """A hash sign before a wikilink makes it a tag, too."""
    document = parse_document("x.md", "a #[[two words]] and [[no tag]]\n")
    assert document.tags == ("two words",)
    assert [link.target for link in document.links] == ["two words", "no tag"]


def test_inline_fields_have_values() -> None:
    """On a line of their own, in an item or in brackets; not in code, and not where a name has colons."""
    text = (
        "# T\n\ndue:: 2026-12-01\n- [ ] task (rating:: 5) [who:: Bob]\n\n**Key one**:: v w\n\n> who:: Eve\n"
        "\n- ✔️ done:: no\n\nat [**in_city**:: [[New York]]] [🦷:: 32]\n"
        "\nstd::vector\n\nfoo :: Int [2408:824c::2b8b] (in `std::vec`) [a :: b] (`:::`)\n"
        "\n```\nno:: no\n```\n"
    )
    assert parse_document("x.md", text).fields == {
        "due": "2026-12-01",
        "rating": "5",
        "who": ["Bob", "Eve"],
        "Key one": "v w",
        "done": "no",
        "in_city": "[[New York]]",
        "🦷": "32",
    }


def test_inline_fields_give_tags_and_aliases() -> None:
    """Logseq writes them below a block, and Roam with hash signs."""
    document = parse_document("x.md", "- tags:: a, [[b c]]\n- alias:: Q, R\n- Tags:: #d #[[e f]]\n")
    assert {*document.tags} == {"a", "b c", "d", "e f"}
    assert document.aliases == ("Q", "R")
    assert parse_document("x.md", "- keyword:: a phrase of several words\n").tags == ()


def test_cues_of_a_transcript_are_sentences() -> None:
    """Numbers, times and styles are hidden, as comments are; the lines stay, with the name of who speaks."""
    first = "1\n00:00:01.000 --> 00:00:04.000 align:start\n<v Mika> the <c.red>quarterly</c></v>\n"
    text = f"WEBVTT\n\n{first}\n00:04,000 --> 00:06,000\n{{\\an8}}<00:05.000>review\n"
    document = parse_document("x.vtt", text)
    assert document.body.split() == ["Mika:", "the", "quarterly", "review"]
    assert document.body.count("\n") == text.count("\n")
    assert with_comments(document.body, document.comments) == text


def test_voices_of_a_transcript_are_names() -> None:
    """Also with classes, in one line, and above the same words: two people may say the same."""
    text = (
        "WEBVTT\n\n1\n00:01.000 --> 00:02.000\n<v Priya Nair>次の監査は…</v>\n\n"
        "00:02.000 --> 00:03.000\n<v.first.loud 山田 太郎><i>はい</i></v> <v Ken>はい</v>\n\n"
        "00:03.000 --> 00:04.000\n<v Ken>はい</v>\n\n00:04.000 --> 00:05.000\n<v Ken>はい</v>\n\n"
        "00:05.000 --> 00:06.000\n<v>5 < 6</v> <v Ken {\\an8}>no\n<v Id>\n00:06.000 --> 00:07.000\n"
    )
    document = parse_document("x.vtt", text)
    said = [" ".join(line.split()) for line in document.body.splitlines() if line.strip()]
    assert said == [
        "Priya Nair: 次の監査は…",
        "山田 太郎: はい Ken: はい",
        *["Ken: はい"] * 2,
        "5 < 6 <v Ken >no",
    ]
    assert with_comments(document.body, document.comments) == text


def test_what_a_transcript_does_not_show_is_hidden() -> None:
    """The header of WebVTT, its styles and notes, and the second of two equal lines, as captions repeat."""
    text = (
        "WEBVTT - Weekly\nKind: captions\nLanguage: en\n\nSTYLE\n::cue { color: lime }\n\nNOTE by hand\n\n"
        "00:00:00.160 --> 00:00:02.389 align:start\n \nhello<00:00:00.480><c> and</c><00:01.640><c> all</c>\n"
        "\n00:00:02.389 --> 00:00:02.399\nhello and all\n \n\n00:02.399 --> 00:04.000\nhello and all\nyou\n"
        "\n00:05.000 --> 00:06.000\nNOTE the time\nNOTE the time\n"
    )
    document = parse_document("x.vtt", text)
    assert " ".join(document.body.split()) == "hello and all you NOTE the time"
    assert with_comments(document.body, document.comments) == text
    damaged = "WEBVTT\n00:01.000 --> 00:02.000\nfirst words\n"
    assert parse_document("x.vtt", damaged).body.split() == ["first", "words"]


def test_plain_text_is_paragraphs() -> None:
    """A text file has no headings, tags, links or frontmatter."""
    text = "---\ntitle: x\n---\n\n  # no #tag [[no]]\n  more\n \n\nlast"
    document = parse_document("note.txt", text)
    assert [text[block.start : block.end] for block in document.blocks] == [
        "---\ntitle: x\n---",
        "  # no #tag [[no]]\n  more",
        "last",
    ]
    assert (document.tags, document.links, len(document.sections)) == ((), (), 1)
    assert (document.content_start, dict(document.frontmatter)) == (0, {})


@pytest.mark.parametrize(
    ("days", "headings"),
    [
        (["2024/03/15(金)", "2024/03/16(土)"], ["2024/03/15(金)", "2024/03/16(土)"]),
        (["2024.03.15 金曜日", " 2024年3月16日（土） "], ["2024.03.15 金曜日", "2024年3月16日（土）"]),
        (["Friday, 15 March 2024", "Mar 16, 2024"], ["Friday, 15 March 2024", "Mar 16, 2024"]),
        (["2024-03-15", "2024-03-16 08:50", "on 2024-03-17"], []),
        (["2024-03-15"], []),
    ],
)
def test_the_days_of_a_log_are_its_headings(days: list[str], headings: list[str]) -> None:
    """Each line that is nothing but a day, where there are several; the date of a letter is none."""
    text = "".join(f"{day}\n10:15\tAnna\tsee you\n\n" for day in days)
    document = parse_document("log.txt", text)
    assert [each.heading for each in document.sections[1:]] == headings
    found = [each for each in document.blocks if each.kind is BlockKind.HEADING]
    assert [text[each.start : each.end].strip() for each in found] == headings
    covered = "".join(text[each.start : each.end] for each in document.blocks)
    assert "".join(covered.split()) == "".join(text.split())


def test_the_line_of_an_article_is_a_heading_or_begins_its_text() -> None:
    """A line that goes on with text is all of it in a paragraph, below its own heading."""
    text = "前文\n\n第1条（目的）\n　定める。\n\n第2条　甲は、払う。\n２　乙は、受ける。\n"
    document = parse_document("a.txt", text)
    assert [each.heading for each in document.sections] == ["", "第1条（目的）", "第2条"]
    assert [(each.kind, text[each.start : each.end]) for each in document.blocks] == [
        (BlockKind.PARAGRAPH, "前文"),
        (BlockKind.HEADING, "第1条（目的）"),
        (BlockKind.PARAGRAPH, "　定める。"),
        (BlockKind.PARAGRAPH, "第2条　甲は、払う。\n２　乙は、受ける。"),
    ]


@pytest.mark.parametrize("suffix", [".md", ".markdown", ".mdx", ".MD", ".qmd", ".Rmd", ".mdown"])
def test_markdown_goes_by_the_suffix(suffix: str) -> None:
    """The suffixes of Markdown are known in any case."""
    assert len(parse_document(f"x{suffix}", "# H\n").sections) == 2


@pytest.mark.parametrize(
    "text",
    [
        ">" * 3000 + " x",
        "- " * 3000 + "x",
        "[" * 5000,
        "![" * 3000 + "]" * 3000,
        "*_" * 3000,
        "<" * 5000,
        "".join("  " * level + "- x\n" for level in range(200)),
    ],
)
def test_deep_nesting_is_survived(text: str) -> None:
    """No recursion limit is met, and all of the text stays in blocks."""
    document = parse_document("x.md", text)
    assert "".join(text[b.start : b.end] for b in document.blocks).split() == text.split()


def test_hidden_marks_and_odd_line_breaks_do_not_shift_lines() -> None:
    """Only line feeds count as line ends: U+2028, form feed and the like stay inside a line."""
    text = "a\u2028b\x0cc\x0bd\x85e\n\n# H\u200b\n\n[[x]]\n"
    document = parse_document("x.md", text)
    assert document.links[0].line == 5
    assert document.sections[1].start == text.index("# H")


def test_a_title_is_no_longer_than_a_heading() -> None:
    """It is shown in one line with every hit."""
    document = parse_document("x.md", f"---\ntitle: {'long ' * 1_000}\n---\n")
    assert len(document.title) == 1_000
    assert document.title.endswith("…")


@pytest.mark.parametrize(
    "part",
    [
        *("# h\n", "[[", "![", "`a ", "``a`", "| x | y |\n|---|---|\n", "*a _b ", "<a ", "[a](", "> ", "- "),
        *("#a ", "[[a]] ", "[a](b) ", "&a", "](a", "a-", "%%a ", "<!-- ", "word ", "漢字"),
        *(
            "$$\na\n\n",
            "$$\na b\n",
            "!!! a\n\n    b\n",
            "<h1>",
            "<h1>\n",
            "a:: b\n",
            "[a:: ",
            "[**a",
            "** :",
            "| [[a|",
            "[[a|b]]c",
            "{/* ",
            "___a ",
            "$$ a\n",
            "<path/>",
            "\"data:a/b,'",
            "> aZ+/",
            "a~1^",
            "<v ",
            "U.S.a-1,000年",
            "らー",
            "々",
        ),
    ],
)
def test_a_file_of_signs_takes_linear_time(part: str) -> None:
    """Whatever is repeated: parsing, cutting and the terms take as much longer as the file is longer."""

    def work(text: str) -> None:
        document = parse_document("x.md", text)
        cut = SectionChunker(token_ends=estimate_token_ends).chunk(document)
        make_record(SourceEntry("x.md", "x.md", 1, len(text)), b"", "", document, cut.chunks)

    assert_grows_linearly(lambda size: part * (size // len(part)), work, 4_000)


@pytest.mark.parametrize("word", ["ab ", "abc"])
def test_long_lines_take_linear_time(word: str) -> None:
    """A line that is too short to be data is read once."""
    assert_grows_linearly(
        lambda size: (word * (size // len(word)) + "\n") * 2_000,
        lambda text: parse_document("x.txt", text),
        120,
    )


@pytest.mark.parametrize(
    ("path", "start", "part"),
    [
        ("x.md", "$$\n", "a b c d\n"),
        ("x.md", "!!! a\n", "        \n"),
        ("x.md", "<h1>", "a b "),
        ("x.md", "[", "a b "),
        ("x.md", "[", "![a]"),
        ("x.md", "", "data:a/b;"),
        ("x.md", '"data:a/b,', "a "),
        ("x.md", "$$ a\n", "a b c d\n"),
        ("x.md", "", "#a b c d e.f "),
        ("x.md", "[a](", "{{ a "),
        ("x.md", "", f"{'aZ' * 40}\n"),
        ("x.md", "", "- # a\n"),
        ("x.md", "---\ntitle: a\n", "b: [\n"),
        ("x.md", "", "if(a){return;} "),
        ("x.md", "a %% b\n", " "),
        ("x.md", "---\na: '#'\ntitle:", " "),
        ("x.md", "<p>", "<a "),
        ("x.md", "<a", " href"),
        ("x.md", "Title: a\n", "b: c\n"),
        ("x.md", "% a\n", "% b\n"),
        ("x.md", "", "**#a "),
        ("x.md", "", "*"),
        ("x.txt", "1\n00:00 --> ", "0:00 --> "),
    ],
)
def test_what_is_begun_and_never_ends_takes_linear_time(path: str, start: str, part: str) -> None:
    """No expression goes back over the text that it has read."""
    assert_grows_linearly(
        lambda size: start + part * (size // len(part)) + "\n---\n\n# H\n",
        lambda text: parse_document(path, text),
        4_000,
    )


@pytest.mark.parametrize(
    ("text", "heading", "targets"),
    [
        ("# 値は**「重要」**です\n\n**[[a]]**。**[b](**「b.md)**。\n", "値は「重要」です", ["a", "**「b.md"]),
        ("# $5 or $x$ and `$6`\n\n$7 [[a]] ($8) [b](c$9.md)\n", "$5 or $x$ and $6", ["a", "c$9.md"]),
        ("# A[^1]\n\n[^1]: [[a]]\n\n    [[b]]\n\n    # No\n", "A", ["a", "b"]),
        (
            "# A\n\n$| [[a]] | b |\n|---|---|---|\n| c | d |$\n\n$| [[no]] | b |\n|---|---|\n| c |$\n",
            "A",
            ["a"],
        ),
    ],
)
def test_what_the_parser_reads_otherwise_is_as_written(text: str, heading: str, targets: list[str]) -> None:
    """Stars next to Japanese are emphasis, money is no formula, and footnotes are text."""
    document = parse_document("x.md", text)
    assert [each.heading for each in document.sections if each.level] == [heading]
    assert [each.target for each in document.links] == targets


def test_footnotes_without_a_line_between_them_are_one_block() -> None:
    """As lines of a paragraph are; one after a blank line is another."""
    document = parse_document("x.md", "a\n\n[^1]: One, two.\n[^2]: three\n\n[^3]: Four.\n")
    assert [document.body[each.start : each.end] for each in document.blocks] == [
        "a",
        "[^1]: One, two.\n[^2]: three",
        "[^3]: Four.",
    ]


def test_a_text_of_too_many_signs_keeps_its_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser would take a gigabyte for ten megabytes of brackets: links and emphasis are left out."""
    text = f"# One\n\n[a](b)\n\n{'[[' * 60}\n\n## Two\n"
    links = parse_document("x.md", text).links
    monkeypatch.setattr("mdvec.documents.events._MAX_SIGNS", 100)
    document = parse_document("x.md", text)
    assert (len(links), len(document.links)) == (1, 0)
    assert [section.heading for section in document.sections] == ["", "One", "Two"]


def test_footnotes_are_no_links() -> None:
    """One without spaces looks like the definition of a link, as most Japanese ones do."""
    document = parse_document(
        "x.md", "本文[^1]と[[注]]。\n\n[^1]: 青葉のような脚注。\n[^1]: https://x.example/\n"
    )
    assert [link.target for link in document.links] == ["注"]


def test_an_image_of_a_note_is_a_link() -> None:
    """Obsidian embeds it."""
    links = parse_document("x.md", "![a](b.md#c) ![d](e.png) ![[f.md]]\n").links
    assert [(link.target, link.fragment) for link in links] == [("b.md", "c"), ("f.md", "")]


def test_links_in_the_description_of_an_image_are_none() -> None:
    """Nobody can follow them."""
    assert parse_document("x.md", "![[a](b) c](d.png)").links == ()
