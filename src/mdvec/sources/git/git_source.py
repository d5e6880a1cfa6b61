"""A repository that git can reach as a source of documents."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from mdvec import run
from mdvec.errors import FileTooLargeError, UnreadableFileError
from mdvec.files import too_large
from mdvec.sources.blobs import FetchedBlobs, verified
from mdvec.sources.git.clone import Clone
from mdvec.sources.interface import Source
from mdvec.sources.location import parse_git
from mdvec.sources.selection import ScanSettings, Selection
from mdvec.sources.tree import listing_of_tree
from mdvec.types.change import Listing, SourceEntry

_DEFAULTS = ScanSettings()


class GitSource(Source):
    """Lists and reads a commit by the program git.

    Only the latest commit is fetched, without its history, and of its files only the documents. The cache
    keeps the clone.
    """

    def __init__(
        self,
        *,
        location: str,
        cache_dir: Path,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        scan: ScanSettings = _DEFAULTS,
    ) -> None:
        self._location = parse_git(location)
        self._selection = Selection.parse(scan, include=include, exclude=exclude)
        name = re.sub(r"[^A-Za-z0-9]+", "-", self._location.url.rpartition("/")[2]).strip("-")[:40]
        digest = hashlib.sha256(self._location.url.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        directory = cache_dir.absolute() / "sources" / f"git-{name}-{digest}"
        self._clone = Clone(directory, self._location)
        self._commit = ""
        self._large: dict[bytes, int] = {}
        self._blobs = FetchedBlobs()

    @staticmethod
    def parse(location: str) -> str:
        """Return the canonical spelling of ``URL[@REF][:PATH]``.

        Raises:
            UsageError: If it is something else, or carries a password.
        """
        return str(parse_git(location))

    def list(self) -> Listing:
        """Fetch the names of the latest commit. Sizes are 0: git knows only those of fetched files."""
        self._commit = self._clone.fetch()
        items = self._clone.items(self._commit) if self._commit else []
        return listing_of_tree(items, self._selection, path=self._location.path, revision=self._commit)

    def read(self, entry: SourceEntry) -> bytes:
        wanted = entry.content_hash
        if wanted is None:
            msg = "it is not in the repository"
            raise UnreadableFileError(msg)
        if wanted not in self._blobs and wanted not in self._large:
            self._take([entry])
        raw = self._blobs.get(wanted)
        size = self._large.get(wanted, len(raw or b""))
        if size > (most := self._selection.max_bytes(entry.path)):
            raise FileTooLargeError(too_large(size, most))
        if raw is None:
            msg = "it is no longer in the repository"
            raise UnreadableFileError(msg)
        return verified(raw, wanted)

    def prefetch(self, entries: Sequence[SourceEntry]) -> None:
        """Fetch files in one request."""
        wanted = list(dict.fromkeys(entry.content_hash for entry in entries if entry.content_hash))
        if not wanted or not self._commit:
            return
        self._clone.fetch_blobs(self._commit, wanted)
        self._take(entries)
        run.current().report(run.Stage.FETCH, len(wanted), len(wanted))

    def _take(self, entries: Sequence[SourceEntry]) -> None:
        # One content may have several names, and each kind of file has a limit of its own.
        most: dict[bytes, int] = {}
        for entry in entries:
            if wanted := entry.content_hash:
                most[wanted] = max(most.get(wanted, 0), self._selection.max_bytes(entry.path))
        for blob_id, found in self._clone.blobs(most):
            if isinstance(found, int):
                self._large[blob_id] = found
            else:
                self._blobs.put(blob_id, found)
