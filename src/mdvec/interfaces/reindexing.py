"""Brings several collections up to date, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mdvec.errors import ImportStoppedError, MdvecError
from mdvec.types.report import ImportMode, ImportOptions, ImportReport

if TYPE_CHECKING:
    from mdvec.workspace import Workspace

# Many clients give up after a minute.
_WRITER_WAIT_S = 30.0


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
    options = ImportOptions(ImportMode.UPDATE, accept_pending=not single, wait_s=_WRITER_WAIT_S)
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
