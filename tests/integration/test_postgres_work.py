"""Several processes that embed into one store in PostgreSQL, and what they hear of each other."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contract.store_world import SPACE, add_collection, make_document, put, read, unit_vectors
from tests.postgres_server import new_schema, open_postgres, shared_server
from tests.waiting import HANG_S

from mdvec import open_workspace
from mdvec.config import load_config
from mdvec.embedding.interface import Role
from mdvec.embedding.unrelated import PASSAGES
from mdvec.errors import WriterBusyError
from mdvec.stores.records import VectorKind
from mdvec.testing.embedder import HashingEmbedder
from mdvec.text.hashing import text_hash
from mdvec.types.report import ImportReport

if TYPE_CHECKING:
    from mdvec.embedding.interface import Parts

pytestmark = pytest.mark.postgres


def test_a_text_is_taken_once() -> None:
    """By one claim of two; with its vector, or with the claim, it is free again."""
    schema = new_schema()
    one, two = open_postgres(schema=schema), open_postgres(schema=schema)
    a, b = add_collection(one, "a"), add_collection(one, "b")
    with one.write() as writer:
        space_id = writer.spaces.open(SPACE)
        for each in (a, b):
            put(writer, each.id, *make_document("x.md", ["same", f"own of {each.name}"]))
    hashes = [text_hash(text) for text in ("same", "own of a", "own of b")]
    with one.claim(a, "importing", wait_s=0) as first:
        with two.claim(b, "importing", wait_s=0) as second:
            assert one.take_texts(first, space_id, hashes[:2]) == {*hashes[:2]}
            assert two.take_texts(second, space_id, hashes) == {hashes[2]}
            assert one.take_texts(first, space_id, hashes[:1]) == {hashes[0]}  # who has it may ask again
            assert read(two, lambda view: view.vectors.pending(VectorKind.TEXT, b.id, space_id, 9)) == []
            assert read(two, lambda view: view.collections.counts(b.id, space_id)).pending_chunks == 2
            with two.write(second) as writer:
                writer.vectors.put(space_id, hashes[2:], unit_vectors(1))
            assert two.take_texts(second, space_id, hashes) == set()
        assert read(two, lambda view: view.vectors.pending(VectorKind.TEXT, b.id, space_id, 9)) == []
    assert [
        each.text for each in read(two, lambda view: view.vectors.pending(VectorKind.TEXT, b.id, space_id, 9))
    ] == ["same"]
    one.close()
    two.close()


def test_those_that_watch_divide_the_collections() -> None:
    """What one cannot read goes to another that can, and what nobody can read to one of them."""
    schema = new_schema()
    one, two = open_postgres(schema=schema), open_postgres(schema=schema)
    a, b, c = (add_collection(one, name).id for name in "abc")
    with one.claim(None, "watching", wait_s=0) as first:
        assert one.share(first, [a, b], [c]) == {a, b, c}
        with two.claim(None, "watching", wait_s=0) as second:
            assert two.share(second, [a, b, c], []) == {b}
            assert one.share(first, [a, b], [c]) == {a, b}  # the second one has c
            assert two.share(second, [], [a, b, c]) == {c}  # nobody has c, and the first one has the others
        assert one.share(first, [a, b], [c]) == {a, b, c}
    with pytest.raises(WriterBusyError, match="lost while watching"):
        one.share(first, [a], [])
    one.close()
    two.close()


class SlowEmbedder(HashingEmbedder):
    """Takes a few texts at a time, and begins when the others do, so that each has something to do."""

    def __init__(self, others: threading.Barrier) -> None:
        super().__init__(dimension=16)
        self._others: threading.Barrier | None = others

    @property
    def texts_at_once(self) -> int:
        """Fewer than there are."""
        return 4

    def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT, titles: Sequence[str] = ()) -> Parts:
        """Wait for the others with the first texts of documents."""
        others, is_work = self._others, role is Role.DOCUMENT and tuple(texts) != PASSAGES
        if others is not None and is_work:
            self._others = None
            others.wait(HANG_S)
        return super().embed(texts, role, titles)


def test_two_machines_embed_no_text_twice(tmp_path: Path) -> None:
    """Of two collections with equal documents, at once; both end with all their vectors."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(30):
            text = f"# Note {number}\n\n" + "\n\n".join(
                f"## Part {part}\n\nText {number} {part}." for part in range(5)
            )
            (tmp_path / name / f"{number}.md").write_text(text)
    env = {"MDVEC_STORE_LOCATION": shared_server(), "MDVEC_STORE_POSTGRES_SCHEMA": new_schema()}
    config = load_config(cwd=tmp_path, env=env).config
    both = threading.Barrier(2)
    embedders = {name: SlowEmbedder(both) for name in ("a", "b")}
    reports: list[ImportReport] = []
    with open_workspace(config, embedder=HashingEmbedder(dimension=16)) as workspace:
        for name in ("a", "b"):
            workspace.add_collection(name, "", str(tmp_path / name))

    def work(name: str) -> None:
        with open_workspace(config, embedder=embedders[name]) as workspace:
            reports.append(workspace.import_collection(name))

    threads = [threading.Thread(target=work, args=(name,), name=name) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.pending_chunks for each in reports] == [0, 0]
    counts = Counter(text for each in embedders.values() for text in each.embedded)
    assert len(counts) > 60
    assert {text: count for text, count in counts.items() if count > 1} == {}
    assert all(each.embedded for each in embedders.values())
