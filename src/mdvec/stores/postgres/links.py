"""Links and names as rows; where a link leads is decided by those who ask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mdvec.stores.postgres.where import WhereReader
from mdvec.types.document import Link, LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.links import PlacedLink
from mdvec.types.query import Where

_LINK = "l.kind, l.target, l.fragment, l.text, l.line"
_PLACED = f"SELECT d.id, d.path, {_LINK} FROM links l JOIN documents d ON d.id = l.document_id"  # noqa: S608


class LinkReader(WhereReader):
    """Reads links and names."""

    def links_of(self, document_id: DocumentId) -> list[Link]:
        """Return a document's links, in order."""
        rows = self.connection.execute(
            f"SELECT {_LINK} FROM links l WHERE l.document_id = %s ORDER BY l.position",  # noqa: S608
            (document_id,),
        )
        return [_link(*row) for row in rows]

    def links_to(self, collection_id: CollectionId, key: str) -> list[PlacedLink]:
        """Return the links that may lead to the files of a name, by path of their document and position."""
        sql = f"{_PLACED} WHERE l.file_key = %s AND d.collection_id = %s ORDER BY d.path, l.position"
        return _placed(self.connection.execute(sql, (key, collection_id)))

    def previous_links(self, collection_id: CollectionId) -> list[PlacedLink]:
        """Return the links to older versions, by document and position."""
        sql = f"{_PLACED} WHERE l.kind = 'previous' AND d.collection_id = %s ORDER BY d.id, l.position"
        return self.memorized(
            ("previous", collection_id),
            lambda: _placed(self.connection.execute(sql, (collection_id,))),
        )

    def files_named(
        self, collection_id: CollectionId, keys: Iterable[str]
    ) -> dict[str, dict[str, DocumentId]]:
        """Return paths and ids of the documents whose files have one of the names, by name."""
        rows = self.connection.execute(
            "SELECT file_key, path, id FROM documents WHERE file_key = ANY(%s) AND collection_id = %s",
            (sorted(set(keys)), collection_id),
        )
        found: dict[str, dict[str, DocumentId]] = {}
        for key, path, document_id in rows:
            found.setdefault(key, {})[path] = DocumentId(document_id)
        return found

    def documents_called(self, folded: str, where: Where) -> list[DocumentId]:
        """Return the documents inside ``where`` with this name."""
        condition = self.document_condition(where)
        rows = self.connection.execute(
            f"""SELECT DISTINCT d.path, d.id FROM names n JOIN documents d ON d.id = n.document_id
            WHERE n.folded = %s AND {condition.text} ORDER BY d.path, d.id""",  # noqa: S608 - a condition of ours
            (folded, *condition.arguments),
        )
        return [DocumentId(row[1]) for row in rows]


def _placed(rows: Iterable[Any]) -> list[PlacedLink]:
    return [PlacedLink(DocumentId(document_id), path, _link(*link)) for document_id, path, *link in rows]


def _link(kind: str, target: str, fragment: str, text: str, line: int) -> Link:
    return Link(LinkKind(kind), target, fragment, text, line)
