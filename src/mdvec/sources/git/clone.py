"""A clone that has all names of the latest commit, but only the requested contents."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mdvec import run
from mdvec.errors import SourceError, SourceMissingError, SourceUnavailableError
from mdvec.files import remove_folder
from mdvec.locks import locked
from mdvec.net.response import redacted
from mdvec.sources.git.directory import REMOTE, check_own, write_configuration
from mdvec.sources.git.program import GitFailedError, GitProgram
from mdvec.sources.location import GitLocation
from mdvec.sources.tree import TreeItem

# Refs of our own, so that collections of several branches share a clone.
_REFS = "refs/mdvec/"

_NO_REMOTE_REF = "couldn't find remote ref"
_NO_REF = (_NO_REMOTE_REF, "not our ref", "unadvertised object")
_NO_REPOSITORY = (
    *("repository not found", "does not appear to be a git repository", "does not exist", "not found"),
    "no such file",
)
_NO_ACCESS = (
    *("authentication failed", "could not read username", "could not read password", "permission denied"),
    *("host key verification failed", "access denied", "terminal prompts disabled"),
    *("returned error: 401", "returned error: 403"),
)
_NO_CONNECTION = (
    *("could not resolve", "unable to connect", "connection", "timed out", "early eof", "unable to access"),
    *("hung up", "rpc failed", "returned error: 5", "from promisor remote", "unreachable", "too slow"),
)
_TOO_SIMPLE = "dumb http transport"
_OTHER_HASH = "server sha256"


class _UnknownGitError(SourceError):
    """Git failed, and the reason is not the network, the address or permissions."""


class Clone:
    """A bare clone of one repository, shared by all its readers on this machine. The first call runs git."""

    def __init__(self, directory: Path, location: GitLocation) -> None:
        self._directory = directory
        self._location = location
        self._git = GitProgram(directory)

    def fetch(self) -> str:
        """Fetch the names of the ref's latest commit.

        Returns:
            The commit, in hex; empty if the repository has none.

        Raises:
            SourceMissingError: If there is no such repository or ref.
            SourceError: If it cannot be read.
        """
        run.current().report(run.Stage.FETCH, 0, 0)  # another process may hold the lock for long
        with self._held():
            is_new = not self._directory.exists()
            try:
                return self._fetched()
            except _UnknownGitError:
                if is_new:
                    raise
            with suppress(OSError):
                remove_folder(self._directory)  # it may be what is broken
            return self._fetched()

    def items(self, commit: str) -> list[TreeItem]:
        """Return the items of a fetched commit; their sizes are not known.

        Raises:
            SourceError: If the clone is broken.
        """
        with self._translated():
            listed = self._git.run("ls-tree", "-r", "-z", "--full-tree", commit)
        return [_as_item(line) for line in listed.split(b"\0") if line]

    def fetch_blobs(self, commit: str, wanted: Sequence[bytes]) -> None:
        """Fetch contents, all in one request.

        Raises:
            SourceError: If they cannot be fetched.
        """
        self._git.expected_files = len(wanted)
        run.current().report(run.Stage.FETCH, 0, len(wanted))
        with self._held(), self._translated():
            listed = self._git.run("rev-list", "--objects", "--no-object-names", "--missing=print", commit)
            missing = {line[1:] for line in listed.decode().split("\n") if line.startswith("?")}
            lines = [f"{blob_id.hex()}\n" for blob_id in wanted if blob_id.hex() in missing]
            if lines:
                self._git.run(
                    *("-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags"),
                    *("--no-write-fetch-head", "--filter=blob:none", "--stdin", REMOTE),
                    stdin="".join(lines).encode(),
                )

    def blobs(self, max_bytes: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes | int]]:
        """Read contents; git fetches missing ones one by one. Contents that are too large are not unpacked.

        Args:
            max_bytes: The largest size of each, by id.

        Yields:
            Id and content, or id and size if the content is too large; nothing if it does not exist.

        Raises:
            SourceError: If git cannot read them.
        """
        asked = "".join(f"{blob_id.hex()}\n" for blob_id in max_bytes).encode()
        with self._translated():
            headers = self._git.run("cat-file", "--batch-check", stdin=asked).splitlines()
        fitting: list[bytes] = []
        for header in map(bytes.split, headers):
            if len(header) != 3:
                continue  # "ID missing"
            size = int(header[2])
            if size <= max_bytes[bytes.fromhex(header[0].decode())]:
                fitting.append(header[0] + b"\n")
            else:
                yield bytes.fromhex(header[0].decode()), size
        with tempfile.TemporaryFile() as output:
            with self._translated():
                self._git.run_into(output, "cat-file", "--batch", stdin=b"".join(fitting))
            while header := output.readline().split():
                yield bytes.fromhex(header[0].decode()), output.read(int(header[2]))
                output.seek(1, os.SEEK_CUR)  # a line feed

    def _fetched(self, *init_options: str) -> str:
        git, url = self._git, self._location.url
        own_ref = _REFS + hashlib.sha256(self._location.ref.encode()).hexdigest()[:32]
        refspec = f"+{self._location.ref or 'HEAD'}:{own_ref}"
        with self._translated():
            git.run("init", "--quiet", "--bare", "--template=", *init_options)
            write_configuration(self._directory, url)
            git.disable_ssh_prompts()
            common = ("--quiet", "--no-tags", "--no-write-fetch-head", REMOTE, refspec)
            try:
                git.run("fetch", "--depth=1", "--filter=blob:none", *common)
            except GitFailedError as error:
                if _OTHER_HASH in str(error) and not init_options:
                    remove_folder(self._directory)
                    return self._fetched("--object-format=sha256")
                if _NO_REMOTE_REF in str(error) and not self._location.ref:
                    return self._without_head()
                if _TOO_SIMPLE not in str(error):
                    raise
                # Asking has made a promise of it that such a server does not keep.
                write_configuration(self._directory, url, promised=False)
                git.run("fetch", *common)
            return git.run("rev-parse", "--verify", f"{own_ref}^{{commit}}").decode().strip()

    def _without_head(self) -> str:
        """Return an empty commit for an empty repository.

        Raises:
            SourceMissingError: If it holds commits, and its HEAD leads nowhere.
        """
        if not self._git.run("ls-remote", REMOTE).strip():
            return ""
        msg = f"the HEAD of {self._location.url} names a branch that does not exist"
        raise SourceMissingError(msg, hint="Name a branch: git+URL@REF.")

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep other processes from writing to the clone, and clear up after one that was killed."""
        place = self._directory.parent
        with ExitStack() as stack:
            try:
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
                check_own(self._directory)
                stack.enter_context(locked(self._directory.with_suffix(".lock"), wait_s=math.inf))
                if self._directory.exists():
                    write_configuration(self._directory, self._location.url)
            except OSError as error:
                msg = f"the clone of {self._location.url} cannot be kept in {place}: {error.strerror}"
                raise SourceError(msg, hint="Free some space there, or make the folder writable.") from error
            for left_over in self._directory.rglob("*.lock"):
                with suppress(OSError):
                    left_over.unlink()
            yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise what the errors of git mean for a source. Nothing is run in a folder that is not ours."""
        check_own(self._directory)
        try:
            yield
        except GitFailedError as error:
            raise _meaning(redacted(str(error), ()), self._location) from None


def _as_item(line: bytes) -> TreeItem:
    about, _, path = line.partition(b"\t")
    mode, _, blob_id = about.split(b" ")
    return TreeItem(os.fsdecode(path), mode.decode(), bytes.fromhex(blob_id.decode()))


def _meaning(said: str, location: GitLocation) -> SourceError:
    """Return the error that git's words are about: it has no numbers for that."""
    words = said.lower()
    if any(each in words for each in _NO_REF):
        msg = f"{location.url} has no branch, tag or commit {location.ref or 'HEAD'!r} ({said})"
        return SourceMissingError(msg, hint="Name another: 'mdvec tool update -n NAME -s git+URL@REF'.")
    if any(each in words for each in _NO_ACCESS):
        msg = f"{location.url} cannot be read without credentials, or not with these ({said})"
        return SourceError(msg, hint="Set up a credential helper ('git help credentials'), or use SSH.")
    if any(each in words for each in _NO_REPOSITORY):
        msg = f"there is no repository {location.url}, or it is private ({said})"
        return SourceMissingError(msg, hint="Check the address: 'mdvec tool update -n NAME -s git+URL'.")
    if any(each in words for each in _NO_CONNECTION):
        return SourceUnavailableError(f"{location.url} cannot be reached ({said})")
    return _UnknownGitError(f"git cannot read {location.url} ({said})")
