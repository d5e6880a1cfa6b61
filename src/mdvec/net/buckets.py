"""A bucket of S3, or of a server that speaks it. Credentials are those of the environment."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, TypeVar

from msgspec import Struct
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    NotFoundError,
    PreconditionError,
)
from obstore.store import S3Store

from mdvec import run
from mdvec.errors import (
    ConfigError,
    ServiceAnswerError,
    ServiceError,
    ServiceRefusedError,
    ServiceUnavailableError,
)
from mdvec.text.addresses import without_password

_ADDRESS: Final = re.compile(r"s3://([A-Za-z0-9][A-Za-z0-9._-]*)(?:/(.*))?", re.DOTALL)
_STATUS: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
# What is asked for a role when no key is given; and what is said when half of one is.
_NO_CREDENTIALS: Final = re.compile(r"/latest/(api/token|meta-data)|Missing (AccessKeyId|SecretAccessKey)")
_GIVE_CREDENTIALS: Final = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run on a machine with a role. The key or the role "
    "must be allowed to list and read objects, and to publish, also to write and delete them."
)

_MAX_TRIES: Final = 6
_MAX_OBJECTS: Final = 2_000_000  # of a list, half a gigabyte of memory; a hostile server's does not end
_FIRST_WAIT_S: Final = 0.2  # doubled with each try
_ANSWER_WITHIN: Final = timedelta(seconds=60)  # the largest file has some megabytes
_MAX_MESSAGE_CHARS: Final = 300  # the library's messages go on with how it was configured

_NOT_FOUND: Final = 404
_FORBIDDEN: Final = frozenset({401, 403})
_SERVER_FAILED: Final = 500
_PASSING: Final = frozenset({408, 429})

T = TypeVar("T")


class BucketObject(Struct, frozen=True):
    """An object, as it is listed.

    Attributes:
        name: Below the path of the bucket that is used.
        size: In bytes.
        mtime_ns: Time of the last change, in nanoseconds since 1970.
        etag: Differs for other contents of the object; empty where the server gives none.
    """

    name: str
    size: int
    mtime_ns: int
    etag: str


class Bucket:
    """Objects below a path of a bucket. Safe to use from several threads.

    Every call may be repeated, and is when it fails in a way that may pass. It raises a ``ServiceError`` if
    the bucket cannot be used, and an ``ImportStoppedError`` if the run is cancelled meanwhile.

    Args:
        location: ``s3://BUCKET[/PATH]``.
        region: Of the bucket; None for that of the environment.
        endpoint: The address of a server other than Amazon's.

    Raises:
        ConfigError: If no bucket is named, or its path cannot be one, or the environment is wrong.
    """

    def __init__(self, location: str, *, region: str | None = None, endpoint: str | None = None) -> None:
        found = _ADDRESS.fullmatch(location)
        if found is None:
            msg = f"{without_password(location)} names no bucket"
            raise ConfigError(msg, hint="Write s3://BUCKET/PATH; credentials are those of the environment.")
        self._name, path = found[1], (found[2] or "").strip("/")
        self.location = f"s3://{self._name}/{path}".rstrip("/")
        chosen: dict[str, Any] = {"region": region, "endpoint": endpoint}
        client: dict[str, Any] = {"timeout": _ANSWER_WITHIN}
        if endpoint is not None and endpoint.startswith("http://"):
            client["allow_http"] = True
        try:
            self._store: Any = S3Store(
                self._name,
                prefix=path or None,
                client_options=client,
                retry_config={"max_retries": 0},  # tried again here, with what it does not try again
                **{name: value for name, value in chosen.items() if value is not None},
            )
        except (BaseError, ValueError) as error:
            lacks = _NO_CREDENTIALS.search(str(error))
            msg = f"{self.location} cannot be used: {_reason(error)}"
            hint = _GIVE_CREDENTIALS if lacks else "Write s3://BUCKET/PATH, without '//' or '..' in the path."
            raise ConfigError(msg, hint=hint) from error

    def objects(self, folder: str = "") -> list[BucketObject]:
        """Return what is below a folder, in any order; nothing is no error.

        Raises:
            ServiceRefusedError: If the list does not end.
        """

        def listed() -> list[BucketObject]:
            found: list[BucketObject] = []
            for page in self._store.list(folder or None):
                run.current().check()
                found += (
                    BucketObject(
                        str(each["path"]),
                        int(each["size"]),
                        int(each["last_modified"].timestamp()) * 1_000_000_000,
                        each["e_tag"] or "",
                    )
                    for each in page
                )
                if len(found) > _MAX_OBJECTS:
                    msg = f"{self.location} lists more than {_MAX_OBJECTS:,} objects"
                    raise ServiceRefusedError(msg, hint="Use a path that contains less: s3://BUCKET/PATH.")
            return found

        return self._repeated(listed)

    def get(self, name: str, *, etag: str = "", most_bytes: int | None = None) -> bytes | None:
        """Return an object; None if there is none, or it has another ETag than this one.

        Raises:
            ServiceAnswerError: If it is larger than ``most_bytes``; it is not read.
        """

        def get() -> bytes | None:
            try:
                found = self._store.get(name, options={"if_match": etag} if etag else None)
                if most_bytes is not None and found.meta["size"] > most_bytes:
                    msg = f"{self.location}/{name} is larger than {most_bytes:,} bytes"
                    raise ServiceAnswerError(msg)
                return bytes(found.bytes())
            except (NotFoundError, FileNotFoundError, PreconditionError):
                return None

        return self._repeated(get)

    def put(self, name: str, content: bytes) -> None:
        """Write an object; S3 shows it whole or not at all."""
        self._repeated(lambda: self._store.put(name, content, use_multipart=False))

    def create(self, name: str, content: bytes) -> bool:
        """Write an object unless there is one, which S3 decides; return False if there is another one."""

        def create() -> bool:
            try:
                self._store.put(name, content, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                # It may be ours: the answer to the try before was lost.
                return self.get(name) == content
            return True

        return self._repeated(create)

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects; one that is not there is no error."""
        if names:
            self._repeated(lambda: self._store.delete([*names]))

    def _repeated(self, request: Callable[[], T]) -> T:
        """Send a request, and again while it fails in a way that may pass.

        Raises:
            ServiceError: If it does not succeed.
            ImportStoppedError: If the run is cancelled meanwhile.
        """
        tries = 0
        while True:
            try:
                return request()
            except (BaseError, OSError) as error:
                tries += 1
                failure = self._failure(error)
                if tries == _MAX_TRIES or not failure.retry:
                    raise failure from error
            run.current().sleep(_FIRST_WAIT_S * 2 ** (tries - 1) * random.uniform(0.5, 1.0))  # noqa: S311

    def _failure(self, error: Exception) -> ServiceError:
        """Return what an error of the library means."""
        text = str(error)
        code = found[1] if (found := _CODE.search(text)) else ""
        status = int(found[1]) if (found := _STATUS.search(text)) else None
        if code == "NoSuchBucket" or isinstance(error, FileNotFoundError):
            msg = f"there is no bucket {self._name!r}"
            hint = "Check its name, and its region and endpoint."
            return ServiceRefusedError(msg, hint=hint, status=_NOT_FOUND)
        if isinstance(error, InvalidPathError):
            msg = f"{self.location} cannot be listed: {_reason(error)}"
            hint = "Rename or delete the object, or use a path that does not contain it."
            return ServiceRefusedError(msg, hint=hint)
        lacks = _NO_CREDENTIALS.search(text)
        if lacks or status in _FORBIDDEN:
            what = "without credentials" if lacks else f"with these credentials ({code or status})"
            msg = f"{self.location} may not be used {what}"
            return ServiceRefusedError(msg, hint=_GIVE_CREDENTIALS, status=status)
        hint = "Check the bucket, its region and endpoint, and the network; then run again."
        if status is not None and status < _SERVER_FAILED and status not in _PASSING:
            msg = f"{self.location} cannot be used: {_reason(error)}"
            return ServiceRefusedError(msg, hint=hint, status=status)
        msg = f"{self.location} cannot be used now: {_reason(error)}"
        return ServiceUnavailableError(msg, hint=hint, status=status)


def _reason(error: Exception) -> str:
    return without_password(str(error).partition("\n")[0])[:_MAX_MESSAGE_CHARS]
