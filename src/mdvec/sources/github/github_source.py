"""A repository on GitHub as a source of documents, without a clone."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mdvec import run
from mdvec.errors import FileTooLargeError, UnreadableFileError
from mdvec.files import too_large, write_whole
from mdvec.settings import Address, Minutes, SettingsSection, VariableName
from mdvec.sources.blobs import FetchedBlobs, take_wanted, verified
from mdvec.sources.interface import Source
from mdvec.sources.location import parse_github
from mdvec.sources.selection import ScanSettings, Selection
from mdvec.sources.tree import TreeItem, listing_of_tree, path_rule
from mdvec.text.folding import nfc
from mdvec.types.change import Listing, SourceEntry

if TYPE_CHECKING:  # searching opens sources too, without any request
    from mdvec.net.client import Clock
    from mdvec.sources.github.api import GithubApi

_GITHUB_COM = "https://api.github.com"
_TOKEN_VARIABLE = "GITHUB_TOKEN"  # noqa: S105 - the name of a variable

# From here on one archive is quicker than single files.
_FEW_FILES = 50
# Unless the archive holds mostly other things: with a token, a call is worth that much.
_MAX_BYTES_A_FILE = 2_000_000
_SECONDS_A_MINUTE = 60.0
_DEFAULTS = ScanSettings()
_FORMAT = 2


class GithubSettings(SettingsSection, frozen=True, kw_only=True):
    """``[github]``: how repositories on GitHub are read.

    Attributes:
        base_url: Where the REST interface is; ``https://HOST/api/v3`` for GitHub Enterprise Server.
        token_env: The variable that holds the token.
        max_wait_minutes: A rate limit that holds for longer ends the import.
    """

    base_url: Address = _GITHUB_COM
    token_env: VariableName = _TOKEN_VARIABLE
    max_wait_minutes: Minutes = 15.0


class _State(Struct, frozen=True):
    """The state of a ref at the last listing.

    Attributes:
        format: The version of this file.
        etag: The ETag of the response with the commit.
        commit: The id of the commit, in hex.
        items: The items of the commit.
    """

    format: int
    etag: str
    commit: str
    items: tuple[TreeItem, ...]


class GithubSource(Source):
    """Lists and reads a commit by GitHub's REST interface.

    Deletions follow from the tree of the commit alone, so force pushes and renamed files are like any other
    change. The cache keeps the last listing.
    """

    Settings = GithubSettings

    def __init__(
        self,
        *,
        location: str,
        cache_dir: Path,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        scan: ScanSettings = _DEFAULTS,
        clock: Clock | None = None,  # for tests
        **settings: Any,
    ) -> None:
        self._settings = GithubSettings(**settings)
        self._location = parse_github(location)
        self._selection = Selection.parse(scan, include=include, exclude=exclude)
        # Everything that determines the requests, since folders that are not entered are not requested.
        request = repr(
            (
                self._settings.base_url,
                str(self._location),
                sorted(scan.exclude_dirs),
                tuple(include),
                tuple(exclude),
            )
        )
        digest = hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._state_file = cache_dir / "sources" / f"github-{digest}.json"
        self._clock = clock
        self._listed: _State | None = None
        self._blobs = FetchedBlobs()
        self._expected = 0
        self._fetched = 0

    @staticmethod
    def parse(location: str) -> str:
        """Return the canonical spelling of ``OWNER/REPO[@REF][:PATH]``.

        Raises:
            UsageError: If it is something else.
        """
        return str(parse_github(location))

    def list(self) -> Listing:
        """Request the tree of the commit that the ref points to now; one call if that has not changed.

        Committed files are listed even if git ignores them.
        """
        known = _load_state(self._state_file)
        head = self._api.head(known.etag if known else "")
        if head is None and known is not None:
            state = known
        elif head is None or not head.commit:
            state = _State(_FORMAT, "", "", ())
        else:
            is_known = known is not None and known.commit == head.commit
            items = known.items if known and is_known else self._api.items(head.commit, self._is_entered)
            state = _State(_FORMAT, head.etag, head.commit, tuple(items))
            _save_state(self._state_file, state)
        self._listed = state
        return listing_of_tree(state.items, self._selection, path=self._location.path, revision=state.commit)

    def read(self, entry: SourceEntry) -> bytes:
        """Return the raw bytes of a listed file, checked against its hash."""
        if entry.content_hash is None:
            msg = "it is not in the repository"
            raise UnreadableFileError(msg)
        raw = self._blobs.get(entry.content_hash)
        if raw is None:
            raw = verified(self._api.blob(entry.content_hash), entry.content_hash)
            self._note_fetched()
        if len(raw) > (most := self._selection.max_bytes(entry.path)):
            raise FileTooLargeError(too_large(len(raw), most))
        return raw

    def prefetch(self, entries: Sequence[SourceEntry]) -> None:
        """Fetch many files at once, as an archive; a few are fetched when they are read."""
        wanted = {entry.content_hash: entry.size for entry in entries if entry.content_hash is not None}
        self._expected, self._fetched = len(wanted), 0
        if self._listed is None or not self._is_archive_worth(len(wanted), self._listed):
            return
        run.current().report(run.Stage.FETCH, 0, self._expected)
        with tempfile.TemporaryFile() as archive:
            if self._api.archive(self._listed.commit, archive):
                archive.seek(0)
                take_wanted(archive, wanted, self._blobs, self._note_fetched)

    @cached_property
    def _api(self) -> GithubApi:
        from mdvec.sources.github.api import GithubApi, Token

        variable = self._settings.token_env
        api = GithubApi(
            self._location,
            Token(variable, os.environ.get(variable, "").strip()),
            base_url=self._settings.base_url,
            most_wait_s=self._settings.max_wait_minutes * _SECONDS_A_MINUTE,
            clock=self._clock,
        )
        weakref.finalize(self, api.close)
        return api

    def _note_fetched(self) -> None:
        self._fetched += 1
        run.current().report(run.Stage.FETCH, self._fetched, max(self._expected, self._fetched))

    def _is_archive_worth(self, files: int, listed: _State) -> bool:
        if files <= _FEW_FILES:
            return False
        has_token = bool(os.environ.get(self._settings.token_env, "").strip())
        return not has_token or sum(item.size or 0 for item in listed.items) <= files * _MAX_BYTES_A_FILE

    def _is_entered(self, folder: str) -> bool:
        """Return True if a folder (its path from the root) may contain wanted files."""
        place, root = f"{nfc(folder)}/", f"{nfc(self._location.path)}/".removeprefix("/")
        if not place.startswith(root):
            return root.startswith(place)
        inside = place.removeprefix(root)
        return not inside or path_rule(self._selection, folder.rpartition("/")[2], inside) is None


def _load_state(path: Path) -> _State | None:
    """Read a state; None if there is no usable one, which costs a call or two."""
    try:
        state = msgspec.json.decode(path.read_bytes(), type=_State)
    except (OSError, msgspec.MsgspecError):
        return None
    return state if state.format == _FORMAT else None


def _save_state(path: Path, state: _State) -> None:
    """Write a state atomically; a full disk is not an error, and no name that is not UTF-8."""
    with contextlib.suppress(OSError, UnicodeEncodeError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, msgspec.json.encode(state))
