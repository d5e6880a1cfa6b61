"""``mdvec config``, ``preset``, ``trust`` and ``model``: the settings, and the embedding models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mdvec.errors import NotFoundError, UsageError
from mdvec.interfaces import present
from mdvec.interfaces.cli.common_options import (
    EXISTING_FILE,
    FOLDER,
    CommandGroup,
    command,
    format_option,
    wait_option,
)
from mdvec.interfaces.cli.filters import names_option, presets
from mdvec.interfaces.cli.progress import reporting_interruption
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, warn, write, write_table
from mdvec.interfaces.printing import visible
from mdvec.text.addresses import without_password
from mdvec.text.cells import cell_width

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mdvec.types.model_report import ModelChange


@click.command(cls=CommandGroup)
def config() -> None:
    """Show the settings."""


@config.command()
@format_option("text", "json")
def show(session: Session) -> None:
    """Print every setting, its value and its origin.

    The text is TOML and can be saved as mdvec.toml.
    """
    values, origins = _effective(session)
    settings = {key: {"value": value, "origin": origins[key]} for key, value in values.items()}
    path = str(session.loaded.path) if session.loaded.path else None
    session.write({"path": path, "settings": settings}, _as_toml(values, origins))


@config.command()
def path(session: Session) -> None:
    """Print the path of the configuration file.

    If there is none, print where you can create it.
    """
    from mdvec.config.paths import CONFIG_NAME, own_config

    found = session.loaded.path
    if found is None:
        note(
            f"no configuration file was found: {CONFIG_NAME} is not in {session.cwd}, "
            f"the folders above it, or {own_config().parent}"
        )
    write(f"{found or own_config()}\n")


@config.command("import")
@click.argument("file", type=EXISTING_FILE)
@format_option("text", "json")
def import_(session: Session, file: Path) -> None:
    """Translate another program's settings into those of mdvec.

    FILE is .search-docs.json, or config.yaml or config.toml of such a program. What is printed is TOML and
    can be saved as mdvec.toml.
    """
    from mdvec.config.foreign import translated

    found = translated(file)
    if found is None or not found.is_recognised:
        msg = f"{file} is not a configuration that mdvec can import"
        raise UsageError(msg, hint="It takes .search-docs.json, and config.yaml or config.toml of searches.")
    names = sorted(found.settings, key=lambda name: name.rpartition("."))  # tables behind the keys
    values = {name: found.settings[name].value for name in names}
    if session.wrote_json({"settings": values, "left_out": found.left_out, "unknown": [*found.unknown]}):
        return
    origins = {name: each.origin.removeprefix(f"{file}: ") for name, each in found.settings.items()}
    write(_as_toml(values, origins))
    for name, reason in found.left_out.items():
        note(f"{name} is left out: {reason}")
    for name, near in found.unknown.items():
        note(f"unknown setting {name}" + (f"; did you mean {near}?" if near else ""))


@click.command(cls=CommandGroup)
def preset() -> None:
    """Show the presets for 'mdvec tool add --preset'."""


@preset.command("ls")
@format_option("table", "json")
def list_presets(session: Session) -> None:
    """List the presets."""
    from mdvec.config.presets import load_preset, preset_names

    rows = [
        {
            "name": each.name,
            "description": each.description,
            "chunker": each.chunking.strategy,
            "embedder": str(each.embedding) if each.embedding else None,
        }
        for each in (load_preset(name, cwd=session.cwd) for name in preset_names())
    ]
    if session.wrote_json(rows):
        return
    columns = ("name", "chunker", "embedder", "description")
    unset = {"embedder": "as configured"}
    write_table(columns, [[row[key] or unset.get(key, "") for key in columns] for row in rows])


@preset.command("show")
@click.argument("name", shell_complete=presets)
def show_preset(session: Session, name: str) -> None:
    """Print the preset NAME, to change it and save it as your own."""
    from mdvec.config.presets import load_preset

    write(load_preset(name, cwd=session.cwd).text.rstrip("\n") + "\n")


@command()
@click.argument("folder", metavar="DIR", required=False, type=FOLDER)
@click.option("--list", "listing", is_flag=True, help="List the trusted folders.")
@click.option("--remove", is_flag=True, help="Stop trusting DIR.")
def trust(_: Session, folder: Path | None, listing: bool, remove: bool) -> None:
    """Trust the configuration and the index that come with a folder.

    They may then choose models, sources, keys, and where data goes. Later changes of the folder are trusted
    too; folders inside it are not.
    """
    from mdvec.config.trust import distrust, trusted_folders
    from mdvec.config.trust import trust as remember

    if (folder is None) != listing or (listing and remove):
        msg = "mdvec trust takes a folder, or --list alone"
        raise UsageError(
            msg, hint="Run 'mdvec trust DIR', 'mdvec trust --remove DIR' or 'mdvec trust --list'."
        )
    if folder is None:
        write("".join(f"{visible(str(each))}\n" for each in trusted_folders()))
        return
    if remove:
        if not distrust(folder):
            msg = f"{folder} is not trusted"
            raise NotFoundError(msg, hint="Run 'mdvec trust --list' to see the folders that are.")
        note(f"not trusted any more: {folder.resolve()}")
        return
    if not folder.is_dir():
        msg = f"{folder} is not a folder"
        raise UsageError(msg, hint="Name a folder that exists.")
    note(f"trusted: {folder.resolve()}" if remember(folder) else f"already trusted: {folder.resolve()}")


def _effective(session: Session) -> tuple[dict[str, object], dict[str, str]]:
    """Return values and origins by dotted key, with the default places of paths that are not set."""
    from msgspec import to_builtins

    from mdvec.config.load import every_setting
    from mdvec.config.paths import default_cache_dir, default_database

    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for key, value, origins[key] in every_setting(session.loaded):
        values[key] = without_password(value) if isinstance(value, str) else to_builtins(value, enc_hook=str)
    values["store.location"] = values["store.location"] or str(default_database())
    values["embedding.cache_dir"] = values["embedding.cache_dir"] or str(default_cache_dir())
    if session.database is not None:
        values["store.location"] = without_password(str(session.database))
        origins["store.location"] = "--database"
    return values, origins


def _as_toml(values: dict[str, object], origins: dict[str, str]) -> str:
    from mdvec.config.syntax import toml_value

    lines = []
    section = ""
    for key, value in values.items():
        home, _, name = key.rpartition(".")
        if home != section:
            lines.append(f"[{home}]" if not section else f"\n[{home}]")
            section = home
        # TOML has no null: a setting that is not set is a comment.
        setting = f"# {name} =" if value is None else f"{name} = {toml_value(value)}"
        lines.append(f"{setting}{' ' * max(2, 44 - cell_width(setting))}# {origins[key]}")
    return "".join(f"{line}\n" for line in lines)


@click.command(cls=CommandGroup)
def model() -> None:
    """List the embedding models, or choose one."""


@model.command("ls")
@format_option("table", "json")
def list_models(session: Session) -> None:
    """List the known models and where they are used."""
    with session.open() as workspace:
        models = workspace.models.known()
    if session.wrote_json(models):
        return
    rows = [present.model_cells(each) for each in models]
    write_table([*rows[0]], [[*row.values()] for row in rows])
    for line in present.model_notes(models):
        note(line)


@model.command()
@click.argument("spec", required=False)
@names_option("Only for this collection; may be repeated.")
@click.option("--cancel", is_flag=True, help="Keep the current model and cancel a change to another one.")
@wait_option
@format_option("text", "json")
def use(
    session: Session,
    spec: str | None,
    names: tuple[str, ...],
    cancel: bool,
    wait_s: float,
) -> None:
    """Change the embedding model of collections.

    Searches use the old model until all vectors of the new one are made.

    SPEC is PROVIDER[:MODEL][@DIMENSION]; 'mdvec model ls' lists the known models.
    """
    from mdvec.types.collection import parse_embedding_spec

    if cancel is (spec is not None):
        msg = "name either a model or --cancel"
        raise UsageError(msg, hint="'mdvec model ls' lists the models.")
    wanted = None if spec is None else parse_embedding_spec(spec)
    with session.open() as workspace:
        if wanted is None:
            _print_changes(workspace.models.cancel(names), session)
            return
        if not workspace.collections(include_disabled=True):
            msg = "there is no collection whose model could be changed"
            command = f"mdvec tool add -n NAME -d DESCRIPTION -s DIR --embedder {spec}"
            raise UsageError(msg, hint=f"Add one with '{command}'.")
        with reporting_interruption(workspace, names):
            _print_changes(workspace.models.use(wanted, names, wait_s=wait_s), session)


def _print_changes(changes: Iterable[ModelChange], session: Session) -> None:
    if session.output == "json":  # one value, however many collections
        session.wrote_json([*changes])
        return
    for change in changes:
        for warning in change.warnings:
            warn(warning)
        next_step = session.command("import", "-n", change.collection)
        write(present.model_change_line(change, next_step) + "\n")
