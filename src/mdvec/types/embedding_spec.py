"""Reads the short form in which people name a model."""

from __future__ import annotations

import re

from mdvec.errors import UsageError
from mdvec.types.collection import EmbeddingSpec

# Names of models hold colons (tags), slashes (hub ids, paths) and at signs; only digits at the very end are
# a dimension.
_SPEC = re.compile(r"(?P<provider>[^\s:@/]+)(?::(?P<model>\S(?:.*?\S)??))?(?:@(?P<dimension>[1-9]\d{0,5}))?")


def parse_embedding_spec(text: str) -> EmbeddingSpec:
    """Read ``PROVIDER[:MODEL][@DIMENSION]``, such as ``gemini``, ``openai:bge-m3:latest`` or ``voyage@512``.

    Raises:
        UsageError: If it is not of that form. Whether there is such a model is not asked.
    """
    found = _SPEC.fullmatch(text.strip())
    if found is None:
        msg = f"not a model: {text!r}"
        raise UsageError(
            msg, hint="Write PROVIDER[:MODEL][@DIMENSION], such as gemini or voyage:voyage-4-lite@512."
        )
    dimension = found["dimension"]
    return EmbeddingSpec(found["provider"], found["model"] or "", int(dimension) if dimension else None)
