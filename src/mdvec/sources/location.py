"""Parses and writes the locations of remote documents. Pure functions."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from msgspec import Struct

from mdvec.errors import UsageError

_GITHUB_FORM = "github:OWNER/REPO[@REF][:PATH]"
_GIT_FORM = "git+URL[@REF][:PATH]"

_OWNER_AND_REPO = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,99})/([A-Za-z0-9._-]{1,100})")
# The transports of git that only fetch: "ext::" and its like run a program.
_SCHEMES = ("https", "http", "ssh", "git", "file")
_ADDRESS = re.compile(r"file:///[A-Za-z]:(?=/)|[a-z+]+://[^/]*")  # with a drive of Windows
_SSH_ADDRESS = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9._~-]*@)?(?:[A-Za-z0-9][A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\]):(?![:-])"
)
# Characters that git-check-ref-format forbids, and the dash that would make a ref an option.
_NO_REF = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.@]$|^[-/.]|[/.]$|/\.|\.lock(?:/|$)|[\ud800-\udfff]"
)


class GithubLocation(Struct, frozen=True):
    """A repository on GitHub, or a folder in it; ``str()`` writes what :func:`parse_github` reads.

    Attributes:
        owner: User or organisation.
        repo: Name of the repository.
        ref: Branch, tag or commit; empty for the default branch.
        path: Folder, without slashes around it; empty for all.
    """

    owner: str
    repo: str
    ref: str = ""
    path: str = ""

    def __str__(self) -> str:
        return f"{self.owner}/{self.repo}{_tail(self.ref, self.path)}"


class GitLocation(Struct, frozen=True):
    """A repository that git can reach, or a folder in it; ``str()`` writes what :func:`parse_git` reads.

    Attributes:
        url: The URL as git accepts it; without a password.
        ref: Branch, tag or commit; empty for the repository's HEAD.
        path: Folder, without slashes around it; empty for all.
    """

    url: str
    ref: str = ""
    path: str = ""

    def __str__(self) -> str:
        return f"{self.url}{_tail(self.ref, self.path)}"


def parse_github(text: str) -> GithubLocation:
    """Parse ``OWNER/REPO[@REF][:PATH]``. The first colon starts the path, since no ref can contain one.

    Raises:
        UsageError: If it is something else.
    """
    found = _OWNER_AND_REPO.match(text)
    if found is None or text[found.end() : found.end() + 1] not in {"", "@", ":"}:
        msg = f"not a repository on GitHub: {text!r}"
        raise UsageError(msg, hint=f"Write {_GITHUB_FORM}.")
    repo = found[2].removesuffix(".git")
    if repo.strip(".") == "":
        msg = f"not the name of a repository: {found[2]!r}"
        raise UsageError(msg, hint=f"Write {_GITHUB_FORM}.")
    ref, path = _parse_tail(text[found.end() :], _GITHUB_FORM)
    return GithubLocation(found[1], repo, ref, path)


def parse_git(text: str) -> GitLocation:
    """Parse ``URL[@REF][:PATH]``; the URL may also be ``[USER@]HOST:PATH`` as for ssh.

    The first ``@`` or colon behind the host ends the URL; its own are written ``%40`` and ``%3A``.

    Raises:
        UsageError: If it is something else, or carries a password.
    """
    head = _SSH_ADDRESS.match(text) if "://" not in text.partition("@")[0] else _ADDRESS.match(text)
    if head is None:
        msg = f"git cannot fetch from {_without_password(text)!r}"
        raise UsageError(msg, hint=f"Write {_GIT_FORM} with https://, ssh://, HOST:PATH or file:///.")
    end = next((at for at in range(head.end(), len(text)) if text[at] in "@:"), len(text))
    url = text[:end]
    if "://" in url:
        _check_url(url)
    if not url[head.end() :].strip("/") or re.search(r"[\x00-\x20\x7f\\]", url):
        msg = f"not the address of a repository: {_without_password(url)!r}"
        raise UsageError(msg, hint=f"Write {_GIT_FORM}; a space in it is %20, a folder here is file:///DIR.")
    ref, path = _parse_tail(text[end:], _GIT_FORM)
    return GitLocation(url, ref, path)


def _check_url(url: str) -> None:
    """Refuse everything but a plain address.

    Raises:
        UsageError: If git has no such transport, or the address carries a password.
    """
    try:
        parts = urlsplit(url)
        user, password, host = parts.username, parts.password, parts.hostname
    except ValueError as error:
        msg = f"not an address: {_without_password(url)!r} ({error})"
        raise UsageError(msg, hint=f"Write {_GIT_FORM}.") from error
    if parts.scheme not in _SCHEMES:
        msg = f"mdvec does not let git fetch over {parts.scheme!r}"
        raise UsageError(msg, hint=f"Use {', '.join(_SCHEMES[:-1])} or {_SCHEMES[-1]}.")
    if password is not None or (user is not None and parts.scheme in {"http", "https"}):
        msg = f"the address of a repository must not carry a name or a password: {_without_password(url)}"
        raise UsageError(
            msg,
            hint="Leave out everything up to the '@', since git asks its credential helper "
            "('git help credentials'), or use ssh://git@HOST/PATH.",
        )
    if "?" in url or "#" in url:
        msg = f"the address of a repository has no '?' and no '#': {_without_password(url.partition('?')[0])}"
        raise UsageError(msg, hint="Write %3F or %23 where a name holds one.")
    if (parts.scheme == "file") == bool(host) or any((name or "").startswith("-") for name in (user, host)):
        msg = f"not the address of a repository: {_without_password(url)!r}"
        raise UsageError(
            msg, hint="Write https://HOST/PATH, or file:///DIR for a repository of this machine."
        )


def _parse_tail(tail: str, form: str) -> tuple[str, str]:
    """Parse ``[@REF][:PATH]``."""
    ref, colon, path = tail.partition(":")
    if (ref and _NO_REF.search(ref[1:])) or ref == "@":
        msg = f"not a branch, tag or commit: {ref[1:]!r}"
        raise UsageError(msg, hint=f"Write {form}.")
    parts = path.strip("/").split("/")
    if (colon and parts == [""]) or any(part in {"", ".", ".."} for part in parts if path) or "\0" in path:
        msg = f"not a folder of a repository: {path!r}"
        raise UsageError(msg, hint=f"Write {form}; PATH is relative to the root of the repository.")
    return ref[1:], "/".join(parts)


def _tail(ref: str, path: str) -> str:
    return (f"@{ref}" if ref else "") + (f":{path}" if path else "")


def _without_password(text: str) -> str:
    return re.sub(r"(?<=//)[^/]*@", "***@", text)
