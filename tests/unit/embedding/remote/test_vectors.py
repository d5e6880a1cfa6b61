"""What is accepted as a vector, and how what is not is named."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.embedding.remote.vectors import IndexedVectors, RawVector, parse_as, parse_indexed, unit_vectors
from mdvec.embedding.windows import Window, WindowJoiner
from mdvec.errors import EmbeddingError

if TYPE_CHECKING:
    from mdvec.embedding.interface import Vector


def encoded(*numbers: float) -> str:
    return base64.b64encode(np.asarray(numbers, "<f4").tobytes()).decode()


def test_vectors_become_unit_vectors() -> None:
    """Numbers and base64 of little-endian float32 alike become float32 rows of length 1."""
    matrix = unit_vectors([[3.0, 4.0], encoded(0, -2)], 2, "Test")
    assert matrix.dtype == np.float32
    assert matrix == pytest.approx(np.array([[0.6, 0.8], [0, -1]]))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3).filter(any))
def test_every_finite_vector_has_unit_length(numbers: list[float]) -> None:
    """However large or small its numbers are, a vector that is not zero becomes a unit vector."""
    assert np.linalg.norm(unit_vectors([numbers], 1, "Test")) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([[1.0, 0.0]], "returned 1 vectors for 2 texts"),
        ([[1.0, 0.0]] * 3, "returned 3 vectors for 2 texts"),
        ([[1.0, 0.0], [1.0]], "returned vectors of 1 and 2 dimensions"),
        ([[], []], "returned vectors of 0 dimensions"),
        ([[1.0, 0.0], [1.0, float("nan")]], r"whose value 1 is not a number \(text 1\)"),
        ([encoded(1, float("inf")), [1.0, 0.0]], r"whose value 1 is not a number \(text 0\)"),
        ([[1.0, 0.0], [0.0, 0.0]], r"a vector of zeros \(text 1\)"),
        ([[1.0, 0.0], "AAA"], "not base64 of float32"),
        ([[1.0, 0.0], "ab!="], "not base64 of float32"),
    ],
)
def test_what_is_no_vector_is_named(raw: Sequence[RawVector], message: str) -> None:
    """Too few, too many, of a wrong length, not a number, zero or garbled: each is told."""
    with pytest.raises(EmbeddingError, match=f"Test returned .*{message.removeprefix('returned ')}"):
        unit_vectors(raw, 2, "Test")


@given(st.permutations(range(5)))
def test_numbered_vectors_find_their_texts(order: list[int]) -> None:
    """In whatever order they come, each vector goes where its number says."""
    body = {"data": [{"embedding": [float(index)], "index": index} for index in order]}
    assert parse_indexed(body, 5, "Test") == [[0.0], [1.0], [2.0], [3.0], [4.0]]


@pytest.mark.parametrize("indices", [[0, 0], [1, 2], [0], [0, None], [-1, 0]])
def test_wrong_numbers_are_named(indices: list[int | None]) -> None:
    """A number that is missing, there twice or too large is an error: a guess could swap two documents."""
    body = {"data": [{"embedding": [1.0], "index": index} for index in indices]}
    with pytest.raises(EmbeddingError, match="which vector belongs to which text"):
        parse_indexed(body, 2, "Test")


def test_vectors_without_numbers_are_in_order() -> None:
    """A server that numbers nothing is believed to keep the order."""
    body = {"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]}
    assert parse_indexed(body, 2, "Test") == [[1.0], [2.0]]


def test_another_shape_is_told_with_its_place() -> None:
    """An answer of another shape is an error that says where it differs."""
    with pytest.raises(EmbeddingError, match=r"`\$\[\.\.\.\]\.embedding`|embedding"):
        parse_as({"data": [{"embedding": [1, None]}]}, IndexedVectors, "Test")


def test_means_are_weighted() -> None:
    """A text's vector is the mean of its windows by their tokens; one of a single window stays as it is."""
    cut = [Window(0, "a", 3, 0, 2), Window(0, "b", 1, 1, 2), Window(1, "c", 5)]
    texts, vectors = WindowJoiner().add(cut, np.array([[1, 0], [0, 1], [0, 1]], np.float32))
    assert texts == [0, 1]
    assert vectors == pytest.approx(np.array([[3, 1] / np.sqrt(10), [0, 1]]))
    assert vectors.dtype == np.float32


def test_opposite_windows_have_a_vector_too() -> None:
    """Windows that cancel each other out leave the first one, whichever comes first, not zeros."""
    joiner = WindowJoiner()
    texts, vectors = joiner.add([Window(0, "b", 1, 1, 2)], np.array([[-1, 0]], np.float32))
    assert (texts, vectors.shape) == ([], (0, 2))
    texts, vectors = joiner.add([Window(0, "a", 1, 0, 2)], np.array([[1, 0]], np.float32))
    assert texts == [0]
    assert vectors == pytest.approx(np.array([[1, 0]]))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.data())
def test_windows_find_their_text_in_any_order(counts: list[int], data: st.DataObject) -> None:
    """However the windows are mixed, each text is given once, when it is complete, with the same vector."""
    cut = [
        Window(owner, "x", place + 1, place, count)
        for owner, count in enumerate(counts)
        for place in range(count)
    ]
    rows = np.eye(len(cut), dtype=np.float32)
    _, wanted = WindowJoiner().add(cut, rows)
    joiner, seen = WindowJoiner(), set[tuple[int, int]]()
    order = data.draw(st.permutations(range(len(cut))))
    size = data.draw(st.integers(1, len(cut)))
    found: dict[int, Vector] = {}
    for start in range(0, len(cut), size):
        part = order[start : start + size]
        seen |= {(cut[index].owner, cut[index].place) for index in part}
        for text, vector in zip(*joiner.add([cut[index] for index in part], rows[part]), strict=True):
            assert {(text, place) for place in range(counts[text])} <= seen
            assert text not in found
            found[text] = vector
    assert np.array_equal([found[text] for text in range(len(counts))], wanted)
