"""Names of files become names in paths."""

from __future__ import annotations

import os
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from mdvec.sources.files import path_names

_GA = "ガ.md"
_GA_DECOMPOSED = unicodedata.normalize("NFD", _GA)
_RAW_NAMES = st.lists(
    st.sampled_from([_GA, _GA_DECOMPOSED, "a.md", r"\xff.md", r"\xff~2.md", "é", "e\u0301"]).map(os.fsencode)
    | st.binary(min_size=1, max_size=4),
    unique=True,
).map(lambda names: [os.fsdecode(name) for name in names if b"/" not in name and b"\0" not in name])


def test_a_decomposed_name_is_composed() -> None:
    """A name as macOS writes it becomes the name as everybody types it."""
    assert path_names([_GA_DECOMPOSED]) == {_GA_DECOMPOSED: _GA}


def test_twins_keep_their_own_spelling() -> None:
    """Of two spellings of one name in a folder, the composed one keeps the path; the other stays apart."""
    assert path_names([_GA_DECOMPOSED, _GA]) == {_GA: _GA, _GA_DECOMPOSED: _GA_DECOMPOSED}


def test_bytes_that_are_no_utf8_are_written_out() -> None:
    """Each is shown by its number, also where the name would make sense in another encoding."""
    assert list(path_names([os.fsdecode(b"\xff\xfe.md")]).values()) == [r"\xff\xfe.md"]
    assert list(path_names([os.fsdecode("シ.md".encode("cp932"))]).values()) == [r"\x83V.md"]


def test_a_name_that_is_taken_gets_a_number() -> None:
    """The file that really is called so keeps the name; the number comes before the extension."""
    odd = os.fsdecode(b"\xff.md")
    assert path_names([odd, r"\xff.md"]) == {odd: r"\xff~2.md"}
    assert path_names([odd, r"\xff.md", r"\xff~2.md"]) == {odd: r"\xff~3.md"}
    bare = os.fsdecode(b"\xff")
    assert path_names([bare, r"\xff"]) == {bare: r"\xff~2"}


def test_plain_names_need_no_work() -> None:
    """A folder of ASCII names is left alone, whatever else is in them."""
    assert path_names(["a\nb.md", " x .md", "..md", "-rf", "$(x)"]) == {}


@given(_RAW_NAMES)
@settings(max_examples=300, deadline=None)
def test_names_stay_apart_and_can_be_written(names: list[str]) -> None:
    """No two files of a folder get one name, every name is valid UTF-8, in whatever order they come."""
    chosen = path_names(names)
    final = [chosen.get(name, name) for name in names]
    assert len(set(final)) == len(names)
    for name in final:
        name.encode()
    assert path_names(names[::-1]) == chosen
