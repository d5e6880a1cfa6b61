"""A snapshot of some collections against a store that holds no others."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.contract.store_world import (
    SPACE,
    World,
    make_document,
    put,
    unit_vectors,
    vector_of,
)
from tests.property.test_store import GLOBS, PATHS, documents, write

from mdvec.errors import NotAllowedError
from mdvec.stores.interface import View
from mdvec.stores.records import VectorKind
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.stores.view import ChunkView, CollectionView, DocumentView, SpaceView, VectorView, WordView
from mdvec.text.hashing import text_hash
from mdvec.text.links import file_key
from mdvec.types.ids import ChunkId, CollectionId, DocumentId, SpaceId
from mdvec.types.query import Filters, Where

FIRST = frozenset({"first"})
QUERY = unit_vectors(1, seed=3, alike=0.5)[0]
QUERIES = QUERY.reshape(1, -1)
MANY = 99
PORTS = {
    "collections": CollectionView,
    "documents": DocumentView,
    "chunks": ChunkView,
    "words": WordView,
    "spaces": SpaceView,
    "vectors": VectorView,
}
BY_ALL = {"spaces.unrelated"}  # a scale that is measured once
REFUSED: dict[str, Callable[[View, SpaceId], object]] = {
    "spaces.all": lambda view, _: view.spaces.all(),
    "vectors.pages": lambda view, space: [*view.vectors.pages(space)],
    "vectors.known": lambda view, space: view.vectors.known(space, [text_hash("a")]),
}


class Reader:
    """Asks a snapshot everything, and says ids by what is the same in every store."""

    def __init__(self, view: View, first: CollectionId, space: SpaceId, where: Where) -> None:
        self.view, self.first, self.space, self.where = view, first, space, where
        found = {path: view.documents.find(first, path) for path in view.documents.known(first)}
        self.documents = {each.id: path for path, each in found.items() if each is not None}
        self.chunks = {
            chunk.id: (path, chunk.ordinal)
            for key, path in self.documents.items()
            for chunk in view.chunks.of_document(key)
        }

    def named(self, ids: Iterable[DocumentId]) -> list[str]:
        """Return the paths of documents."""
        return sorted(self.documents[each] for each in ids)

    def placed(self, ids: Iterable[ChunkId]) -> list[tuple[str, int]]:
        """Return the paths and numbers of chunks."""
        return sorted(self.chunks[each] for each in ids)

    def answers(self) -> dict[str, object]:
        """Return the answers of all methods of the port that may be asked."""
        view, first, space, where = self.view, self.first, self.space, self.where
        ids, chunks = [*self.documents], [*self.chunks]
        collections, documents, vectors = view.collections, view.documents, view.vectors
        near = vectors.nearest(VectorKind.TEXT, space, QUERY, where, MANY)
        nearest = vectors.nearest(VectorKind.NAME, space, QUERY, where, MANY)
        best = [key for key, _ in near]
        named = sorted((key for key, _ in nearest), key=self.documents.__getitem__)
        return {
            "collections.all": [each.name for each in collections.all()],
            "collections.activities": collections.activities(),
            "collections.counts": collections.counts(first, space),
            "collections.file_states": [
                replace(each, indexed_ms=0) for each in collections.file_states(first, space)
            ],
            "documents.page": documents.page(first, after="", prefix="", limit=MANY),
            "documents.newest": _by(self.documents, documents.newest(where)),
            "documents.known": {
                path: replace(each, id=DocumentId(0)) for path, each in documents.known(first).items()
            },
            "documents.find": [
                found and replace(found, id=DocumentId(0), collection_id=CollectionId(0), indexed_at_ms=0)
                for found in (documents.find(first, path) for path in PATHS)
            ],
            "documents.get": {
                self.documents[key]: (each.body, each.tags, each.frontmatter)
                for key, each in documents.get(ids).items()
            },
            "documents.texts": _by(self.documents, documents.texts(ids)),
            "documents.tags": documents.tags(where),
            "documents.called": [
                self.named(documents.called([each], where)) for each in ("cat", "猫", "x md")
            ],
            "documents.with_file_names": {
                key: sorted(found)
                for key, found in documents.with_file_names(first, map(file_key, PATHS)).items()
            },
            "documents.links_of": [[each.link for each in documents.links_of([key])] for key in ids],
            "documents.links_to": documents.links_to(first, file_key("x.md")),
            "documents.versions": documents.versions(first),
            "chunks.get": _by(
                self.chunks,
                {
                    key: (each.text, each.collection, each.path, each.ordinal)
                    for key, each in view.chunks.get(chunks).items()
                },
            ),
            "chunks.of_document": sorted(self.chunks.values()),
            "chunks.places": sorted(
                (self.chunks[each.id], each.skeleton or b"") for each in view.chunks.places(chunks)
            ),
            "chunks.places_in": self.placed(each.id for each in view.chunks.places_in(ids, where, MANY)),
            "words.holds_few": view.words.holds_few(where),
            "words.frequencies": sorted(view.words.frequencies([*"abcdef", "zebra"]).of_term),
            "words.bm25": self.placed(key for key, _ in view.words.bm25([*"abz"], where, MANY)),
            "words.holding": self.placed(view.words.holding([[["a", "z*"]]], where)[0]),
            "spaces.find": view.spaces.find(SPACE) is not None,
            "vectors.nearest": (
                [(self.chunks[key], cosine) for key, cosine in near],
                sorted((self.documents[key], cosine) for key, cosine in nearest),
            ),
            "vectors.similarities": [
                vectors.similarities(kind, space, QUERIES, owners).tolist()
                for kind, owners in ((VectorKind.TEXT, best), (VectorKind.NAME, named))
            ],
            "vectors.of_chunks": vectors.of_chunks(space, best).tolist(),
            "vectors.sample": self.placed(each.id for each in vectors.sample(space, 3)),
            "vectors.pending": [
                each.text for kind in VectorKind for each in vectors.pending(kind, first, space, MANY)
            ],
            "vectors.count_pending_names": vectors.count_pending_names(first, space),
        }


def _by(names: Mapping[Any, Any], values: Mapping[Any, object]) -> dict[object, object]:
    return {names[key]: value for key, value in values.items()}


def fill(store: SqliteStore, files: list[tuple[str, dict[str, Any]]], *, second: bool) -> World:
    """Write documents of the first collection, and perhaps those of the second."""
    world = World(store)
    for path, document in files:
        if second or document["collection"] == 0:
            write(world, path, document)
    if second:
        with store.write() as writer:
            put(writer, world.second.id, *make_document("zebra.md", ["a zebra", "b"], tags=("zoo",)))
    with store.read() as view:
        missing = [
            each.text
            for name in world.collections
            for kind in VectorKind
            for each in view.vectors.pending(kind, name, world.space_id, MANY)
        ]
    world.embed({text: vector_of(text, alike=0.5) for text in missing if text_hash(text)[0] % 4})
    with store.write() as writer:
        writer.vectors.drop_unused()
        if not second:
            writer.collections.delete(world.second.id)
    return world


@settings(max_examples=40, deadline=None)
@given(
    files=st.lists(st.tuples(st.sampled_from(PATHS), documents), max_size=7),
    filters=st.builds(Filters, path=st.none() | st.sampled_from(GLOBS)),
    few=st.sampled_from([0, 5_000]),
)
def test_a_reader_of_some_collections_sees_what_a_store_without_the_others_has(
    files: list[tuple[str, dict[str, Any]]], filters: Filters, few: int
) -> None:
    """Whatever it asks, also where it names the others; each method of the port is asked or refused."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdvec.stores.where_tables.FEW_CHUNKS", few)
        whole, alone = (SqliteStore(Path(folder) / name) for name in ("whole.sqlite", "alone.sqlite"))
        worlds = fill(whole, files, second=True), fill(alone, files, second=False)
        where = Where(worlds[0].collections, filters)
        with whole.read() as everything, whole.read(FIRST) as some, alone.read() as none_else:
            everything.words.bm25([*"abz"], where, MANY)  # what others have asked is no answer
            everything.vectors.nearest(VectorKind.TEXT, worlds[0].space_id, QUERY, where, MANY)
            first, space = worlds[0].first.id, worlds[0].space_id
            seen = Reader(some, first, space, where).answers()
            wanted = Reader(none_else, worlds[1].first.id, worlds[1].space_id, replace(where)).answers()
            for name, answer in wanted.items():
                if name != "words.holds_few":
                    assert seen[name] == answer, name
            for refused in REFUSED.values():
                with pytest.raises(NotAllowedError):
                    refused(some, space)
            assert some.vectors.index is None
            assert some.restricted
        ports = {
            f"{part}.{name}"
            for part, port in PORTS.items()
            for name in vars(port)
            if not name.startswith("_")
        }
        assert ports == seen.keys() | REFUSED.keys() | BY_ALL
        whole.close()
        alone.close()
