"""What every store must do with collections, documents, names and links."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.contract.store_world import (
    FOLDER,
    SPACE,
    World,
    add_collection,
    chunk_ids,
    make_document,
    make_entry,
    make_record,
    open_space,
    put,
    read,
    unit_vectors,
    vector_of,
)

from mdvec.errors import CollectionExistsError, CollectionNotFoundError, NotAllowedError
from mdvec.stores.interface import Store
from mdvec.stores.records import ChunkPlace, StoredDocument, VectorKind
from mdvec.text.hashing import text_hash
from mdvec.text.links import file_key
from mdvec.types.change import Exclusion, KnownDocument, SourceEntry, Unreadable
from mdvec.types.collection import ChunkingSpec, Collection, SourceSpec
from mdvec.types.document import Comment, DocumentState, Link, LinkKind
from mdvec.types.folder_context import FolderContext
from mdvec.types.ids import ChunkId, CollectionId, DocumentId
from mdvec.types.links import Versions
from mdvec.types.query import Comparison, Filters, PropertyCondition, Where
from mdvec.types.report import CollectionCounts, FileStatus, ListedDocument, TagCount


def test_collections_keep_every_field(store: Store) -> None:
    """What is added and saved comes back equal, by name."""
    source = SourceSpec("folder", "/caf\udce9/メモ", ("*.md",), ("drafts/**", "a"))
    with store.write() as writer:
        second = writer.collections.add(
            Collection(CollectionId(0), "b", "説明", source, ChunkingSpec("sections", 100, 10))
        )
        first = writer.collections.add(Collection(CollectionId(0), "a", "", FOLDER))
    assert read(store, lambda view: view.collections.all()) == [first, second]
    contexts = (FolderContext("旅/国内", "日本の旅"), FolderContext("", "All.", from_file=True))
    changed = replace(
        first,
        name="c",
        description="x",
        enabled=False,
        last_indexed_ms=5,
        source=source,
        folder_contexts=contexts,
    )
    with store.write() as writer:
        assert writer.collections.change(first.id, lambda _: changed) == changed
    assert read(store, lambda view: view.collections.all()) == [second, changed]


def test_a_change_is_made_to_the_collection_as_it_is(store: Store, notes: Collection) -> None:
    """Changes of different fields all last, whoever read the collection before; a deleted one is told."""
    with store.write() as writer:
        writer.collections.change(notes.id, lambda now: replace(now, description="new"))
    with store.write() as writer:
        writer.collections.change(notes.id, lambda now: replace(now, last_indexed_ms=7))
    assert read(store, lambda view: view.collections.all()) == [
        replace(notes, description="new", last_indexed_ms=7)
    ]
    with store.write() as writer:
        writer.collections.delete(notes.id)
    with pytest.raises(CollectionNotFoundError), store.write() as writer:
        writer.collections.change(notes.id, lambda now: now)


def test_names_of_collections_are_unique(store: Store, notes: Collection) -> None:
    """Adding a name twice is refused, and nothing is written."""
    with pytest.raises(CollectionExistsError, match="notes"), store.write() as writer:
        writer.collections.add(Collection(CollectionId(0), "notes", "", FOLDER))
    assert read(store, lambda view: view.collections.all()) == [notes]


def test_documents_keep_every_field(store: Store, notes: Collection) -> None:
    """A document comes back as it was written, odd characters included."""
    document, chunks = make_document("メモ/猫.md", ["# 猫 👩\u200d💻", "か\u3099 x"], tags=("Tag", "a/b"))
    document = replace(
        document,
        aliases=("Neko", "猫"),
        frontmatter={"z": [1, None, {"é": True}], "a": "x"},
        content_start=2,
        links=(Link(LinkKind.WIKI, "犬", "^x", "dog", 3),),
    )
    entry = SourceEntry(document.path, "メモ/\udcffneko.md", 1_700_000_000_123_456_789, 42)
    with store.write() as writer:
        record = make_record(document, chunks, entry=entry)
        writer.documents.put(notes.id, [replace(record, content_hash=b"h" * 32, fingerprint="f/1")])
    found = read(store, lambda view: view.documents.find(notes.id, "メモ/猫.md"))
    assert found is not None
    assert (found.collection, found.collection_id, found.path) == ("notes", notes.id, document.path)
    assert (found.title, found.body, found.content_start) == (document.title, document.body, 2)
    assert (found.tags, found.aliases) == (("Tag", "a/b"), ("Neko", "猫"))
    assert dict(found.frontmatter) == document.frontmatter
    assert (found.locator, found.mtime_ns, found.size) == (entry.locator, entry.mtime_ns, entry.size)
    assert found.content_hash == b"h" * 32
    assert read(store, lambda view: view.documents.find(notes.id, "other.md")) is None
    assert read(store, lambda view: view.documents.known(notes.id)) == {
        document.path: KnownDocument(
            found.id, document.path, entry.locator, entry.mtime_ns, 42, b"h" * 32, "f/1"
        )
    }


def test_documents_say_when_they_changed_and_what_they_are_about(store: Store, notes: Collection) -> None:
    """Tags in order, frontmatter, and the time by the document itself or else its file."""
    with store.write() as writer:
        for path, tags, updated_ns in (("a.md", ("b", "A/c"), 7), ("b.md", (), None), ("c.md", ("c",), 1)):
            document, chunks = make_document(path, ["text"], tags=tags)
            document = replace(document, updated_ns=updated_ns, frontmatter={"x": path}, aliases=("alias",))
            record = make_record(document, chunks, entry=make_entry(path, 5))
            writer.documents.put(notes.id, [record])
    listed = read(store, lambda view: view.documents.newest(Where((notes.id,))))
    ids = [*listed][:2]
    found = read(store, lambda view: view.documents.get([*ids, DocumentId(999)]))
    said = [(each.tags, each.frontmatter, each.changed_ns) for each in map(found.__getitem__, ids)]
    assert said == [(("b", "A/c"), {"x": "a.md"}, 7), ((), {"x": "b.md"}, 5)]
    assert [found[each] for each in ids] == [document_at(store, notes, path) for path in ("a.md", "b.md")]
    assert len(found) == 2
    assert read(store, lambda view: view.documents.get([])) == {}


def test_chunks_keep_every_field(store: Store, notes: Collection) -> None:
    """Chunks come back in order, with their text and with what is shown of their document."""
    document, chunks = make_document("a.md", ["一つ目", "second"], depths=(1, 2))
    with store.write() as writer:
        ids = put(writer, notes.id, document, chunks)
    found = read(store, lambda view: view.documents.find(notes.id, "a.md"))
    assert found is not None
    stored = read(store, lambda view: view.chunks.of_document(found.id))
    assert [each.id for each in stored] == ids
    assert read(store, lambda view: view.chunks.get([*reversed(ids), ids[0]])) == dict(
        zip(ids, stored, strict=True)
    )
    assert read(store, lambda view: view.documents.texts([found.id])) == {found.id: document.body}
    assert read(store, lambda view: view.documents.texts([])) == {}
    second = stored[1]
    assert (second.text, second.start, second.end, second.ordinal) == ("second", 5, 11, 1)
    assert (second.parent, second.depth, second.heading_path) == (0, 2, ("Top", "Part 1"))
    assert (second.start_line, second.end_line, second.token_count) == (3, 3, 1)
    assert (second.collection, second.collection_id, second.document_id) == ("notes", notes.id, found.id)
    assert (second.path, second.title) == ("a.md", "a.md")


def test_putting_a_document_replaces_the_old_one(store: Store, notes: Collection) -> None:
    """The old chunks, words and labels are gone; the new chunks have new ids."""
    everything = Where((notes.id,))
    with store.write() as writer:
        old = put(writer, notes.id, *make_document("a.md", ["cat", "dog"], tags=("old",)))
    with store.write() as writer:
        new = put(writer, notes.id, *make_document("a.md", ["bird"], tags=("new",)))
    assert not set(old) & set(new)
    assert read(store, lambda view: view.chunks.get(old)) == {}
    assert read(store, lambda view: view.words.bm25(["cat", "dog"], everything, 5)) == []
    assert [found for found, _ in read(store, lambda view: view.words.bm25(["bird"], everything, 5))] == new
    assert read(store, lambda view: view.documents.tags(everything)) == [TagCount("new", 1)]


def test_touching_writes_time_size_and_spelling(store: Store, notes: Collection) -> None:
    """Touching changes what the file system says, and no chunk."""
    with store.write() as writer:
        ids = put(writer, notes.id, *make_document("a.md", ["text"]))
        writer.documents.touch(notes.id, [SourceEntry("a.md", "A.md", 77, 88)])
    assert read(store, lambda view: chunk_ids(view, notes.id, "a.md")) == ids
    stored = document_at(store, notes, "a.md")
    assert (stored.mtime_ns, stored.size, stored.locator) == (77, 88, "A.md")


def test_deleting(store: Store, notes: Collection) -> None:
    """Deleting a document or a collection leaves nothing behind but vectors."""
    everything = Where((notes.id,))
    space_id = open_space(store, SPACE)
    with store.write() as writer:
        for path in ("a.md", "b.md", "c.md"):
            put(writer, notes.id, *make_document(path, [f"word {path}"], tags=("t",)))
        writer.documents.finish(notes.id, exclusions=[Exclusion("x", "r")], failures=[Unreadable("y", "r")])
        writer.vectors.put(space_id, [text_hash("word a.md")], unit_vectors(1))
    with store.write() as writer:
        writer.documents.delete(notes.id, ["a.md"])
        writer.documents.delete(notes.id, ["not-there.md"])
    assert [tag.documents for tag in read(store, lambda view: view.documents.tags(everything))] == [2]
    assert len(read(store, lambda view: view.words.bm25(["word"], everything, 5))) == 2
    with store.write() as writer:
        writer.collections.delete(notes.id)
    assert read(store, lambda view: view.collections.all()) == []
    assert read(store, lambda view: view.collections.counts(notes.id, None)) == CollectionCounts(
        0, 0, 0, 0, 0
    )
    assert read(store, lambda view: view.words.bm25(["word"], everything, 5)) == []
    assert read(store, lambda view: view.vectors.known(space_id, [text_hash("word a.md")])) == {
        text_hash("word a.md")
    }


def test_outcomes_are_replaced(store: Store, notes: Collection) -> None:
    """What is no longer excluded or failed is forgotten, and new reasons replace old ones."""
    with store.write() as writer:
        writer.documents.finish(
            notes.id,
            exclusions=[Exclusion("a", "old"), Exclusion("b", "old")],
            failures=[Unreadable("c", "r")],
        )
    with store.write() as writer:
        writer.documents.finish(notes.id, exclusions=[Exclusion("b", "new")], failures=[])
    assert read(store, lambda view: view.collections.file_states(notes.id, None)) == [
        FileStatus("b", DocumentState.EXCLUDED, "new")
    ]


def document_at(store: Store, notes: Collection, path: str) -> StoredDocument:
    """Return a document that is there."""
    found = read(store, lambda view: view.documents.find(notes.id, path))
    assert found is not None
    return found


def test_places_name_the_neighbours(store: Store, notes: Collection) -> None:
    """Each place once, in order of path; what is in another document is no neighbour.

    How a chunk is written is how its document is.
    """
    with store.write() as writer:
        first = put(
            writer,
            notes.id,
            *make_document("b.md", ["一つ目の文はここに書かれています", "two", "three", "four", "five"]),
        )
        second = put(writer, notes.id, *make_document("a.md", ["六 six", "seven"]))
    wanted = [second[0], first[4], first[1], first[0], first[1], ChunkId(10**9)]
    found = read(store, lambda view: view.chunks.places(wanted))
    one, two = (document_at(store, notes, path).id for path in ("b.md", "a.md"))
    none = ChunkId(0)
    assert [place._replace(skeleton=None) for place in found] == [
        ChunkPlace(second[0], two, notes.id, 0, unspaced=False, token_count=2, before=none, after=second[1]),
        ChunkPlace(first[0], one, notes.id, 0, unspaced=True, token_count=1, before=none, after=first[1]),
        ChunkPlace(first[1], one, notes.id, 1, unspaced=True, token_count=1, before=first[0], after=first[2]),
        ChunkPlace(first[4], one, notes.id, 4, unspaced=True, token_count=1, before=first[3], after=none),
    ]
    where = Where((notes.id,))
    inside = read(store, lambda view: view.chunks.places_in([two, one], where, 3))
    assert inside == read(store, lambda view: view.chunks.places([second[0], second[1], first[0]]))
    assert read(store, lambda view: view.chunks.places([])) == []


def test_like_texts_have_equal_skeletons(store: Store, notes: Collection) -> None:
    """Whatever their links and numbers are, in any collection; a text of links and numbers alone has none."""
    others = add_collection(store, "others")
    texts = ["Own words", "See also [[a]]", "![[a.png]] 2026-05-01"]
    with store.write() as writer:
        own, see, bare = put(writer, notes.id, *make_document("a.md", texts))
        (alike,) = put(writer, notes.id, *make_document("b.md", ["See also [[b]] 2"]))
        (elsewhere,) = put(writer, others.id, *make_document("c.md", ["See also [[c]]"]))
    places = read(store, lambda view: view.chunks.places([own, see, bare, alike, elsewhere]))
    found = {place.id: place.skeleton for place in places}
    assert found[own] != found[see] == found[alike] == found[elsewhere]
    assert found[bare] is None
    assert {*map(type, found.values())} == {bytes, type(None)}


def test_chunks_have_their_contexts(store: Store, notes: Collection) -> None:
    """As they were written."""
    document, chunks = make_document("a.md", ["one", "two"])
    with store.write() as writer:
        put(writer, notes.id, document, [replace(chunk, context=f"c{chunk.ordinal}") for chunk in chunks])
    key = document_at(store, notes, "a.md").id
    found = read(store, lambda view: view.chunks.of_document(key))
    assert [each.context for each in found] == ["c0", "c1"]


def test_ids_are_never_used_again(store: Store, notes: Collection) -> None:
    """Not those of chunks, nor of documents or collections; those of one transaction grow in order."""
    seen: set[tuple[DocumentId, ...] | ChunkId] = set()
    for number in range(3):
        with store.write() as writer:
            records = [make_record(*make_document(path, ["1", "2"])) for path in ("b.md", "a.md")]
            writer.documents.put(notes.id, records)
        documents = [document_at(store, notes, path).id for path in ("b.md", "a.md")]
        chunks = [
            chunk.id
            for document in documents
            for chunk in read(store, lambda view, document=document: view.chunks.of_document(document))  # type: ignore[misc]
        ]
        assert chunks == sorted(chunks)
        assert not seen & {*chunks, tuple(documents)}
        seen |= {*chunks, tuple(documents)}
        if number:
            with store.write() as writer:
                writer.documents.delete(notes.id, ["a.md", "b.md"])
    with store.write() as writer:
        writer.collections.delete(notes.id)
    assert add_collection(store).id != notes.id


def test_documents_are_listed_by_path_a_page_at_a_time(store: Store, notes: Collection) -> None:
    """Pages of any size together are all documents, in the order of their characters."""
    paths = ["B.md", "a.md", "a/b.md", "メモ/猫.md", "メモ.md", "\U0001f408.md"]
    with store.write() as writer:
        other = writer.collections.add(Collection(CollectionId(0), "other", "", FOLDER))
        put(writer, other.id, *make_document("other.md", ["text"]))
        for path in paths:
            put(writer, notes.id, *make_document(path, ["text"]))
        writer.documents.touch(notes.id, [make_entry("a.md", 5, 6)])
    everything = read(store, lambda view: view.documents.page(notes.id, after="", prefix="", limit=100))
    assert [each.path for each in everything] == sorted(paths)
    title = everything[1].title
    assert everything[1] == ListedDocument("notes", "a.md", title, size=6, modified_ns=5)
    for size in (1, 2, 4):
        after, listed = "", []
        with store.read() as view:
            while page := view.documents.page(notes.id, after=after, prefix="", limit=size):
                assert len(page) <= size
                listed += page
                after = page[-1].path
        assert listed == everything


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("a", ["a.md", "a/b.md"]),
        ("a/", ["a/b.md"]),
        ("メモ", ["メモ.md", "メモ/猫.md"]),
        ("%", []),
        ("A", []),
    ],
)
def test_documents_are_listed_by_the_start_of_their_path(
    store: Store, notes: Collection, prefix: str, expected: list[str]
) -> None:
    """It is compared as it is: case counts, and no character is a wildcard."""
    with store.write() as writer:
        for path in ("a.md", "a/b.md", "メモ/猫.md", "メモ.md"):
            put(writer, notes.id, *make_document(path, ["text"]))
    listed = read(store, lambda view: view.documents.page(notes.id, after="", prefix=prefix, limit=10))
    assert [each.path for each in listed] == expected


# --- links and versions ------------------------------------------------------------------------


def put_linked(store: Store, notes: Collection, path: str, *links: Link) -> None:
    """Write a document with links."""
    document, chunks = make_document(path, ["text"])
    with store.write() as writer:
        put(writer, notes.id, replace(document, links=links), chunks)


def test_links_come_back_and_are_found_by_the_file_they_name(store: Store, notes: Collection) -> None:
    """A document has its links in order; those to a file are found by its folded name, percent-decoded."""
    links = (
        Link(LinkKind.WIKI, "dir/Café", "x", "shown", 3),
        Link(LinkKind.MARKDOWN, "../CAF%C3%89.md", "", "here", 9),
        Link(LinkKind.WIKI, "", "Here", "", 10),
        Link(LinkKind.MARKDOWN, "https://x.example/cafe\u0301", "", "", 11),
    )
    put_linked(store, notes, "b.md", *links)
    put_linked(store, notes, "a.md", Link(LinkKind.EMBED, "cafe\u0301.md"))
    found = read(store, lambda view: view.documents.find(notes.id, "b.md"))
    assert found is not None
    stored = read(store, lambda view: view.documents.links_of([found.id]))
    assert [each.link for each in stored] == list(links)
    named = read(store, lambda view: view.documents.links_to(notes.id, file_key("x/CAFÉ.md")))
    assert [(each.path, each.link.line) for each in named] == [("a.md", 1), ("b.md", 3), ("b.md", 9)]
    assert named[1].document_id == found.id
    with store.write() as writer:
        other = writer.collections.add(Collection(CollectionId(0), "other", "", FOLDER))
    assert read(store, lambda view: view.documents.links_to(other.id, file_key("café"))) == []
    put_linked(store, notes, "b.md")
    assert len(read(store, lambda view: view.documents.links_to(notes.id, file_key("café")))) == 1


def test_documents_are_found_by_the_names_of_their_files(store: Store, notes: Collection) -> None:
    """Every folder, spelling and suffix of a name is found; names of no file are left out."""
    for path in ("Note.md", "a/NOTE.md", "a/note.txt", "other.md"):
        put_linked(store, notes, path)
    found = read(
        store, lambda view: view.documents.with_file_names(notes.id, ["note", "other", "none", "note"])
    )
    assert {key: sorted(paths) for key, paths in found.items()} == {
        "note": ["Note.md", "a/NOTE.md", "a/note.txt"],
        "other": ["other.md"],
    }
    document = read(store, lambda view: view.documents.find(notes.id, "a/note.txt"))
    assert document is not None
    assert found["note"]["a/note.txt"] == document.id
    assert read(store, lambda view: view.documents.with_file_names(notes.id, [])) == {}


def test_comments_come_back(store: Store, notes: Collection) -> None:
    """What is hidden in a document is written beside it."""
    document, chunks = make_document("a.md", ["a       b"])
    comments = (Comment(2, "%%猫\n%%"), Comment(8, "x"))
    with store.write() as writer:
        put(writer, notes.id, replace(document, comments=comments), chunks)
    assert document_at(store, notes, "a.md").comments == comments


def test_lone_surrogates_do_not_stop_an_import(store: Store, notes: Collection) -> None:
    """A title, tag, alias or comment that UTF-8 cannot hold is no error."""
    document, chunks = make_document("a.md", ["text"], tags=("t\ud800",), aliases=("n\udcff",))
    comments = (Comment(2, "\ud800"),)
    document = replace(document, title="x\ud800y", frontmatter={"k": "\udfff"}, comments=comments)
    with store.write() as writer:
        put(writer, notes.id, document, chunks)
    assert len(document_at(store, notes, "a.md").tags) == 1


def test_versions_are_those_of_one_collection_as_its_documents_say_now(
    store: Store, notes: Collection
) -> None:
    """The links to older versions count, in the order of each document."""
    links = [Link(LinkKind.PREVIOUS, target) for target in ("b.md", "a.md")]
    put_linked(store, notes, "z.md", links[0], Link(LinkKind.WIKI, "b"), links[1])
    put_linked(store, notes, "y.md", links[1])
    other = add_collection(store, "other")
    found = read(store, lambda view: view.documents.versions(notes.id))
    assert [(each.path, each.link) for each in found.dangling] == [
        ("y.md", links[1]),
        ("z.md", links[0]),
        ("z.md", links[1]),
    ]
    assert read(store, lambda view: view.documents.versions(other.id)) == Versions()
    put_linked(store, notes, "z.md")
    assert len(read(store, lambda view: view.documents.versions(notes.id)).dangling) == 1


def test_links_are_by_document_and_position(store: Store, notes: Collection) -> None:
    """Of every kind, and of the wanted documents alone."""
    links = [Link(LinkKind.WIKI, "b"), Link(LinkKind.PREVIOUS, "a.md"), Link(LinkKind.MARKDOWN, "c.md")]
    put_linked(store, notes, "z.md", *links[:2])
    put_linked(store, notes, "y.md", links[2])
    ids = [document_at(store, notes, path).id for path in ("y.md", "z.md")]
    placed = [("z.md", links[0]), ("z.md", links[1]), ("y.md", links[2])]
    for wanted, expected in ((ids, placed), (ids[1:], placed[:2]), ([], [])):
        with store.read() as view:
            found = view.documents.links_of(wanted)
        assert [(each.path, each.link) for each in found] == expected


def test_compacting_changes_no_answer(store: Store, notes: Collection) -> None:
    """What is there is found as before, by the same ids; and an intact store warns of nothing."""
    put_texts(store, notes)
    with store.read() as view:
        before = view.documents.known(notes.id), view.collections.counts(notes.id, None)
    with store.write() as writer:
        writer.documents.delete(notes.id, ["b.md"])
    store.compact()
    with store.read() as view:
        assert list(view.documents.known(notes.id)) == ["a.md"]
        assert view.documents.known(notes.id)["a.md"] == before[0]["a.md"]
        assert view.collections.counts(notes.id, None).chunks == before[1].chunks - 1
    assert store.check() == []
    assert store.warnings == ()


def put_texts(store: Store, notes: Collection) -> None:
    with store.write() as writer:
        for path in ("a.md", "b.md"):
            put(writer, notes.id, *make_document(path, ["some words"]))


@pytest.mark.parametrize(
    ("comparison", "value", "found"),
    [
        ("=", "Ridley Scott", {"a.md"}),
        ("=", "[[ridley scott]]", {"a.md"}),
        ("=", "Ｒｉｄｌｅｙ　Ｓｃｏｔｔ", {"a.md"}),
        ("!=", "Ridley Scott", {"b.md", "c.md"}),
        ("=", "4.50", {"b.md"}),
        (">=", "4", {"a.md", "b.md"}),
        ("<", "4.5", {"a.md"}),
        (">", "2026-05-01", {"b.md"}),
        ("<=", "2026-05", {"a.md", "b.md"}),
        (">=", "2026", {"a.md", "b.md"}),
        ("<", "2026", {"a.md", "b.md"}),
        (">", "zebra", set()),
        ("=", "of a field", {"c.md"}),
    ],
)
def test_properties_are_compared(
    store: Store, notes: Collection, comparison: str, value: str, found: set[str]
) -> None:
    """Texts without case and width, links by target, numbers as numbers, dates as exactly as given.

    Fields in the text count as properties do.
    """
    held: dict[str, dict[str, object]] = {
        "a.md": {"X": [4, "[[Ridley Scott|him]]"], "x": "2026-05-01T10:00:00"},
        "b.md": {"x": {"y": 1}, "X": [4.5, "2026-05-31"]},
        "c.md": {"z": 4},
    }
    with store.write() as writer:
        for path, frontmatter in held.items():
            document, chunks = make_document(path, ["text"])
            fields = {"x": ["of a field"]} if path == "c.md" else {}
            put(writer, notes.id, replace(document, frontmatter=frontmatter, fields=fields), chunks)
    where = Where((notes.id,), Filters(properties=(PropertyCondition("x", Comparison(comparison), value),)))
    ranked = read(store, lambda view: view.words.bm25(["text"], where, 9))
    chunks_found = read(store, lambda view: view.chunks.get([key for key, _ in ranked]))
    assert {each.path for each in chunks_found.values()} == found
    listed = read(store, lambda view: view.documents.newest(where))
    assert {each.path for each in listed.values()} == found


def test_documents_are_listed_by_time(store: Store, notes: Collection) -> None:
    """The last updated first, by their own account or that of their file."""
    with store.write() as writer:
        for path, mtime_ns, updated_ns in (
            ("a.md", 5, None),
            ("b.md", 1, 9),
            ("c.md", 5, None),
            ("d.md", 9, 2),
        ):
            document, chunks = make_document(path, ["text"], tags=("x",) if path != "c.md" else ())
            record = make_record(
                replace(document, updated_ns=updated_ns), chunks, entry=make_entry(path, mtime_ns)
            )
            writer.documents.put(notes.id, [record])

    def listed(filters: Filters, limit: int) -> list[tuple[str, int | None]]:
        where = Where((notes.id,), filters)
        found = read(store, lambda view: view.documents.newest(where, limit=limit))
        return [(each.path, each.updated_ns) for each in found.values()]

    def inside(where: Where) -> list[str]:
        return [each.title for each in read(store, lambda view: view.documents.newest(where)).values()]

    assert inside(Where((notes.id,))) == ["b.md", "a.md", "c.md", "d.md"]
    assert inside(Where((notes.id,), Filters(tags=("x",)))) == ["b.md", "a.md", "d.md"]
    of_c = frozenset(read(store, lambda view: chunk_ids(view, notes.id, "c.md")))
    assert inside(Where((notes.id,), chunks=of_c)) == ["c.md"]
    assert inside(Where((notes.id,), hidden_chunks=of_c)) == ["b.md", "a.md", "d.md"]

    assert listed(Filters(), 9) == [("b.md", 9), ("a.md", None), ("c.md", None), ("d.md", 2)]
    assert listed(Filters(), 2) == [("b.md", 9), ("a.md", None)]
    assert listed(Filters(tags=("x",)), 9) == [("b.md", 9), ("a.md", None), ("d.md", 2)]


def test_documents_without_a_date_are_in_no_span_of_time(store: Store, notes: Collection) -> None:
    """Those of a repository, which has no file times, are found by a date of their own alone."""
    with store.write() as writer:
        for path, updated_ns in (("a.md", None), ("b.md", 0), ("c.md", 3)):
            document, chunks = make_document(path, ["text"])
            document = replace(document, updated_ns=updated_ns)
            writer.documents.put(
                notes.id, [make_record(document, chunks, entry=make_entry(path, mtime_ns=0))]
            )

    def titles(filters: Filters) -> list[str]:
        found = read(store, lambda view: view.documents.newest(Where((notes.id,), filters)))
        return [each.title for each in found.values()]

    assert titles(Filters()) == ["c.md", "a.md", "b.md"]
    assert titles(Filters(updated_until_ns=3)) == ["b.md"]
    assert titles(Filters(updated_since_ns=0)) == ["c.md", "b.md"]


def test_a_snapshot_of_some_collections_leaves_the_others_out(world: World) -> None:
    """Of a ``Where`` that names them, too; see ``tests/property/test_readable.py`` for all that is asked."""
    world.add("a.md", ["cat shared"], tags=("pet",))
    world.add("b.md", ["cat secret", "secret"], collection=1, tags=("hidden",))
    world.embed({text: vector_of(text) for text in ("cat shared", "cat secret", "a", "b")})
    where = world.where()
    with world.store.read() as view:
        assert len(view.words.bm25(["cat"], where, 9)) == len(view.words.holding([[["cat"]]], where)[0]) == 2
    with world.store.read(frozenset({"first"})) as view:
        found = [key for key, _ in view.words.bm25(["cat"], where, 9)]
        near = [
            key for key, _ in view.vectors.nearest(VectorKind.TEXT, world.space_id, vector_of("x"), where, 9)
        ]
        assert [found] == [near] == view.words.holding([[["cat"]]], where)
        assert [each.path for each in view.chunks.get(found).values()] == ["a.md"]
        assert [each.path for each in view.documents.newest(where).values()] == ["a.md"]
        assert [each.tag for each in view.documents.tags(where)] == ["pet"]
        assert {*view.words.frequencies(["cat", "secret"]).of_term} == {"cat"}
        assert [each.name for each in view.collections.all()] == ["first"]
        with pytest.raises(NotAllowedError):
            view.spaces.all()
