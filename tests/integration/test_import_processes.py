"""Imports whose documents other processes prepare."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mdvec.config.schema import Config, EmbeddingSettings
from mdvec.indexing import prepare
from mdvec.indexing.prepare import Processes
from mdvec.indexing.work import Recipe
from mdvec.types.report import ImportOptions, ImportReport
from mdvec.workspace import open_workspace
from mdvec.workspace.stages import Stages


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a few notes, for which processes pay."""
    monkeypatch.setattr(prepare, "_MIN_BYTES", 0)
    monkeypatch.setattr(prepare, "_MIN_DOCUMENTS", 1)
    monkeypatch.setattr(prepare, "_TASK_BYTES", 40)
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(6):
        note = f"---\ntags: [t{number}]\n---\n# Note {number}\n\n京都の庭 {number}, see [[note 1]].\n"
        folder.joinpath(f"note {number}.md").write_text(note)
    folder.joinpath("picture.md").write_bytes(bytes(range(256)))
    return folder


def imported(folder: Path, cache: Path, *, processes: int) -> tuple[ImportReport, list[Any]]:
    """Import a folder into a database of its own, and return what was done and the chunks."""
    config = Config(embedding=EmbeddingSettings(cache_dir=cache))
    database = folder.with_name(f"{processes}.sqlite")
    with open_workspace(config, database=database) as workspace:
        workspace.add_collection("notes", "", str(folder))
        report = workspace.import_collection("notes", ImportOptions(embed=False, processes=processes))
        chunks = [(each.path, each.text, each.heading_path, each.token_count) for each in workspace.chunks()]
    return report, chunks


def test_other_processes_prepare_documents_as_this_one_does(folder: Path, model_cache: Path) -> None:
    """The same chunks, and the same file without text is left out."""
    (here, chunks), (there, others) = (imported(folder, model_cache, processes=n) for n in (1, 2))
    assert others == chunks
    assert (there.added, there.excluded) == (here.added, here.excluded) == (6, 1)


def _end() -> Recipe:
    os._exit(1)


def test_what_processes_leave_behind_is_prepared_here(
    folder: Path, model_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be killed, such as when memory is short."""
    ending = Processes(2, _end)
    monkeypatch.setattr(Stages, "processes", lambda *_: ending)
    assert imported(folder, model_cache, processes=2)[0].added == 6


def test_processes_pay_for_much_text_and_for_many_small_notes() -> None:
    """Starting them takes as long as preparing hundreds of notes."""
    assert prepare.processes_pay([500] * 10_000)
    assert prepare.processes_pay([100_000] * 100)
    assert not prepare.processes_pay([500] * 1_000)
    assert not prepare.processes_pay([10_000_000])
