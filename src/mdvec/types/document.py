"""A document as its source and its parser give it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

from msgspec import Struct

# Begins the comments that name a place of the original in a file that was converted.
_PLACE = "place: "
# Shorter parts of an alias are words with a stroke between them.
_MIN_PART = 3

Lines = tuple[int | None, int | None]
"""First and last line, 1-based, both included; None for an open end."""


class DocumentState(StrEnum):
    """The one state every file of a source is in."""

    READY = "ready"
    PENDING = "pending"
    SUPERSEDED = "superseded"
    DIRTY = "dirty"
    FAILED = "failed"
    EXCLUDED = "excluded"

    @classmethod
    def of(cls, *, pending_chunks: int, dirty: bool, superseded: bool) -> DocumentState:
        """Return the state of a document in the index: left out of results, or what it waits for first."""
        if superseded:
            return cls.SUPERSEDED
        return cls.DIRTY if dirty else cls.PENDING if pending_chunks else cls.READY


class TitleSource(StrEnum):
    """The origin of a document's title."""

    FRONTMATTER = "frontmatter"
    HEADING = "heading"
    FILE_NAME = "file_name"


class LinkKind(StrEnum):
    """The syntax of a link; ``previous`` is one of the older versions that frontmatter names."""

    WIKI = "wiki"
    EMBED = "embed"
    MARKDOWN = "markdown"
    PREVIOUS = "previous"


class BlockKind(StrEnum):
    """The kinds of blocks in a body, as far as cutting needs them."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    FENCE = "fence"
    OTHER = "other"


class Link(Struct, frozen=True):
    """A link found in a document.

    Attributes:
        kind: How it is written.
        target: Its target as written, without the fragment; empty for ``[[#heading]]``.
        fragment: The part after ``#`` (``^block`` references keep their ``^``), or empty.
        text: What the reader sees, or empty.
        line: 1-based line of the document.
    """

    kind: LinkKind
    target: str
    fragment: str = ""
    text: str = ""
    line: int = 1


class Comment(Struct, frozen=True):
    """A comment of the author's, which is not read or searched.

    Attributes:
        start: Where it is, in the document's body.
        text: The comment with its ``%%``.
    """

    start: int
    text: str

    @property
    def end(self) -> int:
        """One past its last character."""
        return self.start + len(self.text)


class Block(Struct, frozen=True, gc=False):
    """A block of the body: the best places to cut are between blocks.

    Attributes:
        kind: Its kind.
        start: First character, in the document's body.
        end: One past the last character.
    """

    kind: BlockKind
    start: int
    end: int


class Heading(Struct, frozen=True, gc=False):
    """A heading of the document's own (one inside a quotation or a nested list opens no section).

    Attributes:
        level: 1-6.
        text: Without markup.
        start: First character of its line, in the document's body.
        end: One past its last one, for headings of plain text; if the line goes on with text, its start.
    """

    level: int
    text: str
    start: int
    end: int = 0


class Section(Struct, frozen=True, gc=False):
    """A node of the section tree, in document order.

    The first section (ordinal 0) is the document itself: depth 0, the text before the first heading.
    A section's span ends where the next heading starts, whatever its level, so that the spans of all
    sections follow each other without gap; its subtree ends at ``subtree_end``.

    Attributes:
        ordinal: Position in the tree's document order, from 0.
        parent: Ordinal of the parent section; None for the root.
        level: Heading level 1-6; 0 for the root.
        heading: Heading text without markup; empty for the root.
        heading_path: Headings from the outermost to this one (the root has none).
        start: First character (of the heading itself) in the body.
        end: One past the last character of its own text, without its subsections.
        subtree_end: One past the last character of its last descendant.
    """

    ordinal: int
    parent: int | None
    level: int
    heading: str
    heading_path: tuple[str, ...]
    start: int
    end: int
    subtree_end: int


class Document(Struct, frozen=True):
    r"""A parsed document.

    Attributes:
        path: Relative to the source's root, with ``/``, in NFC.
        title: For people; see ``title_source``.
        title_source: Where the title was found.
        body: The whole decoded text of the file, frontmatter included, every line end as ``\n``,
            without a byte order mark, and white space for every character of a comment. All positions
            count characters of this text.
        content_start: Where the text after the frontmatter starts.
        sections: The section tree in document order; never empty.
        frontmatter: Parsed frontmatter (JSON-compatible values), empty when there is none.
        tags: Without ``#``, in their first spelling, in order of appearance, no duplicates (by case folding).
        aliases: Other names, in order, no duplicates.
        links: In order of appearance.
        blocks: Blocks after the frontmatter, in order, not overlapping; a list counts item by item.
        warnings: Oddities, for people; such as frontmatter that does not parse.
        updated_ns: Time of the last update by its frontmatter, in nanoseconds since 1970; None without one.
        is_plain: Plain text: it has no markup, and its blocks are its paragraphs.
        comments: The parts that the author hid from readers, in order; see :func:`with_comments`.
        fields: Values of the fields in its text (Dataview), by key.
    """

    path: str
    title: str
    title_source: TitleSource
    body: str
    content_start: int
    sections: tuple[Section, ...]
    frontmatter: Mapping[str, object] = {}
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    blocks: tuple[Block, ...] = ()
    warnings: tuple[str, ...] = ()
    updated_ns: int | None = None
    is_plain: bool = False
    comments: tuple[Comment, ...] = ()
    fields: Mapping[str, object] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names that readers may use; see :func:`names_of`."""
        path = "" if self.title_source is TitleSource.FILE_NAME else self.path
        return names_of(self.title, path, self.aliases)


def names_of(title: str, path: str, aliases: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a document: its title, its file's name without extension, its aliases; each once.

    An alias that is an old path, such as ``How to/Import data``, is also known by its last part.
    """
    file_name = path.rpartition("/")[2]
    names = (title, file_name.rpartition(".")[0] or file_name, *aliases, *map(_last_part, aliases))
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _last_part(alias: str) -> str:
    """Return the last part of an alias that looks like a path; empty for ``and/or`` and the like."""
    folder, _, name = alias.rpartition("/")
    return name if min(len(folder.strip()), len(name.strip())) >= _MIN_PART else ""


def with_comments(body: str, comments: Sequence[Comment]) -> str:
    """Return a document's text as its file has it, comments included."""
    pieces: list[str] = []
    position = 0
    for comment in comments:
        pieces += body[position : comment.start], comment.text
        position = comment.end
    return "".join((*pieces, body[position:]))


def places_of(comments: Iterable[Comment]) -> Iterator[tuple[int, str]]:
    """Yield where a part of the original begins, and its name, such as ``page 7``.

    Args:
        comments: Those of a document that was converted; those of another one mark nothing.
    """
    for comment in comments:
        text = comment.text.removeprefix("<!--").removesuffix("-->").strip()
        if text.startswith(_PLACE):
            yield comment.start, text.removeprefix(_PLACE)


def parts_of_places(comments: Iterable[Comment], start: int, text: str) -> Iterator[tuple[str, str]]:
    """Yield the places of the original that a part of a document covers, in order, with the text of each.

    Args:
        comments: Those of the document, in order.
        start: Where the part begins.
        text: The part. Text before the first place has an empty name.
    """
    places = [*places_of(comments)]
    for (at, place), (end, _) in pairwise([(0, ""), *places, (start + len(text), "")] if places else []):
        if part := text[max(0, at - start) : max(0, end - start)].strip():
            yield place, part
