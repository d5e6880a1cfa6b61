"""Embedders over models that sentence-transformers loads, Ruri v3 first of all."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mdvec.embedding.interface import Role, Runtime
from mdvec.embedding.local.files import locate
from mdvec.embedding.local.inference import Engine, Prompts
from mdvec.embedding.local.layout import Layout
from mdvec.embedding.local.local_embedder import LocalEmbedder, check_dimension
from mdvec.embedding.local.model_settings import LocalModelSettings
from mdvec.files import expanded
from mdvec.settings import Text, declares

PROVIDER = "sentence-transformers"
DEFAULT_MODEL = "ruri-v3-30m"
DEFAULT_BATCH_SIZE = 16


class _KnownModel(NamedTuple):
    """A model whose prefixes are not in its files."""

    hub_id: str
    dimension: int
    query_prefix: str
    document_prefix: str


_RURI = ("検索クエリ: ", "検索文書: ")
_E5 = ("query: ", "passage: ")
_MODELS = (  # from their cards
    _KnownModel("cl-nagoya/ruri-v3-30m", 256, *_RURI),
    _KnownModel("cl-nagoya/ruri-v3-70m", 384, *_RURI),
    _KnownModel("cl-nagoya/ruri-v3-130m", 512, *_RURI),
    _KnownModel("cl-nagoya/ruri-v3-310m", 768, *_RURI),
    _KnownModel("intfloat/multilingual-e5-small", 384, *_E5),
    _KnownModel("intfloat/multilingual-e5-base", 768, *_E5),
    _KnownModel("intfloat/multilingual-e5-large", 1024, *_E5),
)


class SentenceTransformersSettings(LocalModelSettings, frozen=True, kw_only=True):
    """``[embedding.sentence-transformers]``.

    Attributes:
        query_prefix: Prefix of queries; None for the model's own.
        document_prefix: Prefix of passages; None for the model's own.
    """

    query_prefix: Text | None = None
    document_prefix: Text | None = None


@declares(SentenceTransformersSettings)
def make_sentence_transformers(
    *, model: str, dimension: int | None, runtime: Runtime, **settings: Any
) -> LocalEmbedder:
    """Make an embedder; see :class:`mdvec.embedding.interface.EmbedderFactory`.

    The model is a folder, an id on the Hugging Face hub, or the last part of the id of a known model, such as
    ``ruri-v3-310m``. A dimension shorter than the model's own cuts the vectors (Matryoshka). The other
    arguments are the settings of ``[embedding.sentence-transformers]``; a prefix of None is the model's own.

    Raises:
        ConfigError: If the vectors of a known model are not that long.
    """
    chosen = SentenceTransformersSettings(**settings)
    name = model or DEFAULT_MODEL
    known = _known_model(name)
    if known is not None and dimension is not None:
        check_dimension(known.hub_id, dimension, known.dimension)

    def open_engine(folder: Path, prompts: Prompts) -> Engine:
        from mdvec.embedding.local.engines import SentenceTransformersEngine

        return SentenceTransformersEngine(folder, chosen, runtime.threads, prompts)

    is_folder = expanded(name).is_dir()
    place = known.hub_id if known is not None and not is_folder else name
    files = locate(place, chosen, f"embedding.{PROVIDER}")
    return LocalEmbedder(
        provider=PROVIDER,
        files=files,
        dimension=dimension,
        prompts=partial(_prompts, known or _known_model(files.name), chosen),
        open_engine=open_engine,
        batch_size=chosen.batch_size or DEFAULT_BATCH_SIZE,
    )


def _prompts(known: _KnownModel | None, chosen: SentenceTransformersSettings, layout: Layout) -> Prompts:
    """Return the configured prefixes, else the known ones of the model, else those in its files."""
    query = known.query_prefix if known is not None else layout.query_prompt or ""
    passage = known.document_prefix if known is not None else layout.document_prompt or ""
    return {
        Role.QUERY: query if chosen.query_prefix is None else chosen.query_prefix,
        Role.DOCUMENT: passage if chosen.document_prefix is None else chosen.document_prefix,
    }


def _known_model(name: str) -> _KnownModel | None:
    """Return a model by its id on the hub or the last part of the id, regardless of case."""
    folded = name.casefold()
    return next((each for each in _MODELS if folded in {each.hub_id, each.hub_id.partition("/")[2]}), None)
