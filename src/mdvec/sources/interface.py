"""The port of stage 1."""

from __future__ import annotations

from typing import Protocol

from mdvec.model.change import Listing, SourceEntry


class Source(Protocol):
    """A place that holds documents. Reading it never changes it."""

    def list(self) -> Listing:
        """Look at everything once and say what can be indexed, what cannot and why.

        Returns:
            Every file below the root is in the listing exactly once: as an entry, or as (or below) an
            exclusion or an unreadable path.

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

    def stat(self, locator: str) -> tuple[int, int] | None:
        """Return (mtime_ns, size) of the file behind a locator now, or None when it is gone."""
        ...
