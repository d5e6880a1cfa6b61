"""What an import has to do, told from times, sizes and hashes."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from mdvec.indexing.plan import compare, stored_paths
from mdvec.types.change import Exclusion, KnownDocument, Listing, Move, Plan, SourceEntry, Unreadable
from mdvec.types.ids import DocumentId

_FINGERPRINT = "v1"


def _hash(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


def _entry(path: str, *, mtime_ns: int = 1, size: int = 1) -> SourceEntry:
    return SourceEntry(path, path, mtime_ns, size)


def _known(
    path: str,
    content: str = "a",
    *,
    locator: str | None = None,
    mtime_ns: int | None = 1,
    fingerprint: str = _FINGERPRINT,
) -> KnownDocument:
    return KnownDocument(DocumentId(1), path, locator or path, mtime_ns, 1, _hash(content), fingerprint)


def _plan(
    entries: list[SourceEntry],
    known: list[KnownDocument],
    contents: dict[str, str | None],
    unreadable: tuple[Unreadable, ...] = (),
) -> Plan:
    """Return the plan; exactly the files whose contents are given are asked for."""
    asked: list[str] = []

    def hash_of(entry: SourceEntry) -> bytes | None:
        asked.append(entry.path)
        content = contents[entry.path]
        return None if content is None else _hash(content)

    listing = Listing(tuple(entries), unreadable=unreadable)
    plan = compare(listing, {item.path: item for item in known}, _FINGERPRINT, hash_of)
    assert asked == sorted(contents)
    return plan


def test_an_unchanged_file_is_not_hashed() -> None:
    """The same time, size and fingerprint settle it."""
    assert _plan([_entry("a.md")], [_known("a.md")], {}) == Plan(unchanged=1)


def test_another_time_or_spelling_asks_for_the_hash() -> None:
    """Each alone is reason enough to look at the content, and so is an unknown time."""
    for entry, known in (
        (_entry("a.md", mtime_ns=2), _known("a.md")),
        (_entry("a.md"), _known("a.md", locator="A.md")),
        (_entry("a.md"), _known("a.md", mtime_ns=None)),
    ):
        assert _plan([entry], [known], {"a.md": "a"}) == Plan(touched=(entry,))


def test_what_differs_in_any_case_is_not_hashed() -> None:
    """A new size, another fingerprint, and a path that no missing document can have moved to settle it."""
    for entry, known in (
        (_entry("a.md", size=2), _known("a.md")),
        (_entry("a.md"), _known("a.md", fingerprint="v0")),
    ):
        assert _plan([entry], [known], {}) == Plan(changed=(entry,))
    fresh = _entry("b.md", size=2)
    assert _plan([fresh], [_known("a.md")], {}) == Plan(new=(fresh,), deleted=("a.md",))


def test_same_content_is_only_touched() -> None:
    """A new time with the old content needs no more than writing down the time."""
    entry = _entry("a.md", mtime_ns=2)
    assert _plan([entry], [_known("a.md")], {"a.md": "a"}) == Plan(touched=(entry,))


def test_same_content_under_another_fingerprint_is_changed() -> None:
    """What was cut in another way is cut again, though its bytes are the same."""
    entry = _entry("a.md")
    assert _plan([entry], [_known("a.md", fingerprint="v0")], {}) == Plan(changed=(entry,))


def test_other_content_is_changed_and_unknown_is_new() -> None:
    """A known path with another hash is changed; a path nobody knows is new."""
    old, fresh = _entry("a.md", mtime_ns=2), _entry("b.md")
    plan = _plan([fresh, old], [_known("a.md")], {"a.md": "x"})
    assert plan == Plan(new=(fresh,), changed=(old,))


def test_what_is_gone_is_deleted() -> None:
    """A known path that is not listed is deleted, also when a rule excludes it now."""
    listing = Listing((), exclusions=(Exclusion("b.md", "--exclude: b.md"),))
    known = {path: _known(path) for path in ("a.md", "b.md")}
    assert compare(listing, known, _FINGERPRINT, lambda _: None) == Plan(deleted=("a.md", "b.md"))


def test_known_content_at_a_new_path_is_moved() -> None:
    """A missing document whose content is elsewhere has moved there."""
    entry = _entry("new/a.md")
    assert _plan([entry], [_known("a.md")], {"new/a.md": "a"}) == Plan(moved=(Move("a.md", entry),))


def test_a_copy_is_new() -> None:
    """The content of a document that is still there is no move."""
    entries = [_entry("a.md"), _entry("b.md")]
    plan = _plan(entries, [_known("a.md")], {})
    assert plan == Plan(new=(entries[1],), unchanged=1)


def test_of_equal_documents_the_one_of_the_same_name_moved() -> None:
    """Among equal contents a file name is followed first, then the order of paths; each is used once."""
    entries = [_entry("x/1.md"), _entry("x/b.md"), _entry("x/z.md")]
    known = [_known("old/a.md"), _known("old/b.md")]
    plan = _plan(entries, known, {entry.path: "a" for entry in entries})
    assert plan == Plan(new=(entries[2],), moved=(Move("old/a.md", entries[0]), Move("old/b.md", entries[1])))


def test_more_documents_than_arrivals_leaves_the_rest_deleted() -> None:
    """One arrival takes one document; its equals are gone."""
    entry = _entry("c.md")
    plan = _plan([entry], [_known("a.md"), _known("b.md")], {"c.md": "a"})
    assert plan == Plan(moved=(Move("a.md", entry),), deleted=("b.md",))


def test_what_cannot_be_read_stays_as_it_is() -> None:
    """A file whose content could not be read is neither changed nor deleted nor new."""
    entries = [_entry("a.md", mtime_ns=2), _entry("b.md")]
    known = [_known("a.md"), _known("gone.md")]
    assert _plan(entries, known, {"a.md": None, "b.md": None}) == Plan(deleted=("gone.md",))


def test_what_lies_in_an_unreadable_folder_is_kept() -> None:
    """Documents below a folder that could not be listed, or at an unreadable path, are not deleted."""
    unreadable = (Unreadable("locked/", "Permission denied"), Unreadable("z.md", "Input/output error"))
    known = [_known("locked.md"), _known("locked/deep/a.md"), _known("z.md"), _known("z.md.md")]
    assert _plan([], known, {}, unreadable) == Plan(deleted=("locked.md", "z.md.md"))


def test_content_from_an_unreadable_folder_is_not_moved() -> None:
    """While nobody can say that a document is gone, its content elsewhere is a copy."""
    entry = _entry("b.md")
    plan = _plan([entry], [_known("locked/a.md")], {}, unreadable=(Unreadable("locked/", "?"),))
    assert plan == Plan(new=(entry,))


def test_where_the_source_names_contents_times_do_not_matter() -> None:
    """The id settles it: the same one is unchanged, another one changed, whatever time and size say."""
    known = [_known("a.md"), _known("b.md")]
    entries = [
        replace(_entry("a.md", mtime_ns=0, size=0), content_hash=_hash("a")),
        replace(_entry("b.md"), content_hash=_hash("other")),
    ]
    assert _plan(entries, known, {"b.md": "other"}) == Plan(changed=(entries[1],), unchanged=1)


def test_content_that_is_known_by_its_hash_is_in_the_store() -> None:
    """That of a moved document is, and of one that is only cut anew, if its source names contents."""
    cut_anew = replace(_entry("b.md"), content_hash=_hash("b"))
    changed = replace(_entry("c.md"), content_hash=_hash("c2"))
    moved = (Move("a.md", _entry("new/a.md")),)
    plan = Plan(changed=(cut_anew, changed, _entry("d.md")), moved=moved)
    known = {
        each.path: each for each in (_known("a.md"), _known("b.md", "b"), _known("c.md", "c"), _known("d.md"))
    }
    assert stored_paths(plan, known) == {"b.md": "b.md", "new/a.md": "a.md"}
