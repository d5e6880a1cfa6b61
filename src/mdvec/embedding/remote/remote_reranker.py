"""The reranker of every service: it sends a query with all texts, and checks the scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from mdvec.embedding.interface import Relevance, Reranker
from mdvec.embedding.remote.batches import sendable_text
from mdvec.embedding.remote.failures import as_embedding_error
from mdvec.embedding.remote.lazy_client import LazyClient
from mdvec.embedding.remote.provider import Service
from mdvec.embedding.remote.vectors import parse_as
from mdvec.errors import EmbedderUnavailableError, EmbeddingError, ServiceError
from mdvec.net.response import RetryPolicy
from mdvec.text.tokens import estimate_token_count


class _Usage(Struct, frozen=True):
    total_tokens: int | None = None


class _Score(Struct, frozen=True):
    """A score in a list of TEI."""

    index: int
    score: float


class _Scored(Struct, frozen=True):
    """A score in a response of Cohere, Voyage, and servers that speak their protocols."""

    index: int
    score: float = field(name="relevance_score")


class _Response(Struct, frozen=True):
    results: list[_Scored] = []
    data: list[_Scored] = []  # of Voyage
    usage: _Usage | None = None


class RemoteReranker(Reranker):
    """Requests scores from a service; see :class:`mdvec.embedding.interface.Reranker`.

    Making one sends nothing and reads no key. Threads may share it. A request is sent once: a person is
    waiting, and has the order by evidence anyway.
    """

    def __init__(
        self,
        service: Service,
        *,
        timeout_s: float,
        texts_field: str = "documents",
        options: Mapping[str, object],
    ) -> None:
        """Store a service.

        Args:
            service: The service and the model, and how it is reached.
            timeout_s: Most seconds from a request to the end of its response.
            texts_field: The name of the texts in a request.
            options: The fields of a request besides query and texts.
        """
        self._service = service
        self._texts_field = texts_field
        self._options = options
        retry = RetryPolicy(attempts=1, max_wait_s=0.0)
        self._client = LazyClient(service, timeout_s=timeout_s, retry=retry)

    @property
    def model(self) -> str:
        return self._service.model

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        return self._service.key.problem

    def relevance(self, query: str, texts: Sequence[str]) -> Relevance:
        sent = [sendable_text(text) for text in texts]
        query, name = sendable_text(query), self._service.name
        request = {"query": query, self._texts_field: sent, **self._options}
        try:
            body = self._client.request_json("POST", "rerank", json=request)
        except ServiceError as error:
            raise as_embedding_error(error, self._service, ()) from error
        tokens = None
        if isinstance(body, list):
            scores = {each.index: each.score for each in parse_as(body, list[_Score], name, wanted="scores")}
        else:
            response = parse_as(body, _Response, name, wanted="scores")
            scores = {each.index: each.score for each in response.results or response.data}
            tokens = response.usage.total_tokens if response.usage else None
        if tokens is None:
            tokens = len(sent) * estimate_token_count(query) + sum(map(estimate_token_count, sent))
        return Relevance(_in_order(scores, len(sent), name), tokens)


def _in_order(scores: Mapping[int, float], count: int, service: str) -> list[float]:
    """Return scores in the order of the texts; services send the best first.

    Raises:
        EmbeddingError: If one is missing, or is no number.
    """
    if set(scores) != set(range(count)):
        msg = f"{service} scored {len(scores)} texts, not the {count} that were sent"
        raise EmbeddingError(msg)
    if not all(map(math.isfinite, scores.values())):
        msg = f"{service} returned a score that is not a number"
        raise EmbeddingError(msg)
    return [scores[at] for at in range(count)]
