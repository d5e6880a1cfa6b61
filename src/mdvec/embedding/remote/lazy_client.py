"""The client of a service with models, made when it is first needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from mdvec.embedding.remote.provider import Service
from mdvec.net.response import RetryPolicy

if TYPE_CHECKING:
    from mdvec.net.client import HttpClient


class LazyClient:
    """Reads the key and opens the client of a service at the first request. Threads may share it."""

    def __init__(self, service: Service, *, timeout_s: float, retry: RetryPolicy) -> None:
        self._service = service
        self._timeout_s = timeout_s
        self._retry = retry
        self._opening = threading.Lock()
        self._client: HttpClient | None = None

    def request_json(self, method: str, path: str, **options: Any) -> Any:
        """Return a response; see ``request_json`` of :class:`mdvec.net.client.HttpClient`.

        Raises:
            EmbedderUnavailableError: If there is no usable key.
            ServiceError: If the request fails.
        """
        from mdvec.net.client import HttpClient

        with self._opening:
            if self._client is None:
                service = self._service
                if (problem := service.key.problem) is not None:
                    raise problem
                key = service.key.value
                self._client = HttpClient(
                    service.address(key),
                    service=service.name,
                    headers=service.headers(key),
                    timeout_s=self._timeout_s,
                    retry=self._retry,
                    retry_after=service.retry_after,
                )
        return self._client.request_json(method, path, **options)
