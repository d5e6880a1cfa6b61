"""Finds the boilerplate of a collection: the lines that most of its documents share."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from mdvec import run
from mdvec.indexing.work import Work
from mdvec.stores.interface import View
from mdvec.text.boilerplate import MIN_DOCUMENTS, MOST, shared_lines
from mdvec.types.collection import Boilerplate
from mdvec.types.query import Where
from mdvec.types.report import CollectionCounts

# A sample of this size is enough, however many documents there are.
_SAMPLED_DOCUMENTS = 400
_DOCUMENTS_AT_ONCE = 50


def known_boilerplate(work: Work, counts: CollectionCounts) -> frozenset[str]:
    """Return the keys of a collection's boilerplate, for :func:`mdvec.text.boilerplate.without_boilerplate`.

    It is learned again when the number of documents has doubled, or when half of the chunks are pending. In
    between, the collection remembers it, so that a small update reads no other documents.

    Args:
        work: The collection.
        counts: Its counts, with all texts written.
    """
    known = work.collection.boilerplate
    has_doubled = counts.documents >= 2 * known.documents
    is_mostly_new = counts.pending_chunks and 2 * counts.pending_chunks >= counts.chunks
    if counts.documents >= MIN_DOCUMENTS and (has_doubled or is_mostly_new):
        with run.current().step("learn_boilerplate"), work.store.read() as view:
            shares = shared_lines(_sampled_bodies(work, view))
            lines = tuple(key for key, share in shares.items() if share >= MOST)
            known = Boilerplate(counts.documents, lines, frequent=tuple(shares))
        with work.write() as writer:
            writer.change_collection(work.collection.id, lambda now: replace(now, boilerplate=known))
    return frozenset(known.lines)


def _sampled_bodies(work: Work, view: View) -> Iterator[str]:
    """Yield the texts of documents spread over the collection; the same for the same collection."""
    ids = sorted(view.documents_inside(Where((work.collection.id,))))
    sample = ids[:: 1 + len(ids) // _SAMPLED_DOCUMENTS]
    for start in range(0, len(sample), _DOCUMENTS_AT_ONCE):
        yield from view.bodies(sample[start : start + _DOCUMENTS_AT_ONCE]).values()
