"""What is read from the files beside the weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdvec.embedding.local.layout import Layout, has_weights, identity, read_layout
from mdvec.errors import EmbedderUnavailableError


def write(folder: Path, **files: Any) -> Path:
    """Write JSON files; ``__`` in a name is a slash."""
    for name, value in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return folder


def module(kind: str, path: str) -> dict[str, str]:
    """Return an entry of modules.json."""
    return {"type": f"sentence_transformers.models.{kind}", "path": path}


NETWORK = module("Transformer", "")
POOLING = module("Pooling", "1_Pooling")


def test_a_model_of_transformers(tmp_path: Path) -> None:
    """Without modules the vectors are the hidden states' mean; the smallest limit counts."""
    write(
        tmp_path,
        config={"hidden_size": 768, "max_position_embeddings": 514},
        tokenizer_config={"model_max_length": 10**30},
    )
    assert read_layout(tmp_path) == Layout(768, 512)


def test_limits_of_a_model(tmp_path: Path) -> None:
    """What sentence-transformers was told is the limit when it is the smallest."""
    write(
        tmp_path,
        config={"hidden_size": 384, "max_position_embeddings": 8194},
        sentence_bert_config={"max_seq_length": 256},
        tokenizer_config={"model_max_length": 512},
    )
    assert read_layout(tmp_path).max_tokens == 256


def test_prompts(tmp_path: Path) -> None:
    """The model's own prompts are found by the names that are usual for them."""
    prompts = {"query": "q: ", "passage": "p: ", "other": "o: "}
    write(tmp_path, config={"hidden_size": 8}, config_sentence_transformers={"prompts": prompts})
    layout = read_layout(tmp_path)
    assert (layout.query_prompt, layout.document_prompt) == ("q: ", "p: ")


@pytest.mark.parametrize(
    ("pooling", "dimension"),
    [
        ({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}, 32),
        (
            {
                "word_embedding_dimension": 32,
                "pooling_mode_mean_tokens": True,
                "pooling_mode_max_tokens": True,
                "pooling_mode_cls_token": False,
            },
            64,
        ),
        ({"embedding_dimension": 32, "pooling_mode": "mean"}, 32),
        ({"embedding_dimension": 32, "pooling_mode": ["mean", "cls", "max"]}, 96),
        ({}, 16),
    ],
)
def test_pooling(tmp_path: Path, pooling: dict[str, Any], dimension: int) -> None:
    """Vectors that are pooled in several ways stand side by side, in old and new files."""
    write(tmp_path, modules=[NETWORK, POOLING], config={"hidden_size": 16})
    write(tmp_path / "1_Pooling", config=pooling)
    assert read_layout(tmp_path).dimension == dimension


def test_layers_behind_the_pooling(tmp_path: Path) -> None:
    """A dense layer decides the length; normalisation leaves it; what is not known may do anything."""
    dense, normal = module("Dense", "2_Dense"), module("Normalize", "3_Normalize")
    write(tmp_path, modules=[NETWORK, POOLING, dense, normal], config={"hidden_size": 16})
    write(tmp_path / "2_Dense", config={"in_features": 16, "out_features": 5})
    assert read_layout(tmp_path).dimension == 5
    write(tmp_path, modules=[NETWORK, POOLING, module("Surprise", "2_Dense")])
    assert read_layout(tmp_path).dimension is None


def test_a_model_without_a_network(tmp_path: Path) -> None:
    """A table of words has no hidden size; only the loaded model can tell."""
    write(tmp_path, modules=[module("StaticEmbedding", "0_StaticEmbedding")])
    assert read_layout(tmp_path) == Layout(None, 512)


def test_no_model(tmp_path: Path) -> None:
    """A folder without settings is named, and so is a file that is no JSON."""
    with pytest.raises(EmbedderUnavailableError, match=r"no model in .*config\.json is missing"):
        read_layout(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(EmbedderUnavailableError, match=r"config\.json cannot be read"):
        read_layout(tmp_path)


def test_weights_in_parts(tmp_path: Path) -> None:
    """All parts that the index names must be there."""
    write(tmp_path, config={})
    assert not has_weights(tmp_path)
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "model-1.safetensors").write_bytes(b"")
    assert not has_weights(tmp_path)
    (tmp_path / "model-2.safetensors").write_bytes(b"")
    assert has_weights(tmp_path)


def test_weights_of_other_programs(tmp_path: Path) -> None:
    """What onnxruntime or a hidden cache keeps is not the model."""
    for name in ("onnx/model.bin", ".cache/model.safetensors"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"")
    assert not has_weights(tmp_path)


def test_identity_is_that_of_the_content(tmp_path: Path) -> None:
    """A copy is the same model; other settings, weights or code are another; a page about it is not."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        write(folder, config={"hidden_size": 8})
        (folder / "model.safetensors").write_bytes(bytes(3_000_000))
    (second / "README.md").write_text("About it.")
    assert identity(first) == identity(second)
    seen = {identity(first)}
    for name, content in (
        ("model.safetensors", bytes(2_999_999) + b"1"),
        ("model.safetensors", b"1" + bytes(2_999_999)),
        ("model.safetensors", bytes(3_000_001)),
        ("config.json", b"{}"),
        ("modeling.py", b"pass"),
    ):
        (second / name).write_bytes(content)
        seen.add(identity(second))
    assert len(seen) == 6


@pytest.mark.parametrize(
    "files",
    [
        {"config": []},
        {"config": {}, "modules": {}},
        {"config": {}, "modules": [1]},
        {"config": {}, "modules": [{"path": ""}]},
        {"config": {}, "modules": [{"type": 7, "path": ""}]},
        {"config": {}, "modules": [NETWORK, {"type": "Dense", "path": 7}]},
        {"config": {}, "modules": [NETWORK, POOLING], "1_Pooling__config": []},
        {"config": {}, "tokenizer_config": []},
        {"config": {}, "sentence_bert_config": 7},
        {"config": {}, "config_sentence_transformers": []},
        {"config": {}, "config_sentence_transformers": {"prompts": ["query: "]}},
    ],
)
def test_files_of_another_shape(tmp_path: Path, files: dict[str, Any]) -> None:
    """Each is an error that names the file, not a crash."""
    write(tmp_path, **files)
    with pytest.raises(EmbedderUnavailableError, match=r"\.json cannot be read: (Expected|Object missing)"):
        read_layout(tmp_path)


def test_files_that_are_nested_too_deep(tmp_path: Path) -> None:
    """So deep that no parser follows: an error too."""
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(EmbedderUnavailableError, match=r"config\.json cannot be read"):
        read_layout(tmp_path)


@pytest.mark.parametrize("value", ["x", [1], None, {}, -1, 0, True, 1e400])
def test_numbers_of_another_shape(tmp_path: Path, value: object) -> None:
    """What is no number says nothing."""
    write(
        tmp_path,
        config={"hidden_size": value, "max_position_embeddings": value},
        tokenizer_config={"model_max_length": value},
    )
    layout = read_layout(tmp_path)
    assert layout.dimension is None or layout.dimension >= 1
    assert layout.max_tokens >= 1


@pytest.mark.parametrize("parts", [["a.safetensors"], {"layer": 7}])
def test_an_index_of_another_shape(tmp_path: Path, parts: object) -> None:
    """It names no files: that is an error, which names the index."""
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))
    with pytest.raises(EmbedderUnavailableError, match=r"index\.json cannot be read"):
        has_weights(tmp_path)
