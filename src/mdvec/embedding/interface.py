"""The port of stage 4: embedding."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from mdvec.errors import EmbedderUnavailableError
from mdvec.types.model_report import Price
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:  # numpy stays unloaded until a vector is made
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """Shape (dim,), unit length."""
    Matrix = NDArray[np.float32]
    """Shape (n, dim), rows of unit length."""
    Parts = Generator[tuple[Sequence[int], Matrix], None, None]
    """Positions of some of the texts, and their vectors, shape (number of these texts, dim)."""


_LOCAL_TEXTS_AT_ONCE = 96


class Role(StrEnum):
    """The side of a search that a text is on."""

    QUERY = "query"
    DOCUMENT = "document"


class Runtime(Struct, frozen=True):
    """The machine that an embedder runs on.

    Attributes:
        cache_dir: Folder for files that are built or downloaded; created when needed.
        threads: Threads to compute with; None for one per core this process may use.
        batch_tokens: Most tokens that a thread processes at once, for models on this machine. About 100 are
            fastest, since they stay in a core's cache. A single longer window is processed as a whole.
    """

    cache_dir: Path
    threads: int | None = None
    batch_tokens: int = 128


class TokenCounter(Struct, frozen=True):
    """The tokens of texts as a model counts them, without markers.

    Attributes:
        ends: Returns the ends of the tokens of a text; see :data:`mdvec.chunking.interface.TokenEnds`.
        max_tokens: Most tokens of a text that the model reads at once, without prefixes and markers. A longer
            text is embedded in windows, and its vector is their mean: nothing is cut off.
        is_exact: Whether ``ends`` is the model's own tokenizer, not an estimate.
        estimate: Returns an estimate of the tokens before each position of a text; None unless that is much
            faster than counting; see :data:`mdvec.chunking.interface.TokenEstimate`.
    """

    ends: Callable[[str], Sequence[int]]
    max_tokens: int
    is_exact: bool
    estimate: Callable[[str], Sequence[float]] | None = None


class EmbedderFactory(Protocol):
    """An entry of the registry. Making an embedder is cheap: nothing is loaded or sent."""

    def __call__(
        self, *, model: str, dimension: int | None, runtime: Runtime, **settings: object
    ) -> Embedder:
        """Make an embedder.

        Args:
            model: Name, hub id or folder of the model; empty for the adapter's own choice.
            dimension: Length of the vectors; None for the model's own.
            runtime: The machine.
            settings: The settings of ``[embedding.<provider>]`` that are set.

        Raises:
            ConfigError: If a setting is impossible, such as a dimension the model does not offer.
        """


class Embedder(Protocol):
    """Turns texts into unit vectors. The model is loaded when it is first needed.

    An adapter derives from this class and defines ``space``, ``tokens`` and :meth:`embed`; the other members
    have defaults for a small model on this machine.

    The current run reports the loading of a model as :attr:`mdvec.run.Stage.MODEL`, in per cent.

    Attributes:
        is_small: Whether the model takes so little memory that each of several processes may load it.
    """

    is_small: bool = False

    @property
    def space(self) -> EmbeddingSpace:
        """The space of its vectors; known without loading the model.

        For a service, one request determines the dimension unless it is configured.

        Raises:
            EmbeddingError: If that request fails.
        """

    @property
    def tokens(self) -> TokenCounter:
        """The token counter of the model; an estimate if the model cannot be used."""

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """The reason why this machine cannot use it, found without loading the model; None if it can."""
        return None

    @property
    def folder(self) -> Path | None:
        """The absolute path of the user's folder with the model; None if its name alone identifies it."""
        return None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Facts about how the model runs here that the user should know; complete once it is loaded."""
        return ()

    @property
    def texts_at_once(self) -> int:
        """The best number of passages of a few hundred tokens for one call.

        For a model on this machine, as many as take a few seconds on a laptop: they come in one part, so a
        killed import loses at most these. For a service, as many as keep all connections busy.
        """
        return _LOCAL_TEXTS_AT_ONCE

    def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:  # noqa: ARG002
        """Return how many requests to a service :meth:`embed` makes for passages; 0 without a service."""
        return 0

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Embed texts and yield their vectors as they are made, so that they can be stored meanwhile.

        Args:
            texts: Any number, in any order; see :attr:`texts_at_once`.
            role: With ``QUERY``, the vectors are those of :meth:`embed_queries`.
            titles: The title of the document of each text, or empty; for models with a separate input.

        Yields:
            Positions in ``texts`` and their vectors: float32, unit length, finite. Each position once, in any
            order. Closing the generator waits for nothing.

        Raises:
            EmbedderUnavailableError: If the model cannot be used here.
            EmbeddingError: If a service refuses, or its response is not these vectors; raised after all the
                vectors that did arrive.
        """

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embed queries. Since a person waits, it gives up on a slow service early.

        Returns:
            float32, shape (len(texts), dim), rows of unit length in the order of the texts, finite.

        Raises:
            EmbedderUnavailableError: If an extra, a key, a model or a server is missing; its hint names the
                next step.
            EmbeddingError: If a service refuses, or its response is not a vector.
        """
        return embed_all(self, texts, Role.QUERY)

    def embed_query(self, text: str) -> Vector:
        """Embed one query; see :meth:`embed_queries`.

        Returns:
            float32, shape (dim,), unit length, finite.
        """
        vector: Vector = self.embed_queries([text])[0]
        return vector

    def unload(self, *, idle_s: float) -> bool:  # noqa: ARG002
        """Free the memory of a model that is idle; the next use loads it again.

        Args:
            idle_s: Seconds since its last use.

        Returns:
            Whether there was anything to free.
        """
        return False


def embed_all(
    embedder: Embedder, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()
) -> Matrix:
    """Embed texts and wait for all of them; see :meth:`Embedder.embed`.

    Returns:
        float32, shape (len(texts), dim), rows of unit length in the order of the texts, finite.

    Raises:
        EmbeddingError: If one of them cannot be embedded.
    """
    import numpy as np

    matrix = np.empty((len(texts), embedder.space.dimension), np.float32)
    for positions, vectors in embedder.embed(texts, role, titles):
        matrix[list(positions)] = vectors
    return matrix


class Relevance(Struct, frozen=True):
    """The judgement of a reranker.

    Attributes:
        scores: One for each text, in their order, higher is better; finite. The scale is the model's own.
        tokens: Tokens that a service has read, as it counts them, or an estimate if it does not say; 0 for a
            model on this machine.
    """

    scores: Sequence[float]
    tokens: int = 0


class Reranker(Protocol):
    """Judges how relevant texts are to a query, reading both at once. An adapter derives from this class.

    Attributes:
        is_small: Whether each of several processes may have it.
    """

    is_small: bool = True

    @property
    def model(self) -> str:
        """The name of the model, for people and for its price."""

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """The reason why this machine cannot use it, found without loading the model; None if it can."""
        return None

    def relevance(self, query: str, texts: Sequence[str]) -> Relevance:
        """Judge texts, within the time that was set when it was made. To load a model does not count.

        Args:
            query: The query.
            texts: At least one.

        Raises:
            EmbeddingError: If it cannot be used, does not answer in time, or its answer is not these scores.
        """

    def unload(self, *, idle_s: float) -> bool:  # noqa: ARG002
        """Free the memory of a model that is idle; see :meth:`Embedder.unload`."""
        return False


class RerankerFactory(Protocol):
    """An entry of the registry. Making a reranker is cheap: nothing is loaded or sent."""

    def __call__(self, *, model: str, timeout_s: float, threads: int | None, **settings: object) -> Reranker:
        """Make a reranker.

        Args:
            model: Name, hub id or folder of the model; empty for the adapter's own choice.
            timeout_s: Most seconds for one judgement.
            threads: Threads to compute with; None for one per core this process may use.
            settings: The settings of ``[rerank.<provider>]`` that are set.

        Raises:
            ConfigError: If a setting is impossible.
        """


class ConfiguredReranker(Struct, frozen=True):
    """A reranker, and how it is used.

    Attributes:
        name: Its provider and model, for everyone who sees an answer: never a path.
        reranker: The model.
        passages: How many passages it reads.
        price: What it costs; None when that is nothing, or not known.
    """

    name: str
    reranker: Reranker
    passages: int
    price: Price | None = None


class Cluster(Protocol):
    """Machines that embed; made by the registry from an address, and connected to when it is first needed."""

    def embedder(self, own: Embedder, make: Callable[[], Embedder]) -> Embedder:
        """Return an embedder like ``own`` whose passages are embedded there; ``make`` can be pickled."""

    def close(self) -> None:
        """Disconnect, if connected."""
