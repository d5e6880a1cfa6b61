"""Links as rows; where one leads is found when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.links import PlacedLink, Versions
from mdvec.stores.sqlite.connection import Connection
from mdvec.stores.sqlite.labels import storable
from mdvec.stores.versions import find_versions, link_key

_LINK = "l.kind, l.target, l.fragment, l.text, l.line"

# Joined in this order: without statistics the planner may start with all documents of the collection.
_NAMED = f"""SELECT d.id, d.path, {_LINK} FROM links l CROSS JOIN documents d ON d.id = l.document_id
    WHERE l.file_key = ? AND +d.collection_id = ? ORDER BY d.path, l.position"""  # noqa: S608

# The kind is part of the text, or the index of these links alone could not be used.
_PREVIOUS = f"""SELECT d.id, d.path, {_LINK} FROM links l INDEXED BY links_previous
    CROSS JOIN documents d ON d.id = l.document_id
    WHERE l.kind = 'previous' AND +d.collection_id = ? ORDER BY l.document_id, l.position"""  # noqa: S608

_DOCUMENTS_NAMED = """SELECT d.file_key, d.path, d.id FROM json_each(?) j
    CROSS JOIN documents d ON d.file_key = j.value WHERE +d.collection_id = ?"""


def put_links(connection: Connection, document_id: DocumentId, links: Sequence[Link]) -> None:
    """Write the links of a new document."""
    connection.executemany(
        """INSERT INTO links(document_id, position, kind, target, fragment, text, line, file_key)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        [
            (
                document_id,
                position,
                link.kind.value,
                storable(link.target),
                storable(link.fragment),
                storable(link.text),
                link.line,
                storable(link_key(link)),
            )
            for position, link in enumerate(links)
        ],
    )


def links_of(connection: Connection, document_id: DocumentId) -> list[Link]:
    """Return the links of a document, in order."""
    rows = connection.execute(
        f"SELECT {_LINK} FROM links l WHERE l.document_id = ? ORDER BY l.position",  # noqa: S608
        (document_id,),
    )
    return [_link(*row) for row in rows]


def links_named(connection: Connection, collection_id: CollectionId, key: str) -> list[PlacedLink]:
    """Return the links that may lead to the files of a name, by path of their document and position."""
    return _placed(connection.execute(_NAMED, (key, collection_id)))


def documents_named(
    connection: Connection, collection_id: CollectionId, keys: Iterable[str]
) -> dict[str, dict[str, DocumentId]]:
    """Return paths and ids of the documents whose files have one of the names, by name."""
    wanted = json.dumps(sorted(set(keys)))
    found: dict[str, dict[str, DocumentId]] = {}
    for key, path, document_id in connection.execute(_DOCUMENTS_NAMED, (wanted, collection_id)):
        found.setdefault(key, {})[path] = DocumentId(document_id)
    return found


def versions(connection: Connection, collection_id: CollectionId) -> Versions:
    """Find out which documents replace which."""
    previous = _placed(connection.execute(_PREVIOUS, (collection_id,)))
    if not previous:
        return Versions()
    keys = (link_key(each.link) for each in previous)
    return find_versions(previous, documents_named(connection, collection_id, keys))


def _placed(rows: Iterable[Any]) -> list[PlacedLink]:
    return [PlacedLink(DocumentId(document_id), path, _link(*link)) for document_id, path, *link in rows]


def _link(kind: str, target: str, fragment: str, text: str, line: int) -> Link:
    return Link(LinkKind(kind), target, fragment, text, line)
