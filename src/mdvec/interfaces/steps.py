"""Words for the steps of an import, the same in every door."""

from __future__ import annotations

from typing import Final

from mdvec.types.report import ImportStage

_WORDS: Final = {
    ImportStage.WAIT: "waiting for another writer",
    ImportStage.LIMIT: "waiting for a service, seconds left",
    ImportStage.SCAN: "looking at files",
    ImportStage.FETCH: "fetching documents",
    ImportStage.TEXT: "reading documents",
    ImportStage.MODEL: "preparing the model",
    ImportStage.EMBED: "embedding texts",
}


def step_words(stage: ImportStage) -> str:
    """Return what is being done, in small letters."""
    return _WORDS[stage]
