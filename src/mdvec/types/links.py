"""Relations between documents: links with their targets, and versions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import DocumentId


class PlacedLink(Struct, frozen=True):
    """A link and the document it is in.

    Attributes:
        document_id: The document.
        path: Its path.
        link: The link.
    """

    document_id: DocumentId
    path: str
    link: Link


class Versions(Struct, frozen=True):
    """The documents of a collection that replace others, by their ``previous``.

    Attributes:
        older: Paths of the versions that a document names, in its order.
        newer: Paths of the documents that name a version, by path: it is superseded.
        dangling: Links to older versions that are not there.
        cycles: Paths of documents that replace each other in a circle, each before the one that it names.
    """

    older: Mapping[DocumentId, tuple[str, ...]] = field(default_factory=dict)
    newer: Mapping[DocumentId, tuple[str, ...]] = field(default_factory=dict)
    dangling: tuple[PlacedLink, ...] = ()
    cycles: tuple[tuple[str, ...], ...] = ()


class LinkState(StrEnum):
    """The target of a link: a document, another kind of file, an address outside, or unknown."""

    DOCUMENT = "document"
    FILE = "file"
    OUTSIDE = "outside"
    UNRESOLVED = "unresolved"


class OutgoingLink(Struct, frozen=True):
    """A link of a document.

    Attributes:
        kind: How it is written.
        target: Its target as written, without the fragment.
        fragment: Heading or ``^block``; empty for none.
        text: What the reader sees, where it is another than the target; else empty.
        line: 1-based line it is in.
        state: The kind of its target.
        path: Path of the document it leads to; None when it leads to none.
    """

    kind: LinkKind
    target: str
    fragment: str
    text: str
    line: int
    state: LinkState
    path: str | None


class Backlink(Struct, frozen=True):
    """A link to a document.

    Attributes:
        path: Path of the document it is in.
        line: 1-based line it is in.
        kind: How it is written.
        fragment: Heading or ``^block`` it leads to; empty for none.
        text: What the reader sees, where it is another than the target; else empty.
    """

    path: str
    line: int
    kind: LinkKind
    fragment: str
    text: str


class NearDocument(Struct, frozen=True):
    """A document some links away from another, in either direction.

    Attributes:
        path: Its path.
        steps: How many links away, from 2.
        via: Path of the document before it on the way.
    """

    path: str
    steps: int
    via: str


class DocumentLinks(Struct, frozen=True):
    """The links of a document, and the links to it.

    Attributes:
        collection: Name of the collection.
        path: Path of the document.
        title: Title of the document.
        links: Its links, in order; those to older versions are in ``supersedes``.
        backlinks: Links to it, by path and line.
        supersedes: Paths of the older versions it names.
        superseded_by: Paths of the documents that name it as an older version.
        near: Documents further away, as many steps as was asked for.
    """

    collection: str
    path: str
    title: str
    links: tuple[OutgoingLink, ...]
    backlinks: tuple[Backlink, ...]
    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    near: tuple[NearDocument, ...] = ()
