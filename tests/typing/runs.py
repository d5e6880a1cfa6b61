"""Only type-checked: how a program watches a long call, and stops it."""

from __future__ import annotations

from mdvec import Workspace
from mdvec.run import ProgressListener, Run, Stage, bound
from mdvec.types.report import ImportOptions, ImportReport


def update(workspace: Workspace, name: str) -> ImportReport:
    """Import, and stop it when it begins to embed."""

    def listen(stage: Stage, done: int, total: int, detail: str = "", /) -> None:
        if stage is Stage.EMBED:
            watched.cancel()

    listener: ProgressListener = listen
    watched = Run(on_progress=listener)
    with bound(watched):
        return workspace.import_collection(name, ImportOptions(wait_s=0))
