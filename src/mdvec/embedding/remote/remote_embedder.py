"""The embedder of every service: it sends batches of texts and checks the vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from mdvec import run
from mdvec.embedding.interface import Embedder, Role, TokenCounter
from mdvec.embedding.remote.batches import batches, sendable_windows
from mdvec.embedding.remote.failures import as_embedding_error, may_be_too_much, too_long
from mdvec.embedding.remote.lazy_client import LazyClient
from mdvec.embedding.remote.provider import DimensionParameter, Provider, ServiceSettings
from mdvec.embedding.remote.vectors import parse_as, unit_vectors
from mdvec.embedding.windows import Window, WindowJoiner
from mdvec.errors import EmbedderUnavailableError, EmbeddingError, ServiceError
from mdvec.net.response import RetryPolicy
from mdvec.text.tokens import estimate_token_ends
from mdvec.threads import map_concurrently
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix, Parts

# A person looks at the screen while a query is embedded.
_QUERY_ATTEMPTS = 2
_QUERY_MAX_WAIT_S = 5.0

# Passages come in lots, and the last request of one is waited for before the first of the next is sent: with
# some rounds of requests to a lot that costs little. Their texts are in memory, some megabytes.
_ROUNDS_AT_ONCE = 4
_MAX_TEXTS_AT_ONCE = 4_096

_PROBE = "dimension"
_MAX_MODELS_LISTED = 10

_NOT_FOUND = 404


class _ListedModel(msgspec.Struct, frozen=True):
    id: str


class _ListedModels(msgspec.Struct, frozen=True):
    data: list[_ListedModel]


class RemoteEmbedder(Embedder):
    """Requests vectors from a service; see :class:`mdvec.embedding.interface.Embedder`.

    Making one sends nothing and reads no key. Threads may share it.
    """

    def __init__(self, provider: Provider, settings: ServiceSettings) -> None:
        self._provider = provider
        self._settings = settings
        retry = RetryPolicy(settings.attempts)
        self._client = LazyClient(provider, timeout_s=settings.timeout_s, retry=retry)
        self._dimension = provider.dimension
        self._sends_dimension = provider.dimension_parameter is DimensionParameter.ALWAYS
        self._batch_texts = provider.batch_texts

    @property
    def space(self) -> EmbeddingSpace:
        """Send a probe once when the length of its vectors is not known."""
        return self._provider.space(self._known_dimension())

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        return self._provider.key.problem

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._provider.warnings

    @property
    def tokens(self) -> TokenCounter:
        """An estimate: the tokenizers of these models are not at hand."""
        return TokenCounter(estimate_token_ends, self._provider.text_tokens, is_exact=False)

    @property
    def texts_at_once(self) -> int:
        """Enough for some rounds of requests."""
        a_round = self._settings.requests_at_once * self._provider.batch_texts
        return min(_ROUNDS_AT_ONCE * a_round, _MAX_TEXTS_AT_ONCE)

    def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:
        return sum(1 for _ in self._batches(texts, titles))

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        retry = RetryPolicy(min(_QUERY_ATTEMPTS, self._settings.attempts), _QUERY_MAX_WAIT_S)
        rows = {
            at: row
            for positions, vectors in self._in_batches(texts, (), Role.QUERY, retry, at_once=1)
            for at, row in zip(positions, vectors, strict=True)
        }
        matrix: Matrix = np.stack([rows[at] for at in range(len(texts))])
        self._dimension = matrix.shape[1]
        return matrix

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Embed texts, a part with each response, in the order in which they come.

        After a failure the responses that are under way are waited for and yielded: they are paid for.
        """
        self._known_dimension()
        yield from self._in_batches(texts, titles, role, None, at_once=self._settings.requests_at_once)

    def _known_dimension(self) -> int:
        if self._dimension is None:
            self.embed_query(_PROBE)
        assert self._dimension is not None  # noqa: S101 - an embedding that succeeds sets it
        return self._dimension

    def _batches(self, texts: Sequence[str], titles: Sequence[str]) -> Iterator[Sequence[Window]]:
        cut = sendable_windows(texts, titles, self._provider.text_tokens)
        return batches(cut, max_texts=lambda: self._batch_texts, max_tokens=self._provider.batch_tokens)

    def _in_batches(
        self,
        texts: Sequence[str],
        titles: Sequence[str],
        role: Role,
        retry: RetryPolicy | None,
        *,
        at_once: int,
    ) -> Parts:
        def vectors_of(batch: Sequence[Window]) -> Iterator[tuple[Sequence[Window], Matrix]]:
            return self._request(batch, role, retry)

        joiner = WindowJoiner()
        batches_of_texts = self._batches(texts, titles)
        with closing(map_concurrently(vectors_of, batches_of_texts, at_once=at_once)) as responses:
            for windows, rows in responses:
                positions, vectors = joiner.add(windows, rows)
                if positions:
                    yield positions, vectors

    def _request(
        self, windows: Sequence[Window], role: Role, retry: RetryPolicy | None
    ) -> Iterator[tuple[Sequence[Window], Matrix]]:
        """Request the vectors of one batch, in halves when the service finds it too large.

        Yields:
            Windows, and their vectors.

        Raises:
            EmbeddingError: As :meth:`embed`.
        """
        run.current().sleep(0)  # another request may have failed meanwhile
        service = self._provider
        dimension = self._dimension if self._sends_dimension else None
        request = service.request(windows, role, dimension)
        try:
            body = self._client.request_json("POST", request.path, json=request.body, retry=retry)
        except ServiceError as error:
            if not may_be_too_much(error):
                raise as_embedding_error(error, service, self._offered_models(error)) from error
            if len(windows) == 1:
                raise too_long(error, windows[0]) from error
        else:
            raw = service.parse_response(body, len(windows))
            vectors = unit_vectors(raw, len(windows), service.name)
            if self._dimension in {None, vectors.shape[1]}:
                yield windows, vectors
                return
            if dimension is not None or service.dimension_parameter is DimensionParameter.NEVER:
                raise self._wrong_length(vectors.shape[1])
            self._sends_dimension = True
            yield from self._request(windows, role, retry)
            return
        half = len(windows) // 2
        for part in (windows[:half], windows[half:]):
            yield from self._request(part, role, retry)
        # Both were accepted: from now on this much is sent at once. Two threads may both find out.
        self._batch_texts = min(self._batch_texts, len(windows) - half)

    def _offered_models(self, error: ServiceError) -> list[str]:
        """Request the list of models when ours is unknown there; empty when there is none."""
        if error.status != _NOT_FOUND:
            return []
        try:
            body = self._client.request_json("GET", "models", retry=RetryPolicy(attempts=1))
            listed = parse_as(body, _ListedModels, self._provider.name)
        except (ServiceError, EmbeddingError):
            return []
        return [model.id for model in listed.data[:_MAX_MODELS_LISTED]]

    def _wrong_length(self, length: int) -> EmbeddingError:
        service = self._provider
        msg = f"{service.name} returned vectors of {length} dimensions, not {self._dimension}"
        spec = f"{service.provider}:{service.model}@{length}"
        hint = f"Choose the length that the service returns: {spec}, or [embedding] dimension = {length}."
        return EmbeddingError(msg, hint=hint)
