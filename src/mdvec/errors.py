"""Everything that can go wrong, as one tree.

MdvecError
├── UsageError                  the call itself is wrong (exit code 2)
│   ├── InvalidQueryError
│   ├── InvalidNameError
│   ├── InvalidArgumentsError
│   └── ConfigError
│       └── UntrustedConfigError
├── NotFoundError
│   ├── CollectionNotFoundError
│   └── DocumentNotFoundError
├── CollectionExistsError
├── CollectionNotEmptyError
├── SourceError
│   ├── SourceMissingError
│   ├── SourceEmptyError
│   ├── SourceUnavailableError
│   ├── WatchError
│   └── UnreadableFileError
│       └── FileTooLargeError
├── StoreError
│   ├── NoIndexError
│   ├── NotADatabaseError
│   ├── OtherVersionError
│   ├── DamagedDatabaseError
│   ├── ForeignDatabaseError
│   ├── DatabaseFullError
│   ├── ReadOnlyDatabaseError
│   ├── StoreUnavailableError
│   ├── WorkspaceClosedError
│   └── WriterBusyError
├── EmbeddingError
│   ├── EmbedderUnavailableError
│   └── EmbedderBusyError
├── ServiceError                what is asked over HTTP, before a stage says what it was for
│   ├── ServiceRefusedError
│   ├── ServiceUnavailableError
│   └── ServiceAnswerError
├── OutOfFilesError
├── NotAllowedError
├── ImportStoppedError
├── ClientFileError
│   └── ClientFileBusyError
├── SiteError
└── ListenError

``code`` is stable and meant for programs, ``hint`` is the next step to take, and ``retry`` says
whether the same call may succeed later. The docstring of a class is its default message.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar

# More are no slip of the pen, and the time to compare grows with their square.
_MAX_COMPARED_CHARS = 200
_MAX_MEANT = 3
_SEPARATOR = re.compile(r"(?<=[/.])|(?=[/.])")
_WORDS = re.compile(r"[^\W_]+")


def sentences(message: object, hint: str = "") -> str:
    """Return a message, and what to do about it, as sentences."""
    text = str(message)
    stop = "" if text.endswith((".", "?", "…")) else "."
    return f"{text}{stop} {hint}".rstrip()


def nearest_names(name: str, known: Iterable[str], *, most: int | None = None) -> list[str]:
    """Return the known names that were probably meant: slips of the pen, the nearest first, then parts.

    A slip changes at most a third of a name, or one character. Folders, sections and endings that both
    names have do not count, since they do not say which one is meant: ``東京.md`` is no slip of ``読書.md``.
    A part is a word of a known name, or one of the two names if it is at least half of the other.

    Args:
        name: Any text; what is written after its first 200 characters does not count.
        known: The names that there are.
        most: How many to return; None for up to three that are equally near.
    """
    wanted = name[:_MAX_COMPARED_CHARS].casefold()
    distances = ((_distance(wanted, each.casefold()), each) for each in known)
    near = sorted((distance, each) for distance, each in distances if distance is not None)
    return [each for distance, each in near if most or distance == near[0][0]][: most or _MAX_MEANT]


def _distance(name: str, known: str) -> int | None:
    """Return how many characters of the longer name a slip changes; more for a part, None for neither."""
    short, long = sorted((name, known), key=len)
    is_part = short and (name in _WORDS.findall(known) or (short in long and 2 * len(short) >= len(long)))
    as_part = _MAX_COMPARED_CHARS + len(long) if is_part else None
    if len(long) - len(short) > max(1, len(long) // 3):
        return as_part
    from difflib import SequenceMatcher  # a slow import, for a message that is seldom needed

    parts, others = _SEPARATOR.split(name), _SEPARATOR.split(known)
    for end in (0, -1):
        while parts and others and parts[end] == others[end]:
            del parts[end], others[end]
    own, other = "".join(parts), "".join(others)
    length, changes = max(len(own), len(other)), 0
    matcher = SequenceMatcher(None, own, other, autojunk=False)
    for ratio in (matcher.quick_ratio, matcher.ratio):  # the first is never below the second
        changes = length - round(ratio() * len(own + other) / 2)
        if changes and changes > min(length - 1, max(1, length // 3)):
            return as_part
    return changes


def did_you_mean(name: str, known: Iterable[str], *, quote: str = "`") -> str:
    """Return ``; did you mean `…`?`` for a name that resembles a known one, or some equally; else nothing."""
    meant = " or ".join(f"{quote}{each}{quote}" for each in nearest_names(name, known))
    return f"; did you mean {meant}?" if meant else ""


def meant_or_known(name: str, known: Mapping[str, str]) -> str:
    """Return which of the known names resembles a name, as a question, else all as they are shown."""
    near = nearest_names(name, known)
    return f"did you mean {known[near[0]]}?" if near else f"known: {', '.join(known.values())}"


class MdvecError(Exception):
    """An operation of mdvec failed."""

    code: ClassVar[str] = "error"
    default_hint: ClassVar[str] = ""
    retry: ClassVar[bool] = False
    is_logged = False

    def __init__(self, message: str | None = None, *, hint: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip().splitlines()[0])
        self.hint = self.default_hint if hint is None else hint


class UsageError(MdvecError):
    """The call is not a valid one."""

    code = "usage"
    default_hint = "Run the command with --help to see what it takes."


class InvalidQueryError(UsageError):
    """The query cannot be searched."""

    code = "invalid_query"
    default_hint = "Give at least one word to search for, or list the documents without a query."


class InvalidNameError(UsageError):
    """A collection's name starts with a letter and holds only a-z, 0-9, - and _ (64 at most)."""

    code = "invalid_name"
    default_hint = "Choose a name such as 'notes' or 'api-docs'."


class InvalidArgumentsError(UsageError):
    """A tool does not take these arguments."""

    code = "invalid_arguments"
    default_hint = "Correct the arguments and call again."


class ConfigError(UsageError):
    """The configuration cannot be used."""

    code = "config"
    default_hint = "Correct it and run again."


class UntrustedConfigError(ConfigError):
    """The configuration came with a folder that is not trusted.

    Attributes:
        folder: Its path.
    """

    code = "untrusted_config"

    def __init__(self, message: str | None = None, *, hint: str | None = None, folder: str = "") -> None:
        super().__init__(message, hint=hint)
        self.folder = folder


class NotFoundError(MdvecError):
    """There is no such thing in this database."""

    code = "not_found"


class CollectionNotFoundError(NotFoundError):
    """There is no such collection."""

    code = "collection_not_found"
    default_hint = "Run 'mdvec tool ls --all' to see the collections."


class DocumentNotFoundError(NotFoundError):
    """There is no such document."""

    code = "document_not_found"
    default_hint = "Run 'mdvec ls' to see the documents."


class CollectionExistsError(MdvecError):
    """A collection of this name exists already."""

    code = "collection_exists"
    default_hint = "Choose another name, or change the existing one with 'mdvec tool update'."


class CollectionNotEmptyError(MdvecError):
    """The collection already has data."""

    code = "collection_not_empty"
    default_hint = "Use '--mode update' to bring it up to date, or '--mode replace' to rebuild it."


class SourceError(MdvecError):
    """The source of a collection cannot be read."""

    code = "source"


class SourceMissingError(SourceError):
    """The folder of a collection does not exist."""

    code = "source_missing"
    default_hint = (
        "Connect the disk, or point the collection elsewhere with 'mdvec tool update -n NAME -s DIR'."
    )
    retry = True


class SourceEmptyError(SourceError):
    """The source holds no document, yet the index does."""

    code = "source_empty"
    default_hint = "If the documents are really gone, run 'mdvec import -n NAME -m update --allow-empty'."
    retry = True


class SourceUnavailableError(SourceError):
    """The service that holds the documents cannot be used now."""

    code = "source_unavailable"
    default_hint = "Everything indexed so far is kept. Run 'mdvec import -n NAME -m update' later to go on."
    retry = True


class WatchError(SourceError):
    """The system does not report changes in a folder.

    Attributes:
        folders: The folders of which that is known; None if it may be any.
    """

    folders: Collection[str] | None = None

    code = "watch"
    retry = True


class UnreadableFileError(SourceError):
    """A file cannot be read."""

    code = "unreadable_file"
    retry = True


class FileTooLargeError(UnreadableFileError):
    """A file is larger than a document may be."""

    code = "file_too_large"
    retry = False


class StoreError(MdvecError):
    """The database cannot be used."""

    code = "store"


class NoIndexError(StoreError):
    """There is no index yet."""

    code = "no_index"
    default_hint = (
        "Register a folder with 'mdvec tool add -n NAME -d DESCRIPTION -s DIR', or search one at once: "
        "'mdvec search --docs-dir DIR QUERY'."
    )


class NotADatabaseError(StoreError):
    """The file is not an mdvec database."""

    code = "not_a_database"
    default_hint = "Name another file with --database; this one was left as it is."


class OtherVersionError(StoreError):
    """Another version of mdvec wrote the database, and this one can neither read nor rebuild it."""

    code = "other_version"
    default_hint = (
        "Install the version of mdvec that wrote it. Or move it away, register your folders again with "
        "'mdvec tool add', and run 'mdvec import'."
    )


class DamagedDatabaseError(StoreError):
    """The database is damaged."""

    code = "damaged_database"
    default_hint = "Move it away and import again, or restore a backup. Your documents are not touched."


class ForeignDatabaseError(StoreError):
    """The database came with a folder, and was not made here."""

    code = "foreign_database"


class DatabaseFullError(StoreError):
    """The disk is full."""

    code = "disk_full"
    default_hint = "Free some space and run again: what was committed is kept."
    retry = True


class ReadOnlyDatabaseError(StoreError):
    """The database cannot be written here."""

    code = "read_only"
    default_hint = (
        "Make its folder writable, free space on a full disk, or name another place with --database or, for "
        "--docs-dir, --data-dir."
    )


class StoreUnavailableError(StoreError):
    """The server that holds the database cannot be used now."""

    code = "store_unavailable"
    default_hint = "What was committed is kept. Run again when the server can be reached."
    retry = True


class WorkspaceClosedError(StoreError):
    """The workspace has been closed."""

    code = "closed"
    default_hint = "Open another one with open_workspace()."


class WriterBusyError(StoreError):
    """Another process is writing to this database."""

    code = "writer_busy"
    default_hint = "Wait until it is done, or wait longer with --wait SECONDS."
    retry = True


class EmbeddingError(MdvecError):
    """The texts could not be embedded."""

    code = "embedding"


class EmbedderUnavailableError(EmbeddingError):
    """No embedding model can be used here."""

    code = "no_embedder"


class EmbedderBusyError(EmbeddingError):
    """The service that makes the vectors cannot be used now."""

    code = "embedder_busy"
    default_hint = "Everything embedded so far is kept. Run 'mdvec import' again later to go on."
    retry = True


class ServiceError(MdvecError):
    """A request to a service on the network failed.

    Attributes:
        status: HTTP status of its answer; None when there was none.
    """

    code = "service"

    def __init__(
        self, message: str | None = None, *, hint: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class ServiceRefusedError(ServiceError):
    """A service refuses, and would refuse again."""

    code = "service_refused"


class ServiceUnavailableError(ServiceError):
    """A service cannot be reached or used now."""

    code = "service_unavailable"
    default_hint = "Run again later."
    retry = True


class ServiceAnswerError(ServiceError):
    """A service answers with something that cannot be read."""

    code = "service_answer"
    default_hint = "Run again later."
    retry = True


class OutOfFilesError(MdvecError):
    """This process cannot open another file or connection."""

    code = "out_of_files"
    default_hint = "Try again in a moment. 'ulimit -n' shows and raises how many a process may have open."
    retry = True


class NotAllowedError(MdvecError):
    """This token may read, but not change anything."""

    code = "not_allowed"
    default_hint = "Use the server's own token, or a command on its machine."


class ImportStoppedError(MdvecError):
    """The import was stopped before its end."""

    code = "import_stopped"
    default_hint = "What was committed is kept; the next import resumes there."
    retry = True


class ClientFileError(MdvecError):
    """The configuration file of a client cannot be edited."""

    code = "client_file"
    default_hint = "Nothing was written. Correct the file, edit it by hand, or name another one with --file."


class ClientFileBusyError(ClientFileError):
    """The configuration file of a client keeps changing while it is edited."""

    code = "client_file_busy"
    default_hint = "Nothing was written. Quit the client and run again."
    retry = True


class SiteError(MdvecError):
    """The reading site could not be built."""

    code = "site"


class ListenError(MdvecError):
    """The server cannot listen at this address."""

    code = "listen"
