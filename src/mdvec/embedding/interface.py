"""The port of stage 4."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mdvec.errors import EmbedderUnavailableError
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:  # numpy stays unloaded until a vector is made
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """Shape (dim,), unit length."""
    Matrix = NDArray[np.float32]
    """Shape (n, dim), rows of unit length."""
    Parts = Generator[tuple[Sequence[int], Matrix], None, None]
    """Which of the texts, and their vectors, shape (number of these texts, dim)."""


# What models that run here answer to Embedder.texts_at_once.
TEXTS_AT_ONCE_HERE = 96


@dataclass(frozen=True, slots=True)
class Runtime:
    """What every embedder is given of the machine it runs on, and whom it tells how it goes.

    Attributes:
        cache_dir: Folder for what is built or downloaded; created when needed.
        threads: Threads to compute with; None for one per core this process may use.
        batch_tokens: Most tokens a thread works on at once, for those that compute here.
        on_progress: Told the finished per cent, 0 to 100, while a model is built or loaded.
        on_wait: Told, about once a second, how many seconds are left before a service that said "later" is
            asked again. In the thread of the one who wants the vectors; what it raises ends the call.
    """

    cache_dir: Path
    threads: int | None = None
    batch_tokens: int = 128
    on_progress: Callable[[int], None] = lambda _percent: None
    on_wait: Callable[[float], None] = lambda _seconds_left: None


class EmbedderFactory(Protocol):
    """What the registry holds for an embedder. Making one is cheap: nothing is loaded or asked for."""

    def __call__(
        self, *, model: str, dimension: int | None, runtime: Runtime, **settings: object
    ) -> Embedder:
        """Make an embedder.

        Args:
            model: Name, hub id or folder of the model; empty for the adapter's own choice.
            dimension: Length of the vectors; None for the model's own.
            runtime: The machine.
            settings: Those of ``[embedding.<provider>]`` that are set.

        Raises:
            ConfigError: If a setting cannot be, such as a dimension the model does not offer.
        """
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors. Making one is cheap; the model loads on first need."""

    @property
    def space(self) -> EmbeddingSpace:
        """The space of its vectors; known without loading the model.

        A service is asked once how long its vectors are when nobody said so.

        Raises:
            EmbeddingError: If it had to be asked and did not answer.
        """
        ...

    @property
    def folder(self) -> Path | None:
        """Where the user keeps the model, absolute; None when its name alone says which it is."""
        ...

    @property
    def max_tokens(self) -> int:
        """Most tokens of a text that the model sees at once, prefixes and markers already taken off.

        Longer texts are embedded in windows whose mean is taken: nothing is cut off.
        """
        ...

    @property
    def texts_at_once(self) -> int:
        """How many passages of a few hundred tokens are worth giving it at once.

        For a model that runs here, what it makes in a few seconds on a laptop: all of it comes in one part,
        so this is what a kill costs. For a service, what keeps as many requests under way as may be.
        """
        ...

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """Why it cannot be used here, found without loading the model; None when it can."""
        ...

    @property
    def counts_exactly(self) -> bool:
        """Whether ``token_ends`` is the model's own tokenizer, not an estimate."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about how the model runs here; complete once it is loaded."""
        ...

    def token_ends(self, text: str) -> Sequence[int]:
        """Tokenise without markers; see :data:`mdvec.chunking.interface.TokenEnds`."""
        ...

    def check(self) -> None:
        """Try it with one word, so that what is missing is told now and not in the middle of an import.

        Raises:
            EmbedderUnavailableError: If an extra, a key, a model or a server is missing; its hint is what to
                run or to set.
            EmbeddingError: If it answers with something else than a vector.
        """
        ...

    def embed_query(self, text: str) -> Vector:
        """Embed a question.

        Returns:
            float32, shape (dim,), unit length, finite.

        Raises:
            EmbedderUnavailableError: If the model cannot be loaded here.
        """
        ...

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embed questions that nobody waits for: a service is asked for many at once, and waited for.

        Args:
            texts: The questions.

        Returns:
            float32, shape (len(texts), dim), rows of unit length in the order given, finite: those that
            :meth:`embed_query` makes of each.

        Raises:
            EmbedderUnavailableError: If the model cannot be loaded here.
            EmbeddingError: If a service refuses, or answers with something else than these vectors.
        """
        ...

    def embed_passages(self, texts: Sequence[str], titles: Sequence[str] = ()) -> Matrix:
        """Embed passages; any number, in any order of length.

        Args:
            texts: The passages, under their line of context.
            titles: What the document of each is called, or none at all; for models that take titles apart.

        Returns:
            float32, shape (len(texts), dim), rows of unit length in the order given, finite.

        Raises:
            EmbedderUnavailableError: If the model cannot be loaded here.
            EmbeddingError: If a service refuses, or answers with something else than these vectors.
        """
        ...

    def embed_in_parts(self, texts: Sequence[str], titles: Sequence[str] = ()) -> Parts:
        """Embed passages as :meth:`embed_passages` does, and hand out the vectors as they are made.

        So that what is made is stored while the rest is under way, and is not lost with it.

        Args:
            texts: The passages; :attr:`texts_at_once` of them keep it busy.
            titles: As for :meth:`embed_passages`.

        Yields:
            Positions in ``texts`` and their vectors, as :meth:`embed_passages` returns them; each position
            once, in any order. Closing the generator waits for nothing.

        Raises:
            EmbedderUnavailableError: If the model cannot be loaded here.
            EmbeddingError: If a service refuses, or answers with something else than these vectors; raised
                after all that did come back was handed out.
        """
        ...

    def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:
        """Return how many requests to a service these passages take; 0 for a model that runs here.

        Args:
            texts: As for :meth:`embed_in_parts`, which makes so many when nothing has to be repeated.
            titles: Likewise.
        """
        ...

    def unload(self, *, idle_s: float) -> bool:
        """Free the memory of a model that was not used for so long; the next use loads it again.

        Args:
            idle_s: Seconds since its last use.

        Returns:
            Whether there was anything to free.
        """
        ...
