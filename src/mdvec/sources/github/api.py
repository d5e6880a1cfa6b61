"""The four requests to GitHub's REST API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import BinaryIO, NoReturn
from urllib.parse import quote, urlsplit

from msgspec import Struct

from mdvec.errors import (
    ConfigError,
    ServiceAnswerError,
    ServiceError,
    ServiceRefusedError,
    ServiceUnavailableError,
    SourceError,
    SourceMissingError,
    SourceUnavailableError,
    UnreadableFileError,
)
from mdvec.net.client import Clock, HttpClient
from mdvec.net.response import Response, RetryPolicy
from mdvec.sources.location import GithubLocation
from mdvec.sources.tree import FOLDER_MODE, TreeItem

_VERSION = "2022-11-28"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

# GitHub's largest blob has 100 MB, and its longest list of files 7 MB.
_MAX_BYTES = 128 << 20
_TIMEOUT_S = 120.0
_MAX_ARCHIVE_BYTES = 4 << 30
_MAX_FOLDERS = 10_000  # that are asked for one by one: more calls than GitHub allows in an hour
_ARCHIVE_TIMEOUT_S = 3_600.0

# The statuses by which GitHub enforces its rate limits; a file may be forbidden for other reasons.
_LIMITED = {HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}
# The wait that GitHub requires if it names none; doubled if that was not enough.
_MIN_WAIT_S = 60.0
_MAX_DOUBLINGS = 6


class Token(Struct, frozen=True):
    """The credentials of requests.

    Attributes:
        variable: Name of the environment variable it comes from, for messages.
        value: The token; without one, only public repositories are visible, with 60 calls an hour.
    """

    variable: str
    value: str


class Head(Struct, frozen=True):
    """The commit that a ref points to now.

    Attributes:
        commit: Its id, in hex; empty for a repository without commits.
        etag: Sent with the next request.
    """

    commit: str
    etag: str


class GithubApi:
    """One repository on GitHub. Requests are sent one after the other, as GitHub requires."""

    def __init__(
        self,
        location: GithubLocation,
        token: Token,
        *,
        base_url: str,
        most_wait_s: float,
        clock: Clock | None = None,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            location: The repository.
            token: Sent with every request, if there is one.
            base_url: Such as ``https://api.github.com``.
            most_wait_s: A limit that holds for longer than this many seconds ends the call.
            clock: For tests.

        Raises:
            ConfigError: If the token would be sent without encryption.
            SourceError: If the token is not a valid one.
        """
        address = urlsplit(base_url)
        if token.value and address.scheme != "https" and address.hostname not in _LOOPBACK:
            msg = f"the token in {token.variable} is not sent to {address.hostname} without encryption"
            raise ConfigError(msg, hint="Write https:// in [github] base_url.")
        if not re.fullmatch(r"[\x21-\x7e]*", token.value):
            msg = f"{token.variable} does not contain a valid token"
            raise SourceError(msg, hint=_token_hint(token))
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": _VERSION}
        if token.value:
            headers["Authorization"] = f"Bearer {token.value}"
        clock = clock or Clock()
        self._location = location
        self._token = token
        self._root = f"/repos/{location.owner}/{location.repo}"
        self._http = HttpClient(
            base_url.rstrip("/"),
            service="GitHub",
            headers=headers,
            timeout_s=_TIMEOUT_S,
            max_bytes=_MAX_BYTES,
            retry=RetryPolicy(max_wait_s=most_wait_s),
            retry_after=RateLimits(clock.now),
            clock=clock,
        )
        self.close = self._http.close

    def head(self, etag: str) -> Head | None:
        """Request the commit that the ref points to; if it has not changed, the call does not count.

        Returns:
            The commit; None if it is still that of the response with this ETag.

        Raises:
            SourceMissingError: If there is no such repository or ref.
            SourceError: If the token is wrong, or GitHub cannot be asked.
        """
        headers = {"Accept": "application/vnd.github.sha"} | ({"If-None-Match": etag} if etag else {})
        path = f"{self._root}/commits/{quote(self._location.ref or 'HEAD', safe='/')}"
        refusals = (HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.CONFLICT)
        expected = (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED, *refusals)
        with self._translated():
            reply = self._http.get(path, headers=headers, expected=expected)
            match reply.status:
                case HTTPStatus.NOT_MODIFIED:
                    return None
                case HTTPStatus.NOT_FOUND | HTTPStatus.UNPROCESSABLE_ENTITY:
                    self._refuse_ref()
                case HTTPStatus.CONFLICT:  # it is empty
                    return Head("", "")
            commit = reply.text.strip()
            if not _COMMIT.fullmatch(commit):
                msg = f"GitHub answers with {len(reply.content):,} bytes that are not a commit"
                raise ServiceAnswerError(msg, status=reply.status)
            return Head(commit, reply.headers.get("etag", ""))

    def items(self, commit: str, is_entered: Callable[[str], bool]) -> list[TreeItem]:
        """Return the items of a commit, in one call unless GitHub truncates the list.

        In that case the folders are requested one by one, from the top down.

        Args:
            commit: Its id.
            is_entered: Returns True for a folder (its path from the root) that is worth a call; of others
                only the name is returned.

        Raises:
            SourceError: If a single folder is too large, folders are too many, or GitHub cannot be asked.
        """
        found: list[TreeItem] = []
        waiting, asked = [("", commit)], 0
        with self._translated():
            while waiting:
                prefix, tree_id = waiting.pop()
                asked += 1
                if asked > _MAX_FOLDERS:
                    msg = f"{self._location} has more than {_MAX_FOLDERS:,} folders to ask GitHub for"
                    raise SourceError(msg, hint=f"Read it with git: {self._as_git()}")
                is_cut_off, items = self._tree(prefix, tree_id, {"recursive": "1"})
                if not is_cut_off:
                    found += (item for item in items if item.mode != FOLDER_MODE)
                    continue
                is_cut_off, items = self._tree(prefix, tree_id, None)
                if is_cut_off:
                    msg = f"GitHub does not list all of {prefix or 'the root'}: it has too many files"
                    raise SourceError(msg, hint=f"Read it with git: {self._as_git()}")
                for item in items:
                    if item.mode == FOLDER_MODE and is_entered(item.path):
                        waiting.append((f"{item.path}/", item.blob_id.hex()))
                    else:
                        found.append(item)
        return found

    def blob(self, blob_id: bytes) -> bytes:
        """Return a content, without verifying it.

        Raises:
            UnreadableFileError: If there is no content with that id.
            SourceError: If GitHub cannot be asked.
        """
        path = f"{self._root}/git/blobs/{blob_id.hex()}"
        headers = {"Accept": "application/vnd.github.raw+json"}
        with self._translated():
            reply = self._http.get(path, headers=headers, expected=(HTTPStatus.OK, HTTPStatus.NOT_FOUND))
        if reply.status == HTTPStatus.NOT_FOUND:
            msg = "it is no longer on GitHub"
            raise UnreadableFileError(msg)
        return reply.content

    def archive(self, commit: str, file: BinaryIO) -> bool:
        """Write all contents of a commit to a file, as a compressed archive.

        Returns:
            True if it was fetched; some networks block the host of archives.

        Raises:
            SourceError: If GitHub cannot be asked.
        """
        with self._translated():
            try:
                self._http.download(
                    f"{self._root}/tarball/{commit}",
                    file,
                    max_bytes=_MAX_ARCHIVE_BYTES,
                    timeout_s=_ARCHIVE_TIMEOUT_S,
                )
            except ServiceRefusedError as error:
                if error.status == HTTPStatus.UNAUTHORIZED:
                    raise
                return False
        return True

    def _tree(
        self, prefix: str, tree_id: str, params: dict[str, str] | None
    ) -> tuple[bool, Sequence[TreeItem]]:
        answer = self._http.request_json("GET", f"{self._root}/git/trees/{tree_id}", params=params)
        try:
            items = [
                TreeItem(prefix + each["path"], each["mode"], bytes.fromhex(each["sha"]), _size_of(each))
                for each in answer["tree"]
            ]
            return bool(answer["truncated"]), items
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            msg = "GitHub answers with something that is not a tree"
            raise ServiceAnswerError(msg) from error

    def _refuse_ref(self) -> NoReturn:
        """Raise the error for a missing repository, or a missing ref in it."""
        place = f"{self._location.owner}/{self._location.repo}"
        reply = self._http.get(self._root, expected=(HTTPStatus.OK, HTTPStatus.NOT_FOUND))
        if reply.status == HTTPStatus.NOT_FOUND:
            msg = f"there is no repository {place} on GitHub, or the token may not read it"
            hint = (
                f"Check its name; for a private one set {self._token.variable} to a token that may read it."
            )
            raise SourceMissingError(msg, hint=hint)
        msg = f"{place} on GitHub has no branch, tag or commit {self._location.ref or 'HEAD'!r}"
        raise SourceMissingError(
            msg, hint="Name another with 'mdvec tool update -n NAME -s github:OWNER/REPO@REF'."
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise errors of the network as errors of a source."""
        try:
            yield
        except ServiceRefusedError as error:
            if error.status == HTTPStatus.UNAUTHORIZED and self._token.value:
                msg = f"GitHub does not accept the token in {self._token.variable} ({error})"
            else:
                msg = str(error)
            raise SourceError(msg, hint=_token_hint(self._token)) from error
        except ServiceUnavailableError as error:
            raise SourceUnavailableError(str(error), hint=self._hint_for_later(error)) from error
        except ServiceAnswerError as error:
            raise SourceUnavailableError(str(error)) from error

    def _hint_for_later(self, error: ServiceError) -> str:
        if error.status in _LIMITED and not self._token.value:
            return f"{error.hint} With a token in {self._token.variable} GitHub allows far more calls."
        return error.hint

    def _as_git(self) -> str:
        return f"-s git+https://github.com/{self._location}"


def _size_of(item: Mapping[str, object]) -> int | None:
    size = item.get("size")
    if size is None or (isinstance(size, int) and size >= 0):
        return size
    raise ValueError


def _token_hint(token: Token) -> str:
    return f"Set {token.variable} to a token that may read the repository's contents (gh auth token)."


class RateLimits:
    """Finds the wait in a refusal; the ``retry_after`` of an :class:`mdvec.net.client.HttpClient`.

    References:
        https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """Start without a refusal."""
        self._now = now
        self._refusals = 0

    def __call__(self, reply: Response) -> float | None:
        """Return the seconds to wait; None if the rate limits are not the reason for a response."""
        if reply.status not in _LIMITED:
            self._refusals = 0
            return None
        said_s = reply.retry_after(self._now())
        if said_s is not None:
            return said_s
        reset = reply.headers.get("x-ratelimit-reset", "")
        if reply.headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            return max(1.0, float(reset) - self._now())
        if reply.status == HTTPStatus.FORBIDDEN and "rate limit" not in reply.text.lower():
            return None  # it is not ours to read
        self._refusals += 1
        return _MIN_WAIT_S * 2.0 ** min(self._refusals - 1, _MAX_DOUBLINGS)
