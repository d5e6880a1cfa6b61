"""Documents as HTML: what Obsidian and CommonMark write is shown, and nothing in it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.growth import assert_grows_linearly
from tests.property.markdown import markdown_texts

from mdvec.documents.converters.web import convert_html
from mdvec.documents.parse import parse_document
from mdvec.documents.rendering import render_markdown, render_plain
from mdvec.documents.targets import Embedded
from mdvec.types.document import Link
from mdvec.types.page import PASSAGE_ANCHOR, Marked


@dataclass
class Known:
    """Targets by name: documents, images, and texts to embed."""

    documents: tuple[str, ...] = ("note", "other.md")
    texts: dict[str, str] = field(default_factory=dict)

    def meant(self, link: Link) -> Link:
        return link

    def link(self, link: Link) -> str | None:
        return f"/doc/{link.target}" if link.target in self.documents else "" if not link.target else None

    def image(self, link: Link) -> str | None:
        return f"/file/{link.target}" if link.target.endswith(".png") else None

    def embedded(self, link: Link) -> Embedded | None:
        text = self.texts.get(link.target)
        return None if text is None else Embedded(link.target, f"/doc/{link.target}", text, self)

    def tag(self, tag: str) -> str:
        return f"/?tag={tag}"


def rendered(text: str, known: Known | None = None, marked: Marked | None = None) -> str:
    return render_markdown(text, known or Known(), marked=marked).html


def text_of(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html)


# --- what is in the index ---------------------------------------------------------------------------


class Recorded(Known):
    """Records the links that lead somewhere, and the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[tuple[str, str]] = set()
        self.tags: set[str] = set()

    def link(self, link: Link) -> str | None:
        self.links.add((link.target, link.fragment))
        return None

    def tag(self, tag: str) -> str:
        self.tags.add(tag)
        return ""


PAGES = [*Path(__file__).parents[3].joinpath("docs").rglob("*.md")]


@pytest.mark.parametrize(
    "text",
    [
        "# A *b* `c` [d](e.md) [[F|g]] #h\n\n#tag [[Note#Part]] `#no` [x](y.md#z)\n",
        "# Formula $x_1$\n",
        "# Cited[^1]\n\n## Cited[^2]\n\n[^1]: Some words.\n\n[^2]: word\n",
        "# With an id {#id .class}\n",
        "> # Quoted #tag\n\n- # Listed [[Note]]\n\nSetext\n===\n",
        "# H &amp; <b>i</b> \\* ![j](k.png)\n",
        "# 値は**「重要」**です\n\n**[[Note]]**。*(see #no)*と $5 [[A]], ($6) [b](c$5.md)\n",
        "# $5 and more\n\n$| a | [[b]] |\n|---|---|---|\n| c |$\n\n$| a | [[b]] |\n|---|---|\n| c | d |$\n",
        "Cited[^1]\n\n[^1]: [[Note]] #tag\n\n    # Not a heading\n\n    [x](y.md)\n",
        '!!! note "Title"\n\n    ## In a box\n\n    [[Note]] #tag\n',
        "<h2 align=center>In HTML</h2>\n\n<h2>In HTML</h2>\n\n## In HTML\n",
        "#a_b_ #_c_ ==#no== https://x.example/_a_#no\n",
        *(pytest.param(page.read_text("utf-8"), id=f"{page.parent.name}-{page.name}") for page in PAGES),
    ],
)
def test_headings_links_and_tags_are_those_of_the_index(text: str) -> None:
    """What the page lists and leads to is what a search finds."""
    document = parse_document("note.md", text)
    known = Recorded()
    outline = render_markdown(text, known).outline
    headings = [(each.level, each.heading) for each in document.sections if each.level]
    assert [(each.level, each.text) for each in outline] == headings
    here = {(each.target, each.fragment) for each in document.links if "://" not in each.target}
    assert {(target, unquote(fragment)) for target, fragment in known.links} == here
    assert known.tags == {*document.tags}


@settings(max_examples=150, deadline=None)
@example("#a/ #b-/")
@given(markdown_texts().map(lambda text: text.replace("\0", "")))
def test_so_are_those_of_any_text(text: str) -> None:
    """Of the body: its page has the links and tags of properties in another place. Binary files have NUL."""
    document = parse_document("note.md", text)
    known = Recorded()
    outline = render_markdown(document.body[document.content_start :], known).outline
    headings = [(each.level, each.heading) for each in document.sections if each.level]
    assert [(each.level, each.text) for each in outline] == headings
    line = document.body.count("\n", 0, document.content_start)
    links = [each for each in document.links if each.line > line and "://" not in each.target]
    assert {(target, unquote(fragment)) for target, fragment in known.links} == {
        (each.target, unquote(each.fragment)) for each in links
    }
    assert {each.casefold() for each in known.tags} <= {each.casefold() for each in document.tags}


# --- what is shown --------------------------------------------------------------------------------


def test_commonmark_and_tables_are_rendered() -> None:
    """Emphasis, lists, quotations, tables with alignment, footnotes and struck text become HTML."""
    html = rendered(
        "*a* **b** ~~c~~\n\n- one\n\n> said\n\n| x | y |\n|--:|---|\n| 1 | 2 |\n\nz[^1]\n\n[^1]: foot\n"
    )
    for part in ("<em>a</em>", "<strong>b</strong>", "<s>c</s>", ">one</li>", "<blockquote", "footnote-ref"):
        assert part in html
    assert '<th align="right">x</th>' in html


def test_formulas_are_shown_as_source() -> None:
    """Nothing in them is markup; an amount of money is no formula."""
    html = rendered("$a*b*c$ と $f_{*}(x)$, $a<b>c$\n\n$$\na \\\\ b\n$$\n\n$5 or *10*$, $6\n")
    shown = text_of(html)
    for formula in ("$a*b*c$", "$f_{*}(x)$", "$a&lt;b&gt;c$", "$$\na \\\\ b\n$$", "$5 or 10$, $6"):
        assert formula in shown
    assert html.count('class="math"') == 4


def test_what_the_parser_reads_otherwise_is_shown_as_written() -> None:
    """Money, stars next to Japanese, and what is between backticks or in formulas; one tilde is no sign."""
    text = "$5、`**「a」**と $6 b`、1~2個、3~4、a と b **「c」**と、$**「x」**と$"
    shown = text_of(rendered(text))
    assert shown == "<p>$5、**「a」**と $6 b、1~2個、3~4、a と b 「c」と、$**「x」**と$</p>\n"[3:-5] + "\n"


def test_footnotes_are_numbered_by_their_references() -> None:
    """One has two references, one its own place; one is cited by another, and one by nothing."""
    text = "x[^b] ^[in *place* [1]] y[^B]\n\n[^a]: alone\n\n[^b]: cites[^c]\n\n[^c]: deep\n"
    html = rendered(text)
    assert re.findall(r'<li id="note-fn(\d)" class="footnote-item"><p[^>]*>([^<\[]*)', html) == [
        ("1", "cites"),
        ("2", "in "),
        ("3", "deep "),
        ("4", "alone"),
    ]
    assert [html.count(f'href="#note-fnref{each}"') for each in ("1", "1:1", "2", "3", "4")] == [
        1,
        1,
        1,
        1,
        0,
    ]
    assert "in <em>place</em> [1]" in html


@pytest.mark.parametrize(
    ("sign", "begin"),
    [
        ("!!!", '<div class="callout callout-note">'),
        ("???", '<details class="callout callout-note">'),
        ("???+", '<details class="callout callout-note" open="">'),
    ],
)
def test_admonitions_are_callouts(sign: str, begin: str) -> None:
    """What is indented below is text."""
    html = rendered(f'{sign} note "A *title*"\n\n    The text.\n\nafter\n')
    assert begin in html
    assert "A <em>title</em>" in html
    assert "The text.</p>" in html
    assert html.index("The text") < html.rindex("</div>" if sign == "!!!" else "</details>")
    assert "<pre" not in html


def test_a_heading_in_html_is_in_the_outline() -> None:
    """Its anchor is before it; it keeps its own id."""
    document = render_markdown('<h2 id="own">A <b>b</b></h2>\n\n## A b\n', Known())
    assert [each.anchor for each in document.outline] == ["note-a-b", "note-a-b-1"]
    assert '<span id="note-a-b"></span><h2 id="note-own">' in document.html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "朝、起きた。\nパンを食べた。\n家を出た。",
            "朝、起きた。<br>\nパンを食べた。<br>\n家を出た。",
        ),
        ("Milk\nBread\nA dozen eggs", "Milk<br>\nBread<br>\nA dozen eggs"),
        (
            f"{'word ' * 15}word\n{'word ' * 15}word\nand the end",
            f"{'word ' * 15}word\n{'word ' * 15}word\nand the end",
        ),
        (f"{'語' * 40}\n{'語' * 40}\n終わり。", f"{'語' * 80}終わり。"),
    ],
)
def test_line_breaks_are_kept_unless_lines_are_wrapped(text: str, shown: str) -> None:
    """As Obsidian shows them; wrapped Japanese continues without a space."""
    assert f">{shown}</p>" in rendered(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("参考\nhttps://example.com/article/123", "https://example.com/article/123"),
        ("(see https://example.com/a_(b), or c)", "https://example.com/a_(b)"),
        ("詳細はhttps://example.com/xを参照。", "https://example.com/x"),
        ("**https://example.com/?q=1**。", "https://example.com/?q=1"),
        ("<https://example.com/>", "https://example.com/"),
    ],
)
def test_bare_addresses_are_links(text: str, address: str) -> None:
    """What follows or surrounds an address does not belong to it."""
    assert re.findall(r'<a class="external" href="([^"]*)"[^>]*>\1</a>', rendered(text)) == [address]


def test_addresses_in_code_and_links_stay() -> None:
    """They are text there."""
    html = rendered("`https://a.example` [https://b.example](https://c.example) xhttps://d.example")
    assert re.findall(r'href="([^"]*)"', html) == ["https://c.example"]


@pytest.mark.parametrize("text", ["は、**「重要」**という", "**これは。**次", "値は**(約10)**です"])
def test_emphasis_begins_and_ends_beside_japanese(text: str) -> None:
    """CommonMark would show the stars, since punctuation stands beside them."""
    assert "<strong>" in rendered(text)
    assert "*" not in rendered(text)


def test_wikilinks_lead_to_documents() -> None:
    """A wikilink has the address of its document, the id of its heading and its own text."""
    html = rendered("[[note#Two Words|shown]] [[note]] [[#Here]] [[nowhere]]")
    assert '<a class="internal" href="/doc/note#note-two-words"' in html
    assert ">shown</a>" in html
    assert ">note</a>" in html
    assert 'href="#note-here"' in html
    assert re.search(r'<a class="missing"[^>]*>nowhere</a>', html)


def test_markdown_links_lead_to_documents_and_outside() -> None:
    """A relative link is resolved, one outside stays and tells its site nothing about the page."""
    html = rendered("[in](other.md#a%20b) [out](https://example.com/x) [gone](no.md)")
    assert 'href="/doc/other.md#note-a-b"' in html
    assert re.search(r'href="https://example.com/x" rel="noopener noreferrer nofollow"', html)
    assert re.search(r'<a class="missing"[^>]*>gone</a>', html)


def test_headings_are_the_outline() -> None:
    """Each heading has an id of its own, which the outline names, whatever markup is in it."""
    document = render_markdown("# A *b*\n\n## 見出し\n\n## 見出し\n", Known())
    assert [(each.level, each.text, each.anchor) for each in document.outline] == [
        (1, "A b", "note-a-b"),
        (2, "見出し", "note-見出し"),
        (2, "見出し", "note-見出し-1"),
    ]
    assert all(f'id="{each.anchor}"' in document.html for each in document.outline)


@pytest.mark.parametrize(("fold", "tag"), [("", "div"), ("-", "details"), ("+", "details")])
def test_callouts_have_a_kind_and_a_title(fold: str, tag: str) -> None:
    """A callout is a box; one that can be folded opens by itself with a plus sign alone."""
    html = rendered(f"> [!Warning]{fold} Mind *this*\n> The text.\n")
    assert f'<{tag} class="callout callout-warning"' in html
    assert "Mind <em>this</em>" in html
    assert (" open" in html) == (fold == "+")
    assert "[!" not in html
    assert "The text." in html


def test_a_callout_without_a_title_has_its_kind_as_one() -> None:
    """``> [!tip]`` alone says Tip; a quotation in it stays one."""
    html = rendered("> [!tip]\n> Text\n>\n> > said\n")
    assert '<div class="callout-title">Tip</div>' in html
    assert "<blockquote" in html


def test_tasks_tags_and_highlights() -> None:
    """Tasks show whether they are done, tags lead to their documents, marked text is marked."""
    html = rendered("- [ ] open\n- [x] done\n\n#a/b and ==very *new*==\n")
    assert 'class="task"' in html
    assert 'class="task done"' in html
    assert '<a class="tag" href="/?tag=a/b"' in html
    assert "<mark>very <em>new</em></mark>" in html


def test_images_of_the_vault_are_shown_and_remote_ones_are_links() -> None:
    """An image beside the notes is shown, in its size; one elsewhere is never requested."""
    html = rendered("![[a.png|300x20]] ![alt](b.png) ![far](https://example.com/c.png)")
    assert re.search(r'<img src="/file/a.png" alt="a.png" width="300" height="20"', html)
    assert '<img src="/file/b.png" alt="alt"' in html
    assert html.count("<img") == 2
    assert '<a class="external" href="https://example.com/c.png"' in html


def test_an_image_in_a_link_leads_where_the_link_does() -> None:
    """An image that is not shown is the text of its link, not a link of its own."""
    html = rendered(
        "[![*build* ok](https://b.example/b.svg) and ==![tests](https://t.example)==](https://ci.example) "
        "![c](https://c.example/c.png)"
    )
    link = '<a class="external" href="https://ci.example" rel="noopener noreferrer nofollow">'
    assert f"{link}build ok and <mark>tests</mark></a>" in html
    assert "t.example" not in html
    assert "b.example" not in html
    assert '<a class="external" href="https://c.example/c.png"' in html


def test_embeds_show_their_document() -> None:
    """An embed alone in its paragraph shows the text; its headings are no part of the outline."""
    known = Known(texts={"part": "## Inner\n\nThe *text* and [[note]].\n"})
    document = render_markdown("# Top\n\n![[part]]\n", known)
    assert "The <em>text</em> and " in document.html
    assert '<a href="/doc/part"' in document.html
    assert 'href="/doc/note"' in document.html
    assert 'class="embed"' in document.html
    assert [each.text for each in document.outline] == ["Top"]


def test_documents_that_embed_each_other_end() -> None:
    """A circle of embeds is cut after three, and the rest is a link or its name."""
    html = rendered("![[a]]", Known(documents=("a",), texts={"a": "again\n\n![[a]]\n"}))
    assert html.count("again") == 3


def test_blocks_have_ids() -> None:
    """``^id`` at the end of a block is not shown; a link to it finds it."""
    html = rendered("A block. ^my-id\n\n[[#^my-id]]\n")
    assert 'id="note-^my-id"' in html
    assert 'href="#note-^my-id"' in html
    assert text_of(html).count("^my-id") == 1


def test_code_is_coloured() -> None:
    """A language that is known has its parts in spans; any other is plain, and its HTML escaped."""
    html = rendered("```python\ndef f(): return '<b>'\n```\n\n```nolanguage\n<i>\n```\n")
    assert '<span class="k">def</span>' in html
    assert "&lt;i&gt;" in html
    assert "<b>" not in html


# --- the passage ------------------------------------------------------------------------------------


def test_what_scrolls_sideways_takes_the_focus() -> None:
    """Keys scroll a wide table or code only then."""
    shown = rendered("```\nx\n```\n\n| a |\n|---|\n| b |\n\n<pre tabindex=5>x</pre>\n")
    assert (shown.count('<pre tabindex="0">'), shown.count('<table data-line="5" tabindex="0">')) == (2, 1)


def test_the_passage_is_marked_block_by_block() -> None:
    """Blocks of the lines are marked, tight items of lists too; lines count from the file's first one."""
    text = "one\n\ntwo\n\n- three\n- four\n\nfive\n"
    html = render_markdown(text, Known(), first_line=11, marked=Marked(13, 15)).html
    marked = re.findall(r'<(\w+)[^>]*class="passage"[^>]*>(\w+)|<(\w+)[^>]*class="passage"', html)
    assert [each[1] for each in marked] == ["two", "three"]
    assert html.index(PASSAGE_ANCHOR) < html.index("two")
    assert html.count(PASSAGE_ANCHOR) == 1


def test_an_embed_is_marked_where_it_stands() -> None:
    """A link back to the line of an embed finds it."""
    known = Known(texts={"part": "inner\n"})
    html = rendered("one\n\n![[part]]\n", known, Marked(3, 3))
    assert 'data-line="3" class="passage embed"' in html
    assert html.index(PASSAGE_ANCHOR) < html.index("inner")


@pytest.mark.parametrize(
    ("query", "begins"), [("検索 索引", "二"), ("旅行", "一"), ("", "一"), ("検索", "二")]
)
def test_a_long_passage_opens_at_its_best_section(query: str, begins: str) -> None:
    """The anchor stands before the section with the most words of the query; without any, the first."""
    text = "## 一\n\n前置き\n\n## 二\n\n検索と索引\n\n## 三\n\n索引\n"
    html = render_markdown(text, Known(), marked=Marked(1, 11, query)).html
    assert re.search(rf'{PASSAGE_ANCHOR}"></span>\s*<h2[^>]*>{begins}<', html)


def test_words_are_marked_inside_the_passage_alone() -> None:
    """Japanese bigrams that touch are one mark, inside links and emphasis too."""
    html = rendered("検索の話\n\n日本語の**検索**について\n", marked=Marked(3, 3, "日本語 検索"))
    assert re.findall(r'<mark class="word">(.*?)</mark>', html) == ["日本語", "検索"]


def test_plain_text_keeps_its_lines() -> None:
    """Plain text is shown as it is, its markup too, with the passage marked."""
    html = render_plain("# no heading\n\n<b>x</b>\nこれ\n", marked=Marked(4, 4, "これ")).html
    assert "# no heading" in html
    assert "&lt;b&gt;" in html
    assert '<mark class="word">これ</mark>' in html
    assert html.count('class="plain passage"') == 1


# --- what must never run ------------------------------------------------------------------------------

PAYLOADS = [
    "<script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<img src=x onerror=alert(1)>",
    "<img src='https://evil.example/p.png'>",
    "<img src=//evil.example/p.png>",
    "<img srcset='https://evil.example/p.png 2x' src=a.png>",
    "<img src='\\\\evil.example/p.png'>",
    # Browsers drop white space and control characters of an address.
    *(
        f"<div><img{before}src=\"{address}/evil.example/p.png\"></div>"
        for before in ("/", " alt='>' ")
        for address in (
            *("/&#9;", "/&#10;", "/&#13;", "&#1;/", "&#x1f;/", " &#9; /&#9;", "&#13;/&#13;"),
            *("/&#9;\\", "\\&#10;", "&#0;&#8;/", "\x0b/", "\t/\t"),
            *("ht&#9;tp:", "&#12;http:/", "h&#10;ttps&#13;:/", "w&#9;s:/"),
        )
    ),
    "<picture><source srcset='https://evil.example/p.png'></picture>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<svg><a xlink:href='javascript:alert(1)'>x</a></svg>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='data:text/html,<script>alert(1)</script>'></object>",
    "<embed src='https://evil.example/x.swf'>",
    "<link rel=stylesheet href='https://evil.example/x.css'>",
    "<style>@import 'https://evil.example/x.css'; body { background: url(https://evil.example/p) }</style>",
    "<p style='background: url(https://evil.example/p.png)'>x</p>",
    "<base href='https://evil.example/'>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<form action='https://evil.example/'><input name=a><button formaction='javascript:a(1)'>x</button>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='JaVa\tScRiPt:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<a href='vbscript:msgbox(1)'>x</a>",
    "<a href='x' ping='https://evil.example/'>x</a>",
    "<b onmouseover=alert(1) onclick=alert(1)>x</b>",
    "<details open ontoggle=alert(1)>x</details>",
    "<video src='https://evil.example/v' poster='https://evil.example/p' autoplay></video>",
    "<audio src=x onerror=alert(1)></audio>",
    "<input autofocus onfocus=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<textarea><img title='</textarea><img src=x onerror=alert(1)>'></textarea>",
    "<table background='https://evil.example/p'><tr><td background='https://evil.example/p'>x</table>",
    "<body onload=alert(1)>",
    "<div id=help class='bar notice hit'>dressed up</div>",
    "<!--><img src=x onerror=alert(1)>-->",
    "[x](javascript:alert(1))",
    "[x](<java\nscript:alert(1)>)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml,<svg onload=alert(1)>)",
    "[[javascript:alert(1)]]",
    "[[x|<img src=x onerror=alert(1)>]]",
    "![[\"><img src=x onerror=alert(1)>.png]]",
    "![[a.png|\"onerror=alert(1)]]",
    "#tag\"onclick=alert(1)",
    "> [!\"onclick=alert(1)] <img src=x onerror=alert(1)>",
    "```\"onclick=alert(1)\n<script>alert(1)</script>\n```",
    "| <img src=x onerror=alert(1)> |\n|---|\n| x |",
    "x[^<script>]\n\n[^<script>]: <img src=x onerror=alert(1)>",
    "# <img src=x onerror=alert(1)>",
    "==<script>alert(1)</script>==",
    "<https://evil.example/\"onmouseover=alert(1)>",
    "text ^\"onclick=alert(1)",
]  # fmt: skip


FORBIDDEN = re.compile(
    "script|style|iframe|object|embed|form|input|button|link|meta|base|svg|math|video|audio|source"
    "|template|textarea|noscript|body"
)


class _Inspector(HTMLParser):
    """Collects what could run or request something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if FORBIDDEN.fullmatch(tag):
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            address = re.sub(r"[\s\x00-\x1f]", "", value or "").lower()
            if name.startswith("on") or name in {"style", "srcset", "poster", "background", "ping", "action"}:
                self.found.append(name)
            elif name == "href" and re.match(r"(?!https?:|mailto:)[a-z][a-z0-9+.-]*:", address):
                self.found.append(f"href={address}")
            elif name == "src" and (re.match(r"[a-z][a-z0-9+.-]*:|[/\\]{2}", address)):
                self.found.append(f"src={address}")
            elif name == "id" and not address.startswith("note-"):
                self.found.append(f"id={address}")
            elif name == "class" and {"bar", "notice", "hit"} & set(address.split()):
                self.found.append(f"class={address}")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_of_a_note_runs(payload: str) -> None:
    """No script, style, form, event handler, dangerous address or remote request is left, in any place."""
    known = Known(texts={"evil": payload})
    for text in (payload, f"- {payload}\n", f"> {payload}\n", f"before\n\n{payload}\n\nafter\n", "![[evil]]"):
        inspector = _Inspector()
        inspector.feed(rendered(text, known, Marked(1, 9, "alert evil x")))
        assert inspector.found == [], text


def test_harmless_html_stays() -> None:
    """What notes use HTML for is kept: folding, keys, sub- and superscript, ruby."""
    folded = "<details><summary>More</summary>\n\ninside\n\n</details>\n\n"
    html = rendered(f"{folded}<kbd>K</kbd> H<sub>2</sub>O <ruby>漢<rt>かん</rt></ruby>")
    for part in ("<details>", "<summary>", "<kbd>K</kbd>", "<sub>2</sub>", "<rt>かん</rt>"):
        assert part in html


_SIGNS = "a 港 。 < b> --> <!-- % %% # ## [ [[ ] ]] ( ) ` ``` * ** _ ~ ~~ = == \\ &amp; $ ^ { } /* - > :: ."


@given(st.lists(st.sampled_from([*_SIGNS.split(), " "]), min_size=1).map("".join).filter(str.strip))
@example("$/*$")
@example("a ^b")
def test_text_of_other_files_is_shown_as_it_is(text: str) -> None:
    """Whatever signs it has, they are signs to its reader, and no tag, link or comment."""
    document = parse_document("a.html", convert_html(f"<p>{escape(text)}</p><h2>End</h2>".encode()))
    assert "".join(unescape(text_of(rendered(document.body))).split()) == "".join(f"{text}End".split())
    assert not [*document.tags, *document.links, *document.comments]


@pytest.mark.parametrize("part", ["[[", "![", "<", "&a", "a-", "%%a ", "==a", "`a ", "*a _b ", "$a", "^["])
def test_a_paragraph_of_signs_takes_linear_time(part: str) -> None:
    """So do signs that begin something which never ends."""
    assert_grows_linearly(lambda size: part * (size // len(part)), rendered, 6_000)


@pytest.mark.parametrize(
    ("begin", "end"), [("> ", ""), ("- ", ""), ("1. ", ""), ("*a ", " a*"), ("![", "](x)"), ("> - ", "")]
)
def test_what_is_nested_deeply_is_shown(begin: str, end: str) -> None:
    """Its text is there, at the last depth that is shown."""
    html = rendered(f"{begin * 500}deep{end * 500}\n")
    assert "deep" in text_of(html)
    assert max(html.count(f"<{tag}") for tag in ("blockquote", "ul", "ol", "li", "em", "a")) <= 40
