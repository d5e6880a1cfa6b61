"""What has to be installed to run models here."""

from __future__ import annotations

from importlib.util import find_spec

from mdvec.errors import EmbedderUnavailableError

INSTALL = "pip install 'mdvec[transformers]'"
_LIBRARIES = ("torch", "transformers", "sentence_transformers")


def missing_extra() -> EmbedderUnavailableError | None:
    """Say which library is missing, without importing any; None when all are there."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if not missing:
        return None
    msg = f"local models need {', '.join(missing)}, which is not installed"
    return EmbedderUnavailableError(msg, hint=f"Run: {INSTALL}")
