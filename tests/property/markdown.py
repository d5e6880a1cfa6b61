"""Random Markdown, put together from what trips parsers."""

from __future__ import annotations

from hypothesis import strategies as st

_FRONTMATTER = (
    "---\ntitle: T\ntags: [a, b/c]\n---\n",
    "---\ntags: a, #b\naliases: x\n---\n",
    "---\na: b: c\n---\n",
    "---\n- list\n---\n",
    "---\nunclosed: yes\n",
    '+++\ntitle = "T"\n+++\n',
    "---\n---\n",
    "",
)
_FRAGMENTS = (
    "# H\n",
    "## 見出し #tag\n",
    "###### Six ######\n",
    "#\n",
    "Setext\n===\n",
    "Setext\n---\n",
    "---\n",
    "```\n# no\n```\n",
    "```\nunclosed\n",
    "~~~py\n  x = 1\n\n\n  y = 2\n~~~\n",
    "    indented\n\n    code\n",
    "<div>\n# no\n</div>\n",
    "<!-- open\n",
    "-->\n",
    "<span>",
    "> quote\n> ```\n> # no\n",
    "- item\n",
    "  - nested\n\n    ```\n    x\n    ```\n",
    "1. one\n",
    "| a | b |\n|---|---|\n| [[x\\|y]] | #t |\n",
    "[[Note#Part|shown]]",
    "![[embed]]",
    "[text](a/b.md#c)",
    "[ref]: /url 'title'\n",
    "[ref]",
    "`code #no`",
    "``",
    "#tag/nested",
    "#日本語",
    "A sentence. And another one! ",
    "日本語の文。「引用。」と続く。",
    "word ",
    "e\u0301\u0302",
    "👨‍👩‍👧‍👦",
    "🇯🇵🇫🇷",
    "か\u3099",
    "\u200b\ufeff",
    "\u2028\x0b\x0c\x85",
    "\t",
    "  ",
    "\u3000",
    "\\",
    "***",
    "&amp;",
    "{#id}",
    "%%",
    "%%\n",
    "%%hidden #no [[no]]%%",
    "\n",
    "\n\n",
    "\n\n\n \n",
)


@st.composite
def markdown_texts(draw: st.DrawFn) -> str:
    """Texts of up to some forty fragments, with line ends as a file has them after decoding."""
    front = draw(st.sampled_from(_FRONTMATTER))
    pieces = draw(st.lists(st.one_of(st.sampled_from(_FRAGMENTS), st.text(max_size=6)), max_size=40))
    return (front + "".join(pieces)).replace("\r", "")
