"""Where configuration is looked for, and where data goes by default. Nothing is created here."""

from __future__ import annotations

import hashlib
from pathlib import Path

import platformdirs

from mdvec.files import expanded
from mdvec.text.addresses import scheme_of, without_password

_APP = "mdvec"

DATA_DIR = ".mdvec"
"""The folder among documents that holds their index."""

_INDEX = "index.sqlite"

CONFIG_NAME = "mdvec.toml"
"""The name of a configuration file."""

SHARED_NAMES = ("config.yaml", "config.toml")
"""Files whose contents have to say whether they are for documents: other programs have such names, too."""

FOREIGN_NAMES = (".search-docs.json", ".search-docs/config.json", *SHARED_NAMES)
"""Files of other programs that hold settings for the documents next to them; ours win."""


def absolute_location(location: str, directory: Path) -> str:
    """Return a store's location as it is meant from everywhere: an address as it is, a path absolute."""
    return location if scheme_of(location) else str(directory / expanded(location))


def find_index(cwd: Path) -> Path | None:
    """Return the nearest index that lies in a directory or in one above it, made by any user.

    Args:
        cwd: Absolute path of the directory to start from.
    """
    places = (directory / DATA_DIR / _INDEX for directory in (cwd, *cwd.parents))
    return next((path for path in places if path.is_file()), None)


def user_config_dir() -> Path:
    """Return the user's configuration directory for mdvec; it may not exist."""
    return platformdirs.user_config_path(_APP, appauthor=False)


def own_config() -> Path:
    """Return where the user's own configuration file goes; it may not exist."""
    return user_config_dir() / CONFIG_NAME


def user_data_dir() -> Path:
    """Return where data of the user goes; it may not exist."""
    return platformdirs.user_data_path(_APP, appauthor=False)


def is_folder_name(place: Path | str) -> bool:
    """Return True if a place is a path without an extension: more likely a folder than a database file."""
    return isinstance(place, Path) and not place.suffix


def database_place(
    configured: str | None, *, database: Path | str | None, docs_dir: Path | None, data_dir: Path | None
) -> Path | str:
    """Return the database that is meant: an absolute path, or an address.

    Args:
        configured: ``[store] location``.
        database: One that is named; it wins.
        docs_dir: A folder that is used without registering it, links followed.
        data_dir: Where the index of ``docs_dir`` lies instead of in it.
    """
    if docs_dir is not None and database is None:
        return _index_of(docs_dir, data_dir)
    location = database or configured or default_database()
    return location if scheme_of(str(location)) else Path(location).absolute()


def _index_of(folder: Path, data_dir: Path | None) -> Path:
    """Return where the index of a folder lies; one inside it begins with the path of the folder."""
    path = ((data_dir or folder / DATA_DIR) / _INDEX).absolute()
    resolved = path.parent.resolve() / path.name
    return resolved if resolved.is_relative_to(folder) and not path.is_relative_to(folder) else path


def files_of_store(store: Path | str, schema: str = "") -> Path:
    """Return where files that belong to a store lie, without their suffix.

    That is next to its file, or among the user's data.

    Args:
        store: A path, or an address.
        schema: Where its tables are, if it has an address.
    """
    if isinstance(store, Path):
        return store
    identity = hashlib.sha256(f"{without_password(store)} {schema}".encode()).hexdigest()
    return user_data_dir() / f"{scheme_of(store)}-{identity[:12]}"


def default_database() -> Path:
    """Return the database that is used when none is named; it may not exist."""
    return user_data_dir() / "mdvec.sqlite"


def default_cache_dir() -> Path:
    """Return the folder of the built model when no other is named; it may not exist."""
    return platformdirs.user_cache_path(_APP, appauthor=False)


def is_of_search_docs(path: Path) -> bool:
    """Return True if a file is that of search-docs, which has one for each project."""
    return path.name == FOREIGN_NAMES[0] or path.parent.name == ".search-docs"


def folder_of(path: Path) -> Path:
    """Return the folder whose documents a configuration file is for."""
    return path.parent.parent if path.parent.name == ".search-docs" else path.parent
