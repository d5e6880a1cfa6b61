"""One transaction in its parts."""

from __future__ import annotations

from msgspec import Struct

from mdvec.stores.collection_tables import CollectionTables
from mdvec.stores.document_tables import ChunkTables, DocumentTables
from mdvec.stores.tables import Tables
from mdvec.stores.vector_tables import SpaceTables, VectorTables
from mdvec.stores.word_tables import WordTables


class Snapshot(Struct, frozen=True):
    """One transaction; a :class:`mdvec.stores.interface.View`, and a ``Writer`` where it may write.

    Attributes:
        tables: Runs statements.
        collections: The collections, with their counts and states.
        documents: The documents.
        chunks: The chunks.
        words: Searches by words.
        spaces: The embedding spaces.
        vectors: The vectors, and searches by them.
        restricted: Whether it shows some of the collections, and not where they are.
    """

    tables: Tables
    collections: CollectionTables
    documents: DocumentTables
    chunks: ChunkTables
    words: WordTables
    spaces: SpaceTables
    vectors: VectorTables
    restricted: bool

    @property
    def version(self) -> int:
        """Grows with every commit that changed something."""
        return self.tables.version
