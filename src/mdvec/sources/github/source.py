"""A repository on GitHub as a source of documents, without a clone."""

from __future__ import annotations

import hashlib
import os
import tempfile
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mdvec.errors import UnreadableFileError
from mdvec.sources.blobs import FetchedBlobs, OnFetch, tell_nobody, verified
from mdvec.sources.files import too_large
from mdvec.sources.github.state import State, load_state, save_state
from mdvec.sources.location import parse_github
from mdvec.sources.selection import (
    DEFAULT_EXCLUDED_DIRECTORIES,
    DEFAULT_EXTENSIONS,
    DEFAULT_MAX_FILE_BYTES,
    Selection,
)
from mdvec.sources.tree import composed, folder_rule, listing_of_tree
from mdvec.types.change import Listing, SourceEntry

if TYPE_CHECKING:  # searching opens sources too, and never asks over the network
    from mdvec.net.client import Clock
    from mdvec.sources.github.api import GithubApi

_GITHUB_COM = "https://api.github.com"
_TOKEN_VARIABLE = "GITHUB_TOKEN"  # noqa: S105 - the name of a variable

# From here on one archive is quicker than single files.
_FEW_FILES = 50
# Unless the archive holds mostly other things: with a token, a call is worth that much.
_MOST_BYTES_A_FILE = 2_000_000
_SECONDS_A_MINUTE = 60.0


class GithubSource:
    """Lists and reads a commit by GitHub's REST interface; see :class:`mdvec.sources.interface.Source`.

    What is gone is told by the tree of the commit alone, so force pushes and renamed files are as good
    as any other change.
    """

    def __init__(
        self,
        *,
        location: str,
        cache_dir: Path,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        extensions: Sequence[str] = DEFAULT_EXTENSIONS,
        exclude_dirs: Sequence[str] = DEFAULT_EXCLUDED_DIRECTORIES,
        max_file_bytes: int = DEFAULT_MAX_FILE_BYTES,
        base_url: str = _GITHUB_COM,
        token_env: str = _TOKEN_VARIABLE,
        max_wait_minutes: float = 15.0,
        on_fetch: OnFetch = tell_nobody,
        clock: Clock | None = None,
    ) -> None:
        """Take note of what is wanted; nobody is asked yet.

        Args:
            location: ``OWNER/REPO[@REF][:PATH]``.
            cache_dir: Where the last answer is kept.
            include: Globs, as for a folder.
            exclude: Globs, as for a folder.
            extensions: What file names end in.
            exclude_dirs: Names of folders that are not entered.
            max_file_bytes: The largest file to take.
            base_url: Where the REST interface is; ``https://HOST/api/v3`` for GitHub Enterprise Server.
            token_env: Name of the environment variable that holds a token.
            max_wait_minutes: A limit that holds for longer than this ends the call.
            on_fetch: Told how many files are fetched, and of how many.
            clock: For tests.

        Raises:
            UsageError: If the location is none.
        """
        self._location = parse_github(location)
        self._selection = Selection.parse(
            extensions=extensions,
            exclude_dirs=exclude_dirs,
            include=include,
            exclude=exclude,
            max_file_bytes=max_file_bytes,
        )
        # All that decides what is asked for: what is not entered is not asked for.
        asked = repr((base_url, str(self._location), sorted(exclude_dirs), tuple(include), tuple(exclude)))
        digest = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._state_file = cache_dir / "sources" / f"github-{digest}.json"
        self._base_url = base_url
        self._token_env = token_env
        self._most_wait_s = max_wait_minutes * _SECONDS_A_MINUTE
        self._on_fetch = on_fetch
        self._clock = clock
        self._listed: State | None = None
        self._expected = 0
        self._fetched = 0

    def list(self) -> Listing:
        """Ask for the tree of the commit that the ref points to now; one call when that has not changed.

        Returns:
            See :meth:`mdvec.sources.interface.Source.list`. Files that git ignores and are committed all
            the same are listed.

        Raises:
            SourceMissingError: If there is no such repository, ref or folder.
            SourceError: If GitHub cannot be asked, or does not accept the token.
        """
        known = load_state(self._state_file)
        head = self._api.head(known.etag if known else "")
        if head is None and known is not None:
            state = known
        elif head is None or not head.commit:
            state = State("", "", ())
        else:
            is_known = known is not None and known.commit == head.commit
            items = known.items if known and is_known else self._api.items(head.commit, self._is_entered)
            state = State(head.etag, head.commit, tuple(items))
            save_state(self._state_file, state)
        self._listed = state
        return listing_of_tree(state.items, self._selection, path=self._location.path, revision=state.commit)

    def read(self, entry: SourceEntry) -> bytes:
        """Return the raw bytes of a listed file, checked against its hash.

        Raises:
            UnreadableFileError: If GitHub does not have it, sends something else, or it is too large.
            SourceError: If GitHub cannot be asked.
        """
        if entry.content_hash is None:
            msg = "it is not in the repository"
            raise UnreadableFileError(msg)
        raw = self._blobs.get(entry.content_hash)
        if raw is None:
            raw = verified(self._api.blob(entry.content_hash), entry.content_hash)
            self._note_fetched()
        if len(raw) > self._selection.max_file_bytes:
            raise UnreadableFileError(too_large(len(raw), self._selection.max_file_bytes))
        return raw

    def expect(self, entries: Sequence[SourceEntry]) -> None:
        """Fetch many files at once, as an archive; a few are fetched when they are read.

        Raises:
            SourceError: If GitHub cannot be asked.
        """
        wanted = {entry.content_hash: entry.size for entry in entries if entry.content_hash is not None}
        self._expected, self._fetched = len(wanted), 0
        if self._listed is None or not self._is_archive_worth(len(wanted), self._listed):
            return
        self._on_fetch(0, self._expected)
        with tempfile.TemporaryFile() as archive:
            if self._api.archive(self._listed.commit, archive):
                from mdvec.sources.github.archive import take_wanted

                archive.seek(0)
                take_wanted(archive, wanted, self._blobs, self._note_fetched)

    def differs(self, known: SourceEntry) -> bool:  # noqa: ARG002 - as the port has it
        """Say no: what is elsewhere is as new as the last import."""
        return False

    @cached_property
    def _api(self) -> GithubApi:
        from mdvec.sources.github.api import GithubApi, Token

        api = GithubApi(
            self._location,
            Token(self._token_env, os.environ.get(self._token_env, "").strip()),
            base_url=self._base_url,
            most_wait_s=self._most_wait_s,
            clock=self._clock,
        )
        weakref.finalize(self, api.close)
        return api

    @cached_property
    def _blobs(self) -> FetchedBlobs:
        return FetchedBlobs()

    def _note_fetched(self) -> None:
        self._fetched += 1
        self._on_fetch(self._fetched, max(self._expected, self._fetched))

    def _is_archive_worth(self, files: int, listed: State) -> bool:
        if files <= _FEW_FILES:
            return False
        has_token = bool(os.environ.get(self._token_env))
        return not has_token or sum(item.size or 0 for item in listed.items) <= files * _MOST_BYTES_A_FILE

    def _is_entered(self, folder: str) -> bool:
        """Say whether a folder, from the root of the repository, can hold something that is wanted."""
        place, root = f"{composed(folder)}/", f"{composed(self._location.path)}/".removeprefix("/")
        if not place.startswith(root):
            return root.startswith(place)
        inside = place.removeprefix(root)
        return not inside or folder_rule(self._selection, folder.rpartition("/")[2], inside) is None
