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
            cache_dir: The cache; the source may keep fetched files in its folder ``sources``.
            settings: The declared settings (see :mod:`mdvec.settings`) that are set.

        Raises:
            UsageError: If the location is invalid.
        """

    def parse(self, location: str) -> str:
        """Return the canonical spelling of a location, given what a user writes after ``NAME:`` or ``NAME+``.

        Raises:
            UsageError: If it is invalid, or contains a password.
            SourceMissingError: If it does not exist and that can be checked at no cost.
        """


class Source(Protocol):
    """A place that holds documents. Reading it never changes it.

    A class that inherits from it is one elsewhere that fetches nothing ahead, unless it says more.
    """

    def list(self) -> Listing:
        """List everything once: documents, and everything else with the reason.

        Returns:
            Every file below the root is in the listing exactly once: as an entry, as a context file, or as
            (or below) an exclusion or an unreadable path.

        Raises:
            SourceMissingError: If the root itself is not there.
            SourceError: If it is there and cannot be listed.
        """

    def read(self, entry: SourceEntry) -> bytes:
        """Return the raw bytes of a listed file.

        Raises:
            UnreadableFileError: If it cannot be read, is no longer a regular file, or is outside the root.
            FileTooLargeError: If it is over the size limit, which the listing did not show.
        """

    def prefetch(self, entries: Sequence[SourceEntry]) -> None:  # noqa: ARG002 - nothing is fetched here
        """Prefetch the files that are read next, in any order.

        Reading others, or not reading these, is allowed. Progress goes to :func:`mdvec.run.current`.

        Raises:
            SourceError: If nothing can be fetched.
        """
        return

    def differs(self, known: SourceEntry) -> bool:  # noqa: ARG002 - of no use here
        """Return True if a file has changed or is gone since it was indexed; one that was touched has not.

        Args:
            known: The file when it was indexed, ``content_hash`` included.

        A source elsewhere returns False without a request: it is as new as the last import.
        """
        return False


@runtime_checkable
class WatchedSource(Protocol):
    """A source on this machine, in which changes raise events; other sources are polled."""

    def is_here(self) -> bool:
        """Return True if the root exists; its contents are not read."""

    def folders(self) -> Sequence[str]:
        """Return the folders to be watched, absolute (see :func:`mdvec.sources.events.watch`).

        Raises:
            SourceMissingError: If the root itself is not there.
            SourceError: If it is there and cannot be listed.
        """

    def concerned(self, path: str) -> Sequence[str]:
        """Return the documents that an event may concern.

        Args:
            path: The absolute path that changed.

        Returns:
            Paths as in a listing, known or not; one that ends in ``/`` means all below it. Empty when no
            document is concerned.
        """
