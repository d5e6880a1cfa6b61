"""A store as someone sees it who may read some of its collections, and nothing else."""

from __future__ import annotations

from collections.abc import Collection as AnyCollection
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NoReturn, cast

from msgspec.structs import replace

from mdvec import run
from mdvec.errors import NotAllowedError, StoreError
from mdvec.stores.claims import Claim
from mdvec.stores.interface import Store, Team, View, Writer
from mdvec.stores.memo import Known, Memo, Memorizing
from mdvec.stores.records import DocumentFrequencies
from mdvec.stores.view import CollectionView, WordView
from mdvec.types.collection import Collection
from mdvec.types.ids import CollectionId, SpaceId
from mdvec.types.query import Where
from mdvec.types.report import Activity, CollectionCounts, FileStatus
from mdvec.types.store_report import PublishedVersion

PASSED_ON = {
    "documents": frozenset(
        {
            *("page", "newest", "titles", "known", "dirty", "find", "facts", "texts", "tags", "called"),
            *("with_file_names", "links_of", "links_to", "previous_links"),
        }
    ),
    "chunks": frozenset({"get", "of_document", "places", "places_in", "skeletons", "contexts"}),
    "spaces": frozenset({"find", "unrelated"}),
    "vectors": frozenset(
        {
            *("nearest_chunks", "nearest_documents", "chunk_similarities", "of_chunks", "name_similarities"),
            "sample",
        }
    ),
}
"""The methods of parts that take only ids they have returned, or a ``Where`` of collections that were shown.

They need no check of rights. Any other method does not exist in a restricted view, but for those of the two
parts below.
"""

_OWNER_HINT = "Its owner can run 'mdvec doctor'."


class _SomeMethods:
    """A part of a view of which only some methods exist.

    Args:
        part: The part.
        names: The methods.
    """

    index = None

    def __init__(self, part: object, names: frozenset[str]) -> None:
        self._part = part
        self._names = names

    def __getattr__(self, name: str) -> Any:
        if name not in self._names:
            raise AttributeError(name)
        return getattr(self._part, name)


class RestrictedCollections:
    """Those of the collections that may be read.

    Args:
        collections: All of them.
        names: The ones that may be read.
    """

    def __init__(self, collections: CollectionView, names: frozenset[str]) -> None:
        self._collections = collections
        self._names = names

    def all(self) -> list[Collection]:
        """Return the collections that may be read, by name."""
        return [each for each in self._collections.all() if each.name in self._names]

    def activities(self) -> list[Activity]:
        """Return what works on these collections, and that there is a lease, but not how far that one is.

        Neither says by which process on which machine.
        """
        unnamed = [replace(each, pid=0, host="") for each in self._collections.activities()]
        return [
            each if each.collection else replace(each, stage="", done=0, total=0)
            for each in unnamed
            if not each.collection or each.collection in self._names
        ]

    def counts(self, collection_id: CollectionId, space_id: SpaceId | None) -> CollectionCounts:
        """Count the documents, chunks and files of a collection."""
        return self._collections.counts(collection_id, space_id)

    def file_states(self, collection_id: CollectionId, space_id: SpaceId | None) -> list[FileStatus]:
        """Return the one state of every file, by path."""
        return self._collections.file_states(collection_id, space_id)


class RestrictedWords(Memorizing):
    """The words of collections that may be read.

    Args:
        words: The words of the whole store.
        collections: The collections that may be read.
        known: Whether these collections hold a term, for this version of the store; grows.
    """

    def __init__(self, words: WordView, collections: RestrictedCollections, known: Known) -> None:
        super().__init__(known)
        self._words = words
        self._collections = collections
        self.bm25 = words.bm25
        self.holding = words.holding
        self.holds_few = words.holds_few

    def frequencies(self, terms: Sequence[str]) -> DocumentFrequencies:
        """Return how common terms are in the whole store, of those that these collections hold.

        A term that only other collections hold is as one that nothing holds: neither a correction nor a
        confidence tells that it is there.
        """
        everywhere = self._words.frequencies(terms)
        inside = tuple(each.id for each in self._collections.all())
        outside = everywhere.chunks - sum(self._collections.counts(each, None).chunks for each in inside)
        # What more chunks hold than there are outside need not be looked up.
        held = {
            term: count
            for term, count in everywhere.of_term.items()
            if count > outside or self._holds(term, Where(inside))
        }
        return DocumentFrequencies(everywhere.chunks, held)

    def _holds(self, term: str, inside: Where) -> bool:
        return self.memorized(
            term, lambda: bool(inside.collections and self._words.holding([[term]], inside, limit=1))
        )


class RestrictedView:
    """A snapshot of a store that shows some of its collections; a :class:`mdvec.stores.interface.View`.

    Args:
        view: The snapshot of the whole store.
        names: The collections that may be read.
        known: Whether these collections hold a term, for this version of the store; grows.
    """

    def __init__(self, view: View, names: frozenset[str], known: Known) -> None:
        self.version = view.version
        self.collections = RestrictedCollections(view.collections, names)
        self.words = RestrictedWords(view.words, self.collections, known)
        for part, methods in PASSED_ON.items():
            setattr(self, part, _SomeMethods(getattr(view, part), methods))


class RestrictedStore:
    """A store that shows some of its collections, and cannot be written.

    Args:
        store: The whole store.
        names: The collections that may be read.
    """

    def __init__(self, store: Store, names: frozenset[str]) -> None:
        self._store = store
        self._names = names
        self._memo = Memo()

    @property
    def location(self) -> str:
        """Where it is."""
        return self._store.location

    @property
    def size_bytes(self) -> int:
        """Nothing: how much the others take is not shown."""
        return 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """That its answers may not be right, without a word on where it is."""
        return ("answers may lack something",)[: len(self._store.warnings)]

    @contextmanager
    def read(self) -> Iterator[View]:
        """Open a snapshot of what may be read."""
        with unplaced_errors(), self._store.read() as view:
            yield cast("View", RestrictedView(view, self._names, self._memo.values(view.version)))

    published: PublishedVersion | None = None
    team: Team | None = None

    def make_vector_indexes(self) -> None:
        """Refuse: an index would be written."""
        refuse()

    def write_copy(self, path: Path, names: AnyCollection[str], version: int) -> str:  # noqa: ARG002
        """Refuse: only the owner publishes."""
        refuse()

    def wait_for_change(self, version: int, *, timeout_s: float) -> int:
        """Return the version of the whole store as soon as it is not this one, or when time is over."""
        with unplaced_errors():
            return self._store.wait_for_change(version, timeout_s=timeout_s)

    def check(self) -> list[StoreError]:
        """Return that the store is damaged, without a word on what of it."""
        found = self._store.check()
        return [StoreError("a part of it cannot be read", hint=_OWNER_HINT)][: len(found)]

    def write(self, claim: Claim | None = None) -> AbstractContextManager[Writer]:  # noqa: ARG002 - the port's
        """Refuse to write.

        Raises:
            NotAllowedError: Always.
        """
        refuse()

    def claim(
        self,
        collection: Collection | None,  # noqa: ARG002 - the port's
        purpose: str,  # noqa: ARG002
        *,
        wait_s: float,  # noqa: ARG002
    ) -> AbstractContextManager[Claim]:
        """Refuse to claim anything.

        Raises:
            NotAllowedError: Always.
        """
        refuse()

    def compact(self) -> None:
        """Refuse to rewrite the store.

        Raises:
            NotAllowedError: Always.
        """
        refuse()

    def close(self) -> None:
        """Do nothing: the whole store stays open."""


@contextmanager
def unplaced_errors() -> Iterator[None]:
    """Replace errors of a store, which name its file or its server, by ones of the same kind that do not.

    What they say is in the log of the server.

    Raises:
        StoreError: In place of the error.
    """
    try:
        yield
    except StoreError as error:
        run.log_failure(error)
        shown = type(error)(hint=_OWNER_HINT)
        shown.is_logged = True
        raise shown from error


def refuse() -> NoReturn:
    """Refuse what would change something.

    Raises:
        NotAllowedError: Always.
    """
    raise NotAllowedError
