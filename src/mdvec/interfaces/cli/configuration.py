"""``mdvec config``."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mdvec.interfaces.cli.formats import chosen_format, format_option
from mdvec.interfaces.cli.session import Command, Group, Session, common_options
from mdvec.interfaces.cli.terminal import note, write, write_json
from mdvec.interfaces.passage import cell_width
from mdvec.text.addresses import without_password

if TYPE_CHECKING:
    from mdvec.config import LoadedConfig

_FORMATS = ("text", "json")


@click.command(cls=Group)
@common_options
def config() -> None:
    """Show the settings in force."""


@config.command(cls=Command)
@format_option(*_FORMATS)
@common_options
@click.pass_obj
def show(session: Session, format_name: str | None) -> None:
    """Print every setting with its value and where it comes from.

    The text is TOML and can be saved as mdvec.toml.
    """
    loaded = session.load_config()
    values, origins = _effective(loaded, session)
    if chosen_format(format_name, loaded.config, _FORMATS) == "json":
        write_json(
            {
                "path": str(loaded.path) if loaded.path else None,
                "settings": {key: {"value": value, "origin": origins[key]} for key, value in values.items()},
            }
        )
    else:
        write(_as_toml(values, origins))


@config.command(cls=Command)
@common_options
@click.pass_obj
def path(session: Session) -> None:
    """Print the path of the configuration file that is read.

    When there is none, print where your own one would be read from.
    """
    from mdvec.config.paths import CONFIG_NAMES, user_config_dir

    found = session.load_config().path
    if found is None:
        note(
            f"no configuration file is read: none of {', '.join(CONFIG_NAMES)} is in {session.cwd}, "
            f"the folders above it, or {user_config_dir()}"
        )
    write(f"{found or user_config_dir() / CONFIG_NAMES[0]}\n")


def _effective(loaded: LoadedConfig, session: Session) -> tuple[dict[str, object], dict[str, str]]:
    """Return values and origins by dotted key, with the places that stand behind an unset path."""
    from mdvec.config.load import every_setting
    from mdvec.config.paths import default_cache_dir, default_database

    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for key, value, origins[key] in every_setting(loaded):
        values[key] = without_password(value) if isinstance(value, str) else _plain(value)
    values["store.location"] = values["store.location"] or str(default_database())
    values["embedding.cache_dir"] = values["embedding.cache_dir"] or str(default_cache_dir())
    if session.database is not None:
        values["store.location"] = without_password(str(session.database))
        origins["store.location"] = "--database"
    return values, origins


def _plain(value: object) -> object:
    match value:
        case Path() | StrEnum():
            return str(value)
        case tuple():
            return list(value)
        case _:
            return value


def _as_toml(values: dict[str, object], origins: dict[str, str]) -> str:
    lines = []
    section = ""
    for key, value in values.items():
        home, _, name = key.rpartition(".")
        if home != section:
            lines.append(f"[{home}]" if not section else f"\n[{home}]")
            section = home
        # TOML has no null: a setting that is not set is a comment. JSON's strings are TOML's.
        setting = f"# {name} =" if value is None else f"{name} = {json.dumps(value, ensure_ascii=False)}"
        lines.append(f"{setting}{' ' * max(2, 44 - cell_width(setting))}# {origins[key]}")
    return "".join(f"{line}\n" for line in lines)
