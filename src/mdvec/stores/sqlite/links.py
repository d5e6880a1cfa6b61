"""Links and names as rows; where a link leads is decided above the store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from mdvec.stores.columns import storable
from mdvec.stores.sqlite.database import Reader
from mdvec.stores.sqlite.where import document_condition
from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.links import PlacedLink
from mdvec.types.query import Where

_LINK = "l.kind, l.target, l.fragment, l.text, l.line"

# Joined in this order: without statistics the planner may start with all documents of the collection.
_TO_FILE = f"""SELECT d.id, d.path, {_LINK} FROM links l CROSS JOIN documents d ON d.id = l.document_id
    WHERE l.file_key = ? AND +d.collection_id = ? ORDER BY d.path, l.position"""  # noqa: S608

# The kind is part of the text, or the index of these links alone could not be used.
_PREVIOUS = f"""SELECT d.id, d.path, {_LINK} FROM links l INDEXED BY links_previous
    CROSS JOIN documents d ON d.id = l.document_id
    WHERE l.kind = 'previous' AND +d.collection_id = ? ORDER BY l.document_id, l.position"""  # noqa: S608


class LinkReader(Reader):
    """Reads links and names."""

    def links_of(self, document_id: DocumentId) -> list[Link]:
        """Return a document's links, in order."""
        rows = self.connection.execute(
            f"SELECT {_LINK} FROM links l WHERE l.document_id = ? ORDER BY l.position",  # noqa: S608
            (document_id,),
        )
        return [_link(*row) for row in rows]

    def links_to(self, collection_id: CollectionId, key: str) -> list[PlacedLink]:
        """Return the links that may lead to the files of a name, by path of their document and position."""
        return _placed(self.connection.execute(_TO_FILE, (key, collection_id)))

    def previous_links(self, collection_id: CollectionId) -> list[PlacedLink]:
        """Return the links to older versions, by document and position."""
        return self.memorized(
            ("previous", collection_id),
            lambda: _placed(self.connection.execute(_PREVIOUS, (collection_id,))),
        )

    def files_named(
        self, collection_id: CollectionId, keys: Iterable[str]
    ) -> dict[str, dict[str, DocumentId]]:
        """Return paths and ids of the documents whose files have one of the names, by name."""
        rows = self.connection.execute(
            """SELECT d.file_key, d.path, d.id FROM json_each(?) j
            CROSS JOIN documents d ON d.file_key = j.value WHERE +d.collection_id = ?""",
            (json.dumps(sorted(set(keys))), collection_id),
        )
        found: dict[str, dict[str, DocumentId]] = {}
        for key, path, document_id in rows:
            found.setdefault(key, {})[path] = DocumentId(document_id)
        return found

    def documents_called(self, folded: str, where: Where) -> list[DocumentId]:
        """Return the documents inside ``where`` with this name."""
        condition = document_condition(where)
        rows = self.connection.execute(
            f"""SELECT DISTINCT d.id FROM names n CROSS JOIN documents d ON d.id = n.document_id
            WHERE n.folded = ? AND {condition.text} ORDER BY d.path, d.id""",  # noqa: S608 - a condition of ours
            (storable(folded), *condition.arguments),
        )
        return [DocumentId(row[0]) for row in rows]


def _placed(rows: Iterable[Any]) -> list[PlacedLink]:
    return [PlacedLink(DocumentId(document_id), path, _link(*link)) for document_id, path, *link in rows]


def _link(kind: str, target: str, fragment: str, text: str, line: int) -> Link:
    return Link(LinkKind(kind), target, fragment, text, line)
