"""Models whose way of being asked is not written in their files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What a model wants, from its card.

    Attributes:
        hub_id: ``owner/name`` on the Hugging Face hub.
        dimension: Length of its vectors.
        query_prefix: Stands before a question.
        document_prefix: Stands before a passage.
    """

    hub_id: str
    dimension: int
    query_prefix: str
    document_prefix: str


def _ruri(size: str, dimension: int) -> KnownModel:
    return KnownModel(f"cl-nagoya/ruri-v3-{size}", dimension, "検索クエリ: ", "検索文書: ")


def _e5(size: str, dimension: int) -> KnownModel:
    return KnownModel(f"intfloat/multilingual-e5-{size}", dimension, "query: ", "passage: ")


_MODELS = (
    _ruri("30m", 256),
    _ruri("70m", 384),
    _ruri("130m", 512),
    _ruri("310m", 768),
    _e5("small", 384),
    _e5("base", 768),
    _e5("large", 1024),
)
_BY_NAME = {
    name: model for model in _MODELS for name in (model.hub_id.casefold(), model.hub_id.partition("/")[2])
}


def known_model(name: str) -> KnownModel | None:
    """Find a model by its id on the hub, or by the last part of it alone.

    Args:
        name: ``owner/name`` or ``name``, in any case.
    """
    return _BY_NAME.get(name.casefold())
