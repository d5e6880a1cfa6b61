"""What a user writes as the source of a collection."""

from __future__ import annotations

from collections.abc import Sequence

from mdvec.errors import SourceMissingError
from mdvec.types.collection import SourceSpec
from mdvec.workspace.folders import existing_folder

_GITHUB = "github:"
_GIT = "git+"
_WEB = ("https://", "http://", "ssh://", "git@")


def source_spec(location: str, include: Sequence[str], exclude: Sequence[str]) -> SourceSpec:
    """Read a source; nothing but a folder of this machine is looked for.

    Args:
        location: ``github:OWNER/REPO[@REF][:PATH]``, ``git+URL[@REF][:PATH]``, else a folder. A folder whose
            name starts so is written ``./github:…``.
        include: Globs of files to take; all when empty.
        exclude: Globs of files to leave out.

    Returns:
        What a collection keeps, in one spelling for one place.

    Raises:
        UsageError: If it starts like a repository and is none, or carries a password.
        SourceMissingError: If there is no such folder.
    """
    from mdvec.sources.location import parse_git, parse_github

    if location.startswith(_GITHUB):
        kind, place = "github", str(parse_github(location.removeprefix(_GITHUB)))
    elif location.startswith(_GIT):
        kind, place = "git", str(parse_git(location.removeprefix(_GIT)))
    elif location.startswith(_WEB):
        msg = f"a repository is named by its kind, not as {location.partition('://')[0]!r} alone"
        raise SourceMissingError(msg, hint="Write github:OWNER/REPO, or git+ in front of the address.")
    else:
        kind, place = "folder", existing_folder(location)
    return SourceSpec(kind, place, tuple(include), tuple(exclude))
