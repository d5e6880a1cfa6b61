"""OpenAI, and every server that speaks its protocol: Ollama, LM Studio, vLLM, TEI, llama.cpp and others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from mdvec.embedding.interface import EmbedderFactory, Role, Runtime
from mdvec.embedding.remote.provider import (
    ApiKey,
    DimensionParameter,
    Provider,
    Request,
    ServiceSettings,
    usable,
)
from mdvec.embedding.remote.remote_embedder import RemoteEmbedder
from mdvec.embedding.windows import Window
from mdvec.errors import ConfigError
from mdvec.net.response import Response
from mdvec.settings import Count, Seconds, Text, declares
from mdvec.text.tokens import estimate_token_count

OPENAI_ADDRESS = "https://api.openai.com/v1"
_VARIABLES = ("OPENAI_API_KEY",)
_DEFAULT_MODEL = "text-embedding-3-small"

# Private servers often compute on a CPU: a request should finish within the time-out.
_BATCH_TEXTS = 64
_BATCH_TOKENS = 8_192


class _Model(Struct, frozen=True):
    """The facts about a model.

    Attributes:
        dimension: Length of its vectors; None when it is not known.
        text_tokens: Most tokens of a text.
        is_flexible: Whether it offers shorter vectors too.
    """

    dimension: int | None
    text_tokens: int
    is_flexible: bool


_MODELS = {
    "text-embedding-3-small": _Model(1536, 8_191, is_flexible=True),
    "text-embedding-3-large": _Model(3072, 8_191, is_flexible=True),
    "text-embedding-ada-002": _Model(1536, 8_191, is_flexible=False),
}
# Most models that people run themselves read 512 tokens or more; their servers cut the rest off in silence.
_UNKNOWN = _Model(None, 512, is_flexible=True)

_UNPREPARED = "1"

# Part of a model's name, and what it wants before queries and passages.
_PREFIXED = (
    ("nomic-embed-text", "search_query: ", "search_document: "),
    ("multilingual-e5", "query: ", "passage: "),
    ("ruri-v3", "検索クエリ: ", "検索文書: "),
)


class Preparation(Struct, frozen=True):
    """The additions to texts of each role that a model needs; part of the space of its vectors.

    Attributes:
        prefixes: Put before the text.
        input_types: Sent as ``input_type``; empty to send none.
    """

    prefixes: Mapping[Role, str]
    input_types: Mapping[Role, str]

    @property
    def revision(self) -> str:
        """Its name: ``1`` when nothing is added, else with a digest of the additions."""
        parts = [each[role] for each in (self.prefixes, self.input_types) for role in Role]
        if not any(parts):
            return _UNPREPARED
        return f"{_UNPREPARED}-{hashlib.blake2b(json.dumps(parts).encode(), digest_size=4).hexdigest()}"


class OpenAiProvider(Provider, frozen=True, kw_only=True):
    """Speaks ``/embeddings``; see :class:`mdvec.embedding.remote.provider.Provider`.

    Attributes:
        preparation: The additions to each text.
    """

    preparation: Preparation

    def request(self, windows: Sequence[Window], role: Role, dimension: int | None) -> Request:
        """Return one request for all texts, each with its prefix."""
        prefix = self.preparation.prefixes[role]
        body: dict[str, object] = {
            "model": self.model,
            "input": [prefix + window.text for window in windows],
            "encoding_format": "float",
        }
        if dimension is not None:
            body["dimensions"] = dimension
        if input_type := self.preparation.input_types[role]:
            body["input_type"] = input_type
        return Request("embeddings", body)

    def retry_after(self, response: Response) -> float | None:
        """Return infinity for an empty account: it looks like a rate limit, but waiting does not help."""
        no_credit = response.status == 429 and b'"insufficient_quota"' in response.content
        return float("inf") if no_credit else None


class OpenAiSettings(ServiceSettings, frozen=True, kw_only=True):
    """``[embedding.openai]``: OpenAI and servers that speak its protocol.

    Attributes:
        timeout_s: As for other services, but a model may have to be loaded first.
        query_prefix: Put before queries.
        document_prefix: Put before passages.
        query_input_type: Sent as ``input_type`` with queries.
        document_input_type: Sent as ``input_type`` with passages.
        max_tokens: Most tokens of a text that the model reads; None for what is known of it.
        batch_size: Most texts of a request.
        batch_tokens: Most tokens of a request.
        send_dimensions: Whether the dimension is sent; None for only if it has to be.
    """

    timeout_s: Seconds = 120.0
    query_prefix: Text = ""
    document_prefix: Text = ""
    query_input_type: Text = ""
    document_input_type: Text = ""
    max_tokens: Count | None = None
    batch_size: Count = _BATCH_TEXTS
    batch_tokens: Count = _BATCH_TOKENS
    send_dimensions: bool | None = None


@declares(OpenAiSettings)
def make_openai(
    *,
    provider: str = "openai",
    model: str = "",
    dimension: int | None = None,
    runtime: Runtime,  # noqa: ARG001 - every factory has it
    **settings: Any,
) -> RemoteEmbedder:
    """Make an embedder that uses a server which speaks OpenAI's protocol.

    Only OpenAI itself has a default model, ``text-embedding-3-small``. If the dimension is None and not
    known, the first response shows it. The provider is the name under which it was chosen. The other
    arguments are the settings of ``[embedding.openai]``. Only OpenAI needs a key, and only OpenAI is sent the
    one in ``OPENAI_API_KEY`` by default.

    Raises:
        ConfigError: If no model is named, or it does not offer the dimension.
    """
    chosen = OpenAiSettings(**settings)
    base_url = chosen.base_url or OPENAI_ADDRESS
    is_openai = urlsplit(base_url).hostname == urlsplit(OPENAI_ADDRESS).hostname
    name = model or (_DEFAULT_MODEL if is_openai else "")
    if not name:
        msg = f"the provider {provider!r} needs the name of a model of {_service_at(base_url)}"
        raise ConfigError(
            msg, hint=f"Give the name that the server uses, such as {provider}:nomic-embed-text."
        )
    facts = _MODELS.get(name, _UNKNOWN)
    _check_dimension(name, facts, dimension)
    preparation = Preparation(
        {Role.QUERY: chosen.query_prefix, Role.DOCUMENT: chosen.document_prefix},
        {Role.QUERY: chosen.query_input_type, Role.DOCUMENT: chosen.document_input_type},
    )
    taken = max(estimate_token_count(prefix) for prefix in (chosen.query_prefix, chosen.document_prefix))
    # Servers other than OpenAI get only a key that is named for them.
    variables = (chosen.api_key_env,) if chosen.api_key_env else _VARIABLES if is_openai else ()
    service = OpenAiProvider(
        provider=provider,
        key=ApiKey(
            _service_at(base_url),
            variables,
            obtain="https://platform.openai.com/api-keys has it" if is_openai else "",
        ),
        model=name,
        base_url=base_url,
        known_models=tuple(_MODELS),
        dimension=dimension or facts.dimension,
        text_tokens=usable(chosen.max_tokens or facts.text_tokens, taken=taken),
        batch_texts=chosen.batch_size,
        batch_tokens=chosen.batch_tokens,
        dimension_parameter=_dimension_parameter(facts, dimension, chosen.send_dimensions),
        revision=preparation.revision,
        warnings=_prefix_warnings(provider, name, preparation),
        preparation=preparation,
    )
    return RemoteEmbedder(service, chosen)


def _server(provider: str, address: str) -> EmbedderFactory:
    """Return the factory for a server, at this address of this machine unless the settings name another."""
    return declares(OpenAiSettings)(partial(make_openai, provider=provider, base_url=address))


make_ollama = _server("ollama", "http://localhost:11434/v1")
make_lmstudio = _server("lmstudio", "http://localhost:1234/v1")
make_vllm = _server("vllm", "http://localhost:8000/v1")


def _check_dimension(name: str, facts: _Model, dimension: int | None) -> None:
    if dimension is None or facts.dimension is None or dimension == facts.dimension:
        return
    if not facts.is_flexible or dimension > facts.dimension:
        most = f"at most {facts.dimension}" if facts.is_flexible else f"{facts.dimension} alone"
        msg = f"{name} offers no vectors of {dimension} dimensions"
        raise ConfigError(msg, hint=f"It offers {most}.")


def _dimension_parameter(
    facts: _Model, dimension: int | None, send_dimensions: bool | None
) -> DimensionParameter:
    if send_dimensions is not None:
        return DimensionParameter.ALWAYS if send_dimensions else DimensionParameter.NEVER
    if facts.dimension is None:
        return DimensionParameter.IF_NEEDED
    is_own = dimension in {None, facts.dimension}
    return DimensionParameter.NEVER if is_own else DimensionParameter.ALWAYS


def _prefix_warnings(provider: str, model: str, preparation: Preparation) -> tuple[str, ...]:
    """Return a warning if the model finds less without prefixes."""
    if preparation.revision != _UNPREPARED:
        return ()
    return tuple(
        f"{model} needs a prefix before each text: in [embedding.{provider}], "
        f"set query_prefix = {_quoted(query)} and document_prefix = {_quoted(document)}, "
        "unless its server adds them"
        for name, query, document in _PREFIXED
        if name in model.lower()
    )


def _service_at(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.hostname == urlsplit(OPENAI_ADDRESS).hostname:
        return "OpenAI"
    return f"the server at {parts.hostname}:{parts.port}" if parts.port else f"the server at {parts.hostname}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
