"""Rerankers over cross-encoders that sentence-transformers loads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic as _clock
from typing import TYPE_CHECKING, Any

from mdvec.embedding.interface import Relevance, Reranker
from mdvec.embedding.local.files import ModelFiles, locate
from mdvec.embedding.local.inference import batches_by_length
from mdvec.embedding.local.layout import CONFIG
from mdvec.embedding.local.local_model import LocalModel
from mdvec.embedding.local.model_settings import LocalModelSettings
from mdvec.errors import ConfigError, EmbedderBusyError, EmbedderUnavailableError, EmbeddingError
from mdvec.settings import declares
from mdvec.text.tokens import estimate_token_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mdvec.embedding.local.engines import CrossEncoderEngine

PROVIDER = "transformers"
# Between two batches the time is checked, so that small ones keep the limit on a slow machine.
_BATCH_SIZE = 8
_BATCH_TOKENS = 4096
# A model that only embeds would get a last layer of random numbers, and nobody would notice.
_CLASSIFIER = "ForSequenceClassification"
_OWN_CONFIG = "config_sentence_transformers.json"
_MARKS = (f'{_CLASSIFIER}"', '"CrossEncoder"')


class CrossEncoderReranker(LocalModel["CrossEncoderEngine"], Reranker):
    """Runs a cross-encoder; see :class:`mdvec.embedding.interface.Reranker`.

    Of a passage that is too long for the model, the end is not read.

    Args:
        files: See :class:`mdvec.embedding.local.local_model.LocalModel`.
        open_engine: Likewise.
        timeout_s: Most seconds for one judgement, once the model is loaded.
        batch_size: Most texts in one batch.
    """

    is_small = False

    def __init__(
        self,
        files: ModelFiles,
        open_engine: Callable[[Path], CrossEncoderEngine],
        *,
        timeout_s: float,
        batch_size: int,
    ) -> None:
        super().__init__(files, open_engine)
        self._timeout_s = timeout_s
        self._batch_size = batch_size
        self._running = threading.Lock()

    @property
    def model(self) -> str:
        return self._files.name

    def relevance(self, query: str, texts: Sequence[str]) -> Relevance:
        import numpy as np

        scores = np.empty(len(texts), np.float32)
        with self._ready_engine() as engine:
            deadline = _clock() + self._timeout_s
            # Other searches may come first.
            if not self._running.acquire(timeout=self._timeout_s):
                raise self._too_slow(0, len(texts))
            try:
                self._fill(scores, query, texts, engine, deadline)
            finally:
                self._running.release()
        return Relevance(scores.tolist())

    def _fill(
        self,
        scores: NDArray[np.float32],
        query: str,
        texts: Sequence[str],
        engine: CrossEncoderEngine,
        deadline: float,
    ) -> None:
        """Score texts batch by batch, texts of like length together."""
        import numpy as np

        lengths = [estimate_token_count(text) for text in texts]
        done = 0
        for batch in batches_by_length(lengths, max_texts=self._batch_size, max_tokens=_BATCH_TOKENS):
            if done and _clock() > deadline:
                raise self._too_slow(done, len(texts))
            found = engine.score(query, [texts[at] for at in batch])
            if found.shape != (len(batch),) or not np.isfinite(found).all():
                raise self._no_scores()
            scores[batch] = found
            done += len(batch)

    def _too_slow(self, done: int, count: int) -> EmbedderBusyError:
        msg = f"{self._files.name} has scored {done} of {count} passages in {self._timeout_s:g} s"
        return EmbedderBusyError(
            msg, hint="Set [rerank] passages lower or timeout_s higher, or choose a smaller model."
        )

    def _no_scores(self) -> EmbeddingError:
        msg = f"{self._files.name} does not give one finite score to each passage"
        return EmbeddingError(msg, hint="Choose a model that was made to rerank.")


@declares(LocalModelSettings)
def make_cross_encoder(
    *, model: str, timeout_s: float, threads: int | None, **settings: Any
) -> CrossEncoderReranker:
    """Make a reranker; see :class:`mdvec.embedding.interface.RerankerFactory`.

    The model is a folder or an id on the Hugging Face hub. The other arguments are the settings of
    ``[rerank.transformers]``.

    Raises:
        ConfigError: If no model is named.
    """
    if not model:
        msg = f"the reranker {PROVIDER!r} needs a model"
        raise ConfigError(msg, hint=f"Name one of the hub, or a folder: {PROVIDER}:OWNER/NAME.")

    chosen = LocalModelSettings(**settings)

    def open_engine(folder: Path) -> CrossEncoderEngine:
        from mdvec.embedding.local.engines import CrossEncoderEngine

        _check_reranks(folder)
        return CrossEncoderEngine(folder, chosen, threads)

    files = locate(model, chosen, f"rerank.{PROVIDER}")
    batch_size = chosen.batch_size or _BATCH_SIZE
    return CrossEncoderReranker(files, open_engine, timeout_s=timeout_s, batch_size=batch_size)


def _check_reranks(folder: Path) -> None:
    """Refuse a model that was not made to rerank.

    Raises:
        EmbedderUnavailableError: If its files do not say that it was.
    """
    said = [_text_of(folder / name) for name in (CONFIG, _OWN_CONFIG)]
    if any(mark in text for mark, text in zip(_MARKS, said, strict=True)):
        return
    msg = f"the model in {folder} was not made to rerank: it has no {_CLASSIFIER}"
    raise EmbedderUnavailableError(msg, hint="Choose a cross-encoder, such as BAAI/bge-reranker-v2-m3.")


def _text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
