"""What the log and the list of steps hold of a search and of an import."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mdvec import run
from mdvec.types.hit import SearchResult
from mdvec.types.query import SearchQuery
from mdvec.types.report import ImportReport

_DONE = ("added", "updated", "moved", "deleted", "failed", "embedded_chunks", "pending_chunks")


@contextmanager
def recorded_search(query: SearchQuery, *, plain: bool) -> Iterator[Callable[[SearchResult], SearchResult]]:
    """Record a search.

    Args:
        query: What is asked.
        plain: Whether the query may be in the log as it is, instead of its length and a hash.

    Yields:
        Takes the answer, and returns it.
    """
    text = query.text
    known = {"query": text} if plain else {"query_hash": _hash(text)}
    with (
        run.logged("search", **known, chars=len(text), mode=query.mode.value, limit=query.limit) as line,
        run.current().step("search_total", query=text, limit=query.limit) as step,
    ):

        def record(result: SearchResult) -> SearchResult:
            line.update(hits=len(result.hits), confidence=result.confidence.value)
            scores = (f"{hit.path}:{hit.start_line}={hit.score:.3f}" for hit in result.hits)
            step.update(hits=len(result.hits), scores=" ".join(scores))
            return result

        yield record


@contextmanager
def recorded_import(name: str) -> Iterator[Callable[[ImportReport], ImportReport]]:
    """Record an import; one that changed nothing is worth a line only with ``debug``.

    Yields:
        Takes the report, and returns it.
    """
    with (
        run.logged("reindex", collection=name) as line,
        run.current().step("reindex_total", collection=name) as step,
    ):

        def record(report: ImportReport) -> ImportReport:
            done = {each: getattr(report, each) for each in _DONE}
            changes = sum(done.values()) - report.failed - report.pending_chunks
            line.update(done, level="info" if changes else "debug")
            step.update(done)
            return report

        yield record


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
