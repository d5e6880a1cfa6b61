"""Names of collections, and the short form of a model's name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.errors import InvalidNameError, UsageError
from mdvec.types.collection import RESERVED_NAMES, EmbeddingSpec, check_collection_name, parse_embedding_spec

_NAME = st.text("abc猫XYZ019-_./:", min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("builtin", EmbeddingSpec("builtin")),
        ("gemini@1536", EmbeddingSpec("gemini", "", 1536)),
        ("openai:bge-m3:latest", EmbeddingSpec("openai", "bge-m3:latest")),
        ("openai:mxbai@v2@512", EmbeddingSpec("openai", "mxbai@v2", 512)),
        ("sentence-transformers:/models/ruri v3", EmbeddingSpec("sentence-transformers", "/models/ruri v3")),
        (
            "sentence-transformers:cl-nagoya/ruri-v3-30m@128",
            EmbeddingSpec("sentence-transformers", "cl-nagoya/ruri-v3-30m", 128),
        ),
        (" voyage:voyage-4 ", EmbeddingSpec("voyage", "voyage-4")),
    ],
)
def test_specs_are_read(text: str, spec: EmbeddingSpec) -> None:
    """Tags, hub ids, folders and at signs belong to the model; digits at the very end are the dimension."""
    assert parse_embedding_spec(text) == spec


@pytest.mark.parametrize("text", ["", ":model", "gemini:", "gemini@", "gemini@big", "gemini@0", "a b", "x/y"])
def test_what_is_no_spec_is_refused(text: str) -> None:
    """The message shows what was written, the hint the form it should have."""
    with pytest.raises(UsageError) as caught:
        parse_embedding_spec(text)
    assert repr(text) in str(caught.value)
    assert "PROVIDER[:MODEL][@DIMENSION]" in caught.value.hint


@given(model=_NAME, dimension=st.one_of(st.none(), st.integers(1, 999_999)))
def test_what_is_written_is_read_back(model: str, dimension: int | None) -> None:
    """The spec that is shown to people can be typed in again."""
    spec = EmbeddingSpec("provider", model, dimension)
    assert parse_embedding_spec(str(spec)) == spec


@pytest.mark.parametrize("name", ["a", "my-notes", "api_docs2", "searching", "a" * 64])
def test_a_name_is_taken(name: str) -> None:
    """Lower case letters, digits, ``-`` and ``_``, a letter first, 64 at most."""
    check_collection_name(name)


@pytest.mark.parametrize("name", ["", "Notes", "2024", "-a", "a b", "メモ", "a" * 65, "a\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    """The error repeats it."""
    with pytest.raises(InvalidNameError) as caught:
        check_collection_name(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_the_name_of_a_general_tool_is_refused(name: str) -> None:
    """The hint proposes one that is taken."""
    with pytest.raises(InvalidNameError, match="agents have a tool of that name") as caught:
        check_collection_name(name)
    proposed = caught.value.hint.split("'")[1]
    check_collection_name(proposed)
