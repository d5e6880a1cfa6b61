"""Objects below a path of a bucket as a source of documents."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from mdvec import registry
from mdvec.errors import (
    ServiceAnswerError,
    ServiceError,
    SourceError,
    SourceMissingError,
    SourceUnavailableError,
    UnreadableFileError,
)
from mdvec.settings import BucketSettings
from mdvec.sources.interface import Source
from mdvec.sources.selection import ScanSettings, Selection
from mdvec.sources.tree import FILE_MODE, TreeItem, listing_of_tree
from mdvec.types.change import Listing, SourceEntry

if TYPE_CHECKING:  # searching opens sources too, without any request
    from mdvec.net.buckets import Bucket, BucketObject

_DEFAULTS = ScanSettings()
_AHEAD = 16  # objects that are fetched before they are read, at the same time
_AHEAD_BYTES = 64_000_000  # of all of them, which are in memory


class S3Source(Source):
    """Lists and reads objects.

    The ETag of an object identifies its content. The listing contains it, so finding changes reads nothing.
    An object that was copied or renamed within the bucket usually keeps it.
    """

    Settings = BucketSettings

    def __init__(
        self,
        *,
        location: str,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        scan: ScanSettings = _DEFAULTS,
        cache_dir: Path | None = None,  # noqa: ARG002 - every source receives it
        **bucket: Any,
    ) -> None:
        self._location = f"s3:{location}"
        self._selection = Selection.parse(scan, include=include, exclude=exclude)
        self._settings = bucket
        self._etags: dict[str, str] = {}
        self._waiting: deque[SourceEntry] = deque()
        self._fetching: dict[str, tuple[int, Future[bytes | None]]] = {}  # with the size of the object

    @staticmethod
    def parse(location: str) -> str:
        """Return the canonical spelling of ``//BUCKET[/PATH]``; nothing is requested.

        Raises:
            ConfigError: If it is something else, or the extra for buckets is not installed.
        """
        bucket: Bucket = registry.load("buckets", "s3")(f"s3:{location}")
        return bucket.location.removeprefix("s3:")

    def list(self) -> Listing:
        """Request the names of all objects, a thousand with each request; their digest is the revision."""
        self._fetching.clear()  # of the listing before
        with _translated():
            found = self._bucket.objects()
        folders = {"", *(str(parent) for each in found for parent in PurePosixPath(each.name).parents)}
        # Programs make an empty object for a folder, and the library leaves out the slash at its end.
        objects = [each for each in found if each.size or each.name not in folders]
        objects.sort(key=lambda each: each.name)
        self._etags = {each.name: each.etag for each in objects}
        items = [
            TreeItem(each.name, FILE_MODE, _identity(each), each.size, each.mtime_ns) for each in objects
        ]
        revision = hashlib.sha256()
        for item in items:
            revision.update(item.path.encode() + b"\0" + item.blob_id)
        return listing_of_tree(items, self._selection, path="", revision=revision.hexdigest())

    def read(self, entry: SourceEntry) -> bytes:
        """Return the content of a listed object; the next expected ones are fetched meanwhile."""
        _, fetching = self._fetching.pop(entry.locator, (0, None))
        self._fetch_ahead()
        with _translated():
            raw = self._fetch(entry) if fetching is None else fetching.result()
        if raw is None:
            msg = "it was deleted or changed after it was listed; the next import looks again"
            raise UnreadableFileError(msg)
        return raw

    def prefetch(self, entries: Sequence[SourceEntry]) -> None:
        """Fetch the first files, and the others while those before them are read."""
        self._waiting = deque(entries)
        self._fetch_ahead()

    @cached_property
    def _bucket(self) -> Bucket:
        bucket: Bucket = registry.load("buckets", "s3")(self._location, **self._settings)
        return bucket

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_AHEAD, "mdvec-s3")

    def _fetch_ahead(self) -> None:
        while self._waiting and len(self._fetching) < _AHEAD:
            ahead = sum(size for size, _ in self._fetching.values())
            if ahead and ahead + self._waiting[0].size > _AHEAD_BYTES:
                break
            entry = self._waiting.popleft()
            self._fetching[entry.locator] = (entry.size, self._pool.submit(self._fetch, entry))

    def _fetch(self, entry: SourceEntry) -> bytes | None:
        etag = self._etags.get(entry.locator, "")
        try:
            return self._bucket.get(entry.locator, etag=etag, most_bytes=entry.size)
        except ServiceAnswerError:  # it was smaller when it was listed
            return None


def _identity(found: BucketObject) -> bytes:
    """Return the identity of a content; without an ETag, that of the object's last change."""
    identity = found.etag or f"{found.name}\0{found.mtime_ns}"
    return hashlib.sha256(f"{identity}\0{found.size}".encode()).digest()


@contextmanager
def _translated() -> Iterator[None]:
    """Raise errors of the network as errors of a source."""
    try:
        yield
    except ServiceError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            raise SourceMissingError(str(error), hint=error.hint) from error
        kind = SourceUnavailableError if error.retry else SourceError
        raise kind(str(error), hint=error.hint) from error
