"""Where configuration is looked for, and where data goes by default. Nothing is created here."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from mdvec.text.addresses import scheme_of

_APP = "mdvec"

CONFIG_NAMES = ("mdvec.toml", "mdvec.yaml", "mdvec.yml", "mdvec.json")
"""Names of a configuration file, in the order they are tried in each directory."""


def expanded(path: str | Path) -> Path:
    """Return a path with the home directory for a leading ``~``; that of an unknown user stays as it is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def absolute_location(location: str, directory: Path) -> str:
    """Return a store's location as it is meant from everywhere: an address as it is, a path absolute."""
    return location if scheme_of(location) else str(directory / expanded(location))


def find_config(cwd: Path) -> Path | None:
    """Return the first configuration file: upward from a directory, then the user's own.

    Args:
        cwd: Absolute path of the directory to start from.
    """
    for directory in (cwd, *cwd.parents, user_config_dir()):
        for name in CONFIG_NAMES:
            if (directory / name).is_file():
                return directory / name
    return None


def user_config_dir() -> Path:
    """Return the user's configuration directory for mdvec; it may not exist."""
    return platformdirs.user_config_path(_APP, appauthor=False)


def own_config() -> Path:
    """Return where the user's own configuration file goes; it may not exist."""
    return user_config_dir() / CONFIG_NAMES[0]


def default_database() -> Path:
    """Return the database that is used when none is named; it may not exist."""
    return platformdirs.user_data_path(_APP, appauthor=False) / "mdvec.sqlite"


def default_cache_dir() -> Path:
    """Return where the built model is kept when no place is named; it may not exist."""
    return platformdirs.user_cache_path(_APP, appauthor=False)
