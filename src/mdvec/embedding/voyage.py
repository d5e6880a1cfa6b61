"""Voyage AI, with its own keys or those of MongoDB Atlas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from mdvec.embedding.interface import Role, Runtime
from mdvec.embedding.remote.provider import (
    ApiKey,
    DimensionParameter,
    Provider,
    Request,
    RerankServiceSettings,
    Service,
    ServiceSettings,
    usable,
)
from mdvec.embedding.remote.remote_embedder import RemoteEmbedder
from mdvec.embedding.remote.remote_reranker import RemoteReranker
from mdvec.embedding.windows import Window
from mdvec.errors import ConfigError
from mdvec.settings import Name, declares

_ADDRESS = "https://api.voyageai.com/v1"
_ATLAS_ADDRESS = "https://ai.mongodb.com/v1"
_ATLAS_KEY = "al-"
_VARIABLES = ("VOYAGE_API_KEY",)
_OBTAIN_KEY = "https://dashboard.voyageai.com has it"
_DEFAULT_MODEL = "voyage-4-lite"
_RERANKERS = ("rerank-2.5-lite", "rerank-2.5", "rerank-2-lite", "rerank-2")

_TEXT_TOKENS = 32_000
# The service accepts 1,000; with smaller requests, a failure costs less.
_BATCH_TEXTS = 128

_FLEXIBLE = (256, 512, 1024, 2048)


class _Model(Struct, frozen=True):
    """The facts about a model.

    Attributes:
        batch_tokens: Most tokens of a request.
        dimensions: Lengths of vectors it offers; with a single one, the parameter is refused.
        default: The length without the parameter.
        family: Models of one family put queries and documents into the same space.
    """

    batch_tokens: int
    dimensions: tuple[int, ...] = _FLEXIBLE
    default: int = 1024
    family: str = ""


_MODELS = {
    "voyage-4-lite": _Model(1_000_000, family="voyage-4"),
    "voyage-4": _Model(320_000, family="voyage-4"),
    "voyage-4-large": _Model(120_000, family="voyage-4"),
    "voyage-3.5-lite": _Model(1_000_000),
    "voyage-3.5": _Model(320_000),
    "voyage-3-large": _Model(120_000),
    "voyage-code-3": _Model(120_000),
    "voyage-3-lite": _Model(120_000, (512,), 512),
    "voyage-3": _Model(120_000, (1024,)),
    "voyage-finance-2": _Model(120_000, (1024,)),
    "voyage-law-2": _Model(120_000, (1024,)),
    "voyage-multilingual-2": _Model(120_000, (1024,)),
}
_UNKNOWN = _Model(120_000)


class VoyageProvider(Provider, frozen=True, kw_only=True):
    """Speaks ``/embeddings`` with input types; see :class:`mdvec.embedding.remote.provider.Provider`.

    Without an address, the key decides.

    Attributes:
        query_model: The model of the queries, of the same family.
    """

    query_model: str

    def address(self, key: str) -> str:
        """Return MongoDB's address for a key of Atlas."""
        return self.base_url or _address_for(key)

    def request(self, windows: Sequence[Window], role: Role, dimension: int | None) -> Request:
        """Return one request for all texts, with their role."""
        body: dict[str, object] = {
            "input": [window.text for window in windows],
            "model": self.query_model if role is Role.QUERY else self.model,
            "input_type": role.value,
            "truncation": True,  # windows are far below the limit; a longer one is not refused
            "encoding_format": "base64",
        }
        if dimension is not None:
            body["output_dimension"] = dimension
        return Request("embeddings", body)


class VoyageSettings(ServiceSettings, frozen=True, kw_only=True):
    """``[embedding.voyage]``.

    Attributes:
        query_model: The model of queries, if it is not that of documents.
    """

    query_model: Name | None = None


@declares(VoyageSettings)
def make_voyage(
    *,
    model: str = "",
    dimension: int | None = None,
    runtime: Runtime,  # noqa: ARG001 - every factory has it
    **settings: Any,
) -> RemoteEmbedder:
    """Make an embedder that uses Voyage.

    The default model is ``voyage-4-lite``. The default dimension is 1024, or 512 for ``voyage-3-lite``.
    The other arguments are the settings of ``[embedding.voyage]``; without an address, the key decides
    between Voyage and MongoDB Atlas.

    Raises:
        ConfigError: If the model does not offer the dimension, or the two models do not go together.
    """
    chosen = VoyageSettings(**settings)
    name = model or _DEFAULT_MODEL
    facts = _MODELS.get(name, _UNKNOWN)
    length = dimension or facts.default
    if length not in facts.dimensions:
        offered = ", ".join(map(str, facts.dimensions))
        msg = f"{name} offers no vectors of {length} dimensions"
        raise ConfigError(msg, hint=f"It offers {offered}.")
    questions = chosen.query_model or name
    if questions != name and (not facts.family or _MODELS.get(questions, _UNKNOWN).family != facts.family):
        msg = f"{questions} cannot find what {name} has embedded: their vectors cannot be compared"
        raise ConfigError(msg, hint="Leave out query_model, or use models that are both of voyage-4.")
    has_choice = len(facts.dimensions) > 1
    service = VoyageProvider(
        provider="voyage",
        key=_key_in(chosen.api_key_env),
        model=name,
        base_url=chosen.base_url or "",
        known_models=tuple(_MODELS),
        dimension=length,
        text_tokens=usable(_TEXT_TOKENS),
        batch_texts=_BATCH_TEXTS,
        batch_tokens=usable(facts.batch_tokens),  # the service counts them, here they are estimated
        dimension_parameter=DimensionParameter.ALWAYS if has_choice else DimensionParameter.NEVER,
        query_model=questions,
    )
    return RemoteEmbedder(service, chosen)


@declares(RerankServiceSettings)
def make_voyage_reranker(
    *,
    model: str,
    timeout_s: float,
    threads: int | None,  # noqa: ARG001 - every factory has it
    **settings: Any,
) -> RemoteReranker:
    """Make a reranker that uses Voyage; see :class:`mdvec.embedding.interface.RerankerFactory`.

    The default model is ``rerank-2.5-lite``.
    """
    chosen = RerankServiceSettings(**settings)
    name = model or _RERANKERS[0]
    service = _RerankService(
        provider="voyage",
        key=_key_in(chosen.api_key_env),
        model=name,
        base_url=chosen.address(""),
        known_models=_RERANKERS,
        stage="rerank",
    )
    return RemoteReranker(service, timeout_s=timeout_s, options={"model": name})


class _RerankService(Service, frozen=True):
    """Without an address, the key decides."""

    def address(self, key: str) -> str:
        return self.base_url or _address_for(key)


def _key_in(variable: str | None) -> ApiKey:
    return ApiKey("Voyage", (variable,) if variable else _VARIABLES, obtain=_OBTAIN_KEY)


def _address_for(key: str) -> str:
    return _ATLAS_ADDRESS if key.startswith(_ATLAS_KEY) else _ADDRESS
