"""Rerankers on torch: cross-encoders that sentence-transformers loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fakes import tiny_models
from tests.workspaces import workspace_of, written

from mdvec import SearchQuery, open_workspace
from mdvec.config.schema import Config, RerankSettings, SearchSettings
from mdvec.embedding.local import cross_encoder
from mdvec.embedding.local.cross_encoder import CrossEncoderReranker, make_cross_encoder
from mdvec.errors import ConfigError, EmbedderBusyError, EmbedderUnavailableError, EmbeddingError
from mdvec.interfaces.present import reranked_line

pytestmark = pytest.mark.torch

QUERY = "東京"
TEXTS = ["りんごは赤い果物です。", "A ship", "東京は日本の首都である。 " * 60, ""]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights; not to be changed."""
    return tiny_models.make_cross_encoder(tmp_path_factory.mktemp("models") / "tiny-reranker")


def made(model: Path | str, *, timeout_s: float = 60.0, **settings: Any) -> CrossEncoderReranker:
    """Make a reranker that computes with one thread."""
    return make_cross_encoder(model=str(model), timeout_s=timeout_s, threads=1, **settings)


def test_scores_are_those_of_the_library(model: Path) -> None:
    """Batches, their order and their padding change nothing; of a long text the beginning is read."""
    from sentence_transformers import CrossEncoder

    expected = CrossEncoder(str(model), device="cpu", local_files_only=True).predict(
        [(QUERY, text) for text in TEXTS]
    )
    for batch_size in (1, 3, 8):
        found = made(model, batch_size=batch_size).relevance(QUERY, TEXTS)
        np.testing.assert_allclose(found.scores, expected, atol=1e-5)
        assert found.tokens == 0
    assert len({round(float(score), 6) for score in expected}) == len(TEXTS)


def test_lone_surrogates_are_read(model: Path) -> None:
    """Text that no tokenizer takes is cleaned first."""
    assert len(made(model).relevance("\ud800", ["\udfff x", "y"]).scores) == 2


def test_the_time_is_limited(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two batches it gives up, and says how far it came; loading does not count."""
    reranker = made(model, timeout_s=10.0, batch_size=2)
    clock = iter([0.0, 5.0, 11.0])
    reranker.relevance(QUERY, TEXTS[:1])
    monkeypatch.setattr(cross_encoder, "_clock", lambda: next(clock))
    with pytest.raises(EmbedderBusyError, match="has scored 4 of 6 passages in 10 s") as caught:
        reranker.relevance(QUERY, ["text"] * 6)
    assert "[rerank] passages" in caught.value.hint


def test_waiting_for_other_searches_counts(model: Path) -> None:
    """While another search has the model, it waits for the limit and no longer."""
    reranker = made(model, timeout_s=0.05)
    reranker.relevance(QUERY, TEXTS[:1])
    with reranker._running, pytest.raises(EmbedderBusyError, match="has scored 0 of 1 passages"):
        reranker.relevance(QUERY, TEXTS[:1])


@pytest.mark.parametrize("kind", ["embedder", "classes"])
def test_other_models_are_refused(kind: str, tmp_path: Path) -> None:
    """One that only embeds would get a random last layer, and one of several classes gives no order."""
    folder = tmp_path / "other"
    if kind == "embedder":
        tiny_models.make_ruri(folder)
        with pytest.raises(EmbedderUnavailableError, match="was not made to rerank"):
            made(folder).relevance(QUERY, TEXTS)
    else:
        tiny_models.make_cross_encoder(folder, labels=3)
        with pytest.raises(EmbeddingError, match="does not give one finite score"):
            made(folder).relevance(QUERY, TEXTS)


def test_what_is_missing_is_known_before(tmp_path: Path) -> None:
    """A model needs a name; a folder without one, and a hub that may not be asked, are problems."""
    with pytest.raises(ConfigError, match="needs a model"):
        made("")
    problem = made(tmp_path).problem
    assert problem is not None
    assert str(tmp_path) in str(problem)
    problem = made("owner/reranker", offline=True, hub_dir=tmp_path).problem
    assert problem is not None
    assert "[rerank.transformers] offline" in problem.hint


def test_damaged_weights(model: Path, tmp_path: Path) -> None:
    """A model that cannot be loaded is an error with the reason, and the section of its settings."""
    (tmp_path / "config.json").write_bytes((model / "config.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(EmbedderUnavailableError, match="cannot be loaded"):
        made(tmp_path).relevance(QUERY, TEXTS)
    with pytest.raises(EmbedderUnavailableError, match="no device 'tpu'") as caught:
        made(model, device="tpu").relevance(QUERY, TEXTS)
    assert "[rerank.transformers] device" in caught.value.hint


def test_it_is_freed_and_loaded_again(model: Path) -> None:
    """Memory is given back when it is idle, and no search process gets a copy."""
    reranker = made(model)
    assert not reranker.is_small
    assert not reranker.unload(idle_s=0)
    first = reranker.relevance(QUERY, TEXTS)
    assert not reranker.unload(idle_s=60)
    assert reranker.unload(idle_s=0)
    np.testing.assert_allclose(reranker.relevance(QUERY, TEXTS).scores, first.scores, atol=1e-6)


def test_a_workspace_is_searched_with_it(model: Path, tmp_path: Path) -> None:
    """Hits are in the order of the model, which the first search loads; answers do not show its path."""
    notes = {f"{number}.md": f"# Note {number}\n\n{text} lamp\n" for number, text in enumerate(TEXTS)}
    folder = written(tmp_path / "notes", notes)
    config = Config(
        search=SearchSettings(rerank=f"transformers:{model}"), rerank=RerankSettings(timeout_s=60.0)
    )
    with workspace_of(tmp_path / "i.sqlite", {"notes": folder}):
        pass
    with open_workspace(config, database=tmp_path / "i.sqlite") as workspace:
        found = workspace.search(SearchQuery("lamp", mode="lexical", min_score=0))  # type: ignore[arg-type]
        made_here = workspace._stages.models.reranker()
        freed = made_here is not None and made_here.reranker.unload(idle_s=0)
    assert found.reranked is not None
    assert reranked_line(found.reranked) == "4 passages reranked by transformers:tiny-reranker"
    texts = [f"{hit.title}\n{hit.text}" for hit in found.hits]
    scores = made(model).relevance("lamp", texts).scores
    assert [*scores] == sorted(scores, reverse=True)
    assert freed


_LOADED = """
import sys
from mdvec import registry
made = registry.load("rerankers", "transformers")(model=sys.argv[1], timeout_s=1.0, threads=1)
assert made.problem is None
assert not {"torch", "transformers", "sentence_transformers"} & {*sys.modules}
"""


def test_nothing_heavy_is_loaded_before_it_is_needed(model: Path) -> None:
    """A reranker that is configured and not used costs no import of torch."""
    subprocess.run([sys.executable, "-c", _LOADED, str(model)], check=True)
