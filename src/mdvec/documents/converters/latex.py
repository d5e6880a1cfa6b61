"""LaTeX: headings, lists, code, formulas and metadata as Markdown. Macros are not run."""

from __future__ import annotations

import re
from unicodedata import normalize

from mdvec.documents.converters import fenced, frontmatter, plain, text_of

# Letters for private use take the place of what is Markdown already, and of signs that are text.
_PRIVATE = re.compile("[\ue000-\ue1ff]")
_HELD = re.compile("\ue000(\\d+)\ue001")
_BODY = "\ue002"
_HEADING = "\ue003"
_END_OF_COMMAND = "\ue004"
_FIRST_SIGN = 0xE100
_HELD_SIGN = re.compile("[\ue100-\ue1ff]")

_LEVELS = {
    **dict.fromkeys(("part", "chapter"), 1),
    "section": 2,
    **dict.fromkeys(("subsection", "frametitle"), 3),
    "subsubsection": 4,
    "paragraph": 5,
}
_METADATA = ("title", "author", "date")
_NO_TEXT = re.compile(
    r"label|(?:eq|page|auto|name|[cC])?ref|index\w*|[hv]space|includegraphics|bibliography(?:style)?|color|definecolor"
    r"|(?:this)?pagestyle|documentclass|usepackage|(?:re)?newcommand|multi(?:column|row)|set(?:length|counter)"
)
# The text of a command with one argument or two; the text of any other is that of its arguments.
_FORMS = {
    **{name: f"\n\n{_HEADING * level} {{0}}\n\n{{1}}" for name, level in _LEVELS.items()},
    **dict.fromkeys(("begin", "end"), "\n"),
    **dict.fromkeys(("cite", "citep", "citet"), "[{0}]{1}"),
    **dict.fromkeys(("href", "textcolor", "colorbox"), "{1}"),
    "footnote": " ({0}){1}",
}
_MAX_DEPTH = 20  # of arguments in arguments

_CODE = "verbatim|Verbatim|lstlisting|minted|alltt|comment"
_FORMULA = "equation|align|gather|multline|displaymath|eqnarray|math"
# What is read from left to right before anything in it can be a command: ends of lines, signs that are text,
# comments, code and formulas. No beginning is looked for beyond the next one, so this takes linear time.
_VERBATIM = re.compile(
    r"(?P<newline>\\\\(?:\[[^\[\]\n]*\])?(?:\s*\\[a-z]*(?:line|rule)\b)*[ \t]*\n?)"
    r"|\\(?P<sign>[%&_#${}])|(?P<comment>%[^\n]*\n?[ \t]*)"
    rf"|\\begin\{{(?P<code>{_CODE})\*?\}}(?:\[(?P<options>[^\[\]\n]*)\])?(?:\{{(?P<language>\w*)\}})?"
    rf"(?P<source>(?:(?!\\begin\{{(?:{_CODE})\}}).)*?)\\end\{{(?P=code)\*?\}}"
    rf"|\\begin\{{(?P<formula>{_FORMULA})\*?\}}"
    rf"(?P<display>(?:(?!\\begin\{{(?:{_FORMULA})\*?\}}).)*?)\\end\{{(?P=formula)\*?\}}"
    r"|\\\[(?P<bracketed>(?:(?!\\\[).)*?)\\\]|\$\$(?P<dollars>[^$]+)\$\$"
    r"|\\\((?P<parenthesised>(?:(?!\\\().)*?)\\\)|\$(?P<inline>[^$]+)\$"
    r"|\\(?:verb|lstinline)\*?(?P<mark>[^\w\s*{\[])(?P<short>[^\n]*?)(?P=mark)",
    re.DOTALL,
)
# Options of an environment, such as the place of a figure.
_OPTIONS = re.compile(r"(?<=\\begin\{frame\})\[[^\[\]]*\]|(?<=\})\[(?:[!a-zA-Z]{1,4}|[^\[\]]*=[^\[\]]*)\]")
_FRAME = re.compile(r"\\begin\{frame\}\{")  # a slide with its title
_LANGUAGE = re.compile(r"language=(\w+)")
_COMMAND = re.compile(
    r"\\([a-zA-Z]+)\*?(?:\[[^\[\]]*\])*\s?\{([^{}]*)\}(?:\{([^{}]*)\})?|(?<![a-zA-Z*}\]])\{([^{}]*)\}"
)
_ITEM = re.compile(r"\n?\\item\b(?:[ \t]*\[([^\[\]\n]*)\])?[ \t]*")
_NAME = re.compile(r"\\((?:La)?TeX|l?dots)\b(?:\{\})?")
_ACCENT = re.compile(r"\\(['`^\"~])\{?\\?([a-zA-Z])\}?")
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303"}
_SIGNS = {"``": "“", "''": "”", "---": "—", "--": "–", "~": " ", "\\ ": " "}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_CELL_END = re.compile(r"[ \t]*&[ \t]*")
_OTHER = re.compile(r"\\(?:[a-zA-Z]+\*?(?:\[[^\[\]\n]*\])?[ \t]?|[^\w\s])|[{}]")
_SPACES = re.compile(r"[ \t]+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")


def convert_latex(raw: bytes) -> str:
    """Return the Markdown of a LaTeX file, or of a part of one."""
    values: dict[str, str] = {}
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        if found.lastgroup in {"newline", "comment", "sign"}:
            newline = "\n" if found["newline"] else ""
            return chr(_FIRST_SIGN + ord(found["sign"])) if found["sign"] else newline
        held.append(_markdown_of(found))
        return f"\ue000{len(held) - 1}\ue001"

    def replaced(found: re.Match[str]) -> str:
        name, first, second = found[1], found[2], found[3] or ""
        if not name:
            return _END_OF_COMMAND + found[4]
        if name in _METADATA:
            values.setdefault(name, _without_commands(first))
            return ""
        if name in {"begin", "end"} and first == "document":
            return _BODY
        if _NO_TEXT.fullmatch(name):
            return _END_OF_COMMAND
        argument = " ".join(first.split()) if name in _LEVELS else first
        return _END_OF_COMMAND + _FORMS.get(name, "{0}{1}").format(argument, second)

    text = _VERBATIM.sub(hold, _PRIVATE.sub("", text_of(raw)))
    text = _FRAME.sub(r"\\frametitle{", _OPTIONS.sub("", text))
    text = _NAME.sub(lambda found: "…" if found[1].endswith("dots") else found[1], text)
    text = _ACCENT.sub(lambda found: normalize("NFC", found[2] + _ACCENTS[found[1]]), text)
    for _ in range(_MAX_DEPTH):
        text, count = _COMMAND.subn(replaced, text)
        if not count:
            break
    body = text.split(_BODY)[_BODY in text]
    lines = _without_commands("\n".join(map(str.strip, body.split("\n"))))
    shown = _HELD.sub(lambda found: held[int(found[1])], plain(lines).replace(_HEADING, "#"))
    metadata = {key: values.get(key) for key in _METADATA}
    return frontmatter(metadata) + _BLANK_LINES.sub("\n\n", shown).strip() + "\n"


def _markdown_of(found: re.Match[str]) -> str:
    """Return code or a formula as Markdown."""
    match found.lastgroup:
        case "source" if found["code"] == "comment":
            return ""
        case "source":
            language = found["language"] or "".join(_LANGUAGE.findall(found["options"] or ""))
            code = fenced(found["source"].strip("\n"), language.lower())
            return f"\n\n{code}\n\n"
        case "short":
            return f"`{found['short'].replace('`', '')}`"
        case "inline" | "parenthesised":
            return f"${found[found.lastgroup].strip()}$"
        case _:
            return f"\n\n$${found[found.lastgroup or 0].strip()}$$\n\n"


def _without_commands(text: str) -> str:
    """Return text in which signs and items are as in Markdown, and other commands are left out."""
    text = _ITEM.sub(lambda found: f"\n- {found[1] or ''} ".rstrip() + " ", text)
    text = _CELL_END.sub(" | ", _SIGN.sub(lambda found: _SIGNS[found[0]], text))
    text = _SPACES.sub("", _OTHER.sub("", text).replace(_END_OF_COMMAND, ""))
    return _HELD_SIGN.sub(lambda found: chr(ord(found[0]) - _FIRST_SIGN), text)
