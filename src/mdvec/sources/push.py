"""A source without a location: clients write its documents, section by section, over JSON-RPC."""

from __future__ import annotations

from mdvec.errors import UnreadableFileError, UsageError
from mdvec.sources.interface import Source
from mdvec.types.change import Listing, SourceEntry


class PushSource(Source):
    """Lists nothing and keeps everything: its client marks what has changed."""

    def __init__(self, **_: object) -> None:
        """Accept the arguments of every source; none is used, since a client decides what it writes."""

    @staticmethod
    def parse(location: str) -> str:
        """Return an empty location.

        Raises:
            UsageError: If a location is given.
        """
        if location:
            msg = f"push: takes no location, but {location!r} was given"
            raise UsageError(msg, hint="Write push: alone.")
        return location

    def list(self) -> Listing:
        """Return a listing that leaves all documents as they are."""
        return Listing((), pushed=True)

    def read(self, entry: SourceEntry) -> bytes:
        """Raise: only the client has its files."""
        msg = f"{entry.path} is kept by the client that wrote it"
        raise UnreadableFileError(msg)
