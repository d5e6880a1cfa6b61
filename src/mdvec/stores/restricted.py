"""A store as someone sees it who may read some of its collections, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn, cast

from msgspec.structs import replace

from mdvec import run
from mdvec.errors import NotAllowedError, StoreError
from mdvec.stores.interface import Claim, Store, View, Writer
from mdvec.stores.memo import Known, Memo, Memorizing
from mdvec.stores.records import DocumentFrequencies
from mdvec.types.collection import Collection
from mdvec.types.query import Where
from mdvec.types.report import Activity

PASSED_ON = frozenset(
    {
        *("version", "counts", "file_states", "tags"),
        *("documents", "newest_documents", "documents_inside", "known_documents", "dirty_paths"),
        *("find_document", "document_chunks", "chunks", "bodies", "places", "places_in", "skeletons"),
        *("facts", "contexts", "links_of", "links_to", "previous_links", "files_named", "documents_called"),
        *("holds_few", "bm25", "holding", "find_space", "unrelated", "nearest_chunks", "nearest_documents"),
        *("chunk_similarities", "chunk_vectors", "name_similarities", "sampled_chunks"),
    }
)
"""The methods of a view that take only ids it has returned, or a ``Where`` of collections it has shown.

They need no check of rights. Any other method that is not written below does not exist on a restricted view.
"""

_OWNER_HINT = "Its owner can run 'mdvec doctor'."


class RestrictedView(Memorizing):
    """A snapshot of a store that shows some of its collections; a :class:`mdvec.stores.interface.View`.

    Args:
        view: The snapshot of the whole store.
        names: The collections that may be read.
        known: Whether these collections hold a term, for this version of the store; grows.
    """

    def __init__(self, view: View, names: frozenset[str], known: Known) -> None:
        super().__init__(known)
        self._view = view
        self._names = names

    def __getattr__(self, name: str) -> Any:
        if name not in PASSED_ON:
            raise AttributeError(name)
        return getattr(self._view, name)

    def collections(self) -> list[Collection]:
        """Return the collections that may be read, by name."""
        return [each for each in self._view.collections() if each.name in self._names]

    def activities(self) -> list[Activity]:
        """Return what works on these collections, and that there is a lease, but not how far that one is.

        Neither says by which process on which machine.
        """
        unnamed = [replace(each, pid=0, host="") for each in self._view.activities()]
        return [
            each if each.collection else replace(each, stage="", done=0, total=0)
            for each in unnamed
            if not each.collection or each.collection in self._names
        ]

    def document_frequencies(self, terms: Sequence[str]) -> DocumentFrequencies:
        """Return how common terms are in the whole store, of those that these collections hold.

        A term that only other collections hold is as one that nothing holds: neither a correction nor a
        confidence tells that it is there.
        """
        everywhere = self._view.document_frequencies(terms)
        inside = tuple(each.id for each in self.collections())
        outside = everywhere.chunks - sum(self._view.counts(each, None).chunks for each in inside)
        # What more chunks hold than there are outside need not be looked up.
        held = {
            term: count
            for term, count in everywhere.of_term.items()
            if count > outside or self._holds(term, Where(inside))
        }
        return DocumentFrequencies(everywhere.chunks, held)

    def _holds(self, term: str, inside: Where) -> bool:
        return self.memorized(
            term, lambda: bool(inside.collections and self._view.holding([[term]], inside, limit=1))
        )


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
