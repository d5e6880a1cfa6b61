"""The graph of the links of a collection: what is near a document, what stands alone, what leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from mdvec.stores.interface import View
from mdvec.text.links import file_key, link_key, link_state, names_other_file, resolve
from mdvec.types.document import LinkKind
from mdvec.types.ids import CollectionId, DocumentId
from mdvec.types.links import LinkState, NearDocument
from mdvec.types.query import LinkFilter


class LinkGraph(Struct, frozen=True):
    """The links between the documents of a collection, without those to older versions.

    Attributes:
        ids: All documents, by path.
        linked: The documents that one is linked with, in either direction, by path; in order of appearance.
        unresolved: Documents with a link that leads to nothing.
    """

    ids: Mapping[str, DocumentId]
    linked: Mapping[str, Mapping[str, None]]
    unresolved: frozenset[str]

    def meeting(self, condition: LinkFilter) -> frozenset[DocumentId]:
        """Return the documents that meet a condition."""
        is_orphan = condition is LinkFilter.ORPHAN
        paths = self.ids.keys() - self.linked.keys() if is_orphan else self.unresolved
        return frozenset(self.ids[path] for path in paths)

    def near(self, path: str, steps: int) -> Iterator[NearDocument]:
        """Yield the documents at least two steps from one, the nearest first, with the one before on the way.

        Args:
            path: Where to begin; its links themselves are one step away.
            steps: How far to go.
        """
        seen = {path}
        frontier = [path]
        for step in range(1, steps + 1):
            reached: list[str] = []
            for via in frontier:
                for other in self.linked.get(via, ()):
                    if other not in seen:
                        seen.add(other)
                        reached.append(other)
                        if step > 1:
                            yield NearDocument(other, step, via)
            frontier = reached


def other_files(collection_id: CollectionId, view: View) -> dict[str, dict[str, None]]:
    """Return the paths of the files of a collection that are no documents, by their :func:`file_key`."""
    named: dict[str, dict[str, None]] = {}
    for each in view.collections.file_states(collection_id, None):
        if names_other_file(each.path):
            named.setdefault(file_key(each.path), {})[each.path] = None
    return named


def link_graph(collection_id: CollectionId, view: View) -> LinkGraph:
    """Return the graph of a collection; it reads all of its links."""
    ids = {path: each.id for path, each in view.documents.known(collection_id).items()}
    named: dict[str, list[str]] = {}
    for path in ids:
        named.setdefault(file_key(path), []).append(path)
    linked: dict[str, dict[str, None]] = {}
    unresolved: set[str] = set()
    files = other_files(collection_id, view)
    for each in view.documents.links_of(ids.values()):
        if each.link.kind is LinkKind.PREVIOUS:
            continue
        to = resolve(each.link, each.path, named.get(link_key(each.link), ()))
        if to is not None and to != each.path:
            linked.setdefault(each.path, {})[to] = None
            linked.setdefault(to, {})[each.path] = None
        elif to is None:
            file = resolve(each.link, each.path, files.get(link_key(each.link), ()))
            if link_state(each.link, None, is_file=file is not None) is LinkState.UNRESOLVED:
                unresolved.add(each.path)
    return LinkGraph(ids, linked, frozenset(unresolved))
