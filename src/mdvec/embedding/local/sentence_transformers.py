"""Makes embedders of whatever sentence-transformers can load, Ruri v3 first of all."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mdvec.embedding.interface import Runtime
from mdvec.embedding.local.embedder import LocalEmbedder, check_dimension
from mdvec.embedding.local.engine import Engine, Prompts
from mdvec.embedding.local.files import locate
from mdvec.embedding.local.known import KnownModel, known_model
from mdvec.embedding.local.layout import Layout
from mdvec.embedding.local.requirements import missing_extra
from mdvec.embedding.local.settings import LocalModelSettings
from mdvec.settings import Text, declares

PROVIDER = "sentence-transformers"
DEFAULT_MODEL = "ruri-v3-30m"
DEFAULT_BATCH_SIZE = 16


class SentenceTransformersSettings(LocalModelSettings, frozen=True, kw_only=True):
    """``[embedding.sentence-transformers]``.

    Attributes:
        query_prefix: Put before queries; None for what the model wants.
        document_prefix: Put before passages; None for what the model wants.
    """

    query_prefix: Text | None = None
    document_prefix: Text | None = None


@declares(SentenceTransformersSettings)
def make_sentence_transformers(
    *,
    model: str,
    dimension: int | None,
    runtime: Runtime,
    device: str = "auto",
    query_prefix: str | None = None,
    document_prefix: str | None = None,
    batch_size: int = DEFAULT_BATCH_SIZE,
    trust_remote_code: bool = False,
    revision: str | None = None,
    hub_dir: Path | None = None,
    offline: bool = False,
) -> LocalEmbedder:
    """Make an embedder; see :class:`mdvec.embedding.interface.EmbedderFactory`.

    Args:
        model: A folder, an id on the Hugging Face hub, or the last part of the id of a model that is known
            here, such as ``ruri-v3-310m``.
        dimension: Length of the vectors; shorter than the model's own cuts them (Matryoshka).
        runtime: The machine.
        device: ``cpu``, ``cuda``, ``mps``, or ``auto``.
        query_prefix: Stands before a question; None for what the model wants.
        document_prefix: Stands before a passage; None for what the model wants.
        batch_size: Most texts in one batch.
        trust_remote_code: Whether Python code that comes with the model may run.
        revision: A branch, a tag or a commit of the model; None for its main branch.
        hub_dir: Where downloads are kept; None for the cache that all programs of this user share.
        offline: Whether nothing is downloaded.

    Raises:
        ConfigError: If the vectors of a known model are not that long.
    """
    name = model or DEFAULT_MODEL
    known = known_model(name)
    if known is not None and dimension is not None:
        check_dimension(known.hub_id, dimension, known.dimension)

    def open_engine(folder: Path, prompts: Prompts) -> Engine:
        from mdvec.embedding.local.sentence_transformers_engine import SentenceTransformersEngine

        return SentenceTransformersEngine(
            folder,
            prompts,
            device=device,
            threads=runtime.threads,
            trust_remote_code=trust_remote_code,
        )

    is_folder = Path(name).expanduser().is_dir()
    files = locate(
        known.hub_id if known is not None and not is_folder else name,
        hub_dir=hub_dir,
        revision=revision,
        offline=offline,
        provider=PROVIDER,
    )
    return LocalEmbedder(
        provider=PROVIDER,
        files=files,
        dimension=dimension,
        prompts=partial(_prompts, known or known_model(files.name), query_prefix, document_prefix),
        requirement=missing_extra,
        open_engine=open_engine,
        runtime=runtime,
        batch_size=batch_size,
    )


def _prompts(
    known: KnownModel | None, query_prefix: str | None, document_prefix: str | None, layout: Layout
) -> Prompts:
    """Take what is set, else what is known of the model, else what its files say, else nothing."""
    query = known.query_prefix if known is not None else layout.query_prompt or ""
    passage = known.document_prefix if known is not None else layout.document_prompt or ""
    return Prompts(
        query if query_prefix is None else query_prefix,
        passage if document_prefix is None else document_prefix,
    )
