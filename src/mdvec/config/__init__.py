"""Settings: what can be set, where it is read from, and what it means when it is wrong."""

from __future__ import annotations

from mdvec.config.load import LoadedConfig, load_config
from mdvec.config.schema import Config

__all__ = ["Config", "LoadedConfig", "load_config"]
