"""Notes of random pieces that mean something to a parser, a template or a build tool."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

RUN = "globalThis.ran=1"
TEXT = "NOTETEXT"
"""A word in every text of a note, and in no path."""
_NAMES = 40  # of folders and tags
CONTROLS = [
    *map(chr, range(0x20)),
    "\x7f",
    *map(chr, range(0x80, 0xA0)),
    *"\u2028\u2029\ufeff\u202e\u200b\ufffe",
]
_PIECES = [
    "word",
    "日本語",
    "&#13;&#13;", "&#10;&#10;", "&#0;", "&#9;", "&NewLine;", "&lt;script&gt;",
    "&colon;", "&amp;lt;b&amp;gt;",
    f"{{{{ constructor.constructor('{RUN}')() }}}}", f"{{onclick={RUN}}}",
    f"{{{{{RUN}}}}}", "${1}", "$&", "`",
    "::: tip", ":::", "<<< OUTSIDE", "<!--@include: OUTSIDE-->",
    "<!-- @include: @/public/OUTSIDE -->", "[[toc]]",
    f"</title><script>{RUN}</script>", f"<script>{RUN}</script>",
    "<script setup>SETUP</script>", "</script>",
    f"<img src=x onerror={RUN}>", f"\"onmouseover={RUN} x=\"",
    f"'onfocus='{RUN}' autofocus='", "</template>",
    f"<svg onload={RUN}>", f"<a href='java&#10;script:{RUN}'>",
    f"javascript:{RUN}", "</div></div>", "<plaintext>",
    f"<component is='script'>{RUN}</component>",
    f"<div v-html=\"'<img src=x onerror={RUN}>'\">", "<textarea>",
    "<img alt='>' src='/&#9;/other.example/x.png'>",
    "![](//other.example/x.png)", "<base href=//other.example>",
    "<style>@import '//other.example/x.css'</style>",
    "<meta http-equiv=refresh content='0;url=//other.example'>",
    "__VITE_ASSET__abc__", "__VITE_PUBLIC_ASSET__abcdef12__",
    "__VITE_PRELOAD__", "!~{001}~", "import.meta.env",
    "__VP_STATIC_START__", f"__VP_STATIC_END__', 1);{RUN};('",
    f'__VP_STATIC_END__", 1);{RUN};("', "__VP_PARAMS_START",
    f"_vp-fn_()=>{{{RUN}}}", "__VP_PARAMS_START{}__VP_PARAMS_END__", "<!--",
    "-->", "]]>", "<![CDATA[", "<?x",
    '"\n---\n\n', "\n---\n", "\n\n", "\\u003c", "\\", '"', "'", "%00",
    "../../../../etc/passwd", "{{", "}}", "#",
]  # fmt: skip


def titled(title: str, *, tags: Sequence[str] = (), more: str = "") -> str:
    """Return a note with a title, which JSON writes in the way of YAML, without a heading."""
    return f"---\ntitle: {json.dumps(title)}\ntags: {json.dumps([*tags])}\n---\n\ntext\n\n{more}\n"


def write_notes(folder: Path, source: random.Random, number: int, outside: Path, mark: Path) -> None:
    """Write notes of random pieces, in each place where a note has text.

    Args:
        folder: Where to.
        source: Of the choices.
        number: How many.
        outside: A file that no note may show.
        mark: A file that programs in the notes write.
    """
    program = f"import fs from 'node:fs'; fs.writeFileSync({json.dumps(str(mark))}, 'ran')"

    def some(most: int) -> str:
        chosen = source.choices([*_PIECES, *CONTROLS], k=source.randint(1, most))
        text = source.choice(["", " "]).join([*chosen, TEXT])
        return text.replace("OUTSIDE", str(outside)).replace("SETUP", program)

    def name() -> str:
        text = "".join(source.choices([*_PIECES, *CONTROLS[1:]], k=source.randint(1, 3)))
        return text.replace("/", "-")[:40].strip(". ") or "x"

    folder.mkdir(parents=True, exist_ok=True)
    names = [name() for _ in range(_NAMES)]
    for each in range(number):
        place = folder / source.choice(["", source.choice(names)]) / f"{name()}-{each}.md"
        place.parent.mkdir(exist_ok=True)
        properties = {
            "title": some(5),
            "tags": source.choices(names, k=2),
            "created": some(2),
            some(2): some(3),
        }
        lines = "".join(f"{json.dumps(key)}: {json.dumps(value)}\n" for key, value in properties.items())
        body = "\n\n".join(
            [
                some(6),
                f"# {some(4)}",
                f"<div>{some(5)}</div>",
                f"[{some(2)}](<{some(2)}>) [[{some(2)}|{some(2)}]] ![[{some(2)}]] #{some(1)}",
                f"## {some(3)}",
                f"```{some(2)}\n{some(5)}\n```\n\n`{some(2)}` $${some(2)}$$",
                f"| {some(2)} |\n|---|\n| {some(3)} |",
                f"> [!{some(1)}] {some(2)}\n> {some(3)}\n\n[^1]: {some(2)}",
            ]
        )
        place.write_text(f"---\n{lines}---\n{body}\n", encoding="utf-8", newline="")
