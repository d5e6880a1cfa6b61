"""The places of published versions: folders and buckets. They have few verbs, so that one is easily added."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from mdvec import registry
from mdvec.errors import (
    ConfigError,
    DamagedDatabaseError,
    DatabaseFullError,
    ServiceAnswerError,
    ServiceError,
    StoreError,
    StoreUnavailableError,
    UnreadableFileError,
)
from mdvec.files import read_regular
from mdvec.text.addresses import scheme_of, without_password

if TYPE_CHECKING:  # it is an extra
    from mdvec.net.buckets import Bucket

SEND_ALL: Final = "Run 'mdvec publish --full' on the machine that publishes: it sends everything again."
"""The next step where something of a version is damaged or gone."""

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class Place(Protocol):
    """Objects by name. A name is two or three words with slashes between them.

    Attributes:
        location: Where it is, for people; never with a password.

    Raises:
        StoreError: By every method, if the place cannot be used.
    """

    location: str

    def is_there(self) -> bool:
        """Return False if there is no such place, as far as a listing that found nothing does not tell."""

    def names(self, folder: str) -> list[str]:
        """Return the names of all objects whose first word this is, in order; nothing is no error."""

    def get(self, name: str, most_bytes: int) -> bytes | None:
        """Return an object; None if there is none.

        Raises:
            DamagedDatabaseError: If it is larger, or not a file with contents of its own.
        """

    def put(self, name: str, content: bytes) -> None:
        """Write an object, or replace it. A reader may see a part of it meanwhile."""

    def create(self, name: str, content: bytes) -> bool:
        """Write an object at once or not at all; return False, and change nothing, if there is one."""

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects; one that is not there is no error."""


def open_place(location: Path | str, *, region: str | None = None, endpoint: str | None = None) -> Place:
    """Open a place; nothing is read or made.

    Args:
        location: A folder, or ``s3://BUCKET[/PATH]``.
        region: Of the bucket; None for that of the environment.
        endpoint: The address of a server other than Amazon's that speaks S3.

    Raises:
        ConfigError: If it is neither, or what reads and writes a bucket is not installed.
    """
    scheme = scheme_of(str(location))
    if not scheme:
        return FolderPlace(Path(location).absolute())
    if scheme != "s3":
        msg = f"nothing can be published to {without_password(str(location))}"
        raise ConfigError(msg, hint="Name a folder, or s3://BUCKET/PATH.")
    return BucketPlace(registry.load("buckets", "s3")(str(location), region=region, endpoint=endpoint))


@contextlib.contextmanager
def translated(folder: Path, *, when_full: str, hint: str) -> Iterator[None]:
    """Turn errors about a folder into ours.

    Args:
        folder: Named in the messages.
        when_full: The next step when there is no space.
        hint: The next step otherwise.

    Raises:
        StoreError: In place of the error.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            msg = f"the disk is full: {folder} cannot grow"
            raise DatabaseFullError(msg, hint=when_full) from error
        msg = f"{folder} cannot be used: {error.strerror or error}"
        raise StoreError(msg, hint=hint) from error


class FolderPlace:
    """A folder, which several machines may share; made with the first object."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.location = str(folder)

    def is_there(self) -> bool:
        return self._folder.is_dir()

    def names(self, folder: str) -> list[str]:
        """Return the names of the files below a folder, but for those that are being written."""

        def skip_missing(error: OSError) -> None:  # another process may remove a folder meanwhile
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                raise error

        with self._translated():
            return sorted(
                (Path(place) / name).relative_to(self._folder).as_posix()
                for place, _, names in os.walk(self._folder / folder, onerror=skip_missing)
                for name in names
                if not name.startswith(".")
            )

    def get(self, name: str, most_bytes: int) -> bytes | None:
        """Return the content of a file; None if there is none. A link, pipe or device is not opened."""
        path = self._folder / name
        with self._translated():
            try:
                return read_regular(str(path), most_bytes)
            except FileNotFoundError:
                return None
            except UnreadableFileError as error:
                msg = f"{path} is {error}"
                raise DamagedDatabaseError(msg, hint=SEND_ALL) from error

    def put(self, name: str, content: bytes) -> None:
        with self._translated():
            self._write(self._folder / name, content)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file under another name, and link it: that succeeds once, however many try."""
        path = self._folder / name
        new = path.with_name(f".{path.name}.{os.getpid()}")
        with self._translated():
            self._write(new, content)
            try:
                os.link(new, path)
            except FileExistsError:
                return False
            except OSError:  # a file system without links; there only one may publish at a time
                if path.exists():
                    return False
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)
        return True

    def delete(self, names: Sequence[str]) -> None:
        with self._translated():
            for name in names:
                path = self._folder / name
                path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # it holds other files
                    path.parent.rmdir()

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _translated(self) -> contextlib.AbstractContextManager[None]:
        return translated(
            self._folder,
            when_full="Free some space, and run again.",
            hint="Check the folder and its permissions, and run again.",
        )


class BucketPlace:
    """A path of a bucket.

    Args:
        bucket: See :class:`mdvec.net.buckets.Bucket`.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self.location = bucket.location

    def is_there(self) -> bool:
        """Return True: listing a bucket that is not there is an error."""
        return True

    def names(self, folder: str) -> list[str]:
        with self._translated():
            return sorted(each.name for each in self._bucket.objects(folder))

    def get(self, name: str, most_bytes: int) -> bytes | None:
        with self._translated():
            return self._bucket.get(name, most_bytes=most_bytes)

    def put(self, name: str, content: bytes) -> None:
        with self._translated():
            self._bucket.put(name, content)

    def create(self, name: str, content: bytes) -> bool:
        """Write an object unless there is one, which S3 decides."""
        with self._translated():
            return self._bucket.create(name, content)

    def delete(self, names: Sequence[str]) -> None:
        with self._translated():
            self._bucket.delete(names)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except ServiceAnswerError as error:
            raise DamagedDatabaseError(str(error), hint=SEND_ALL) from error
        except ServiceError as error:
            kind = StoreUnavailableError if error.retry else StoreError
            raise kind(str(error), hint=error.hint) from error
