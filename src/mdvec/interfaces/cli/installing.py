"""``mdvec install``, ``mdvec uninstall`` and ``mdvec completion``."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdvec.errors import (
    ClientFileBusyError,
    ClientFileError,
    MdvecError,
    UntrustedConfigError,
    UsageError,
)
from mdvec.interfaces.cli.common_options import EXISTING_FOLDER, FILE, OneOf, combined, command
from mdvec.interfaces.cli.session import Session
from mdvec.interfaces.cli.terminal import note, warn, write_documents
from mdvec.interfaces.clients.catalogue import (
    CLIENTS,
    Client,
    check_variable,
    endpoint,
    token_variable,
    variables_written,
)
from mdvec.text.addresses import scheme_of, without_password

if TYPE_CHECKING:
    from mdvec.interfaces.clients.edits import ClientFile

_ENTRY_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Attempts to edit a file that its client writes meanwhile.
_ATTEMPTS = 5
# Variables that may hold the key of a provider, or of a kind of source, whose settings name none.
_KEY_VARIABLES = {
    "cohere": ("COHERE_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "github": ("GITHUB_TOKEN",),
    "jina": ("JINA_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
}
# Providers whose protocol other servers speak, which need no key unless one is configured.
_OF_SERVERS = ("cohere", "jina", "openai")
# The file in which a shell looks for completions: a variable, its default in the home folder, and the file.
_COMPLETION_FILES = {
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/mdvec"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/mdvec.fish"),
    "zsh": ("XDG_DATA_HOME", ".local/share", "zsh/site-functions/_mdvec"),
}
# A shorter value may be a part of other words.
_MIN_HIDDEN_CHARS = 8

_shared_options = combined(
    click.argument("client_name", type=OneOf(list(CLIENTS))),
    click.option(
        "--project", type=EXISTING_FOLDER, metavar="DIR", help="Only for the project in this folder."
    ),
    click.option("--name", default="mdvec", show_default=True, help="Name of the entry for mdvec."),
    click.option("--file", type=FILE, metavar="PATH", help="Edit this file instead of the client's own."),
    click.option("--dry-run", is_flag=True, help="Show what would change and write nothing."),
)


@command()
@_shared_options
@click.option(
    "--http", "url", metavar="URL", help="Use the server that runs at this URL, such as mdvec serve --http."
)
@click.option(
    "--token-env",
    metavar="NAME",
    help="With --http: the variable the client takes the token from.  [default: MDVEC_TOKEN, where needed]",
)
@click.option(
    "--env",
    "variables",
    metavar="NAME[=VALUE]",
    multiple=True,
    help="Write this variable, such as VOYAGE_API_KEY, into the entry; without VALUE as it is set now.",
)
@click.option(
    "--env-ref",
    "references",
    metavar="NAME",
    multiple=True,
    help="Let the client pass on this variable from its own environment; the value is not written.",
)
def install(
    session: Session,
    /,
    name: str,
    dry_run: bool,
    url: str | None,
    token_env: str | None,
    variables: tuple[str, ...],
    references: tuple[str, ...],
    **place: Any,
) -> None:
    """Set up an MCP client to use mdvec.

    What else is in the client's file stays as it is, and a copy is kept next to it. A file that cannot be
    edited without loss is left alone: the entry to add by hand is printed instead.
    """
    from mdvec.interfaces.clients.edits import installed, snippet

    client, path = _target(session, name, **place)
    env = variables_written(variables, session.env)
    for reference in references:
        check_variable(reference, "Write --env-ref NAME; the value is not written.")
    token_name = token_variable(url, token_env, session.env)
    if url is None:
        command = _command(session, {**env, **dict.fromkeys(references, "")})
        entry = client.stdio_entry(command, env, references)
    else:
        _check_only_url(session, env, references)
        entry = client.http_entry(endpoint(url), token_name)
    folder_was_there = path.parent.is_dir()
    try:
        changed = _change(path, dry_run, lambda old: installed(old, client, name, entry), env)
    except ClientFileError:
        write_documents(_hide(snippet(client, name, entry), env))
        raise
    if not changed:
        note(f"{path} already has this entry: nothing to do")
    if url is None and (changed or dry_run):
        needs = {session.loaded.config.embedding.provider} if dry_run else _providers(session)
        _note_needs(session, needs, {*env, *references}, can_refer=client.passes_variables)
    if not changed or dry_run:
        return
    note(f"{client.title} finds mdvec as {name!r}: {path}")
    if not folder_was_there and place["project"] is None:
        warn(f"{path.parent} did not exist: is {client.title} installed for this user?")
    if env:
        note(f"this file now contains the value of {', '.join(env)}: do not share it")
    to_set = [*references, *([f"{token_name} to the server's token"] if token_name else [])]
    if to_set:
        note(f"next: set {', '.join(to_set)} where {client.title} starts")
    note(f"next: {client.after}")


@command()
@_shared_options
def uninstall(session: Session, /, name: str, dry_run: bool, **place: Any) -> None:
    """Remove mdvec from an MCP client's configuration file.

    Only the entry is removed. A file that was created for it and contains nothing else is deleted.
    """
    from mdvec.interfaces.clients.edits import uninstalled

    client, path = _target(session, name, **place)
    if not _change(path, dry_run, lambda old: uninstalled(old, client, name)):
        note(f"{path} has no entry {name!r}: nothing to do")
    elif not dry_run:
        note(f"removed {name!r} from {path}" if path.exists() else f"removed {path}: it held nothing else")
        note(f"next: {client.after}")


@command()
@click.argument("shell", type=OneOf(list(_COMPLETION_FILES)))
def completion(session: Session, shell: str) -> None:
    """Let a shell complete commands, options, collections and tags.

    The script goes where the shell looks for it; an older one is replaced.
    """
    from click.shell_completion import get_completion_class

    from mdvec.files import write_whole
    from mdvec.interfaces.cli.commands import cli

    variable, default, file = _COMPLETION_FILES[shell]
    home = session.env.get("HOME")
    folder = Path(session.env.get(variable) or (Path(home) if home else Path.home()) / default)
    path = folder / file
    shell_completion = get_completion_class(shell)
    assert shell_completion is not None  # noqa: S101 - click has all three
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, shell_completion(cli, {}, "mdvec", "_MDVEC_COMPLETE").source().encode())
    note(f"written: {path}")
    if shell == "zsh":
        note(f"next: put 'fpath=({path.parent} $fpath)' into ~/.zshrc, above 'compinit'")
    note("next: start a new shell")


def _target(
    session: Session, name: str, client_name: str, project: Path | None, file: Path | None
) -> tuple[Client, Path]:
    """Return the client and the path of the file to edit."""
    if not _ENTRY_NAME.fullmatch(name):
        msg = f"not a name for an entry: {name!r}"
        raise UsageError(msg, hint="Use letters, digits, - and _, 64 at most.")
    if file is not None and project is not None:
        msg = "--project and --file both name a file"
        raise UsageError(msg, hint="Give one of them.")
    client = CLIENTS[client_name]
    home = session.env.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    path = file or client.file(
        project, platform=sys.platform, home=Path(home) if home else Path.home(), env=session.env
    )
    return client, path


def _check_only_url(session: Session, env: Mapping[str, str], references: tuple[str, ...]) -> None:
    if env or references or session.places():
        msg = "a running server has its own folder, database, configuration and variables"
        raise UsageError(msg, hint="Give them to 'mdvec serve --http', and only the URL here.")


def _providers(session: Session) -> set[str]:
    """Return the providers of models and the kinds of sources. Opening the database may write to it."""
    config = session.loaded.config
    found = {config.embedding.provider, (config.search.rerank or "").partition(":")[0]}
    # A database that cannot be read is reported by other commands.
    with suppress(MdvecError), session.open() as workspace:
        for each in workspace.collections(include_disabled=True):
            found |= {each.source.kind, *([each.embedding.provider] if each.embedding is not None else [])}
    return found


def _note_needs(session: Session, providers: set[str], env: Container[str], *, can_refer: bool) -> None:
    """Name the clone that the entry needs, and the keys that models and sources need and it does not hold."""
    if Path(sys.prefix).with_name("pyproject.toml").exists():  # a clone, which people move
        note(f"it starts mdvec from {sys.prefix}: run this again after you move or rebuild that folder")
    reference = "--env-ref {} or " if can_refer else ""
    config = session.loaded.config
    for provider in sorted(providers):
        sections = config.extension_sections
        names = (f"embedding.{provider}", f"rerank.{provider}", provider)
        settings = next(filter(None, map(sections.get, names)), None)
        own = getattr(settings, "api_key_env", None) or getattr(settings, "token_env", None)
        is_own_server = provider in _OF_SERVERS and getattr(settings, "base_url", None) is not None
        keys = (own,) if own else () if is_own_server else _KEY_VARIABLES.get(provider, ())
        if keys and not any(key in env for key in keys):
            what = "a private repository on github" if provider == "github" else provider
            note(
                f"{what} needs {' or '.join(keys)}, which the entry does not set: "
                f"add {reference.format(keys[0])}--env {keys[0]}, unless it is set where the client starts"
            )


def _command(session: Session, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command that starts mdvec as it works here, wherever the client starts."""
    if session.data_dir is not None and session.docs_dir is None:
        msg = "--data-dir says where the index of --docs-dir goes"
        raise UsageError(msg, hint="Give --docs-dir too, or name a database with --database.")
    _name_configuration(session)
    loaded = session.loaded
    from_env = {origin for origin in loaded.origins.values() if origin.startswith("MDVEC_")} - set(env)
    places = session.places()
    location = loaded.config.store.location
    is_set_here = loaded.origins.get("store.location") in from_env
    has_own = places.keys() & {"--database", "--docs-dir"}
    if not has_own and location and is_set_here and not scheme_of(location):
        places["--database"] = location
        from_env.remove(loaded.origins["store.location"])
    if from_env:
        names = ", ".join(sorted(from_env))
        warn(f"{names} is set here, but may not be where the client starts: --env writes it into the entry")
    # -P keeps the folder the client happens to start in from standing in for Python's own modules.
    command = [sys.executable, "-P", "-m", "mdvec", "serve"]
    for option, path in places.items():
        if scheme_of(str(path)):
            command += [option, _without_secrets(str(path))]
        else:
            command += [option, os.path.abspath(path)]  # noqa: PTH100 - .. goes, links stay
    return tuple(command)


def _name_configuration(session: Session) -> None:
    """Name the configuration file that is found here, as the entry does: then all of it counts."""
    from mdvec.config import load_config, paths
    from mdvec.config.load import is_users_own

    with suppress(UntrustedConfigError):  # loading it for the session asks
        found = load_config(session.config, cwd=session.cwd, env=session.env, docs_dir=session.docs_dir).path
        if found is None or session.config is not None or found.parent == paths.user_config_dir():
            return
        session.config = found
        if not is_users_own(found):
            warn(f"{found} is named in the entry and so is trusted from now on, even if it changes")


def _without_secrets(address: str) -> str:
    if without_password(address) != address:
        msg = "an address with a password would be written into the client's file"
        raise UsageError(
            msg, hint="Set MDVEC_STORE_LOCATION where the client starts, or leave out the password."
        )
    return address


def _change(
    path: Path, dry_run: bool, edit: Callable[[ClientFile], str | None], secrets: Mapping[str, str] = {}
) -> bool:
    """Edit a file, or show how it would change; return False if there is nothing to change."""
    from mdvec.interfaces.clients.edits import difference, read_file, replace_file

    for attempt in range(1, _ATTEMPTS + 1):
        file = read_file(path)
        text = edit(file)
        if text == file.text:
            return False
        if dry_run:
            write_documents(_hide(difference(file, text), secrets))
            note("nothing was written: --dry-run")
            break
        try:
            backup = replace_file(file, text)
        except ClientFileBusyError:
            if attempt == _ATTEMPTS:
                raise
        else:
            if backup is not None:
                note(f"the file as it was: {backup}")
            break
    return True


def _hide(text: str, secrets: Mapping[str, str]) -> str:
    for name, value in secrets.items():
        quoted = json.dumps(value, ensure_ascii=False)
        text = text.replace(quoted, f'"<{name}>"')
        if len(value) >= _MIN_HIDDEN_CHARS:
            text = text.replace(quoted[1:-1], f"<{name}>")
    return text
