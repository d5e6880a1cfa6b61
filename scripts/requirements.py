"""Adds to the metadata of mdvec what it requires: its model by version, or, in a clone, from the clone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELEASE = "MDVEC_RELEASE"
"""Set while what is published is built: it takes the model from the registry."""


class CustomMetadataHook(MetadataHookInterface):  # type: ignore[misc,unused-ignore] # untyped where there is no hatchling
    """Lists the requirements, so that ``pip install .`` in a clone brings the model, too."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies; see the base class."""
        root = Path(self.root)
        model = root / "packages" / "mdvec-e5"
        is_clone = model.is_dir() and not (root / "PKG-INFO").exists() and RELEASE not in os.environ
        from_clone = f"mdvec-e5 @ {model.as_uri()}" if is_clone else self.config["model"]
        metadata["dependencies"] = [*self.config["dependencies"], from_clone]
