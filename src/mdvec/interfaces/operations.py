"""What several doors do with a request: search, read, and bring collections up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mdvec.errors import ImportStoppedError, MdvecError
from mdvec.interfaces.requests import DocumentRequest, SearchRequest, search_query
from mdvec.types.document import Lines
from mdvec.types.hit import SearchResult
from mdvec.types.report import ImportOptions, ImportReport, Passage

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

# Many clients give up after a minute.
_WRITER_WAIT_S = 30.0


def search(workspace: Workspace, request: SearchRequest, *, as_passages: bool = True) -> SearchResult:
    """Answer a request from the index; missing vectors are made in the background."""
    query = search_query(request, workspace.search_settings(request.collections))
    return workspace.search(replace(query, as_passages=as_passages), wait_for_vectors=False)


def read(workspace: Workspace, request: DocumentRequest, lines: Lines | None) -> Passage:
    """Return the part of a document that is requested; its lines are parsed already."""
    return workspace.read(request.path, collection=request.collection, lines=lines, section=request.section)


def reindex(
    workspace: Workspace, names: Sequence[str], *, on_part: Callable[[int], None] = lambda _: None
) -> tuple[list[ImportReport], dict[str, MdvecError]]:
    """Bring collections up to date; one that fails does not stop the others.

    Returns:
        The outcome of those whose documents were read, and why some are not up to date.

    Raises:
        MdvecError: If it is a single one, and it fails.
        ImportStoppedError: If the run is cancelled.
    """
    reports: list[ImportReport] = []
    failures: dict[str, MdvecError] = {}
    single = len(names) == 1
    options = ImportOptions(accept_pending=not single, wait_s=_WRITER_WAIT_S)
    for part, name in enumerate(names):
        on_part(part)
        try:
            reports.append(workspace.import_collection(name, options))
        except ImportStoppedError:
            raise
        except MdvecError as error:
            if single:
                raise
            failures[name] = error
        else:
            failure = reports[-1].failure
            if failure is not None:
                failures[name] = failure
    return reports, failures
