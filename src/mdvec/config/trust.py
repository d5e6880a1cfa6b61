"""The folders that the user trusts, and how mdvec writes files of its own."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from mdvec import registry
from mdvec.config.paths import user_data_dir
from mdvec.errors import ConfigError
from mdvec.locks import lock_if_possible
from mdvec.types.collection import EmbeddingSpec

_FILE = "trusted.json"


def trusted_folders() -> tuple[Path, ...]:
    """Return the folders whose configuration and index may do everything, in order.

    Raises:
        ConfigError: If they cannot be read.
    """
    try:
        return tuple(sorted(map(Path, json.loads(_file().read_bytes()))))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError) as error:
        msg = f"the trusted folders cannot be read from {_file()}: {error}"
        raise ConfigError(
            msg, hint="Remove that file, and run 'mdvec trust DIR' for each of them."
        ) from error


def is_trusted(folder: Path) -> bool:
    """Return True if the user trusts exactly this folder.

    Those above and below it do not count: a repository that is cloned into a trusted folder is another one.
    """
    return folder.resolve() in trusted_folders()


def trust(folder: Path) -> bool:
    """Remember that the user trusts a folder; return False if that is known.

    Raises:
        ConfigError: If the other trusted folders cannot be read.
        OSError: If it cannot be remembered.
    """
    with only_one(_file().with_suffix(".lock")):
        trusted = trusted_folders()
        if folder.resolve() in trusted:
            return False
        _write((*trusted, folder.resolve()))
        return True


def distrust(folder: Path) -> bool:
    """Forget that the user trusts a folder; return False if it was not trusted.

    Raises:
        ConfigError: If the trusted folders cannot be read.
        OSError: If it cannot be forgotten.
    """
    with only_one(_file().with_suffix(".lock")):
        trusted = trusted_folders()
        gone = {folder.resolve(), folder.absolute()}
        if not gone & {*trusted}:
            return False
        _write(tuple(each for each in trusted if each not in gone))
        return True


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its owner can use; if it exists and is ours, remove the others' access.

    Raises:
        OSError: If it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            state = folder.stat()
            if state.st_uid == os.geteuid() and state.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                folder.chmod(stat.S_IMODE(state.st_mode) & ~(stat.S_IRWXG | stat.S_IRWXO))


def write_private(path: Path, content: bytes) -> None:
    """Write a file of ours in one step, which only its owner can read.

    Raises:
        OSError: If it cannot be written.
    """
    from mdvec.files import write_whole  # reading a configuration does without

    make_private_folder(path.parent)
    write_whole(path, content)


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold the lock of a file, for which other processes wait, where the file system has locks.

    Raises:
        OSError: If the file cannot be made.
    """
    make_private_folder(path.parent)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "rb") as file:
        lock_if_possible(file)
        yield


def _file() -> Path:
    return user_data_dir() / _FILE


def _write(folders: tuple[Path, ...]) -> None:
    write_private(_file(), f"{json.dumps([str(each) for each in folders], indent=2)}\n".encode())


def refuse_code_of_publisher(location: str, spec: EmbeddingSpec, own: EmbeddingSpec) -> None:
    """Refuse a model whose code may run if a publisher has chosen it.

    Args:
        location: Of the database.
        spec: The model.
        own: The model that the configuration names.

    Raises:
        ConfigError: If it is the publisher's choice alone.
    """
    is_own = (spec.provider, spec.model) == (own.provider, own.model)
    if location and not is_own and registry.named_store(location) == "published":
        msg = f"the published copy asks for the model {spec}, whose code may run here"
        named = f'provider = "{spec.provider}", model = "{spec.model}"'
        raise ConfigError(msg, hint=f"If you trust it, name it in your configuration: [embedding] {named}.")
