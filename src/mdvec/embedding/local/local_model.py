"""A model that runs here: loaded when it is first needed, and freed when it is idle."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from mdvec import run
from mdvec.embedding.local.files import ModelFiles
from mdvec.embedding.local.layout import TOKENIZER, ModelTokenizer
from mdvec.errors import EmbedderUnavailableError
from mdvec.registry import install_command

_LIBRARIES = ("torch", "transformers", "sentence_transformers")


class Freeable(Protocol):
    """What takes memory."""

    def free(self) -> None:
        """Give the memory back; it is not used again."""


AnyEngine = TypeVar("AnyEngine", bound=Freeable)


class LocalModel(Generic[AnyEngine]):
    """The files of a model, and the model in memory. Threads may share it."""

    def __init__(
        self,
        files: ModelFiles,
        open_engine: Callable[[Path], AnyEngine],
        problem: EmbedderUnavailableError | None = None,
    ) -> None:
        """Store the settings; nothing is read.

        Args:
            files: The model.
            open_engine: Loads the model in a folder.
            problem: A reason not to use it.
        """
        self._files = files
        self._open_engine = open_engine
        self._own_problem = problem
        self._loading = threading.Lock()
        self._state = threading.Lock()
        self._engine: AnyEngine | None = None
        self._tokenizer: ModelTokenizer | None = None
        self._is_usable = False
        self._at_work = 0
        self._used_at = time.monotonic()

    @property
    def folder(self) -> Path | None:
        """The folder that was named; None for a model of the hub."""
        return self._files.folder

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """The extra, the permission or the model that is missing; None when nothing is.

        Once nothing was, that is not looked for again.
        """
        if not self._is_usable:
            found = _missing_extra() or self._own_problem or self._files.problem
            if found is not None:
                return found
            self._is_usable = True
        return None

    def unload(self, *, idle_s: float) -> bool:
        """Free the model and its tokenizer when nothing used them for so long; never during a call."""
        with self._state:
            loaded = self._engine is not None or self._tokenizer is not None
            if not loaded or self._at_work or time.monotonic() - self._used_at < idle_s:
                return False
            engine, self._engine, self._tokenizer = self._engine, None, None
        if engine is not None:
            engine.free()
        return True

    @cached_property
    def _folder(self) -> Path:
        """The folder of the settings; it stays the same, so that space and weights belong together."""
        if (problem := self.problem) is not None:
            raise problem
        return self._files.settings()

    def _ready_tokenizer(self) -> ModelTokenizer | None:
        """Return the tokenizer; None when the model has none that works by itself."""
        with self._state:
            self._used_at = time.monotonic()
            if self._tokenizer is None:
                path = self._folder / TOKENIZER
                self._tokenizer = ModelTokenizer(path) if path.is_file() else None
            return self._tokenizer

    @contextmanager
    def _ready_engine(self) -> Iterator[AnyEngine]:
        """Load the model if it is not loaded, and hold it until the end."""
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

    def _load(self) -> AnyEngine:
        if (problem := self.problem) is not None:
            raise problem
        self._ready_tokenizer()  # it is needed too, and its errors say more
        current = run.current()
        current.report(run.Stage.MODEL, 0, 100)
        self._files.fetch_weights(self._folder)
        engine = self._open_engine(self._folder)
        current.report(run.Stage.MODEL, 100, 100)
        return engine


def _missing_extra() -> EmbedderUnavailableError | None:
    """Return an error when a library is missing, without importing any."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if not missing:
        return None
    msg = f"local models need {', '.join(missing)}, which is not installed"
    return EmbedderUnavailableError(msg, hint=f"Run: {install_command('transformers')}")
