"""The port of stage 1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from mdvec.sources.selection import ScanSettings
from mdvec.types.change import Listing, SourceEntry


class SourceFactory(Protocol):
    """A factory of sources, as the registry holds it. It reads and requests nothing."""

    def __call__(
        self,
        *,
        location: str,
        include: Sequence[str],
        exclude: Sequence[str],
        scan: ScanSettings,
        cache_dir: Path,
        **settings: object,
    ) -> Source:
        """Make a source.

        Args:
            location: What :meth:`parse` returned.
            include: Globs (:mod:`mdvec.text.globs`); when there are any, a file has to match one of them.
            exclude: Globs; what matches one of them is left out.
            scan: Which files are documents.
            cache_dir: Where it may keep what it fetched, in the folder ``sources``.
            settings: Those it declares (see :mod:`mdvec.settings`) and that are set.

        Raises:
            UsageError: If the location is none.
        """
        ...

    def parse(self, location: str) -> str:
        """Return the one spelling of a place, from what a user writes after ``NAME:`` or ``NAME+``.

        Raises:
            UsageError: If it is none, or holds a password.
            SourceMissingError: If it is not there, as far as that costs nothing.
        """
        ...


class Source(Protocol):
    """A place that holds documents. Reading it never changes it."""

    def list(self) -> Listing:
        """List everything once: what can be indexed, what cannot, and why.

        Returns:
            Every file below the root is in the listing exactly once: as an entry, as a context file, or as
            (or below) an exclusion or an unreadable path.

        Raises:
            SourceMissingError: If the root itself is not there.
            SourceError: If it is there and cannot be listed.
        """
        ...

    def read(self, entry: SourceEntry) -> bytes:
        """Return the raw bytes of a listed file.

        Raises:
            UnreadableFileError: If it cannot be read, is no regular file any more, lies outside the root
                by now, or has grown over the size limit.
        """
        ...

    def expect(self, entries: Sequence[SourceEntry]) -> None:
        """Prefetch the files that are read next, in any order.

        Reading others, or not reading these, is allowed. Progress goes to :func:`mdvec.run.current`.

        Raises:
            SourceError: If nothing can be fetched.
        """
        ...

    def differs(self, known: SourceEntry) -> bool:
        """Return True if a file has changed or is gone since it was indexed; one that was touched has not.

        Args:
            known: The file as it was then, ``content_hash`` included.

        A source elsewhere returns False without a request: it is as new as the last import.
        """
        ...


@runtime_checkable
class WatchedSource(Protocol):
    """A source on this machine, in which changes raise events; others are looked at from time to time."""

    def is_here(self) -> bool:
        """Return True if the root is there; nothing in it is looked at."""
        ...

    def folders(self) -> Sequence[str]:
        """Return the folders to be watched, absolute (see :func:`mdvec.sources.events.watch`).

        Raises:
            SourceMissingError: If the root itself is not there.
            SourceError: If it is there and cannot be listed.
        """
        ...

    def concerned(self, path: str) -> Sequence[str]:
        """Return the documents that an event may be about.

        Args:
            path: What changed: an absolute path.

        Returns:
            Paths as in a listing, known or not; one that ends in ``/`` stands for all below it. Empty when no
            document is concerned.
        """
        ...
