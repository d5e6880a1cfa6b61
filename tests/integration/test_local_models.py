"""Models that run here, on the real libraries: tiny ones with random weights, built on the spot."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.fakes import tiny_models

from mdvec.config.schema import Config
from mdvec.embedding.interface import Runtime, embed_all
from mdvec.embedding.local import local_model
from mdvec.embedding.local.local_embedder import LocalEmbedder
from mdvec.embedding.local.plamo import make_plamo
from mdvec.embedding.local.sentence_transformers import make_sentence_transformers
from mdvec.errors import ConfigError, EmbedderUnavailableError, EmbeddingError
from mdvec.run import Run, Stage, bound
from mdvec.types.collection import EmbeddingSpec
from mdvec.types.query import SearchMode, SearchQuery
from mdvec.workspace import open_workspace

pytestmark = pytest.mark.torch

TEXTS = ["りんごは赤い果物です。", "A ship", "東京"]


@dataclass(frozen=True)
class Models:
    """Folders of models.

    Attributes:
        ruri: 256 dimensions.
        large_ruri: 768 dimensions.
        plamo: With code of its own.
    """

    ruri: Path
    large_ruri: Path
    plamo: Path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Models as they come from their makers; not to be changed."""
    root = tmp_path_factory.mktemp("models")
    return Models(
        tiny_models.make_ruri(root / "ruri-v3-30m"),
        tiny_models.make_ruri(root / "ruri-v3-310m", hidden=768),
        tiny_models.make_plamo(root / "plamo"),
    )


def runtime(folder: Path = Path("unused"), **options: Any) -> Runtime:
    """Return a machine with one thread."""
    return Runtime(folder, threads=1, **options)


def ruri(model: Path | str, *, dimension: int | None = None, **settings: Any) -> LocalEmbedder:
    """Make an embedder on sentence-transformers."""
    return make_sentence_transformers(model=str(model), dimension=dimension, runtime=runtime(), **settings)


def plamo(model: Path | str, *, dimension: int | None = None, **settings: Any) -> LocalEmbedder:
    """Make an embedder on code that comes with a model."""
    settings = {"trust_remote_code": True, **settings}
    return make_plamo(model=str(model), dimension=dimension, runtime=runtime(), **settings)


def by_library(model: Path, texts: list[str], prompt: str) -> NDArray[np.float32]:
    """Embed with sentence-transformers itself."""
    from sentence_transformers import SentenceTransformer

    loaded = SentenceTransformer(str(model), device="cpu", local_files_only=True)
    vectors: NDArray[np.float32] = loaded.encode([prompt + text for text in texts], normalize_embeddings=True)
    return vectors


# --- what the vectors are ------------------------------------------------------------------------


def test_ruri_is_asked_as_its_card_says(models: Models) -> None:
    """Questions and passages have Ruri's prefixes; the vectors are those of the library itself."""
    embedder = ruri(models.ruri)
    question = by_library(models.ruri, TEXTS[:1], "検索クエリ: ")[0]
    passages = by_library(models.ruri, TEXTS, "検索文書: ")
    np.testing.assert_allclose(embedder.embed_query(TEXTS[0]), question, atol=1e-5)
    np.testing.assert_allclose(embed_all(embedder, TEXTS), passages, atol=1e-5)


def test_prefixes_of_other_models(models: Models, tmp_path: Path) -> None:
    """A model that is not known is asked as its own files say, and settings are above both."""
    model = shutil.copytree(models.ruri, tmp_path / "another")
    written = model / "config_sentence_transformers.json"
    tiny_models.change_json(written, prompts={"query": "q: "}, default_prompt_name="query")
    embedder = ruri(model)
    np.testing.assert_allclose(
        embedder.embed_query("東京"), by_library(models.ruri, ["東京"], "q: ")[0], atol=1e-5
    )
    np.testing.assert_allclose(
        embed_all(embedder, ["東京"]), by_library(models.ruri, ["東京"], ""), atol=1e-5
    )
    embedder = ruri(models.ruri, query_prefix="", document_prefix="x ")
    np.testing.assert_allclose(
        embedder.embed_query("東京"), by_library(models.ruri, ["東京"], "")[0], atol=1e-5
    )
    np.testing.assert_allclose(
        embed_all(embedder, ["東京"]), by_library(models.ruri, ["東京"], "x "), atol=1e-5
    )


def test_vectors_are_cut_and_made_unit_length_again(models: Models) -> None:
    """256 of 768 numbers are the first 256, lengthened to 1 (Matryoshka)."""
    whole = embed_all(ruri(models.large_ruri), TEXTS)
    cut = embed_all(ruri(models.large_ruri, dimension=256), TEXTS)
    assert (whole.shape, cut.shape) == ((3, 768), (3, 256))
    expected = whole[:, :256] / np.linalg.norm(whole[:, :256], axis=1, keepdims=True)
    np.testing.assert_allclose(cut, expected, atol=1e-6)


def test_vectors_are_never_made_longer(models: Models) -> None:
    """Zeros are not put at the end: of a known model it is told at once, of another one with its space."""
    with pytest.raises(ConfigError, match="have 256 dimensions and cannot have 768"):
        ruri("ruri-v3-30m", dimension=768)
    embedder = ruri(models.plamo, dimension=65)
    with pytest.raises(ConfigError, match="have 64 dimensions and cannot have 65") as caught:
        _ = embedder.space
    assert "Choose at most 64" in caught.value.hint


def test_plamo_uses_its_own_code(models: Models) -> None:
    """A question goes to ``encode_query``, a passage to ``encode_document``."""
    from transformers import AutoModel, AutoTokenizer

    options = {"trust_remote_code": True, "local_files_only": True}
    tokenizer = AutoTokenizer.from_pretrained(models.plamo, **options)
    model = AutoModel.from_pretrained(models.plamo, **options)
    embedder = plamo(models.plamo)
    for found, tensor in (
        (embedder.embed_query("東京"), model.encode_query(["東京"], tokenizer)[0]),
        (embed_all(embedder, ["東京"])[0], model.encode_document(["東京"], tokenizer)[0]),
    ):
        expected = tensor.detach().numpy()
        np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-5)
    assert embedder.embed_query("東京") @ embed_all(embedder, ["東京"])[0] < 0.9999


def test_a_long_text_is_the_mean_of_its_windows(models: Models) -> None:
    """Every window is seen with its prefix, and counts by its tokens."""
    embedder = ruri(models.ruri)
    text = "東京の港と船の話。" * 40
    ends = embedder.tokens.ends(text)
    limits = [0, *ends[embedder.tokens.max_tokens - 1 :: embedder.tokens.max_tokens]]
    limits = limits if limits[-1] == len(text) else [*limits, len(text)]
    spans = list(pairwise(limits))
    windows = [text[start:end] for start, end in spans]
    tokens = [sum(start < end <= stop for end in ends) for start, stop in spans]
    assert len(windows) > 3
    mean = np.average(by_library(models.ruri, windows, "検索文書: "), axis=0, weights=tokens)
    np.testing.assert_allclose(embed_all(embedder, [text])[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_the_longest_window_is_seen_whole(models: Models) -> None:
    """With prefix and markers it still fits: another last token makes another vector."""
    embedder = ruri(models.ruri)
    start = "東" * (embedder.tokens.max_tokens - 1)
    first, second = embed_all(embedder, [f"{start}京", f"{start}船"])
    assert embedder.tokens.max_tokens > tiny_models.MAX_TOKENS / 2
    assert len(embedder.tokens.ends(f"{start}京")) == embedder.tokens.max_tokens
    assert first @ second < 0.99999


# --- what is known without the model ---------------------------------------------------------------

_SPACES = """
import sys
from pathlib import Path
from mdvec import registry
from mdvec.embedding.interface import Runtime
make = registry.load("embedding", sys.argv[1])
settings = {"trust_remote_code": True}
embedder = make(model=sys.argv[2], dimension=None, runtime=Runtime(Path("unused")), **settings)
assert embedder.problem is None
embedder.space, embedder.tokens.max_tokens, embedder.tokens.ends("東京")
assert embedder.tokens.is_exact
print(*sorted({"torch", "transformers", "sentence_transformers", "numpy"} & set(sys.modules)))
"""


@pytest.mark.parametrize("provider", ["sentence-transformers", "plamo"])
def test_space_and_tokens_load_no_network(models: Models, provider: str) -> None:
    """The space, the limit and tokens are known without torch."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _SPACES, provider, str(models.plamo)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == ""


def test_spaces(models: Models, tmp_path: Path) -> None:
    """A copy of a model has its space; another model, another prefix or another length has another one."""
    copy = shutil.copytree(models.ruri, tmp_path / "ruri-v3-30m")
    assert ruri(copy).space == ruri(models.ruri).space
    spaces = [
        ruri(models.ruri).space,
        ruri(models.large_ruri).space,
        ruri(models.large_ruri, dimension=256).space,
        ruri(models.ruri, query_prefix="").space,
        ruri(models.ruri, document_prefix="").space,
        plamo(models.plamo).space,
    ]
    assert len({space.key for space in spaces}) == len(spaces)
    assert [space.dimension for space in spaces] == [256, 768, 256, 256, 256, 64]


def test_a_model_of_the_hub_by_its_short_name(tmp_path: Path) -> None:
    """``ruri-v3-30m`` is the hub's ``cl-nagoya/ruri-v3-30m``, and what is used when nothing is named."""
    for name in ("", "ruri-v3-30m", "cl-nagoya/ruri-v3-30m"):
        problem = ruri(name, offline=True, hub_dir=tmp_path).problem
        assert problem is not None
        assert "cl-nagoya/ruri-v3-30m is not on this machine" in str(problem)
        assert "hf download cl-nagoya/ruri-v3-30m" in problem.hint


# --- what is missing -------------------------------------------------------------------------------


def test_a_missing_extra(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not installed is named with the command that installs it; tokens are estimated then."""
    monkeypatch.setattr(local_model, "_LIBRARIES", ("torch", "not_installed_here"))
    for embedder in (ruri(models.ruri), plamo(models.plamo)):
        problem = embedder.problem
        assert problem is not None
        assert "need not_installed_here" in str(problem)
        assert "pip install 'sentence-transformers" in problem.hint
        assert not embedder.tokens.is_exact
        assert embedder.tokens.ends("東京都") == [2, 3]
        with pytest.raises(EmbedderUnavailableError, match="not_installed_here"):
            embedder.embed_query("probe")


def test_code_runs_only_after_permission(models: Models, tmp_path: Path) -> None:
    """Without it nothing of the model is loaded, and the setting is named; nobody is asked on a terminal."""
    model = shutil.copytree(models.plamo, tmp_path / "with_a_trace")
    trace = tmp_path / "ran"
    code = (model / "modeling_plamo.py").read_text()
    leave_trace = f"import pathlib\n\npathlib.Path({str(trace)!r}).touch()\n"
    (model / "modeling_plamo.py").write_text(leave_trace + code)
    for embedder, setting in (
        (plamo(model, trust_remote_code=False), "[embedding.plamo] trust_remote_code = true"),
        (ruri(model), "[embedding.sentence-transformers] trust_remote_code = true"),
    ):
        with pytest.raises(EmbedderUnavailableError) as caught:
            embedder.embed_query("probe")
        assert setting in caught.value.hint
    assert not trace.exists()
    plamo(model).embed_query("probe")
    assert trace.exists()


def _replace_weights(folder: Path, content: bytes) -> None:
    """Put weights in the older format in the place of the model's."""
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(content)


_DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "there is no folder"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "no weights of a model"),
    "no settings": (lambda folder: (folder / "config.json").unlink(), r"config\.json is missing"),
    "no JSON": (lambda folder: (folder / "config.json").write_text("["), r"config\.json cannot be read"),
    "no tokenizer": (
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        r"tokenizer\.json cannot be read",
    ),
    "torn weights": (
        lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 99),
        "cannot be loaded",
    ),
    "other weights": (
        lambda folder: tiny_models.change_json(folder / "config.json", hidden_size=128),
        "cannot be loaded",
    ),
    "settings of another shape": (
        lambda folder: (folder / "config.json").write_text("[]"),
        r"config\.json cannot be read: Expected `object`, got `array`",
    ),
    "modules of another shape": (
        lambda folder: (folder / "modules.json").write_text('[{"path": ""}]'),
        r"modules\.json cannot be read: Object missing required field `type`",
    ),
    "pooling of another version": (
        lambda folder: tiny_models.change_json(folder / "1_Pooling" / "config.json", unknown=1),
        "cannot be loaded: .*unexpected keyword argument 'unknown'",
    ),
    "number as text": (
        lambda folder: tiny_models.change_json(folder / "config.json", num_attention_heads="x"),
        "cannot be loaded: .*num_attention_heads",
    ),
    "pickled weights": (
        lambda folder: _replace_weights(folder, pickle.dumps({"x": 1}, 2)),
        "cannot be loaded",
    ),
    "pickled code": (lambda folder: _replace_weights(folder, pickle.dumps(os.getpid, 2)), "cannot be loaded"),
    "empty weights": (lambda folder: _replace_weights(folder, b""), "cannot be loaded"),
    "short weights": (lambda folder: _replace_weights(folder, b"junk"), "cannot be loaded"),
    "unknown kind": (
        lambda folder: tiny_models.change_json(folder / "config.json", model_type="none"),
        "cannot be loaded",
    ),
}


@pytest.mark.parametrize(("damage", "message"), _DAMAGES.values(), ids=_DAMAGES)
def test_files_that_cannot_be_used(
    models: Models, tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    """Whatever is wrong with the files is one kind of error that says which model it is about."""
    model = shutil.copytree(models.ruri, tmp_path / "ruri-v3-30m")
    damage(model)
    with pytest.raises(EmbedderUnavailableError, match=message) as caught:
        ruri(model).embed_query("probe")
    assert str(model) in str(caught.value)
    assert caught.value.hint


def test_a_device_that_is_not_there(models: Models) -> None:
    """It is named with those that are."""
    for device in ("cuda:7", "nonsense"):
        with pytest.raises(EmbedderUnavailableError, match=f"no device '{device}'") as caught:
            ruri(models.ruri, device=device).embed_query("probe")
        assert "[embedding.sentence-transformers] device to one of auto, " in caught.value.hint


def test_code_without_the_methods(models: Models) -> None:
    """A model that has no ``encode_query`` is for the other provider."""
    with pytest.raises(EmbedderUnavailableError, match="no encode_query and no encode_document") as caught:
        plamo(models.ruri).embed_query("probe")
    assert "sentence-transformers" in caught.value.hint


def test_numbers_that_are_none(models: Models, tmp_path: Path) -> None:
    """A model that makes NaN is caught, with the text it was."""
    from safetensors.numpy import load_file, save_file

    model = shutil.copytree(models.ruri, tmp_path / "ruri-v3-30m")
    weights = load_file(model / "model.safetensors")
    weights["final_norm.weight"] = np.full_like(weights["final_norm.weight"], np.nan)
    save_file(weights, model / "model.safetensors", {"format": "pt"})
    with pytest.raises(EmbeddingError, match=r"ruri-v3-30m makes a vector of length nan of '東京'"):
        embed_all(ruri(model), ["東京"])


# --- how it behaves --------------------------------------------------------------------------------

_QUIET = """
import socket, sys
from pathlib import Path
def refuse(*_): raise AssertionError("the network was asked")
socket.socket.connect = refuse
from mdvec import registry
from mdvec.embedding.interface import Runtime, embed_all
make = registry.load("embedding", sys.argv[1])
settings = {"trust_remote_code": True}
embedder = make(model=sys.argv[2], dimension=None, runtime=Runtime(Path("unused"), threads=1), **settings)
embedder.embed_query("probe")
embed_all(embedder, ["word " * 500] * 3)
assert embedder.unload(idle_s=0)
"""


@pytest.mark.parametrize("provider", ["sentence-transformers", "plamo"])
def test_nothing_is_said_and_nobody_is_asked(models: Models, provider: str) -> None:
    """A model in a folder is loaded without a word on either stream, and without a network."""
    model = models.plamo if provider == "plamo" else models.ruri
    # Tracing torch's import takes long, and the tests above cover the lines.
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", _QUIET, provider, str(model)],
        env=unmeasured,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_progress_of_loading(models: Models) -> None:
    """The run receives the beginning and the end; once the model is loaded, nothing."""
    reports: list[tuple[Stage, int, int]] = []
    embedder = make_sentence_transformers(model=str(models.ruri), dimension=None, runtime=runtime())
    with bound(Run(lambda stage, done, total, _detail="": reports.append((stage, done, total)))):
        embedder.embed_query("probe")
        embedder.embed_query("probe")
    assert reports == [(Stage.MODEL, 0, 100), (Stage.MODEL, 100, 100)]


def test_what_is_freed_is_gone(models: Models) -> None:
    """After unloading nothing holds the network or the tokenizer any more."""
    for embedder in (ruri(models.ruri), plamo(models.plamo)):
        embedder.embed_query("probe")
        held = [weakref.ref(embedder._engine._model), weakref.ref(embedder._tokenizer)]  # type: ignore[union-attr]
        assert embedder.unload(idle_s=0)
        assert [ref() for ref in held] == [None, None]


def test_a_model_at_work_is_not_freed(models: Models) -> None:
    """However long a call takes: it counts as idle from its end."""
    embedder = ruri(models.ruri)
    freed: list[bool] = []
    embedder.embed_query("probe")
    assert embedder._engine is not None
    encode = embedder._engine.encode

    def encode_and_free(*arguments: Any) -> Any:
        freed.append(embedder.unload(idle_s=0))
        return encode(*arguments)

    embedder._engine.encode = encode_and_free  # type: ignore[assignment]
    embed_all(embedder, TEXTS)
    assert freed == [False]
    assert not embedder.unload(idle_s=60)
    assert embedder.unload(idle_s=0)


def test_many_threads(models: Models) -> None:
    """Questions, passages, tokens and unloading at the same time: every answer is right."""
    embedder = ruri(models.ruri, batch_size=2)
    expected = embed_all(embedder, TEXTS)
    question = embedder.embed_query("東京")
    ends = list(embedder.tokens.ends(TEXTS[0]))
    stop = threading.Event()

    def keep_freeing() -> None:
        while not stop.wait(0.01):
            embedder.unload(idle_s=0)

    def ask(number: int) -> None:
        np.testing.assert_allclose(embed_all(embedder, TEXTS), expected, atol=1e-5)
        np.testing.assert_allclose(embedder.embed_query("東京"), question, atol=1e-5)
        assert embedder.tokens.ends(TEXTS[0]) == ends

    with ThreadPoolExecutor(4) as pool:
        freeing = pool.submit(keep_freeing)
        try:
            list(pool.map(ask, range(12)))
        finally:
            stop.set()
        freeing.result()


def test_a_collection_is_searched_with_it(models: Models, tmp_path: Path) -> None:
    """Import and search work on vectors of such a model."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number, text in enumerate(TEXTS):
        (docs / f"{number}.md").write_text(f"# {text}\n\n{text}\n", encoding="utf-8")
    with open_workspace(Config(), database=tmp_path / "i.sqlite", embedder=ruri(models.ruri)) as workspace:
        workspace.add_collection("notes", "", str(docs))
        report = workspace.import_collection("notes")
        found = workspace.search(SearchQuery(TEXTS[0], mode=SearchMode.DENSE, min_score=0))
    assert (report.embedded_chunks, report.pending_chunks) == (3, 0)
    assert len(found.hits) == 3


def test_a_folder_is_found_from_anywhere(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model named by a relative path is written down by the whole one."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A ship\n", encoding="utf-8")
    monkeypatch.chdir(models.ruri.parent)
    relative = EmbeddingSpec("sentence-transformers", models.ruri.name)
    with open_workspace(Config(), database=tmp_path / "i.sqlite") as workspace:
        kept = workspace.add_collection("notes", "", str(docs), embedding=relative).embedding
        workspace.import_collection("notes")
    assert kept == EmbeddingSpec("sentence-transformers", str(models.ruri), 256)
    monkeypatch.chdir(tmp_path)
    with open_workspace(Config(), database=tmp_path / "i.sqlite") as workspace:
        assert workspace.search(SearchQuery("ship", mode=SearchMode.DENSE, min_score=0)).hits
