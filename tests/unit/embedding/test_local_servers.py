"""Servers at home by their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fakes.embedding_services import TeiServer

from mdvec import registry
from mdvec.embedding.interface import Runtime
from mdvec.errors import ConfigError


@pytest.mark.parametrize("name", ["ollama", "lmstudio", "vllm"])
def test_a_server_is_chosen_by_its_name(name: str, tmp_path: Path) -> None:
    """It speaks OpenAI's protocol, its space carries its own name, and a model has to be named."""
    factory = registry.load("embedding", name)
    with TeiServer() as server:
        embedder = factory(
            model="some-model", dimension=None, runtime=Runtime(tmp_path), base_url=f"{server.url}/v1"
        )
        vector = embedder.embed_query("hello")
        assert (embedder.space.provider, embedder.space.model) == (name, "some-model")
        assert embedder.space.dimension == len(vector)
    with pytest.raises(ConfigError, match=f"'{name}' needs the name of a model") as caught:
        factory(model="", dimension=None, runtime=Runtime(tmp_path))
    assert f"{name}:nomic-embed-text" in caught.value.hint
