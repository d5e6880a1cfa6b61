"""The embedder over a model that runs here, whichever library loads it."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from mdvec.embedding.interface import TEXTS_AT_ONCE_HERE, Runtime
from mdvec.embedding.local.engine import Engine, Prompts, Role
from mdvec.embedding.local.files import ModelFiles
from mdvec.embedding.local.layout import Layout, read_layout
from mdvec.embedding.local.windows import Window, batches, windows_at, windows_by_halves
from mdvec.errors import ConfigError, EmbedderUnavailableError, EmbeddingError
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.space import EmbeddingSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.embedding.interface import Matrix, Parts, Vector
    from mdvec.embedding.local.tokens import TokenCounter

# Tokens of one batch with its padding: what the network holds at once.
_BATCH_TOKENS = 8192
# A window is cut where tokens of the whole text end; cut out, it may have one more at either end.
_SLACK_TOKENS = 2
# Left for the markers of a model whose tokenizer cannot be asked without loading it.
_UNKNOWN_MARKERS = 8
# Of a download and loading, how much is the download.
_DOWNLOAD_SHARE = 0.9
_SHOWN_CHARACTERS = 40


class LocalEmbedder:
    """Runs a model of the user's choice; see :class:`mdvec.embedding.interface.Embedder`.

    Making one reads nothing. Its space needs the settings beside the weights, which are fetched from the
    hub when they are not here (some megabytes); the first text embedded fetches the weights and loads
    them. May be used by several threads: batches take turns, so that a question waits for one batch of an
    import and not for all of them.
    """

    def __init__(
        self,
        *,
        provider: str,
        files: ModelFiles,
        dimension: int | None,
        prompts: Callable[[Layout], Prompts],
        requirement: Callable[[], EmbedderUnavailableError | None],
        open_engine: Callable[[Path, Prompts], Engine],
        runtime: Runtime,
        batch_size: int,
        reserved_tokens: int = 0,
    ) -> None:
        """Remember the settings.

        Args:
            provider: Name of the adapter.
            files: The model.
            dimension: Length of the vectors; shorter than the model's own cuts them. None for its own.
            prompts: Decides what stands before a text.
            requirement: Says what is missing to load any model, without loading anything.
            open_engine: Loads the model in a folder.
            runtime: The machine.
            batch_size: Most texts in one batch.
            reserved_tokens: Tokens that the model puts before a text by itself.
        """
        self._provider = provider
        self._files = files
        self._wanted_dimension = dimension
        self._choose_prompts = prompts
        self._requirement = requirement
        self._open_engine = open_engine
        self._runtime = runtime
        self._batch_size = batch_size
        self._reserved_tokens = reserved_tokens
        self._loading = threading.Lock()
        self._running = threading.Lock()
        self._state = threading.Lock()
        self._engine: Engine | None = None
        self._counter: TokenCounter | None = None
        self._is_usable = False
        self._at_work = 0
        self._used_at = time.monotonic()

    # --- what is known without loading -----------------------------------------------------------

    @cached_property
    def space(self) -> EmbeddingSpace:
        """The space of its vectors.

        Raises:
            EmbedderUnavailableError: If the settings of the model are not here and cannot be fetched.
            ConfigError: If the dimension asked for cannot be.
        """
        own = self._layout.dimension
        if own is None and self._wanted_dimension is None:
            msg = f"the files of {self._files.name} do not say how long its vectors are"
            raise ConfigError(msg, hint=f"Say it: {self._provider}:{self._files.name}@DIMENSION.")
        if own is not None and self._wanted_dimension is not None:
            check_dimension(self._files.name, self._wanted_dimension, own)
        prepared = f"{self._prompts.query}\0{self._prompts.passage}\0{self._layout.max_tokens}"
        digest = hashlib.sha256(prepared.encode("utf-8", "surrogatepass")).hexdigest()
        return EmbeddingSpace(
            provider=self._provider,
            model=self._files.name,
            revision=f"{self._files.identity()}-{digest[:6]}",
            dimension=self._wanted_dimension or own or 0,
        )

    @property
    def folder(self) -> Path | None:
        """The folder that was named; None for a model of the hub."""
        return self._files.folder

    @cached_property
    def max_tokens(self) -> int:
        """Most tokens of a text in one window of the model."""
        prompts = (self._prompts.query, self._prompts.passage)
        counter = self._ready_counter()
        if counter is None:
            taken = _UNKNOWN_MARKERS + max(2 * len(prompt) for prompt in prompts)
        else:
            taken = counter.markers + max(len(counter.ends(prompt)) for prompt in prompts)
        return max(1, self._layout.max_tokens - taken - self._reserved_tokens - _SLACK_TOKENS)

    @property
    def texts_at_once(self) -> int:
        """What it makes in a few seconds."""
        return TEXTS_AT_ONCE_HERE

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """What is missing: an extra, a permission or the model; None when nothing is.

        Once nothing was, that is not looked for again.
        """
        if not self._is_usable:
            found = self._requirement() or self._files.problem
            if found is not None:
                return found
            self._is_usable = True
        return None

    @property
    def counts_exactly(self) -> bool:
        """Whether the model's tokenizer can be used by itself."""
        return self.problem is None and self._ready_counter() is not None

    @property
    def warnings(self) -> tuple[str, ...]:
        """None."""
        return ()

    # --- texts -------------------------------------------------------------------------------------

    def token_ends(self, text: str) -> Sequence[int]:
        """Tokenise without markers: the end of each token in the text, ascending.

        An estimate where the model cannot be used, or has no tokenizer that can be used by itself.
        """
        counter = None if self.problem is not None else self._ready_counter()
        return estimate_token_ends(text) if counter is None else counter.ends(text)

    def check(self) -> None:
        """Load it and try it; see :meth:`mdvec.embedding.interface.Embedder.check`."""
        self.embed_query("mdvec")

    def embed_query(self, text: str) -> Vector:
        """Embed a question; see :meth:`mdvec.embedding.interface.Embedder.embed_query`."""
        vector: Vector = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embed questions; see :meth:`mdvec.embedding.interface.Embedder.embed_queries`."""
        return self._embed(texts, Role.QUERY)

    def embed_passages(self, texts: Sequence[str], titles: Sequence[str] = ()) -> Matrix:  # noqa: ARG002 - no use for them
        """Embed passages; see :meth:`mdvec.embedding.interface.Embedder.embed_passages`."""
        return self._embed(texts, Role.PASSAGE)

    def embed_in_parts(self, texts: Sequence[str], titles: Sequence[str] = ()) -> Parts:
        """Embed passages in one part; see :meth:`mdvec.embedding.interface.Embedder.embed_in_parts`."""
        yield range(len(texts)), self.embed_passages(texts, titles)

    def requests_for(self, texts: Sequence[str], titles: Sequence[str] = ()) -> int:  # noqa: ARG002 - the port's
        """None: it runs here."""
        return 0

    def unload(self, *, idle_s: float) -> bool:
        """Free the model and its tokenizer when nothing used them for so long; never during a call."""
        with self._state:
            loaded = self._engine is not None or self._counter is not None
            if not loaded or self._at_work or time.monotonic() - self._used_at < idle_s:
                return False
            engine, self._engine, self._counter = self._engine, None, None
        if engine is not None:
            engine.free()
        return True

    # --- inside ------------------------------------------------------------------------------------

    @cached_property
    def _folder(self) -> Path:
        """Where the settings are; one folder for good, so that space and weights belong together."""
        if (problem := self.problem) is not None:
            raise problem
        return self._files.settings()

    @cached_property
    def _layout(self) -> Layout:
        return read_layout(self._folder)

    @cached_property
    def _prompts(self) -> Prompts:
        return self._choose_prompts(self._layout)

    def _ready_counter(self) -> TokenCounter | None:
        """Return the tokenizer; None when the model has none that can be used by itself."""
        with self._state:
            self._used_at = time.monotonic()
            if self._counter is None:
                from mdvec.embedding.local.tokens import TOKENIZER, TokenCounter

                path = self._folder / TOKENIZER
                self._counter = TokenCounter(path) if path.is_file() else None
            return self._counter

    @contextmanager
    def _ready_engine(self) -> Iterator[Engine]:
        """Load the model if it is not loaded, and keep it until the end."""
        with self._state:
            self._at_work += 1
        try:
            with self._loading:
                if self._engine is None:
                    self._engine = self._load()
                engine = self._engine
            yield engine
        finally:
            with self._state:
                self._at_work -= 1
                self._used_at = time.monotonic()

    def _load(self) -> Engine:
        if (problem := self.problem) is not None:
            raise problem
        self._ready_counter()  # it is needed too, and tells more of what is wrong with it
        report = self._runtime.on_progress
        report(0)
        self._files.fetch_weights(self._folder, lambda percent: report(int(percent * _DOWNLOAD_SHARE)))
        engine = self._open_engine(self._folder, self._prompts)
        report(100)
        return engine

    def _embed(self, texts: Sequence[str], role: Role) -> Matrix:
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
            for batch in batches(lengths, most=self._batch_size, max_tokens=_BATCH_TOKENS):
                shown = [windows[index].text for index in batch]
                with self._running:
                    vectors = engine.encode(shown, role)
                rows[batch] = self._unit_rows(vectors, shown, dimension)
        return means(rows, [window.owner for window in windows], lengths)

    def _windows(self, owner: int, text: str, engine: Engine) -> Iterator[Window]:
        counter = self._ready_counter()
        if counter is not None:
            return windows_at(owner, text, counter.ends(text), self.max_tokens)
        return windows_by_halves(owner, text, partial(self._count, engine), self.max_tokens)

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
            raise EmbeddingError(msg, hint="Its files do not belong together: get them again.")
        rows = np.asarray(vectors[:, :dimension], np.float32)
        lengths = np.linalg.norm(rows, axis=1)
        for text, length in zip(texts, lengths.tolist(), strict=True):
            if not 0 < length < np.inf:
                msg = f"{self._files.name} makes a vector of length {length} of {text[:_SHOWN_CHARACTERS]!r}"
                raise EmbeddingError(msg, hint="Its weights are damaged, or do not suit this device.")
        unit: Matrix = rows / lengths[:, None]
        return unit


def means(rows: Matrix, owners: Sequence[int], weights: Sequence[int]) -> Matrix:
    """Take the mean of the windows of each text.

    Args:
        rows: One a window.
        owners: The text of each, ascending from 0 without a gap.
        weights: How much each counts.

    Returns:
        float32, shape (texts, dim), rows of unit length.
    """
    import numpy as np

    texts, firsts = np.unique(owners, return_index=True)
    sums = np.zeros((len(texts), rows.shape[1]), np.float32)
    np.add.at(sums, np.asarray(owners), rows * np.asarray(weights, np.float32)[:, None])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    # Windows that point in opposite directions have no mean; then the first counts.
    unit: Matrix = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), rows[firsts])
    return unit


def check_dimension(name: str, wanted: int, own: int) -> None:
    """Refuse vectors longer than a model makes.

    Raises:
        ConfigError: If ``wanted`` is more than ``own``.
    """
    if wanted > own:
        msg = f"the vectors of {name} have {own} numbers and cannot have {wanted}"
        raise ConfigError(
            msg, hint=f"Ask for at most {own}: zeros at their end would cost memory and find nothing."
        )
