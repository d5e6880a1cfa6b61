"""The embedder over a model that runs here, whichever library loads it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from mdvec.embedding.interface import Embedder, Role, TokenCounter
from mdvec.embedding.local.files import ModelFiles
from mdvec.embedding.local.inference import Engine, Prompts, batches_by_length
from mdvec.embedding.local.layout import Layout, read_layout
from mdvec.embedding.local.local_model import LocalModel
from mdvec.embedding.windows import Window, WindowJoiner, windows_at, windows_by_halves
from mdvec.errors import ConfigError, EmbedderUnavailableError, EmbeddingError
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.embedding.interface import Matrix, Parts

# Tokens of one batch with its padding: what the network holds at once.
_BATCH_TOKENS = 8192
# A window is cut where tokens of the whole text end; cut out, it may have one more at either end.
_SLACK_TOKENS = 2
# Left for the markers of a model whose tokenizer works with the loaded model only.
_UNKNOWN_MARKERS = 8
_USUAL_MAX_TOKENS = 512
_SHOWN_CHARACTERS = 40


class LocalEmbedder(LocalModel[Engine], Embedder):
    """Runs a model of the user's choice; see :class:`mdvec.embedding.interface.Embedder`.

    Making one reads nothing. Its space needs the settings next to the weights, which are fetched from the
    hub when they are not here (some megabytes); the first text embedded fetches the weights and loads
    them. Threads may share it: batches take turns, so that a query waits for one batch of an import and not
    for all of them.
    """

    def __init__(
        self,
        *,
        provider: str,
        files: ModelFiles,
        dimension: int | None,
        prompts: Callable[[Layout], Prompts],
        open_engine: Callable[[Path, Prompts], Engine],
        batch_size: int,
        reserved_tokens: int = 0,
        problem: EmbedderUnavailableError | None = None,
    ) -> None:
        """Store the settings.

        Args:
            provider: Name of the adapter.
            files: The model.
            dimension: Length of the vectors; shorter than the model's own cuts them. None for its own.
            prompts: Returns the prefixes of texts.
            open_engine: Loads the model in a folder.
            batch_size: Most texts in one batch.
            reserved_tokens: Tokens that the model puts before a text by itself.
            problem: A reason not to use it.
        """
        super().__init__(files, lambda folder: open_engine(folder, self._prompts), problem)
        self._provider = provider
        self._wanted_dimension = dimension
        self._choose_prompts = prompts
        self._batch_size = batch_size
        self._reserved_tokens = reserved_tokens
        self._running = threading.Lock()

    # --- what is known without loading -----------------------------------------------------------

    @cached_property
    def space(self) -> EmbeddingSpace:
        own = self._layout.dimension
        if own is None and self._wanted_dimension is None:
            msg = f"the files of {self._files.name} do not say how long its vectors are"
            raise ConfigError(msg, hint=f"Name it: {self._provider}:{self._files.name}@DIMENSION.")
        if own is not None and self._wanted_dimension is not None:
            check_dimension(self._files.name, self._wanted_dimension, own)
        prompts = self._prompts
        prepared = f"{prompts[Role.QUERY]}\0{prompts[Role.DOCUMENT]}\0{self._layout.max_tokens}"
        digest = hashlib.sha256(prepared.encode("utf-8", "surrogatepass")).hexdigest()
        return EmbeddingSpace(
            provider=self._provider,
            model=self._files.name,
            revision=f"{self._files.identity()}-{digest[:6]}",
            dimension=self._wanted_dimension or own or 0,
        )

    @property
    def tokens(self) -> TokenCounter:
        """The model's own tokens; an estimate where it has no tokenizer that works by itself."""
        if self.problem is not None:
            return TokenCounter(estimate_token_ends, _USUAL_MAX_TOKENS, is_exact=False)
        if self._ready_tokenizer() is None:
            return TokenCounter(estimate_token_ends, self._max_tokens, is_exact=False)
        return TokenCounter(self._token_ends, self._max_tokens, is_exact=True)

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:  # noqa: ARG002 - no use for titles
        yield range(len(texts)), self._embedded(texts, role)

    # --- inside ------------------------------------------------------------------------------------

    @cached_property
    def _layout(self) -> Layout:
        return read_layout(self._folder)

    @cached_property
    def _prompts(self) -> Prompts:
        return self._choose_prompts(self._layout)

    @cached_property
    def _max_tokens(self) -> int:
        prompts = self._prompts.values()
        tokenizer = self._ready_tokenizer()
        if tokenizer is None:
            taken = _UNKNOWN_MARKERS + max(2 * len(prompt) for prompt in prompts)
        else:
            taken = tokenizer.markers + max(len(tokenizer.ends(prompt)) for prompt in prompts)
        return max(1, self._layout.max_tokens - taken - self._reserved_tokens - _SLACK_TOKENS)

    def _token_ends(self, text: str) -> Sequence[int]:
        tokenizer = self._ready_tokenizer()
        return estimate_token_ends(text) if tokenizer is None else tokenizer.ends(text)

    def _embedded(self, texts: Sequence[str], role: Role) -> Matrix:
        import numpy as np

        dimension = self.space.dimension
        if not texts:
            return np.empty((0, dimension), np.float32)
        with self._ready_engine() as engine:
            windows = [
                window for owner, text in enumerate(texts) for window in self._windows(owner, text, engine)
            ]
            rows = np.empty((len(windows), dimension), np.float32)
            lengths = [window.tokens for window in windows]
            for batch in batches_by_length(lengths, max_texts=self._batch_size, max_tokens=_BATCH_TOKENS):
                shown = [windows[index].text for index in batch]
                with self._running:
                    vectors = engine.encode(shown, role)
                rows[batch] = self._unit_rows(vectors, shown, dimension)
        return WindowJoiner().add(windows, rows)[1]

    def _windows(self, owner: int, text: str, engine: Engine) -> Sequence[Window]:
        tokenizer = self._ready_tokenizer()
        if tokenizer is not None:
            return windows_at(owner, text, tokenizer.ends(text), self._max_tokens)
        return windows_by_halves(owner, text, partial(self._count, engine), self._max_tokens)

    def _count(self, engine: Engine, text: str) -> int:
        with self._running:  # tokenizers of transformers are not to be used by two threads
            return engine.count_tokens(text)

    def _unit_rows(self, vectors: NDArray[np.float32], texts: Sequence[str], dimension: int) -> Matrix:
        """Cut vectors to the dimension, and make them unit length again."""
        import numpy as np

        own = self._layout.dimension
        if vectors.ndim != 2 or len(vectors) != len(texts) or (own or dimension) > vectors.shape[1]:
            msg = (
                f"{self._files.name} makes arrays of shape {vectors.shape} for {len(texts)} texts, "
                f"not of {(len(texts), own or dimension)}"
            )
            raise EmbeddingError(msg, hint="Its files do not match: download them again.")
        rows = np.asarray(vectors[:, :dimension], np.float32)
        lengths = np.linalg.norm(rows, axis=1)
        for text, length in zip(texts, lengths.tolist(), strict=True):
            if not 0 < length < np.inf:
                msg = f"{self._files.name} makes a vector of length {length} of {text[:_SHOWN_CHARACTERS]!r}"
                raise EmbeddingError(msg, hint="Its weights are damaged, or do not suit this device.")
        unit: Matrix = rows / lengths[:, None]
        return unit


def check_dimension(name: str, dimension: int, own: int) -> None:
    """Refuse vectors longer than a model makes.

    Raises:
        ConfigError: If ``dimension`` is more than ``own``.
    """
    if dimension > own:
        msg = f"the vectors of {name} have {own} dimensions and cannot have {dimension}"
        raise ConfigError(
            msg, hint=f"Choose at most {own}: more would only be zeros, which cost memory and find nothing."
        )
