"""The options that a command line has, its configuration, and its workspace."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdvec import run
from mdvec.errors import UntrustedConfigError, UsageError
from mdvec.interfaces.cli.progress import shown_progress
from mdvec.interfaces.cli.terminal import ask, note, print_step, warn, write, write_documents, write_json
from mdvec.run import Run
from mdvec.text.addresses import without_password

if TYPE_CHECKING:  # the engine is loaded when a command needs it
    from mdvec.config import LoadedConfig
    from mdvec.workspace import FolderChoice, Workspace


# The commands that work on the index of a folder as on any other.
_ON_INDEX = re.compile(
    r"'mdvec (?:search|open|get|ls|related|tags|status|import|doctor|eval|tool (?:ls|update|delete))\b"
    r"[^']*'(?!\w)"
)

Opener = Callable[..., "Workspace"]
"""Opens a workspace, as :func:`mdvec.open_workspace` does."""


@dataclass(slots=True)
class Session:
    """One run of the command line. Common options fill it in, before or after the command's name.

    Attributes:
        env: Environment variables.
        cwd: Absolute path of the working directory.
        opener: Opens the workspace; None for the real one.
        docs_dir: Folder to work on without registering it.
        data_dir: Folder of its index.
        config: Configuration file to read instead of looking for one.
        database: Database to use instead of the configured one: an absolute path or an address.
        verbose: Print the duration of each step.
        no_daemon: Do the work here even if the database's daemon is running.
        choice: The options by name that say how the folder is indexed.
        format_name: The value of ``--format``; None without it.
        formats: The formats of the command; the first is the one for people.
        warned: Warnings that were printed.
    """

    env: Mapping[str, str]
    cwd: Path
    opener: Opener | None = None
    docs_dir: Path | None = None
    data_dir: Path | None = None
    config: Path | None = None
    database: Path | str | None = None
    verbose: bool = False
    no_daemon: bool = False
    choice: dict[str, Any] = field(default_factory=dict)
    format_name: str | None = None
    formats: Sequence[str] = ()
    warned: set[str] = field(default_factory=set)
    _loaded: LoadedConfig | None = None

    @property
    def loaded(self) -> LoadedConfig:
        """The settings and their origins, loaded when they are first asked for."""
        return self._loaded or self.load_config()

    def load_config(self) -> LoadedConfig:
        """Load the settings. On a terminal, ask once whether a folder is trusted whose file needs that.

        Raises:
            ConfigError: If they cannot be used.
        """
        from mdvec.config import load_config

        def load() -> LoadedConfig:
            return load_config(self.config, cwd=self.cwd, env=self.env, docs_dir=self.docs_dir)

        try:
            self._loaded = load()
        except UntrustedConfigError as error:
            if not self.trusts_now(error):
                raise
            self._loaded = load()
        self.warn(self._loaded.config.warnings)
        return self._loaded

    def warn(self, warnings: Iterable[str]) -> None:
        """Write warnings, each once; commands in them work on the same index."""
        for warning in dict.fromkeys(warnings):
            if warning not in self.warned:
                warn(self.hint(warning))
                self.warned.add(warning)

    def trusts_now(self, error: UntrustedConfigError) -> bool:
        """Ask a person whether a folder is trusted, and remember it if so; elsewhere return False."""
        from mdvec.config.trust import trust

        if not ask(f"{error}\nTrust the configuration of {error.folder}?"):
            return False
        trust(Path(error.folder))
        return True

    @property
    def output(self) -> str:
        """The output format: given by ``--format``, else the configured one if the command has it."""
        if self.format_name is not None:
            return self.format_name
        configured: str = self.loaded.config.display.default_format
        if configured == "jsonl" and "jsonl" not in self.formats:
            configured = "json"
        return configured if configured in self.formats else self.formats[0]

    def write(self, value: object, text: str) -> None:
        """Write a result: the value if JSON is the format to print in, else the text for people."""
        if not self.wrote_json(value):
            write(text)

    def wrote_json(self, value: object) -> bool:
        """Write a result if JSON is the format to print in; return whether it is."""
        if self.output != "json":
            return False
        write_json(value)
        return True

    def wrote_rows(self, value: object, rows: Iterable[object], paths: Iterable[str]) -> bool:
        """Write a result if a format for programs is the one to print in; return whether one is.

        ``rows`` are its parts, each a line of ``jsonl``; ``paths`` are the lines of ``paths``.
        """
        match self.output:
            case "jsonl":
                for each in rows:
                    write_json(each)
            case "paths":
                write_documents("".join(f"{path}\n" for path in paths))
            case _:
                return self.wrote_json(value)
        return True

    def database_place(self) -> Path | str:
        """Return the database of the options and the configuration: an absolute path, or an address."""
        from mdvec.config.paths import database_place

        folder = None if self.docs_dir is None else self.docs_dir.resolve()
        location = self.loaded.config.store.location
        return database_place(location, database=self.database, docs_dir=folder, data_dir=self.data_dir)

    def places(self) -> dict[str, Path | str]:
        """Return the common options that name places and were given."""
        options = {
            "--docs-dir": self.docs_dir,
            "--data-dir": self.data_dir,
            "--config": self.config,
            "--database": self.database,
        }
        return {name: value for name, value in options.items() if value}

    def arguments(self) -> list[str]:
        """Return the common options, as another process of this program takes them."""
        given = [word for name, value in self.places().items() for word in (name, str(value))]
        return [*given, "--verbose"] if self.verbose else given

    def command(self, *words: str) -> str:
        """Return a command for a person that works on the same index; passwords are left to fill in."""
        return shlex.join(["mdvec", *words, *map(without_password, self.arguments())])

    def hint(self, text: str) -> str:
        """Return a hint in which commands work on the same index, as those of :meth:`command` do."""
        options = self.command().removeprefix("mdvec").removesuffix(" --verbose")
        if self.docs_dir is not None:
            from mdvec.types.collection import DOCS_COLLECTION

            text = text.replace(" -n NAME", f" -n {DOCS_COLLECTION}")

        def placed(found: re.Match[str]) -> str:
            is_placed = any(name in found[0] for name in self.places())
            return found[0] if is_placed else f"{found[0][:-1]}{options}'"

        return _ON_INDEX.sub(placed, text)

    def first_import(self) -> str | None:
        """Return a hint on how to index the folder of ``--docs-dir``; None without it."""
        return f"'{self.command('import')}' indexes the folder." if self.docs_dir is not None else None

    def import_here(self) -> str | None:
        """Return a hint on how to update the index around the working directory; None without one."""
        from mdvec.config.paths import find_index

        found = None if self.database is not None else find_index(self.cwd)
        if found is None:
            return None
        command = shlex.join(["mdvec", "import", "--docs-dir", str(found.parent.parent)])
        return f"'{command}' updates the index here."

    @contextmanager
    def reading(self, *names: str | None, makes: bool = False) -> Iterator[Workspace]:
        """Open the workspace for a command that a daemon can run; note why a running daemon did not.

        Args:
            names: Collections that were named, or None. The index of the folder that the working directory is
                in is used, if it has one with these collections and no option names another.
            makes: As for :meth:`open`.

        Yields:
            The workspace.

        Raises:
            UsageError: If the options contradict each other, or the configuration is wrong.
        """
        self.use_index_here(*filter(None, names))
        if not (self.no_daemon or self.verbose or self.opener or self.choice):
            self._note_other_daemon()
        with self.open(makes=makes) as workspace:
            yield workspace

    def _note_other_daemon(self) -> None:
        """Warn if the daemon of the database runs another version, or has other settings."""
        from mdvec.interfaces.daemon.place import place_of, running, settings_id, why_not

        info = running(place_of(self.database_place()))
        problem = "" if info is None else why_not(info, settings_id(self.loaded.config, self.docs_dir))
        if problem:
            note(f"note: {problem}; for details run '{self.command('daemon', 'status')}'")

    @contextmanager
    def open(
        self, *, makes: bool = False, serves: bool = False, log_file: Path | None = None
    ) -> Iterator[Workspace]:
        """Open the workspace of the options and the configuration, and show the progress of its calls.

        Args:
            makes: Whether to make a database that is not there; commands that read make none.
            serves: Whether the command runs until it is ended, and so writes a log. It makes a database, too,
                unless that may be a folder of another machine that is not there now.
            log_file: Where the log goes if no file is configured; None for standard error.

        Yields:
            The workspace.

        Raises:
            UsageError: If the options contradict each other, or the configuration is wrong.
        """
        if self.data_dir is not None and self.docs_dir is None:
            msg = "--data-dir needs --docs-dir"
            raise UsageError(msg, hint="Add --docs-dir, or name a database with --database.")
        from mdvec.config.paths import is_folder_name
        from mdvec.interfaces import logs
        from mdvec.workspace import open_workspace

        opener = self.opener or open_workspace
        config = self.loaded.config
        if serves:
            from mdvec.machine import share_one_heap

            share_one_heap()
        logs.configure(config.log, serves=serves, file=log_file, verbose=self.verbose)
        on_step = print_step if self.verbose else logs.log_step if logs.wants_steps() else None
        with shown_progress() as on_progress, run.bound(Run(on_progress, on_step, warn, on_question=ask)):
            workspace = opener(
                config,
                database=self.database,
                docs_dir=self.docs_dir,
                data_dir=self.data_dir,
                choice=self._folder_choice(),
                makes=makes or (serves and not is_folder_name(self.database_place())),
            )
            with workspace, workspace.explaining():
                yield workspace

    def _folder_choice(self) -> FolderChoice | None:
        """Return the options on how a folder is indexed; None without any.

        Raises:
            UsageError: If there is no ``--docs-dir``, or no such preset.
        """
        given = {**self.choice}
        if not given:
            return None
        if self.docs_dir is None:
            msg = f"--{next(iter(given))} needs --docs-dir"
            raise UsageError(msg, hint="To change a registered collection, run 'mdvec tool update'.")
        from mdvec.config.presets import load_preset
        from mdvec.types.collection import parse_embedding_spec
        from mdvec.workspace import FolderChoice

        given |= {name: tuple(filter(None, given[name])) for name in ("include", "exclude") if name in given}
        if "embedder" in given:
            given["embedding"] = parse_embedding_spec(given.pop("embedder"))
        if "preset" in given:
            given["preset"] = load_preset(given["preset"], cwd=self.cwd)
        return FolderChoice(**given)

    def use_index_here(self, *names: str) -> None:
        """Use the index of the folder that the working directory is in, unless another one is named.

        Args:
            names: Collections that it must have.
        """
        from mdvec.config.paths import find_index

        if self.docs_dir is not None or self.database is not None:
            return
        found = find_index(self.cwd)
        if found is None:
            return
        from mdvec.workspace import folder_with_index, open_workspace  # loads the engine

        with run.bound(Run(on_warning=None if names else warn)):
            folder = folder_with_index(found)
            if folder is not None and names:
                with open_workspace(docs_dir=folder, makes=False) as workspace:
                    if not {each.name for each in workspace.collections(include_disabled=True)}.issuperset(
                        names
                    ):
                        return
            self.docs_dir = folder
        if self.docs_dir is not None:
            note(f"using the index in {self.docs_dir}; use -n NAME or --database for another")
