"""Settings: what can be set, where it is read from, and what it means when it is wrong.

Read ``schema.py`` first: every setting with its default. ``load.py`` finds the file, ``syntax.py`` reads
TOML with the line of each key, ``validation.py`` says what is wrong, and ``trust.py`` decides about a file
that came with a folder. ``foreign.py`` translates the files of other programs.
"""

from __future__ import annotations

from mdvec.config.load import LoadedConfig, load_config
from mdvec.config.schema import Config

__all__ = ["Config", "LoadedConfig", "load_config"]
