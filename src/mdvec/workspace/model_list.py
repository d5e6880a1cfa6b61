"""Which models there are, and whether one can be used here."""

from __future__ import annotations

from collections.abc import Sequence

from mdvec.config.schema import PriceSettings
from mdvec.errors import MdvecError, UsageError
from mdvec.types.collection import Collection, EmbeddingSpec
from mdvec.types.model_report import ListedModel
from mdvec.workspace.wiring import Parts


_PROBE = "dimension"  # embedded to see whether a model works


def list_models(collections: Sequence[Collection], parts: Parts, prices: PriceSettings) -> list[ListedModel]:
    """Return the models that are known, and those that collections use besides.

    Args:
        collections: All of them.
        parts: Knows whether a model can be used here.
        prices: The configuration's own prices.
    """
    from mdvec.config.known_models import known_models, price_of

    embedders = parts.embedders
    users: dict[EmbeddingSpec, list[str]] = {}
    for each in collections:
        spec = each.embedding or embedders.configured
        users.setdefault(spec, []).append(each.name)
    listed: list[ListedModel] = []
    for known in known_models():
        using = [spec for spec in users if _is(spec, known.provider, known.model)]
        names = sorted(name for spec in using for name in users.pop(spec))
        problem = embedders.model(known.spec).problem
        listed.append(
            ListedModel(
                spec=str(known.spec),
                provider=known.provider,
                model=known.model,
                dimensions=known.dimensions,
                languages=known.languages,
                size_mb=known.size_mb,
                price=price_of(EmbeddingSpec(known.provider, known.model), prices),
                offline=known.offline,
                benchmarks=known.benchmarks,
                problem="" if problem is None else str(problem),
                hint="" if problem is None else problem.hint,
                collections=tuple(names),
            )
        )
    return [*listed, *(_unlisted(spec, names, parts, prices) for spec, names in users.items())]


def suggestion(wanted: EmbeddingSpec) -> str:
    """Return the known models whose name was given without the provider, as a hint; empty for none."""
    from mdvec.config.known_models import known_models

    name = wanted.provider
    specs = [str(known.spec) for known in known_models() if name in known.model.split("/")]
    return f"Did you mean {' or '.join(specs)}?" if specs and not wanted.model else ""


def _is(spec: EmbeddingSpec, provider: str, model: str) -> bool:
    names = {model, model.rpartition("/")[2]}
    return spec.provider == provider and (
        spec.model.rpartition("/")[2] in names or (provider == "builtin" and not spec.model)
    )


def _unlisted(spec: EmbeddingSpec, names: list[str], parts: Parts, prices: PriceSettings) -> ListedModel:
    from mdvec.config.known_models import price_of

    problem: MdvecError | None
    try:
        problem = parts.embedders.model(spec).problem
    except UsageError as error:
        problem = error
    return ListedModel(
        spec=str(spec),
        provider=spec.provider,
        model=spec.model,
        dimensions=() if spec.dimension is None else (spec.dimension,),
        languages="",
        size_mb=None,
        price=price_of(spec, prices),
        offline=False,
        benchmarks=(),
        problem="" if problem is None else str(problem),
        hint="" if problem is None else problem.hint,
        collections=tuple(sorted(names)),
    )


def checked(wanted: EmbeddingSpec, parts: Parts) -> EmbeddingSpec:
    """Try a model, so that what is missing is told before anything is written.

    Returns:
        The spec, pinned.

    Raises:
        ConfigError: If there is no such provider, or it does not offer this.
        EmbeddingError: If the model cannot be used here, or does not answer; the hint is what to do.
    """
    try:
        embedder = parts.embedders.make(wanted)
    except UsageError as error:
        if hint := suggestion(wanted):
            error.hint = hint
        raise
    if embedder.problem is not None:
        raise embedder.problem
    embedder.embed_query(_PROBE)
    return parts.embedders.pinned(wanted)
