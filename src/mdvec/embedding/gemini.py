"""Google's Gemini API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from mdvec.embedding.interface import Runtime
from mdvec.embedding.remote.access import Access, variables
from mdvec.embedding.remote.answers import RawVector, read_answer
from mdvec.embedding.remote.embedder import RemoteEmbedder
from mdvec.embedding.remote.packing import Window
from mdvec.embedding.remote.provider import Limits, Purpose, Question, Telling, usable
from mdvec.embedding.remote.settings import ServiceSettings
from mdvec.errors import ConfigError
from mdvec.net.reply import Reply
from mdvec.net.retry import error_details
from mdvec.settings import declares
from mdvec.types.space import EmbeddingSpace

_ADDRESS = "https://generativelanguage.googleapis.com"
_VERSION = "v1beta"
_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_DEFAULT_MODEL = "gemini-embedding-001"
_DEFAULT_DIMENSION = 768
_DIMENSIONS = range(128, 3073)  # any prefix of the vector is one (Matryoshka)

_BATCH_TEXTS = 100
_BATCH_TOKENS = 20_000
_TITLE_TOKENS = 100  # room for a title and the words around it

_TASK_TYPES = {Purpose.QUERY: "RETRIEVAL_QUERY", Purpose.DOCUMENT: "RETRIEVAL_DOCUMENT"}


@dataclass(frozen=True, slots=True)
class _Model:
    """What is known of a model.

    Attributes:
        text_tokens: Most tokens of a text.
        has_task_types: Whether it is told the purpose of a text apart; others read it in the text.
    """

    text_tokens: int
    has_task_types: bool


_MODELS = {
    "gemini-embedding-001": _Model(2_048, has_task_types=True),
    "gemini-embedding-2": _Model(8_192, has_task_types=False),
}


class _Embedding(msgspec.Struct, frozen=True):
    values: list[float]


class _Answer(msgspec.Struct, frozen=True):
    embeddings: list[_Embedding]


@dataclass(frozen=True, slots=True)
class GeminiProvider:
    """Speaks ``batchEmbedContents``; see :class:`mdvec.embedding.remote.provider.Provider`.

    Attributes:
        access: The key.
        model: Such as ``gemini-embedding-001``.
        dimension: Length of the vectors.
        facts: What is known of the model.
        base_url: Where the service is.
    """

    access: Access
    model: str
    dimension: int
    facts: _Model
    base_url: str

    service = "Gemini"
    section = "embedding.gemini"
    warnings = ()
    known_models = tuple(_MODELS)
    telling = Telling.ALWAYS

    @property
    def limits(self) -> Limits:
        """What it takes: 100 texts at once; the tokens of a request are Vertex AI's limit."""
        text_tokens = usable(self.facts.text_tokens, taken=_TITLE_TOKENS)
        return Limits(text_tokens, _BATCH_TEXTS, _BATCH_TOKENS)

    def address(self, key: str) -> str:  # noqa: ARG002 - the same for every key
        """The API's version is part of it, unless an address of one's own says which."""
        if re.search(r"/v\d\w*/?$", self.base_url):
            return self.base_url
        return f"{self.base_url.rstrip('/')}/{_VERSION}"

    def headers(self, key: str) -> dict[str, str]:
        """The key goes into a header; in the address it would end up in logs."""
        return {"x-goog-api-key": key}

    def space(self, dimension: int) -> EmbeddingSpace:
        """The name of a model says its version too."""
        return EmbeddingSpace("gemini", self.model, "1", dimension)

    def question(self, windows: Sequence[Window], purpose: Purpose, dimension: int | None) -> Question:
        """Each text is a request of its own: several texts in one would get one vector."""
        requests = [self._request(window, purpose, dimension) for window in windows]
        return Question(f"models/{self.model}:batchEmbedContents", {"requests": requests})

    def answer(self, answer: object, count: int) -> Sequence[RawVector]:  # noqa: ARG002 - the port's
        """Vectors come in the order of the requests."""
        return [item.values for item in read_answer(answer, _Answer, self.service).embeddings]

    def asked_wait(self, reply: Reply) -> float | None:
        """Whoever has used up a day's quota is told to come back in seconds, and refused again."""
        is_daily = reply.status == 429 and any(
            "PerDay" in str(detail.get("violations")) for detail in error_details(reply.content)
        )
        return float("inf") if is_daily else None

    def _request(self, window: Window, purpose: Purpose, dimension: int | None) -> dict[str, object]:
        text = window.text
        options: dict[str, object] = {"outputDimensionality": dimension}
        if self.facts.has_task_types:
            options["taskType"] = _TASK_TYPES[purpose]
            if window.title and purpose is Purpose.DOCUMENT:
                options["title"] = window.title
        elif purpose is Purpose.QUERY:
            text = f"task: search result | query: {text}"
        else:
            text = f"title: {window.title or 'none'} | text: {text}"
        return {"model": f"models/{self.model}", "content": {"parts": [{"text": text}]}, **options}


@declares(ServiceSettings)
def make_gemini(
    *,
    model: str = "",
    dimension: int | None = None,
    runtime: Runtime,
    api_key_env: str | None = None,
    base_url: str = _ADDRESS,
    requests_at_once: int = 4,
    timeout_s: float = 60.0,
    attempts: int = 6,
) -> RemoteEmbedder:
    """Make an embedder that asks Gemini.

    Args:
        model: ``gemini-embedding-001`` when empty. One that is not known here is taken for a successor of
            ``gemini-embedding-2``.
        dimension: 128 to 3072; 768 when None.
        runtime: Whom to tell about waits.
        api_key_env: The variable that holds the key; None for ``GEMINI_API_KEY``, or else ``GOOGLE_API_KEY``.
        base_url: Where the service is.
        requests_at_once: Most requests under way at the same time.
        timeout_s: How long the service may be silent, in seconds.
        attempts: Most times a request is sent.

    Raises:
        ConfigError: If the model does not offer the dimension.
    """
    name = model.removeprefix("models/") or _DEFAULT_MODEL
    length = dimension or _DEFAULT_DIMENSION
    if length not in _DIMENSIONS:
        msg = f"{name} makes no vectors of {length} numbers"
        raise ConfigError(msg, hint="Choose 768, 1536 or 3072, or any other length from 128 to 3072.")
    access = Access(
        "Gemini", variables(api_key_env, _VARIABLES), obtain="https://aistudio.google.com/apikey has it"
    )
    facts = _MODELS.get(name, _MODELS["gemini-embedding-2"])
    provider = GeminiProvider(access, name, length, facts, base_url)
    return RemoteEmbedder(
        provider, runtime, requests_at_once=requests_at_once, timeout_s=timeout_s, attempts=attempts
    )
