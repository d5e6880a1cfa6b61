"""Says what an import would embed, and what that would cost."""

from __future__ import annotations

from mdvec.config.schema import PriceSettings
from mdvec.types.collection import Collection
from mdvec.types.model_report import ImportEstimate
from mdvec.types.report import ImportMode, Progress
from mdvec.stores.interface import Store
from mdvec.workspace.importing import chunking_of, cutting_model
from mdvec.workspace.wiring import Parts


def estimate(
    collection: Collection,
    *,
    store: Store,
    parts: Parts,
    prices: PriceSettings,
    mode: ImportMode,
    allow_empty: bool,
    max_tokens: int | None,
    overlap_tokens: int | None,
    progress: Progress,
) -> ImportEstimate:
    """Look ahead at an import; see :meth:`mdvec.workspace.models.Models.estimate`.

    Raises:
        ConfigError: If the collection or the configuration names a model that there is not.
    """
    from mdvec.config.known_models import price_of
    from mdvec.indexing.estimate import look_ahead

    model = cutting_model(collection, parts)
    embedder = parts.embedders.make(model.spec)  # counting needs no key, and no weights
    chunking = chunking_of(collection, max_tokens, overlap_tokens)
    outlook = look_ahead(
        collection,
        store=store,
        source=parts.source(collection.source),
        recipe=parts.recipe(chunking, model),
        embedder=embedder,
        space_id=parts.embedders.find_space(model.spec, store),
        rebuild=mode is ImportMode.REPLACE,
        allow_empty=allow_empty,
        progress=progress,
    )
    problems = () if model.problem is None else (f"{model.problem}. {model.problem.hint}",)
    spec = parts.embedders.named(model.spec)
    price = price_of(spec, prices)
    return ImportEstimate(
        collection=collection.name,
        model=str(spec),
        documents=outlook.documents,
        chunks=outlook.chunks,
        names=outlook.names,
        tokens=outlook.tokens,
        exact=embedder.tokens.is_exact,
        requests=outlook.requests,
        usd=None if price is None else outlook.tokens * price.usd_per_million_tokens / 1_000_000,
        price=price,
        warnings=(*problems, *outlook.unreadable, *parts.size_warnings(chunking, model)),
    )
