"""The shape of lists of documents, and of what a document holds; as in :mod:`mdvec.interfaces.wire`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from mdvec.interfaces.encoding import iso_time
from mdvec.types.fields import doc
from mdvec.types.links import Backlink, OutgoingLink
from mdvec.types.outline import OutlineSection
from mdvec.types.report import ListedDocument


class Listed(Struct, frozen=True):
    """A document in a list."""

    collection: str
    path: str
    title: str
    updated: Annotated[str, doc("ISO 8601, UTC; empty if unknown")]
    size: Annotated[int, doc("bytes", "programs")]
    file: Annotated[str | None, doc("absolute path", "programs")]


class Documents(Struct, frozen=True):
    """Documents, the last updated first."""

    documents: tuple[Listed, ...]
    more: Annotated[bool, doc("there are others")] = False


class Map(Struct, frozen=True):
    """The sections of a document, and what it is linked with."""

    collection: str
    path: str
    title: str
    sections: tuple[OutlineSection, ...]
    links: tuple[OutgoingLink, ...]
    backlinks: tuple[Backlink, ...]
    more: Annotated[int, doc("sections and links that are left out")] = 0


def documents(values: Sequence[ListedDocument], limit: int) -> Documents:
    """Return the shape of a list of documents, which has one more than the limit if there are others."""
    return Documents(tuple(map(_listed, values[:limit])), len(values) > limit)


def _listed(value: ListedDocument) -> Listed:
    # A repository has no times.
    updated = iso_time(value.changed_ns // 1_000_000 or None) or ""
    return Listed(value.collection, value.path, value.title, updated, value.size, value.file)
