"""Google's Gemini API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from mdvec.embedding.interface import Role, Runtime
from mdvec.embedding.remote.provider import (
    ApiKey,
    Provider,
    Request,
    ServiceSettings,
    usable,
)
from mdvec.embedding.remote.remote_embedder import RemoteEmbedder
from mdvec.embedding.remote.vectors import RawVector, parse_as
from mdvec.embedding.windows import Window
from mdvec.errors import ConfigError
from mdvec.net.response import Response
from mdvec.settings import declares

_ADDRESS = "https://generativelanguage.googleapis.com"
_VERSION = "v1beta"
_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_DEFAULT_MODEL = "gemini-embedding-001"
_DEFAULT_DIMENSION = 768
_DIMENSIONS = range(128, 3073)  # any prefix of a vector is a vector (Matryoshka)

_BATCH_TEXTS = 100
_BATCH_TOKENS = 20_000  # Vertex AI's limit
_TITLE_TOKENS = 100  # room for a title and the words around it

_TASK_TYPES = {Role.QUERY: "RETRIEVAL_QUERY", Role.DOCUMENT: "RETRIEVAL_DOCUMENT"}


class _Model(Struct, frozen=True):
    """The facts about a model.

    Attributes:
        text_tokens: Most tokens of a text.
        has_task_types: Whether the role of a text is a parameter; otherwise it is written into the text.
    """

    text_tokens: int
    has_task_types: bool


_MODELS = {
    "gemini-embedding-001": _Model(2_048, has_task_types=True),
    "gemini-embedding-2": _Model(8_192, has_task_types=False),
}


class _Embedding(msgspec.Struct, frozen=True):
    values: list[float]


class _Response(msgspec.Struct, frozen=True):
    embeddings: list[_Embedding]


class GeminiProvider(Provider, frozen=True, kw_only=True):
    """Speaks ``batchEmbedContents``; see :class:`mdvec.embedding.remote.provider.Provider`.

    Attributes:
        has_task_types: Whether the role of a text is a parameter.
    """

    has_task_types: bool

    def address(self, key: str) -> str:  # noqa: ARG002 - the same for every key
        """Return the address with the API's version, unless the configured one has a version."""
        if re.search(r"/v\d\w*/?$", self.base_url):
            return self.base_url
        return f"{self.base_url.rstrip('/')}/{_VERSION}"

    def headers(self, key: str) -> dict[str, str]:
        """Return the key in a header; in the address it would end up in logs."""
        return {"x-goog-api-key": key}

    def request(self, windows: Sequence[Window], role: Role, dimension: int | None) -> Request:
        """Return a request for each text: several texts in one would get one vector."""
        requests = [self._text_request(window, role, dimension) for window in windows]
        return Request(f"models/{self.model}:batchEmbedContents", {"requests": requests})

    def parse_response(self, body: object, count: int) -> Sequence[RawVector]:  # noqa: ARG002 - the port's
        """Return the vectors, which come in the order of the requests."""
        return [item.values for item in parse_as(body, _Response, self.name).embeddings]

    def retry_after(self, response: Response) -> float | None:
        """Return infinity for a daily quota: the service names seconds, but would refuse again."""
        is_daily = response.status == 429 and any(
            "PerDay" in str(detail.get("violations")) for detail in response.error_details()
        )
        return float("inf") if is_daily else None

    def _text_request(self, window: Window, role: Role, dimension: int | None) -> dict[str, object]:
        text = window.text
        options: dict[str, object] = {"outputDimensionality": dimension}
        if self.has_task_types:
            options["taskType"] = _TASK_TYPES[role]
            if window.title and role is Role.DOCUMENT:
                options["title"] = window.title
        elif role is Role.QUERY:
            text = f"task: search result | query: {text}"
        else:
            text = f"title: {window.title or 'none'} | text: {text}"
        return {"model": f"models/{self.model}", "content": {"parts": [{"text": text}]}, **options}


@declares(ServiceSettings)
def make_gemini(
    *,
    model: str = "",
    dimension: int | None = None,
    runtime: Runtime,  # noqa: ARG001 - every factory has it
    **settings: Any,
) -> RemoteEmbedder:
    """Make an embedder that uses Gemini.

    The default model is ``gemini-embedding-001``; an unknown one is treated like ``gemini-embedding-2``. The
    default dimension is 768. The other arguments are the settings of
    ``[embedding.gemini]``; the key is in ``GEMINI_API_KEY``, or else in ``GOOGLE_API_KEY``.

    Raises:
        ConfigError: If the model does not offer the dimension.
    """
    name = model.removeprefix("models/") or _DEFAULT_MODEL
    length = dimension or _DEFAULT_DIMENSION
    if length not in _DIMENSIONS:
        msg = f"{name} offers no vectors of {length} dimensions"
        raise ConfigError(msg, hint="Choose 768, 1536 or 3072, or any other length from 128 to 3072.")
    facts = _MODELS.get(name, _MODELS["gemini-embedding-2"])
    chosen = ServiceSettings(**settings)
    variables = (chosen.api_key_env,) if chosen.api_key_env else _VARIABLES
    provider = GeminiProvider(
        provider="gemini",
        key=ApiKey("Gemini", variables, obtain="https://aistudio.google.com/apikey has it"),
        model=name,
        base_url=chosen.base_url or _ADDRESS,
        known_models=tuple(_MODELS),
        dimension=length,
        text_tokens=usable(facts.text_tokens, taken=_TITLE_TOKENS),
        batch_texts=_BATCH_TEXTS,
        batch_tokens=_BATCH_TOKENS,
        has_task_types=facts.has_task_types,
    )
    return RemoteEmbedder(provider, chosen)
