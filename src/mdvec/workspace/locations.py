"""What a user writes as the source of a collection."""

from __future__ import annotations

from collections.abc import Sequence

from mdvec import registry
from mdvec.errors import SourceMissingError
from mdvec.types.collection import SourceSpec

_WEB = ("https://", "http://", "ssh://", "git@")


def source_spec(location: str, include: Sequence[str], exclude: Sequence[str]) -> SourceSpec:
    """Parse a source; nothing but a folder of this machine is looked for.

    Args:
        location: ``NAME:PLACE`` or ``NAME+ADDRESS`` for a source of that name, such as
            ``github:OWNER/REPO[@REF][:PATH]`` and ``git+URL[@REF][:PATH]``; else a folder. A folder whose
            name starts so is written ``./github:…``.
        include: Globs of files to take; all when empty.
        exclude: Globs of files to leave out.

    Returns:
        What a collection keeps, in one spelling for one place.

    Raises:
        ConfigError: If the extension that it names cannot be loaded.
        UsageError: If it starts like a repository and is none, or carries a password.
        SourceMissingError: If there is no such folder.
    """
    if location.startswith(_WEB):
        msg = f"a repository is named by its kind, not as {location.partition('://')[0]!r} alone"
        raise SourceMissingError(msg, hint="Write github:OWNER/REPO, or git+ in front of the address.")
    kind, place = registry.named_source(location)
    place = registry.load("sources", kind).parse(place)
    return SourceSpec(kind, place, tuple(include), tuple(exclude))
