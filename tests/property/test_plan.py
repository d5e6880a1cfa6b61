"""What holds for every plan."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from mdvec.indexing.plan import compare
from mdvec.types.change import KnownDocument, Listing, Plan, SourceEntry, Unreadable
from mdvec.types.ids import DocumentId

_FINGERPRINT = "v1"
_PATHS = st.sampled_from([f"{folder}{name}.md" for folder in ("", "a/", "a/b/", "c/") for name in "xyz"])
_TIMES = st.integers(1, 2)
_CONTENTS = st.sampled_from(["", "one", "two", "three"])


@dataclass(frozen=True, slots=True)
class _Case:
    """A folder on disk (its unreadable files have no hash), and what is known of an older state."""

    listing: Listing
    hashes: dict[str, bytes | None]
    known: dict[str, KnownDocument]


def _hash(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


@st.composite
def _cases(draw: st.DrawFn, *, readable: bool = False) -> _Case:
    files = draw(st.dictionaries(_PATHS, st.tuples(_TIMES, _CONTENTS)))
    is_named = draw(st.booleans())  # the source says what identifies a content, as git does
    entries = tuple(
        SourceEntry(path, path, time, len(content), _hash(content) if is_named else None)
        for path, (time, content) in files.items()
    )
    known = {
        path: KnownDocument(DocumentId(1), path, path, time, len(content), _hash(content), fingerprint)
        for path, (time, content, fingerprint) in draw(
            st.dictionaries(_PATHS, st.tuples(st.none() | _TIMES, _CONTENTS, st.sampled_from(["v0", "v1"])))
        ).items()
    }
    hashes: dict[str, bytes | None] = {path: _hash(content) for path, (_, content) in files.items()}
    unreadable: tuple[Unreadable, ...] = ()
    if not readable:
        hashes |= dict.fromkeys(draw(st.sets(st.sampled_from(sorted(files)))) if files else (), None)
        names = draw(st.sets(st.sampled_from(["a/b/", "c/", "x.md"])))
        unreadable = tuple(Unreadable(name, "?") for name in sorted(names))
        entries = tuple(entry for entry in entries if not entry.path.startswith(tuple(names)))
    return _Case(Listing(entries, unreadable=unreadable), hashes, known)


def _plan(case: _Case, unread: list[str] | None = None) -> Plan:
    """Return the plan; note what it asked for and nobody could read."""

    def hash_of(entry: SourceEntry) -> bytes | None:
        if case.hashes[entry.path] is None and unread is not None:
            unread.append(entry.path)
        return case.hashes[entry.path]

    return compare(case.listing, case.known, _FINGERPRINT, hash_of)


def _refuse(entry: SourceEntry) -> bytes | None:
    msg = f"{entry.path} is not to be read"
    raise AssertionError(msg)


@given(_cases())
@settings(max_examples=300, deadline=None)
def test_every_path_is_in_exactly_one_place(case: _Case) -> None:
    """Nothing that is listed or known is forgotten or dealt with twice, except what cannot be read."""
    unread: list[str] = []
    plan = _plan(case, unread)
    arrivals = [*plan.new, *plan.changed, *plan.touched, *(move.entry for move in plan.moved)]
    dealt_with = [*unread, *(entry.path for entry in arrivals)]
    listed = {entry.path for entry in case.listing.entries}
    assert len(set(dealt_with)) == len(dealt_with)
    assert listed.issuperset(dealt_with)
    assert plan.unchanged == len(listed) - len(dealt_with)
    assert case.known.keys() >= listed - {*dealt_with}
    departures = [*plan.deleted, *(move.old_path for move in plan.moved)]
    kept = {
        path for path in case.known if path.startswith(tuple(item.path for item in case.listing.unreadable))
    }
    assert sorted(departures) == sorted(case.known.keys() - listed - kept)


@given(_cases(readable=True))
@settings(max_examples=300, deadline=None)
def test_doing_the_plan_gives_the_listing(case: _Case) -> None:
    """After the plan is done, what is known is what is there, prepared as it is prepared now."""
    plan = _plan(case)
    state = dict(case.known)
    for path in plan.deleted:
        del state[path]
    for move in plan.moved:
        assert state.pop(move.old_path).content_hash == case.hashes[move.entry.path]
    for entry in (*plan.new, *plan.changed, *plan.touched, *(move.entry for move in plan.moved)):
        content_hash = case.hashes[entry.path]
        assert content_hash is not None
        state[entry.path] = KnownDocument(
            DocumentId(1), entry.path, entry.locator, entry.mtime_ns, entry.size, content_hash, _FINGERPRINT
        )
    assert state.keys() == {entry.path for entry in case.listing.entries}
    for entry in case.listing.entries:
        # A change that keeps time, size and fingerprint cannot be seen; that is the price of not reading.
        hidden = case.known.get(entry.path)
        is_named = entry.content_hash is not None
        if is_named or hidden is None or entry in (*plan.new, *plan.changed, *plan.touched):
            assert state[entry.path].content_hash == case.hashes[entry.path]
        if not is_named:
            assert (state[entry.path].mtime_ns, state[entry.path].size) == (entry.mtime_ns, entry.size)
        assert state[entry.path].fingerprint == _FINGERPRINT
    again = compare(case.listing, state, _FINGERPRINT, _refuse)
    assert again == Plan(unchanged=len(state))


@given(_cases())
@settings(max_examples=100, deadline=None)
def test_an_unchanged_folder_needs_nothing(case: _Case) -> None:
    """A listing that is just as known gives an empty plan, and no file is asked for."""
    known = {
        entry.path: KnownDocument(
            DocumentId(1),
            entry.path,
            entry.locator,
            entry.mtime_ns,
            entry.size,
            entry.content_hash or b"",
            _FINGERPRINT,
        )
        for entry in case.listing.entries
    }
    assert compare(case.listing, known, _FINGERPRINT, _refuse) == Plan(unchanged=len(known))


@given(_cases(), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_the_order_of_the_listing_does_not_matter(case: _Case, order: random.Random) -> None:
    """However the file system orders its answer, and the store its own, the plan is the same."""
    entries, known = list(case.listing.entries), list(case.known.items())
    order.shuffle(entries)
    order.shuffle(known)
    shuffled = _Case(Listing(tuple(entries), unreadable=case.listing.unreadable), case.hashes, dict(known))
    assert _plan(shuffled) == _plan(case)


@given(_cases())
@settings(max_examples=100, deadline=None)
def test_touched_and_moved_have_the_known_content(case: _Case) -> None:
    """Only what has the very content of a known document is touched or moved."""
    plan = _plan(case)
    for entry in plan.touched:
        assert case.known[entry.path].content_hash == case.hashes[entry.path]
        assert case.known[entry.path].fingerprint == _FINGERPRINT
    for move in plan.moved:
        assert case.known[move.old_path].content_hash == case.hashes[move.entry.path]
