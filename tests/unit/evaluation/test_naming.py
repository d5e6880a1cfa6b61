"""Names of judgements and paths of files."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath

from hypothesis import example, given
from hypothesis import strategies as st

from mdvec.evaluation.judgements import Question
from mdvec.evaluation.naming import naming_by_path, neutral_naming, wordless_name
from mdvec.text.indexed_terms import Terms, index_terms

ids = st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=20)


@given(ids)
@example(["a", "a.md", "A", "a/b", "a/b/c", "/", "//", "../x", "con", "が", "か\u3099", "\0", " "])
def test_any_id_has_a_path_of_its_own(names: list[str]) -> None:
    """Paths are relative, differ even where case or Unicode form do not count, and lead back to the ids."""
    naming = neutral_naming(names)
    paths = [naming.path_of(name) for name in names]
    assert len({path.casefold() for path in paths}) == len(names)
    assert [naming.name_of(path) for path in paths] == names
    for path in paths:
        parts = PurePosixPath(path).parts
        assert not path.startswith(("/", "."))
        assert ".." not in parts
        assert index_terms(" ".join(parts).removesuffix(".md")) == Terms()


@given(ids)
def test_folders_of_ids_are_kept(names: list[str]) -> None:
    """Exactly the documents whose id starts with a folder lie in that folder's place."""
    naming = neutral_naming(names)
    for folder, place in naming.folders.items():
        inside = {name for name in names if name.startswith(f"{folder}/")}
        assert {name for name in names if naming.path_of(name).startswith(f"{place}/")} == inside


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_each_number_has_a_name(one: int, other: int) -> None:
    """Two numbers have the same name only when they are the same."""
    assert (wordless_name(one) == wordless_name(other)) is (one == other)


def test_a_question_is_asked_in_paths() -> None:
    """Documents and the folder are translated; judgements that spell a path in another form find it."""
    question = Question(
        "q", "?", {"ja/x": 2}, scope="ja", exclude=frozenset({"ja/y"}), bad=frozenset({"en/x"})
    )
    naming = neutral_naming(["ja/x", "ja/y", "en/x"])
    located = naming.located(question)
    assert located.relevant == {naming.path_of("ja/x"): 2}
    assert f"{located.scope}/" == naming.path_of("ja/x").partition("/")[0] + "/"
    assert located.exclude == {naming.path_of("ja/y")}
    assert located.bad == {naming.path_of("en/x")}

    decomposed = unicodedata.normalize("NFD", "が.md")
    by_path = naming_by_path([decomposed, "a.md"])
    assert by_path.path_of(decomposed) == "が.md"
    assert by_path.name_of("が.md") == decomposed
    assert by_path.name_of("other.md") == "other.md"
