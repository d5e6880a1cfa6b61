"""Takes the wanted contents out of an archive of a commit."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO

from mdvec.sources.blobs import FetchedBlobs, blob_id


def take_wanted(
    archive: BinaryIO, wanted: Mapping[bytes, int], blobs: FetchedBlobs, on_found: Callable[[], None]
) -> None:
    """Keep the contents of an archive that are wanted.

    They are found by their hash, whatever they are called in the archive. Some may be missing: attributes
    of the repository leave files out of its archives or change them, and an archive may be cut off.

    Args:
        archive: A compressed tar archive, from its beginning.
        wanted: Size of each content, by id.
        blobs: Where they are kept.
        on_found: Called for each.
    """
    left = {wanted_id for wanted_id in wanted if wanted_id not in blobs}
    sizes = {wanted[wanted_id] for wanted_id in left}
    like = next(iter(wanted), b"")
    try:
        with tarfile.open(fileobj=archive, mode="r:gz") as members:
            while left and (member := members.next()) is not None:
                members.members.clear()  # type: ignore[attr-defined]  # it would remember all it has seen
                if not member.isreg() or member.size not in sizes:
                    continue
                file = members.extractfile(member)
                raw = b"" if file is None else file.read()
                found = blob_id(raw, like)
                if found in left:
                    left.remove(found)
                    blobs.put(found, raw)
                    on_found()
    except (tarfile.TarError, EOFError, OSError, zlib.error):
        return  # what is missing is fetched one by one
