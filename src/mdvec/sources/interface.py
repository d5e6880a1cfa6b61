"""The port of stage 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mdvec.types.change import Listing, SourceEntry


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

    def expect(self, entries: Sequence[SourceEntry]) -> None:
        """Be told which files are read next, in any order, so that many can be fetched at once.

        Reading others, or not reading these, is allowed.

        Raises:
            SourceError: If nothing can be fetched.
        """
        ...

    def differs(self, known: SourceEntry) -> bool:
        """Tell whether a file is another (or gone) since it was indexed; one that was touched is not.

        Args:
            known: The file as it was then, ``content_hash`` included.

        Returns:
            False where finding out costs more than a look at the file: what is elsewhere is as new as the
            last import.
        """
        ...
