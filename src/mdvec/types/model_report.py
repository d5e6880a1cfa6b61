"""What is said about models: which there are, what a change came to, what an import would cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a model reached where it was published.

    Attributes:
        name: Of the benchmark and the part of it.
        value: Mean nDCG@10, in per cent.
        source: Where it says so.
    """

    name: str
    value: float
    source: str


@dataclass(frozen=True, slots=True)
class Price:
    """What a service asks.

    Attributes:
        usd_per_million_tokens: In US dollars.
        as_of: The day it was looked up, as ``YYYY-MM-DD``; empty when it is not known.
    """

    usd_per_million_tokens: float
    as_of: str


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that can be chosen.

    Attributes:
        spec: What to write to choose it.
        provider: Name of the embedder.
        model: Name of the model.
        dimensions: Lengths its vectors may have, the usual one first; empty when not known.
        languages: For people.
        size_mb: What has to be on the disk, in megabytes; None when nothing has, or it is not known.
        price: None when it costs nothing, or that is not known.
        offline: Whether texts stay on this machine.
        benchmarks: Published figures of retrieval.
        problem: Why it cannot be used here, as far as that can be told without loading or asking; empty when
            it can.
        hint: What to do about it.
        collections: Names of those that use it.
    """

    spec: str
    provider: str
    model: str
    dimensions: tuple[int, ...]
    languages: str
    size_mb: int | None
    price: Price | None
    offline: bool
    benchmarks: tuple[Benchmark, ...]
    problem: str
    hint: str
    collections: tuple[str, ...]


class ModelChangeOutcome(StrEnum):
    """How a change of a collection's model has ended."""

    CHANGED = "changed"
    CHOSEN = "chosen"
    SAME = "same"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class ModelChange:
    """What ``model use`` did to one collection.

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
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ImportEstimate:
    """What an import would embed now.

    Attributes:
        collection: Name of the collection.
        model: The model it would use.
        documents: Documents that would be read.
        chunks: Texts of chunks that would go through the model.
        names: Names of documents that would.
        tokens: Tokens of both.
        exact: Whether they were counted with the model's own tokenizer.
        requests: Requests to the service; 0 for a model on this machine.
        usd: What they would cost, in US dollars; None when there is no known price.
        price: What that was reckoned with.
        warnings: For people.
    """

    collection: str
    model: str
    documents: int
    chunks: int
    names: int
    tokens: int
    exact: bool
    requests: int
    usd: float | None
    price: Price | None
    warnings: tuple[str, ...] = ()
