"""A bucket of S3, or of a server that speaks it. Credentials are those of the environment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotFoundError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from mdvec.errors import ConfigError, StoreError, StoreUnavailableError
from mdvec.text.addresses import without_password

_MOST_RETRIES: Final = 4
_RETRY_FOR: Final = timedelta(seconds=60)
_ANSWER_WITHIN: Final = timedelta(seconds=60)  # a part is a megabyte
_MOST_MESSAGE_CHARS: Final = 300  # the library's messages go on with how it was configured


class Bucket:
    """Objects below a path of a bucket; a :class:`mdvec.stores.published.places.Place`.

    Args:
        location: ``s3://BUCKET[/PATH]``.
        region: Of the bucket; None for that of the environment.
        endpoint: The address of a server other than Amazon's.

    Raises:
        ConfigError: If no bucket is named.
    """

    def __init__(self, location: str, *, region: str | None = None, endpoint: str | None = None) -> None:
        bucket, _, path = location.removeprefix("s3://").partition("/")
        self._location = without_password(location).rstrip("/")
        if not bucket or "@" in bucket:
            msg = f"{self._location} names no bucket"
            raise ConfigError(msg, hint="Write s3://BUCKET/PATH; credentials are those of the environment.")
        chosen: dict[str, Any] = {"region": region, "endpoint": endpoint}
        self._store: Any = S3Store(
            bucket,
            prefix=path.strip("/") or None,
            client_options={
                "timeout": _ANSWER_WITHIN,
                "allow_http": endpoint is not None and endpoint.startswith("http://"),
            },
            retry_config={"max_retries": _MOST_RETRIES, "retry_timeout": _RETRY_FOR},
            **{name: value for name, value in chosen.items() if value is not None},
        )

    @property
    def location(self) -> str:
        """Its address."""
        return self._location

    def names(self, folder: str) -> list[str]:
        """Return the names of the objects below a folder."""
        with self._translated():
            return sorted(str(each["path"]) for page in self._store.list(folder) for each in page)

    def get(self, name: str) -> bytes | None:
        """Return an object; None if there is none."""
        with self._translated():
            try:
                return bytes(self._store.get(name).bytes())
            except (NotFoundError, FileNotFoundError):
                return None

    def put(self, name: str, content: bytes) -> None:
        """Write an object; S3 shows it whole or not at all."""
        with self._translated():
            self._store.put(name, content, use_multipart=False)

    def create(self, name: str, content: bytes) -> bool:
        """Write an object unless there is one, which S3 decides."""
        with self._translated():
            try:
                self._store.put(name, content, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects."""
        with self._translated():
            if names:
                self._store.delete([*names])

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (PermissionDeniedError, UnauthenticatedError) as error:
            msg = f"{self._location} may not be used with these credentials"
            hint = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached."
            raise StoreError(msg, hint=hint) from error
        except (BaseError, OSError) as error:
            reason = without_password(str(error).partition("\n")[0])[:_MOST_MESSAGE_CHARS]
            msg = f"{self._location} cannot be used now: {reason}"
            hint = "Check the bucket, [store.published] region and endpoint, and the network; then run again."
            raise StoreUnavailableError(msg, hint=hint) from error
