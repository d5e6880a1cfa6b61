"""From the text of a file to a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from mdvec.documents.frontmatter import read_frontmatter
from mdvec.documents.markdown import read_markdown
from mdvec.documents.plain import paragraphs
from mdvec.documents.tags import distinct_tags, frontmatter_aliases, frontmatter_tags
from mdvec.documents.tree import Heading, build_sections
from mdvec.model.document import Document, TitleSource

PARSER_VERSION = 1
"""Raised when the same text gives another document: everything is then parsed and cut again."""

_MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdx"})


def parse_document(path: str, text: str) -> Document:
    r"""Parse a file.

    Files that end in ``.md``, ``.markdown`` or ``.mdx`` are Markdown. All others are plain text:
    paragraphs, and the file's name for a title.

    Args:
        path: Relative to the source's root, with ``/``.
        text: The whole file, decoded, without byte order mark, line ends as ``\n``.

    Returns:
        The document. Any text gives one; what was odd is in its warnings.
    """
    if PurePosixPath(path).suffix.lower() not in _MARKDOWN_SUFFIXES:
        return _plain_document(path, text)
    front = read_frontmatter(text)
    content = read_markdown(text, content_start=front.content_start)
    title, title_source = _title(path, front.values, content.headings)
    return Document(
        path=path,
        title=title,
        title_source=title_source,
        body=text,
        content_start=front.content_start,
        frontmatter=front.values,
        tags=distinct_tags([*frontmatter_tags(front.values), *content.tags]),
        aliases=frontmatter_aliases(front.values),
        links=content.links,
        sections=build_sections(content.headings, content_start=front.content_start, length=len(text)),
        blocks=content.blocks,
        warnings=front.warnings,
    )


def _plain_document(path: str, text: str) -> Document:
    return Document(
        path=path,
        title=_file_title(path),
        title_source=TitleSource.FILE_NAME,
        body=text,
        content_start=0,
        frontmatter={},
        tags=(),
        aliases=(),
        links=(),
        sections=build_sections((), content_start=0, length=len(text)),
        blocks=paragraphs(text),
    )


def _title(
    path: str, frontmatter: Mapping[str, object], headings: Sequence[Heading]
) -> tuple[str, TitleSource]:
    named = frontmatter.get("title")
    if isinstance(named, (str, int, float)) and not isinstance(named, bool):
        title = " ".join(str(named).split())
        if title:
            return title, TitleSource.FRONTMATTER
    for heading in headings:
        if heading.level == 1 and heading.text:
            return heading.text, TitleSource.HEADING
    return _file_title(path), TitleSource.FILE_NAME


def _file_title(path: str) -> str:
    return " ".join(PurePosixPath(path).stem.split()) or path
