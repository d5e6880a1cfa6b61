"""LaTeX: headings, lists, code, formulas and metadata as Markdown. Macros are not run."""

from __future__ import annotations

import re
from unicodedata import normalize

from mdvec.documents.converters import fenced, frontmatter, plain, text_of

# Letters for private use take the place of finished Markdown, and of signs that are text.
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
    r"label|(?:eq|page|auto|name|[cC])?ref|index\w*|[hv]space|includegraphics|bibliography(?:style)?|bibitem|input"
    r"|include|color|definecolor|(?:this)?pagestyle|pagenumbering|documentclass|usepackage|selectlanguage"
    r"|multi(?:column|row)|set(?:length|counter)|addcontentsline"
)
# The text of a command with one argument or two; the text of any other is that of its arguments.
_FORMS = {
    **{name: f"\n\n{_HEADING * level} {{0}}\n\n{{1}}" for name, level in _LEVELS.items()},
    **dict.fromkeys(("begin", "end"), "\n"),
    **dict.fromkeys(("cite", "citep", "citet"), "[{0}]{1}"),
    **dict.fromkeys(("textcolor", "colorbox", "foreignlanguage"), "{1}"),
    "footnote": " ({0}){1}",
}
_MAX_DEPTH = 20  # of arguments in arguments

_CODE = "verbatim|Verbatim|lstlisting|minted|alltt|comment"
_FORMULA = "equation|align|gather|multline|displaymath|eqnarray|math"
_RULE = r"\\(?:[ch]line|[a-z]*rule)(?![a-zA-Z])(?:\[[^\[\]\n]*\])?(?:\([a-z]*\))?(?:\{[^{}\n]*\})*"
# Parts that are read from left to right before anything in them can be a command: addresses, ends of lines,
# signs that are text, comments, code and formulas, in which TeX allows no empty line. No beginning is looked
# for beyond the next one, so this takes linear time.
_VERBATIM = re.compile(
    r"\\(?:url|nolinkurl|path)\s?\{(?P<address>[^{}\s]*)\}|\\href\s?\{(?P<target>[^{}\s]*)\}(?=\s?\{)"
    rf"|(?P<newline>\\\\\*?(?:\[[^\[\]\n]*\])?(?:\s*{_RULE})*[ \t]*\n?)"
    r"|\\(?P<sign>[%&_#${}])|(?P<comment>%[^\n]*(?:\n(?![ \t]*\n)[ \t]*)?)"
    rf"|\\begin\{{(?P<code>{_CODE})\*?\}}(?:\[(?P<options>[^\[\]\n]*)\])?(?:\{{(?P<language>[^{{}}\n]*)\}})?"
    rf"(?P<source>(?:(?!\\begin\{{(?:{_CODE})\}}).)*?)\\end\{{(?P=code)\*?\}}"
    rf"|\\begin\{{(?P<formula>{_FORMULA})\*?\}}"
    rf"(?P<display>(?:(?!\\begin\{{(?:{_FORMULA})\*?\}}).)*?)\\end\{{(?P=formula)\*?\}}"
    r"|\\\[(?P<bracketed>(?:(?!(?<!\\)\\\[).)*?)\\\]|\$\$(?P<dollars>[^$]+)\$\$"
    r"|\\\((?P<parenthesised>(?:(?!(?<!\\)\\\().)*?)\\\)|\$(?P<inline>(?:[^$\n]|\n(?![ \t]*\n))+)\$"
    r"|\\(?:lstinline|mintinline)(?:\[[^\[\]\n]*\])?(?:\{[^{}\n]*\}(?=\{))?\{(?P<short>[^{}\n]*)\}"
    r"|\\(?:verb|lstinline)\*?(?P<mark>[^\w\s*{\[])(?P<marked>[^\n]*?)(?P=mark)",
    re.DOTALL,
)
# Parts that are no text: definitions of macros, rules of tables, and the columns and options of environments.
_NESTED = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_SETTINGS = re.compile(
    rf"\\(?:re|provide)?newcommand\*?(?:\{{[^{{}}]*\}}|\\[a-zA-Z]+)(?:\[[^\[\]]*\])*{_NESTED}"
    rf"|\\def\\[a-zA-Z]+[#\d]*{_NESTED}|{_RULE}"
    r"|(?<=\\begin)\{(?:tabular[xy*]?|array|longtable|minipage|multicols|wrapfigure|thebibliography)\}"
    rf"(?:\[[^\[\]\n]*\]|{_NESTED})*"
    r"|(?<=\\begin)\{\w+\*?\}\[(?:[!htbpH]{1,6}|no(?:item)?sep|[^\[\]\n]*=[^\[\]\n]*)\]"
)
_FRAME = re.compile(r"\\begin\{frame\}(?:\[[^\[\]\n]*\])?(\{)?")  # a slide, maybe with its title
_LANGUAGE = re.compile(r"language=(\w+)")
_COMMAND = re.compile(
    r"\\([a-zA-Z]+)\*?(?:\[[^\[\]]*\])*\s?\{([^{}]*)\}(?:\{([^{}]*)\})?|(?<![a-zA-Z*}\]])\{([^{}]*)\}"
)
_BRACED_LETTERS = re.compile(r"(?<![\\\w])([^\W\d_]++)\{([^{}]*)\}")
_ITEM = re.compile(r"\n?\\item\b(?:[ \t]*\[([^\[\]\n]*)\])?[ \t]*")
_LETTERS = {
    **dict(zip(("ss", "o", "O", "ae", "AE", "oe", "OE"), "ßøØæÆœŒ", strict=True)),
    **dict(zip(("aa", "AA", "l", "L", "i"), "åÅłŁı", strict=True)),
}
_LETTER = re.compile(rf"\\({'|'.join(_LETTERS)})(?![a-zA-Z])(?:\{{\}}|[ \t])?")
_ACCENT = re.compile(r"\\(['`^\"~])(?:\{\\?([a-zA-Z])\}|\\?([a-zA-Z]))")
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303"}
_NAMES = {
    **{name: name for name in ("LaTeX", "TeX")},
    **dict.fromkeys(("ldots", "dots"), "…"),
    "par": "\n\n",
    "newline": "\n",
    **dict.fromkeys(("quad", "qquad", "enspace", "hfill", "hfil", "and"), " "),
}
_NAME = re.compile(rf"\\({'|'.join(_NAMES)})(?![a-zA-Z])(?:\{{\}})?")
_SIGNS = {"``": "“", "''": "”", "---": "—", "--": "–", "~": " ", "\\ ": " "}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_CELL_END = re.compile(r"(?<![ \t])[ \t]*+&[ \t]*")
_OTHER = re.compile(r"\\(?:[a-zA-Z]+\*?(?:\[[^\[\]\n]*\])?[ \t]?|[^\w\s])|[{}]")
_SPACES = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")


def convert_latex(raw: bytes) -> str:
    """Return the Markdown of a LaTeX file, or of a part of one."""
    read = _Read()
    text = _VERBATIM.sub(read.hold, _PRIVATE.sub("", text_of(raw)))
    text = _FRAME.sub(lambda found: r"\frametitle{" if found[1] else "\n", text)
    text = _SETTINGS.sub(lambda found: "{x}" if found[0][0] == "{" else "", text)
    text = _ACCENT.sub(lambda found: normalize("NFC", (found[2] or found[3]) + _ACCENTS[found[1]]), text)
    text = _LETTER.sub(lambda found: _LETTERS[found[1]], text)
    text = _NAME.sub(lambda found: _NAMES[found[1]], text)
    for _ in range(_MAX_DEPTH):
        text, count = _COMMAND.subn(read.replaced, _BRACED_LETTERS.sub(r"\1\2", text))
        if not count:
            break
    body = text.split(_BODY)[_BODY in text]
    lines = _without_commands("\n".join(map(str.strip, body.split("\n"))))
    markdown = read.shown(plain(lines).replace(_HEADING, "#"))
    metadata = {key: read.values.get(key) for key in _METADATA}
    return frontmatter(metadata) + _BLANK_LINES.sub("\n\n", markdown).strip() + "\n"


class _Read:
    """The parts of a document that are not read again: its metadata, and code, formulas and addresses."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self._held: list[str] = []

    def hold(self, found: re.Match[str]) -> str:
        """Return what takes the place of an address, a sign, a comment, code or a formula."""
        match found.lastgroup:
            case "newline":
                return "\n"
            case "sign":
                return chr(_FIRST_SIGN + ord(found["sign"]))
            case "comment" | "target":
                return ""
        self._held.append(_markdown_of(found))
        return f"\ue000{len(self._held) - 1}\ue001"

    def shown(self, text: str) -> str:
        """Return a text with what was held in its place."""
        return _HELD.sub(lambda found: self._held[int(found[1])], text)

    def replaced(self, found: re.Match[str]) -> str:
        """Return the text of a command, or of letters in braces."""
        name, first, second = found[1], found[2], found[3] or ""
        if not name:
            return _END_OF_COMMAND + found[4]
        if name in _METADATA:
            self.values.setdefault(name, " ".join(self.shown(_without_commands(first)).split()))
            return ""
        if name in {"begin", "end"} and first == "document":
            return _BODY
        if _NO_TEXT.fullmatch(name):
            return _END_OF_COMMAND
        argument = " ".join(first.split()) if name in _LEVELS else first
        return _END_OF_COMMAND + _FORMS.get(name, "{0}{1}").format(argument, second)


def _markdown_of(found: re.Match[str]) -> str:
    """Return an address, code or a formula as Markdown."""
    match found.lastgroup:
        case "source" if found["code"] == "comment":
            return ""
        case "source":
            language = found["language"] or "".join(_LANGUAGE.findall(found["options"] or ""))
            code = fenced(found["source"].strip("\n"), language.lower())
            return f"\n\n{code}\n\n"
        case "address":
            return found["address"]
        case "short" | "marked":
            return f"`{found[found.lastgroup].replace('`', '')}`"
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
