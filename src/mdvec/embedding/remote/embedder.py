"""The embedder of every service: cuts, packs, asks, checks."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mdvec.embedding.interface import Runtime
from mdvec.embedding.remote.answers import read_answer
from mdvec.embedding.remote.failures import is_too_much, too_long, translated
from mdvec.embedding.remote.packing import Window, batches, windows
from mdvec.embedding.remote.provider import Provider, Purpose, Telling
from mdvec.embedding.remote.threads import as_they_come, do_in_callers_thread, is_ending
from mdvec.errors import EmbedderBusyError, EmbedderUnavailableError, EmbeddingError, ServiceError
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    from mdvec.embedding.interface import Matrix, Parts, Vector
    from mdvec.net.client import HttpClient, Patience

# Somebody looks at the screen while a question is embedded.
_ATTEMPTS_FOR_A_QUESTION = 2
_MOST_WAIT_FOR_A_QUESTION_S = 5.0

# Passages are given in lots, and the last request of one is waited for before the first of the next is sent:
# with some rounds of requests to a lot that costs little. Their texts are in memory, some megabytes.
_ROUNDS_AT_ONCE = 4
_MOST_TEXTS_AT_ONCE = 4_096

_PROBE = "dimension"
_MOST_MODELS_LISTED = 10
_NOT_FOUND = 404


class _ListedModel(msgspec.Struct, frozen=True):
    id: str


class _ListedModels(msgspec.Struct, frozen=True):
    data: list[_ListedModel]


class RemoteEmbedder:
    """Asks a service for vectors; see :class:`mdvec.embedding.interface.Embedder`.

    Making one sends nothing and reads no key. May be used by several threads.
    """

    def __init__(
        self,
        provider: Provider,
        runtime: Runtime,
        *,
        requests_at_once: int = 4,
        timeout_s: float = 60.0,
        attempts: int = 6,
    ) -> None:
        """Remember the settings.

        Args:
            provider: The service.
            runtime: Whom to tell about waits.
            requests_at_once: Most requests under way at the same time.
            timeout_s: How long the service may be silent, in seconds.
            attempts: Most times a request is sent.
        """
        self._provider = provider
        self._runtime = runtime
        self._requests_at_once = requests_at_once
        self._timeout_s = timeout_s
        self._attempts = attempts
        self._opening = threading.Lock()
        self._client: HttpClient | None = None
        self._dimension = provider.dimension
        self._tells_dimension = provider.telling is Telling.ALWAYS
        self._batch_texts = provider.limits.batch_texts

    @property
    def space(self) -> EmbeddingSpace:
        """The space of its vectors; the service is asked once when their length is not known.

        Raises:
            EmbeddingError: If it had to be asked and did not answer.
        """
        return self._provider.space(self._known_dimension())

    @property
    def folder(self) -> None:
        """None: it has a name."""

    @property
    def max_tokens(self) -> int:
        """Most estimated tokens of a text in one window of the model."""
        return self._provider.limits.text_tokens

    @property
    def texts_at_once(self) -> int:
        """Enough for some rounds of requests."""
        a_round = self._requests_at_once * self._provider.limits.batch_texts
        return min(_ROUNDS_AT_ONCE * a_round, _MOST_TEXTS_AT_ONCE)

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """Why it cannot be used: its key is missing; None when it is there, or none is needed."""
        return self._provider.access.problem

    @property
    def counts_exactly(self) -> bool:
        """No: these models keep their tokenizers to themselves."""
        return False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is likely to be a mistake in its settings."""
        return self._provider.warnings

    def token_ends(self, text: str) -> Sequence[int]:
        """Estimate where tokens end."""
        return estimate_token_ends(text)

    def check(self) -> None:
        """Embed one word; see :meth:`mdvec.embedding.interface.Embedder.check`."""
        self.embed_query(_PROBE)

    def embed_query(self, text: str) -> Vector:
        """Embed a question; a service that cannot answer soon is not waited for.

        Returns:
            float32, shape (dim,), unit length, finite.

        Raises:
            EmbedderUnavailableError: If the key or the model is not accepted.
            EmbeddingError: If the service cannot be used now, or answers with something else.
        """
        from mdvec.net.client import Patience

        patience = Patience(min(_ATTEMPTS_FOR_A_QUESTION, self._attempts), _MOST_WAIT_FOR_A_QUESTION_S)
        [(_, vectors)] = self._parts([text], (), Purpose.QUERY, patience, at_once=1)
        vector: Vector = vectors[0]
        self._dimension = vector.size
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embed questions; see :meth:`mdvec.embedding.interface.Embedder.embed_queries`."""
        return self._joined(texts, (), Purpose.QUERY)

    def embed_passages(self, texts: Sequence[str], titles: Sequence[str] = ()) -> Matrix:
        """Embed passages; see :meth:`mdvec.embedding.interface.Embedder.embed_passages`."""
        return self._joined(texts, titles, Purpose.DOCUMENT)

    def embed_in_parts(self, texts: Sequence[str], titles: Sequence[str] = ()) -> Parts:
        """Embed passages, a part with each answer, in the order in which they come.

        After a failure the answers that are under way are waited for and handed out: they are paid for.
        """
        self._known_dimension()
        yield from self._parts(texts, titles, Purpose.DOCUMENT, None, at_once=self._requests_at_once)

    def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:
        """Count the batches that :meth:`embed_in_parts` would make."""
        return sum(1 for _ in self._batches(texts, titles))

    def unload(self, *, idle_s: float) -> bool:  # noqa: ARG002 - the port's signature
        """Nothing to free: the model is elsewhere."""
        return False

    def _known_dimension(self) -> int:
        """Return how long its vectors are; the service is asked when nobody said so."""
        if self._dimension is None:
            self.embed_query(_PROBE)
        assert self._dimension is not None  # noqa: S101 - an embedding that succeeds sets it
        return self._dimension

    def _joined(self, texts: Sequence[str], titles: Sequence[str], purpose: Purpose) -> Matrix:
        import numpy as np

        matrix = np.empty((len(texts), self._known_dimension()), np.float32)
        for positions, vectors in self._parts(texts, titles, purpose, None, at_once=self._requests_at_once):
            matrix[list(positions)] = vectors
        return matrix

    def _batches(self, texts: Sequence[str], titles: Sequence[str]) -> Iterator[Sequence[Window]]:
        limits = self._provider.limits
        cut = windows(texts, titles, limits.text_tokens)
        return batches(cut, most=lambda: self._batch_texts, most_tokens=limits.batch_tokens)

    def _parts(
        self,
        texts: Sequence[str],
        titles: Sequence[str],
        purpose: Purpose,
        patience: Patience | None,
        *,
        at_once: int,
    ) -> Parts:
        from mdvec.embedding.remote.vectors import Joiner

        def ask(batch: Sequence[Window]) -> Iterator[tuple[Sequence[Window], Matrix]]:
            return self._ask(batch, purpose, patience)

        joiner = Joiner()
        with closing(as_they_come(ask, self._batches(texts, titles), at_once=at_once)) as answers:
            for cut, rows in answers:
                positions, vectors = joiner.add(cut, rows)
                if positions:
                    yield positions, vectors

    def _ask(
        self, cut: Sequence[Window], purpose: Purpose, patience: Patience | None
    ) -> Iterator[tuple[Sequence[Window], Matrix]]:
        """Ask for the vectors of one batch, in halves when the service finds it too large.

        Yields:
            Windows, and their vectors.

        Raises:
            EmbeddingError: As :meth:`embed_passages`.
        """
        from mdvec.embedding.remote.vectors import unit_vectors

        if is_ending():
            raise EmbedderBusyError
        told = self._dimension if self._tells_dimension else None
        question = self._provider.question(cut, purpose, told)
        try:
            answer = self._ready_client().ask("POST", question.path, json=question.body, patience=patience)
        except ServiceError as error:
            if not is_too_much(error):
                raise translated(error, self._provider, offered=self._offered(error)) from error
            if len(cut) == 1:
                raise too_long(error, cut[0]) from error
        else:
            raw = self._provider.answer(answer, len(cut))
            vectors = unit_vectors(raw, len(cut), self._provider.service)
            if self._dimension in {None, vectors.shape[1]}:
                yield cut, vectors
                return
            if told is not None or self._provider.telling is Telling.NEVER:
                raise self._wrong_length(vectors.shape[1])
            self._tells_dimension = True
            yield from self._ask(cut, purpose, patience)
            return
        half = len(cut) // 2
        for part in (cut[:half], cut[half:]):
            yield from self._ask(part, purpose, patience)
        # Both were accepted: from now on this much is sent at once. Two threads may both find out.
        self._batch_texts = min(self._batch_texts, len(cut) - half)

    def _offered(self, error: ServiceError) -> list[str]:
        """Ask which models there are when it does not know ours; empty when it does not say."""
        from mdvec.net.client import Patience

        if error.status != _NOT_FOUND:
            return []
        try:
            answer = self._ready_client().ask("GET", "models", patience=Patience(attempts=1))
            listed = read_answer(answer, _ListedModels, self._provider.service)
        except (ServiceError, EmbeddingError):
            return []
        return [model.id for model in listed.data[:_MOST_MODELS_LISTED]]

    def _wrong_length(self, length: int) -> EmbeddingError:
        provider = self._provider
        msg = f"{provider.service} answers with vectors of {length} numbers, not {self._dimension}"
        hint = f"Choose the length that {provider.model!r} has there: {provider.space(length).provider}:"
        return EmbeddingError(
            msg, hint=f"{hint}{provider.model}@{length}, or [embedding] dimension = {length}."
        )

    def _ready_client(self) -> HttpClient:
        """Connect with the key that is in the environment now.

        Raises:
            EmbedderUnavailableError: If there is none.
        """
        from mdvec.net.client import HttpClient

        with self._opening:
            if self._client is None:
                if (problem := self.problem) is not None:
                    raise problem
                key = self._provider.access.key
                self._client = HttpClient(
                    self._provider.address(key),
                    service=self._provider.service,
                    headers=self._provider.headers(key),
                    timeout_s=self._timeout_s,
                    attempts=self._attempts,
                    on_wait=self._on_wait,
                    wait_of=self._provider.asked_wait,
                )
            return self._client

    def _on_wait(self, seconds_left: float) -> None:
        if is_ending():
            raise EmbedderBusyError
        do_in_callers_thread(partial(self._runtime.on_wait, seconds_left))
