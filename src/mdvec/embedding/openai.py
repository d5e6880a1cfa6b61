"""OpenAI, and every server that speaks its protocol: Ollama, LM Studio, vLLM, TEI, llama.cpp and others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from mdvec.embedding.interface import Runtime
from mdvec.embedding.remote.access import Access, variables
from mdvec.embedding.remote.answers import (
    ListedVector,
    RawVector,
    in_order_of_index,
    read_answer,
)
from mdvec.embedding.remote.embedder import RemoteEmbedder
from mdvec.embedding.remote.packing import Window
from mdvec.embedding.remote.provider import Limits, Purpose, Question, Telling, usable
from mdvec.embedding.remote.settings import ServiceSettings
from mdvec.errors import ConfigError
from mdvec.net.reply import Reply
from mdvec.settings import Count, Seconds, Text, declares
from mdvec.text.tokens import estimate_token_count
from mdvec.types.space import EmbeddingSpace

OPENAI_ADDRESS = "https://api.openai.com/v1"
_VARIABLES = ("OPENAI_API_KEY",)
_DEFAULT_MODEL = "text-embedding-3-small"

# Servers at home compute on a processor: a request should be done within the time-out.
_BATCH_TEXTS = 64
_BATCH_TOKENS = 8_192


@dataclass(frozen=True, slots=True)
class _Model:
    """What is known of a model.

    Attributes:
        dimension: Length of its vectors; None when it has to be asked.
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

# Part of a model's name, and what it wants before questions and passages.
_PREFIXED = (
    ("nomic-embed-text", "search_query: ", "search_document: "),
    ("multilingual-e5", "query: ", "passage: "),
    ("ruri-v3", "検索クエリ: ", "検索文書: "),
)


class _Answer(msgspec.Struct, frozen=True):
    data: list[ListedVector]


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a model wants to see besides the text; part of the space of its vectors.

    Attributes:
        query_prefix: Put before questions.
        document_prefix: Put before passages.
        query_input_type: Sent as ``input_type`` with questions; empty to send none.
        document_input_type: Likewise, with passages.
    """

    query_prefix: str = ""
    document_prefix: str = ""
    query_input_type: str = ""
    document_input_type: str = ""

    @property
    def revision(self) -> str:
        """Names it: ``1`` when nothing is added, else with a digest of what is."""
        if self == Preparation():
            return "1"
        parts = [
            self.query_prefix,
            self.document_prefix,
            self.query_input_type,
            self.document_input_type,
        ]
        return f"1-{hashlib.blake2b(json.dumps(parts).encode(), digest_size=4).hexdigest()}"

    def prefix(self, purpose: Purpose) -> str:
        """Return what is put before a text."""
        return self.query_prefix if purpose is Purpose.QUERY else self.document_prefix

    def input_type(self, purpose: Purpose) -> str:
        """Return what is sent with it."""
        return self.query_input_type if purpose is Purpose.QUERY else self.document_input_type


@dataclass(frozen=True, slots=True)
class OpenAiProvider:
    """Speaks ``/embeddings``; see :class:`mdvec.embedding.remote.provider.Provider`.

    Attributes:
        access: The key.
        model: As the server calls it.
        dimension: Length of the vectors; None when the server has to be asked.
        telling: Whether the server is told that.
        limits: What the server takes.
        preparation: What the model wants to see besides the text.
        base_url: Where the server is.
    """

    access: Access
    model: str
    dimension: int | None
    telling: Telling
    limits: Limits
    preparation: Preparation
    base_url: str

    section = "embedding.openai"
    known_models = tuple(_MODELS)

    @property
    def service(self) -> str:
        """OpenAI, or whoever is at the address."""
        return _service_at(self.base_url)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A model that wants prefixes finds less without them."""
        if self.preparation != Preparation():
            return ()
        return tuple(
            f"{self.model} wants a prefix before each text: set [embedding.openai] "
            f"query_prefix = {_quoted(query)} and document_prefix = {_quoted(document)}, unless its server "
            "adds them."
            for name, query, document in _PREFIXED
            if name in self.model.lower()
        )

    def address(self, key: str) -> str:  # noqa: ARG002 - the same for every key
        """As set."""
        return self.base_url

    def headers(self, key: str) -> dict[str, str]:
        """The key, if there is one."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def space(self, dimension: int) -> EmbeddingSpace:
        """Wherever it runs, a model makes the same vectors of the same text."""
        return EmbeddingSpace("openai", self.model, self.preparation.revision, dimension)

    def question(self, windows: Sequence[Window], purpose: Purpose, dimension: int | None) -> Question:
        """All texts at once, each with its prefix."""
        prefix = self.preparation.prefix(purpose)
        body: dict[str, object] = {
            "model": self.model,
            "input": [prefix + window.text for window in windows],
            "encoding_format": "float",
        }
        if dimension is not None:
            body["dimensions"] = dimension
        if input_type := self.preparation.input_type(purpose):
            body["input_type"] = input_type
        return Question("embeddings", body)

    def answer(self, answer: object, count: int) -> Sequence[RawVector]:
        """Vectors are numbered, and may come in any order."""
        return in_order_of_index(read_answer(answer, _Answer, self.service).data, count, self.service)

    def asked_wait(self, reply: Reply) -> float | None:
        """Whoever has no credit left gets the status of one who asks too fast: waiting does not help."""
        no_credit = reply.status == 429 and b'"insufficient_quota"' in reply.content
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
    model: str = "",
    dimension: int | None = None,
    runtime: Runtime,
    api_key_env: str | None = None,
    base_url: str = OPENAI_ADDRESS,
    query_prefix: str = "",
    document_prefix: str = "",
    query_input_type: str = "",
    document_input_type: str = "",
    max_tokens: int | None = None,
    batch_size: int = _BATCH_TEXTS,
    batch_tokens: int = _BATCH_TOKENS,
    send_dimensions: bool | None = None,
    requests_at_once: int = 4,
    timeout_s: float = 120.0,
    attempts: int = 6,
) -> RemoteEmbedder:
    """Make an embedder that asks a server which speaks OpenAI's protocol.

    Args:
        model: As the server calls it; may only be empty for OpenAI itself: ``text-embedding-3-small`` then.
        dimension: Length of the vectors; None for the model's own, which an unknown server is asked for.
        runtime: Whom to tell about waits.
        api_key_env: The variable that holds the key; None for ``OPENAI_API_KEY``, which only OpenAI needs.
        base_url: Where the server is, up to and with ``/v1``.
        query_prefix: Put before questions.
        document_prefix: Put before passages.
        query_input_type: Sent as ``input_type`` with questions, for servers that know that field.
        document_input_type: Likewise, with passages.
        max_tokens: Most tokens of a text that the model reads; None for what is known of it, or 512.
        batch_size: Most texts of a request; halved for as long as the server finds it too large.
        batch_tokens: Most tokens of a request.
        send_dimensions: Whether the server is told the dimension; None for only if it is not the model's own.
        requests_at_once: Most requests under way at the same time.
        timeout_s: How long the server may be silent, in seconds.
        attempts: Most times a request is sent.

    Raises:
        ConfigError: If no model is named, or it does not offer the dimension.
    """
    is_openai = urlsplit(base_url).hostname == urlsplit(OPENAI_ADDRESS).hostname
    name = model or (_DEFAULT_MODEL if is_openai else "")
    if not name:
        msg = f"the provider 'openai' does not know which model to ask {_service_at(base_url)} for"
        raise ConfigError(msg, hint="Name it as the server does, such as openai:nomic-embed-text.")
    facts = _MODELS.get(name, _UNKNOWN)
    _check_dimension(name, facts, dimension)
    preparation = Preparation(query_prefix, document_prefix, query_input_type, document_input_type)
    taken = max(estimate_token_count(prefix) for prefix in (query_prefix, document_prefix))
    provider = OpenAiProvider(
        access=Access(
            _service_at(base_url),
            variables(api_key_env, _VARIABLES),
            needed=is_openai or api_key_env is not None,
            obtain="https://platform.openai.com/api-keys has it" if is_openai else "",
        ),
        model=name,
        dimension=dimension or facts.dimension,
        telling=_telling(facts, dimension, send_dimensions),
        limits=Limits(usable(max_tokens or facts.text_tokens, taken=taken), batch_size, batch_tokens),
        preparation=preparation,
        base_url=base_url,
    )
    return RemoteEmbedder(
        provider, runtime, requests_at_once=requests_at_once, timeout_s=timeout_s, attempts=attempts
    )


def _check_dimension(name: str, facts: _Model, dimension: int | None) -> None:
    if dimension is None or facts.dimension is None or dimension == facts.dimension:
        return
    if not facts.is_flexible or dimension > facts.dimension:
        most = f"at most {facts.dimension}" if facts.is_flexible else f"{facts.dimension} alone"
        msg = f"{name} makes no vectors of {dimension} numbers"
        raise ConfigError(msg, hint=f"It offers {most}.")


def _telling(facts: _Model, dimension: int | None, send_dimensions: bool | None) -> Telling:
    if send_dimensions is not None:
        return Telling.ALWAYS if send_dimensions else Telling.NEVER
    if facts.dimension is None:
        return Telling.IF_NEEDED
    return Telling.ALWAYS if dimension not in {None, facts.dimension} else Telling.NEVER


def _service_at(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.hostname == urlsplit(OPENAI_ADDRESS).hostname:
        return "OpenAI"
    return f"the server at {parts.hostname}:{parts.port}" if parts.port else f"the server at {parts.hostname}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
