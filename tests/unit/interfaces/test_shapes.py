"""The shapes of answers: what each door shows of them fits the schema that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import jsonschema
import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace
from tests.unit.interfaces.fake_workspace import COLLECTION, RESULT, FakeWorkspace

from mdvec.interfaces import answers
from mdvec.interfaces.answers import schema_of, to_json
from mdvec.types.document import DocumentState
from mdvec.types.fields import Door
from mdvec.types.report import (
    ChangeProgress,
    CollectionStatus,
    DiskCheck,
    FileStatus,
    ImportReport,
    Passage,
    TagCount,
    WorkspaceStatus,
)
from mdvec.types.store_report import PublishedVersion


def every_answer() -> Sequence[Struct]:
    """Return one answer of each shape."""
    workspace = FakeWorkspace()
    status = CollectionStatus(
        COLLECTION,
        workspace.statuses[0].counts,
        (FileStatus("a.md", DocumentState.READY),),
        DiskCheck(new=("n.md",), moved=(("a.md", "b.md"),)),
        change=ChangeProgress("m", 2, 1),
    )
    return (
        RESULT,
        Passage("notes", "a.md", "A", ("x",), 1, 2, "# A\n", stale=False, next_lines="3:9"),
        answers.Tags((TagCount("x", 1),)),
        answers.import_report(workspace.report),
        answers.reindexed([workspace.report, ImportReport("work", error="no disk")], ["odd"]),
        answers.collection(COLLECTION),
        answers.status(
            WorkspaceStatus("/i.sqlite", 1, "m", (status,), published=PublishedVersion(3, 1_750_000_000_000))
        ),
    )


@pytest.mark.parametrize("door", get_args(Door))
@pytest.mark.parametrize("answer", every_answer(), ids=lambda answer: type(answer).__name__)
def test_answers_fit_their_schemas(answer: Struct, door: Door) -> None:
    """Each door has a schema of exactly the fields that it shows, in their order."""
    schema = schema_of(type(answer), door)
    shown = to_json(answer, door)
    jsonschema.Draft202012Validator(schema).validate(shown)
    assert list(schema["properties"]) == list(shown)
    assert msgspec.json.decode(msgspec.json.encode(shown)) == shown
    assert "door" not in str(schema)


def test_a_field_of_one_door_is_not_shown_at_the_other() -> None:
    """Agents get no positions in characters."""
    [hit] = to_json(RESULT, "mcp")["hits"]
    assert "start" not in hit
    assert "start_line" in hit
    assert "start" in to_json(RESULT)["hits"][0]


def test_totals_count_all_collections() -> None:
    """A collection without a report counts nothing, and has its reason."""
    report = replace(FakeWorkspace().report, failed=2)
    failed = ImportReport("other", error="no disk")
    total = answers.reindexed([report, replace(report, collection="work"), failed], [])
    assert (total.added, total.failed, total.total_chunks) == (6, 4, 18)
    assert [(each.collection, each.added, each.error) for each in total.collections] == [
        ("notes", 3, None),
        ("work", 3, None),
        ("other", 0, "no disk"),
    ]
