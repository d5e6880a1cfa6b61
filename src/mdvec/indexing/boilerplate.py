"""What stands in most documents of a collection, learned from the collection itself."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from mdvec import run
from mdvec.indexing.work import Work
from mdvec.stores.interface import View
from mdvec.text.boilerplate import LEAST_DOCUMENTS, boilerplate_of
from mdvec.types.collection import Boilerplate
from mdvec.types.query import Where
from mdvec.types.report import CollectionCounts

# So many show what stands in most, however many there are.
_SAMPLED_DOCUMENTS = 400
_DOCUMENTS_AT_ONCE = 50


def known_boilerplate(work: Work, counts: CollectionCounts) -> frozenset[str]:
    """Return the keys of a collection's boilerplate, for :func:`mdvec.text.boilerplate.without_boilerplate`.

    It is looked for anew when the documents have doubled, or when half of the chunks are to be embedded; in
    between it is what the collection remembers, so that a small update reads no other document.

    Args:
        work: The collection.
        counts: What it holds, with all texts.
    """
    known = work.collection.boilerplate
    has_doubled = counts.documents >= 2 * known.documents
    is_mostly_new = 2 * counts.pending_chunks >= counts.chunks
    if counts.documents >= LEAST_DOCUMENTS and counts.pending_chunks and (has_doubled or is_mostly_new):
        with run.current().step("learn_boilerplate"), work.store.read() as view:
            known = Boilerplate(counts.documents, boilerplate_of(_sampled_bodies(work, view)))
        with work.write() as writer:
            writer.change_collection(work.collection.id, lambda now: replace(now, boilerplate=known))
    return frozenset(known.lines)


def _sampled_bodies(work: Work, view: View) -> Iterator[str]:
    """Yield the texts of documents from all over the collection, the same ones as long as it is the same."""
    ids = sorted(view.documents_inside(Where((work.collection.id,))))
    sample = ids[:: 1 + len(ids) // _SAMPLED_DOCUMENTS]
    for start in range(0, len(sample), _DOCUMENTS_AT_ONCE):
        yield from view.bodies(sample[start : start + _DOCUMENTS_AT_ONCE]).values()
