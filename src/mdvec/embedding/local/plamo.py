"""Embedders over PLaMo-Embedding, which comes with its own code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdvec.embedding.interface import Role, Runtime
from mdvec.embedding.local.files import locate
from mdvec.embedding.local.inference import Engine, Prompts
from mdvec.embedding.local.local_embedder import LocalEmbedder, check_dimension
from mdvec.embedding.local.model_settings import LocalModelSettings
from mdvec.errors import EmbedderUnavailableError
from mdvec.settings import declares

PROVIDER = "plamo"
DEFAULT_MODEL = "pfnet/plamo-embedding-1b"
DEFAULT_BATCH_SIZE = 8
_DIMENSION = 2048  # of the default model
# Its code puts a sentence of instructions before a query.
_INSTRUCTION_TOKENS = 64


@declares(LocalModelSettings)
def make_plamo(*, model: str, dimension: int | None, runtime: Runtime, **settings: Any) -> LocalEmbedder:
    """Make an embedder; see :class:`mdvec.embedding.interface.EmbedderFactory`.

    The model is a folder or an id on the Hugging Face hub, of a model whose code has ``encode_query`` and
    ``encode_document``. A dimension shorter than the model's own cuts the vectors. The other arguments are
    the settings of ``[embedding.plamo]``; without ``trust_remote_code`` the model cannot be used.

    Raises:
        ConfigError: If the vectors of the default model are not that long.
    """
    chosen = LocalModelSettings(**settings)
    name = DEFAULT_MODEL if model in ("", DEFAULT_MODEL.partition("/")[2]) else model
    if name == DEFAULT_MODEL and dimension is not None:
        check_dimension(name, dimension, _DIMENSION)

    def open_engine(folder: Path, _prompts: Prompts) -> Engine:
        from mdvec.embedding.local.engines import PlamoEngine

        return PlamoEngine(folder, chosen, runtime.threads)

    return LocalEmbedder(
        provider=PROVIDER,
        files=locate(name, chosen, f"embedding.{PROVIDER}"),
        dimension=dimension,
        prompts=lambda _layout: dict.fromkeys(Role, ""),
        open_engine=open_engine,
        batch_size=chosen.batch_size or DEFAULT_BATCH_SIZE,
        reserved_tokens=_INSTRUCTION_TOKENS,
        problem=None if chosen.trust_remote_code else _no_permission(name),
    )


def _no_permission(name: str) -> EmbedderUnavailableError:
    msg = f"{name} comes with its own Python code, which mdvec does not run unless you allow it"
    return EmbedderUnavailableError(
        msg,
        hint=f"Read the code at its source; if you trust it, set [embedding.{PROVIDER}] "
        "trust_remote_code = true, and pin what you read with revision.",
    )
