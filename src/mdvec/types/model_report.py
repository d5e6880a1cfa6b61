"""Reports about models: the list of them, the outcome of a change, the cost of an import."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from mdvec.types.fields import doc


class Benchmark(Struct, frozen=True):
    """A published figure of a model.

    Attributes:
        name: Of the benchmark and the part of it.
        value: Mean nDCG@10, in per cent.
        source: Where it was published.
    """

    name: str
    value: float
    source: str


class Price(Struct, frozen=True):
    """The price of a service.

    Attributes:
        usd_per_million_tokens: In US dollars.
        as_of: The day it was looked up, as ``YYYY-MM-DD``; empty when unknown.
    """

    usd_per_million_tokens: float
    as_of: str


class ListedModel(Struct, frozen=True):
    """A model that can be chosen.

    Attributes:
        spec: The text that chooses it.
        provider: Name of the embedder.
        model: Name of the model.
        dimensions: Lengths its vectors may have, the usual one first; empty when not known.
        languages: For people.
        size_mb: Its size on disk, in megabytes; None when it has none, or that is not known.
        price: None when it costs nothing, or that is not known.
        offline: True if texts stay on this machine.
        benchmarks: Published figures of retrieval.
        problem: The reason why it cannot be used here, as far as known without loading it or sending a
            request; empty when it can.
        hint: The next step.
        collections: Names of those that use it.
        licence: Of its weights; empty for a service, and where it is not known.
        good_for: When to choose it, in a sentence; empty for most.
    """

    spec: str
    provider: str
    model: str
    dimensions: tuple[int, ...] = ()
    languages: str = ""
    size_mb: int | None = None
    price: Price | None = None
    offline: bool = False
    benchmarks: tuple[Benchmark, ...] = ()
    problem: str = ""
    hint: str = ""
    collections: tuple[str, ...] = ()
    licence: str = ""
    good_for: str = ""


class ModelChangeOutcome(StrEnum):
    """The outcome of a change of a collection's model."""

    CHANGED = "changed"
    CHOSEN = "chosen"
    SAME = "same"
    CANCELLED = "cancelled"


class ModelChange(Struct, frozen=True):
    """The result of ``model use`` for one collection.

    Attributes:
        collection: Its name.
        outcome: ``chosen``: it holds nothing yet, and its first import uses the model; ``same``: it uses the
            model already, or, of a cancelled change, there was none.
        model: The model it uses now; empty when that is not decided yet.
        embedded_chunks: Texts of chunks that went through a model.
        total_chunks: Chunks it holds.
        warnings: For people.
        elapsed_ms: Time taken, in milliseconds.
    """

    collection: str
    outcome: ModelChangeOutcome
    model: str
    embedded_chunks: int = 0
    total_chunks: int = 0
    warnings: tuple[str, ...] = ()
    elapsed_ms: Annotated[float, doc(digits=1)] = 0.0


class ImportEstimate(Struct, frozen=True):
    """An estimate of what an import would embed now.

    Attributes:
        collection: Name of the collection.
        model: The model it would use.
        documents: Documents that would be read.
        chunks: Texts of chunks that would go through the model.
        names: Names of documents that would.
        tokens: Tokens of both.
        exact: True if all were counted, with the model's own tokenizer; else they are scaled from a sample.
        requests: Requests to the service; 0 for a model on this machine.
        usd: Their cost, in US dollars; None when there is no known price.
        price: The price behind that.
        warnings: For people.
        seconds: How long a model on this machine takes, as measured now; None for a service.
    """

    collection: str
    model: str
    documents: int
    chunks: int
    names: int
    tokens: int
    exact: bool
    requests: int
    usd: Annotated[float | None, doc(digits=6)]
    price: Price | None
    warnings: tuple[str, ...] = ()
    seconds: Annotated[float | None, doc(digits=1)] = None
