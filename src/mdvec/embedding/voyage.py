"""Voyage AI, by its own keys or those of MongoDB Atlas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from mdvec.settings import Name, declares
from mdvec.types.space import EmbeddingSpace

_ADDRESS = "https://api.voyageai.com/v1"
_ATLAS_ADDRESS = "https://ai.mongodb.com/v1"
_ATLAS_KEY = "al-"
_VARIABLES = ("VOYAGE_API_KEY",)
_DEFAULT_MODEL = "voyage-4-lite"

_TEXT_TOKENS = 32_000
# The service takes 1,000; smaller ones go wrong in smaller parts.
_BATCH_TEXTS = 128

_FLEXIBLE = (256, 512, 1024, 2048)


@dataclass(frozen=True, slots=True)
class _Model:
    """What is known of a model.

    Attributes:
        batch_tokens: Most tokens of a request.
        dimensions: Lengths of vectors it offers; one that offers a single length is not told it.
        default: The length of those.
        family: Models of one family put questions and documents into the same space.
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


class _Answer(msgspec.Struct, frozen=True):
    data: list[ListedVector]


@dataclass(frozen=True, slots=True)
class VoyageProvider:
    """Speaks ``/embeddings`` with input types; see :class:`mdvec.embedding.remote.provider.Provider`.

    Attributes:
        access: The key.
        model: That of the documents, such as ``voyage-4-lite``.
        query_model: That of the questions, of the same family.
        dimension: Length of the vectors.
        facts: What is known of the model.
        base_url: Where the service is; empty to go by the key.
    """

    access: Access
    model: str
    query_model: str
    dimension: int
    facts: _Model
    base_url: str

    service = "Voyage"
    section = "embedding.voyage"
    warnings = ()
    known_models = tuple(_MODELS)

    @property
    def telling(self) -> Telling:
        """Models of one length refuse to be told."""
        return Telling.ALWAYS if len(self.facts.dimensions) > 1 else Telling.NEVER

    @property
    def limits(self) -> Limits:
        """What it takes; the tokens of a request are counted by the service, here they are estimated."""
        return Limits(usable(_TEXT_TOKENS), _BATCH_TEXTS, usable(self.facts.batch_tokens))

    def address(self, key: str) -> str:
        """Keys of MongoDB Atlas are known in another place."""
        return self.base_url or (_ATLAS_ADDRESS if key.startswith(_ATLAS_KEY) else _ADDRESS)

    def headers(self, key: str) -> dict[str, str]:
        """The key."""
        return {"Authorization": f"Bearer {key}"}

    def space(self, dimension: int) -> EmbeddingSpace:
        """The name of a model says its version too."""
        return EmbeddingSpace("voyage", self.model, "1", dimension)

    def question(self, windows: Sequence[Window], purpose: Purpose, dimension: int | None) -> Question:
        """All texts at once, with what they are for."""
        body: dict[str, object] = {
            "input": [window.text for window in windows],
            "model": self.query_model if purpose is Purpose.QUERY else self.model,
            "input_type": purpose.value,
            "truncation": True,  # windows are far below the limit; should one be above it, the rest counts
            "encoding_format": "base64",
        }
        if dimension is not None:
            body["output_dimension"] = dimension
        return Question("embeddings", body)

    def answer(self, answer: object, count: int) -> Sequence[RawVector]:
        """Vectors are numbered."""
        return in_order_of_index(read_answer(answer, _Answer, self.service).data, count, self.service)

    def asked_wait(self, reply: Reply) -> float | None:  # noqa: ARG002 - the port's signature
        """It says so as everybody does, or not at all."""
        return None


class VoyageSettings(ServiceSettings, frozen=True, kw_only=True):
    """``[embedding.voyage]``.

    Attributes:
        query_model: The model of queries, when it is another one than that of documents.
    """

    query_model: Name | None = None


@declares(VoyageSettings)
def make_voyage(
    *,
    model: str = "",
    dimension: int | None = None,
    runtime: Runtime,
    query_model: str = "",
    api_key_env: str | None = None,
    base_url: str = "",
    requests_at_once: int = 4,
    timeout_s: float = 60.0,
    attempts: int = 6,
) -> RemoteEmbedder:
    """Make an embedder that asks Voyage.

    Args:
        model: ``voyage-4-lite`` when empty.
        dimension: Length of the vectors; None for 1024, which all but ``voyage-3-lite`` (512) offer.
        runtime: Whom to tell about waits.
        query_model: The model of questions, when it is another one; both are of the fourth generation then.
        api_key_env: The variable that holds the key; None for ``VOYAGE_API_KEY``.
        base_url: Where the service is; empty for Voyage, or MongoDB Atlas when the key is one of theirs.
        requests_at_once: Most requests under way at the same time.
        timeout_s: How long the service may be silent, in seconds.
        attempts: Most times a request is sent.

    Raises:
        ConfigError: If the model does not offer the dimension, or the two models do not go together.
    """
    name = model or _DEFAULT_MODEL
    facts = _MODELS.get(name, _UNKNOWN)
    length = dimension or facts.default
    if length not in facts.dimensions:
        offered = ", ".join(map(str, facts.dimensions))
        msg = f"{name} makes no vectors of {length} numbers"
        raise ConfigError(msg, hint=f"It offers {offered}.")
    asker = query_model or name
    if asker != name and (not facts.family or _MODELS.get(asker, _UNKNOWN).family != facts.family):
        msg = f"{asker} cannot find what {name} has embedded: their vectors have nothing in common"
        raise ConfigError(msg, hint="Leave out query_model, or use models that are both of voyage-4.")
    access = Access(
        "Voyage", variables(api_key_env, _VARIABLES), obtain="https://dashboard.voyageai.com has it"
    )
    provider = VoyageProvider(access, name, asker, length, facts, base_url)
    return RemoteEmbedder(
        provider, runtime, requests_at_once=requests_at_once, timeout_s=timeout_s, attempts=attempts
    )
