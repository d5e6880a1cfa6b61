"""The reranker of every service: it sends a query with all texts, and checks the scores."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from mdvec.embedding.interface import Relevance, Reranker
from mdvec.embedding.remote.batches import sendable_text
from mdvec.embedding.remote.failures import as_embedding_error
from mdvec.embedding.remote.provider import ApiKey, Endpoint
from mdvec.embedding.remote.vectors import parse_as
from mdvec.errors import EmbedderUnavailableError, EmbeddingError, ServiceError
from mdvec.text.tokens import estimate_token_count

if TYPE_CHECKING:
    from mdvec.net.client import HttpClient

_PATH = "rerank"


class Protocol(StrEnum):
    """The protocols of services that rerank; all have one endpoint, ``rerank``."""

    COHERE = "cohere"
    """Also of Jina, vLLM, llama.cpp and others."""
    VOYAGE = "voyage"
    TEI = "tei"


class _Usage(Struct, frozen=True):
    total_tokens: int | None = None


class _Scored(Struct, frozen=True):
    index: int
    score: float = field(name="relevance_score")


class _CohereResponse(Struct, frozen=True):
    results: list[_Scored]
    usage: _Usage | None = None


class _VoyageResponse(Struct, frozen=True):
    data: list[_Scored]
    usage: _Usage | None = None


class _TeiScore(Struct, frozen=True):
    index: int
    score: float


class RemoteReranker(Reranker):
    """Requests scores from a service; see :class:`mdvec.embedding.interface.Reranker`.

    Making one sends nothing and reads no key. Threads may share it. A request is sent once: a person waits,
    and has the order without it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        protocol: Protocol,
        address: Callable[[str], str],
        *,
        timeout_s: float,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Store a service.

        Args:
            endpoint: The service and the model.
            protocol: Its protocol.
            address: Returns its address for the owner of a key.
            timeout_s: Most seconds from a request to the end of its response.
            options: Further fields of each request.
        """
        self._endpoint = endpoint
        self._protocol = protocol
        self._address = address
        self._timeout_s = timeout_s
        self._options = options or {}
        self._opening = threading.Lock()
        self._client: HttpClient | None = None

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._endpoint.model

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """Its key is missing or unusable; None when it is there, or none is needed."""
        return self._endpoint.key.problem

    def relevance(self, query: str, texts: Sequence[str]) -> Relevance:
        """Request the scores; see :meth:`mdvec.embedding.interface.Reranker.relevance`."""
        sent = [sendable_text(text) for text in texts]
        query = sendable_text(query)
        try:
            body = self._ready_client().request_json("POST", _PATH, json=self._request(query, sent))
        except ServiceError as error:
            raise as_embedding_error(error, self._endpoint, ()) from error
        scored, tokens = self._parsed(body)
        if tokens is None:
            tokens = len(sent) * estimate_token_count(query) + sum(map(estimate_token_count, sent))
        return Relevance(_in_order(scored, len(sent), self._endpoint.name), tokens)

    def _request(self, query: str, texts: Sequence[str]) -> dict[str, object]:
        if self._protocol is Protocol.TEI:
            return {"query": query, "texts": texts, "truncate": True}
        return {"model": self._endpoint.model, "query": query, "documents": texts, **self._options}

    def _parsed(self, body: object) -> tuple[Sequence[_Scored | _TeiScore], int | None]:
        name, wanted = self._endpoint.name, "scores"
        if self._protocol is Protocol.TEI:
            return parse_as(body, list[_TeiScore], name, wanted=wanted), None
        if self._protocol is Protocol.VOYAGE:
            voyage = parse_as(body, _VoyageResponse, name, wanted=wanted)
            return voyage.data, voyage.usage.total_tokens if voyage.usage else None
        cohere = parse_as(body, _CohereResponse, name, wanted=wanted)
        return cohere.results, cohere.usage.total_tokens if cohere.usage else None

    def _ready_client(self) -> HttpClient:
        from mdvec.net.client import HttpClient, RetryPolicy

        with self._opening:
            if self._client is None:
                if (problem := self.problem) is not None:
                    raise problem
                key = self._endpoint.key.value
                self._client = HttpClient(
                    self._address(key).removesuffix(f"/{_PATH}"),
                    service=self._endpoint.name,
                    headers={"Authorization": f"Bearer {key}"} if key else {},
                    timeout_s=self._timeout_s,
                    retry=RetryPolicy(attempts=1, max_wait_s=0.0),
                )
            return self._client


def service_to_rerank(provider: str, key: ApiKey, model: str, known_models: tuple[str, ...] = ()) -> Endpoint:
    """Return a service whose settings are in ``[rerank.<provider>]``."""
    return Endpoint(provider=provider, key=key, model=model, known_models=known_models, stage="rerank")


def _in_order(scored: Sequence[_Scored | _TeiScore], count: int, service: str) -> list[float]:
    """Return scores in the order of the texts; services send the best first.

    Raises:
        EmbeddingError: If one is missing, is there twice, or is no number.
    """
    scores = {each.index: each.score for each in scored}
    if len(scored) != count or set(scores) != set(range(count)):
        msg = f"{service} returned {len(scored)} scores for {count} texts, or two for one"
        raise EmbeddingError(msg)
    if not all(map(math.isfinite, scores.values())):
        msg = f"{service} returned a score that is not a number"
        raise EmbeddingError(msg)
    return [scores[at] for at in range(count)]
