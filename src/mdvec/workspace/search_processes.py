"""Has the searches of a workspace answered in several processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from msgspec.structs import replace

from mdvec.config.schema import Config
from mdvec.machine import available_cores
from mdvec.types.hit import SearchResult
from mdvec.workspace.restricted import RestrictedWorkspace
from mdvec.workspace.search import Search
from mdvec.workspace.searchers import Answering, MakeAnswering, Searchers
from mdvec.workspace.storage.database import Place
from mdvec.workspace.workspace import Workspace, workspace_at

# What one process can talk about with its clients meanwhile.
_MAX_PROCESSES = 4


def use_processes(workspace: Workspace, most: int | None = None) -> None:
    """Answer searches at the same time in several processes, until a workspace is closed.

    Args:
        workspace: The workspace, and those that are made of it from now on to show a part of it.
        most: How many searches to answer at a time, each in its own process; 1 for only this process,
            None for the number of cores, but at most four.
    """
    most = min(available_cores(), _MAX_PROCESSES) if most is None else most
    if most > 1:
        workspace.searchers = Searchers(most, answering_elsewhere(workspace))


def answering_elsewhere(workspace: Workspace) -> MakeAnswering:
    """Return what answers the searches of a workspace in another process; its database must exist."""
    return partial(_answering, replace(workspace._collections.place, makes=False), workspace._config)


@contextmanager
def _answering(place: Place, config: Config) -> Iterator[Answering]:
    with workspace_at(place, config) as whole:
        whole.use_small_models_only()
        workspaces: dict[frozenset[str] | None, Workspace] = {None: whole}

        def answer(search: Search) -> SearchResult:
            readable = search.readable
            if readable is not None and readable not in workspaces:
                workspaces[readable] = RestrictedWorkspace(whole, readable)
            return workspaces[readable].answer(search)

        yield answer
