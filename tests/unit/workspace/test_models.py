"""The way to a model: as far as it can be used here, and tried before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdvec.config.schema import Config, EmbeddingSettings
from mdvec.embedding.local.model_settings import LocalModelSettings
from mdvec.errors import ConfigError, EmbedderUnavailableError
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.collection import EmbeddingSpec
from mdvec.workspace.stages import ModelPool

GONE = EmbeddingSpec("gone", "m")


def test_a_provider_that_is_gone_has_no_space() -> None:
    """A collection that names it is searched by words; only counting its tokens or trying it is an error."""
    pool = ModelPool(Config(), None)
    model = pool.for_(GONE)
    assert (model.embedder, model.space, model.name) == (None, None, "gone:m")
    assert isinstance(model.problem, EmbedderUnavailableError)
    for fails in (model.known, model.pinned, lambda: pool.check(GONE)):
        with pytest.raises(ConfigError, match="gone"):
            fails()


def test_the_configured_model_has_to_exist() -> None:
    """Nothing can be searched or imported with a configuration that names none."""
    with pytest.raises(ConfigError, match="gone"):
        ModelPool(Config(embedding=EmbeddingSettings(provider="gone")), None).for_(None)


def test_an_embedder_that_is_given_is_used_for_all() -> None:
    """Whatever a collection names, it gets that one, and keeps its true name."""
    pool = ModelPool(Config(), HashingEmbedder())
    space = HashingEmbedder().space
    assert pool.for_(GONE).space == space
    assert pool.check(GONE) == EmbeddingSpec(space.provider, space.model, space.dimension)


def test_no_code_of_a_model_that_a_publisher_chose(tmp_path: Path) -> None:
    """Code is trusted for the models that one names oneself, not for that of a published copy."""
    trusting = {"embedding.plamo": LocalModelSettings(trust_remote_code=True)}
    chosen = EmbeddingSpec("plamo", "someone/model")
    config = Config(extension_sections=trusting)
    problem = ModelPool(config, None, str(tmp_path)).for_(chosen).problem
    assert problem is not None
    assert "the published copy asks for the model plamo:someone/model" in str(problem)
    named = Config(
        embedding=EmbeddingSettings(provider=chosen.provider, model=chosen.model),
        extension_sections=trusting,
    )
    for pool in (
        ModelPool(named, None, str(tmp_path)),
        ModelPool(Config(), None, str(tmp_path)),
        ModelPool(config, None, str(tmp_path / "index.sqlite")),
    ):
        assert "published copy" not in str(pool.for_(chosen).problem)
