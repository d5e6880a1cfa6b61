"""Reads what a model is from the settings beside its weights, without loading it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdvec.errors import EmbedderUnavailableError

CONFIG = "config.json"
_MODULES = "modules.json"
WEIGHTS = (".safetensors", ".bin")
_INDEXES = tuple(f"{suffix}.index.json" for suffix in WEIGHTS)
SETTINGS = (".json", ".jsonl", ".model", ".py", ".txt")
# Files of other programs, and of other ways to run the model.
OTHER_FOLDERS = ("onnx", "openvino")
_USUAL_MAX_TOKENS = 512  # of a model that does not say
_FIRST_POSITION = 2  # in the family of RoBERTa, which counts from there
_SAMPLE_BYTES = 1 << 20  # of each end of a file of weights
_QUERY_PROMPTS = ("query",)
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")


@dataclass(frozen=True, slots=True)
class Layout:
    """What the files of a model say.

    Attributes:
        dimension: Length of its vectors; None when only the loaded model can tell.
        max_tokens: Most tokens it sees at once, markers included.
        query_prompt: What it wants before a question; None when it does not say.
        document_prompt: What it wants before a passage; None when it does not say.
    """

    dimension: int | None
    max_tokens: int
    query_prompt: str | None = None
    document_prompt: str | None = None


def read_layout(folder: Path) -> Layout:
    """Read the files of a model.

    Raises:
        EmbedderUnavailableError: If the folder holds no model, or its files cannot be read.
    """
    modules = _read(folder / _MODULES) if (folder / _MODULES).is_file() else None
    first = folder / modules[0].get("path", "") if modules else folder
    if not (first / CONFIG).is_file():
        if modules and not modules[0].get("type", "").endswith(".Transformer"):  # such as a table of words
            return Layout(None, _USUAL_MAX_TOKENS, *_prompts(folder))
        msg = f"there is no model in {folder}: {CONFIG} is missing"
        raise EmbedderUnavailableError(msg, hint="Name a folder with the files of a model.")
    config = _read(first / CONFIG)
    dimension = _whole_number(config.get("hidden_size"))
    return Layout(
        _after_modules(folder, modules[1:], dimension) if modules else dimension,
        _max_tokens(first, config),
        *_prompts(folder),
    )


def has_weights(folder: Path) -> bool:
    """Tell whether all weights are there: one file, or every part that their index names."""
    indexes = [path for path in folder.glob("*.index.json") if path.name.endswith(_INDEXES)]
    if indexes:
        return any(
            all((folder / part).exists() for part in set(_read(index).get("weight_map", {}).values()))
            for index in indexes
        )
    return any(path.suffix in WEIGHTS for path in _files(folder))


def identity(folder: Path) -> str:
    """Return what tells the model in a folder from others: 12 hex digits, the same for a copy of it.

    Settings count whole; of weights their sizes and both ends, so that gigabytes are not read.
    """
    digest = hashlib.sha256()
    for path in _files(folder):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode("utf-8", "surrogateescape"))
        with path.open("rb") as file:
            digest.update(file.read(_SAMPLE_BYTES))
            if size > _SAMPLE_BYTES:
                file.seek(max(_SAMPLE_BYTES, size - _SAMPLE_BYTES))
                digest.update(file.read())
    return digest.hexdigest()[:12]


def _files(folder: Path) -> Iterator[Path]:
    """Walk what the model is made of, in the order of the names."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in inside)
        if path.suffix in (*WEIGHTS, *SETTINGS) and inside[0] not in OTHER_FOLDERS and not hidden:
            yield path


def _after_modules(folder: Path, modules: list[dict[str, Any]], dimension: int | None) -> int | None:
    """Follow the length of a vector through the modules of sentence-transformers behind the network."""
    for module in modules:
        config_path = folder / module.get("path", "") / CONFIG
        config = _read(config_path) if config_path.is_file() else {}
        match module.get("type", "").rpartition(".")[2]:
            case "Pooling":
                written = config.get("embedding_dimension", config.get("word_embedding_dimension"))
                width = _whole_number(written) or dimension
                dimension = width and width * _pooled_vectors(config)
            case "Dense":
                dimension = _whole_number(config.get("out_features"))
            case "Normalize" | "Dropout" | "LayerNorm":
                pass
            case _:
                return None
    return dimension


def _pooled_vectors(pooling: dict[str, Any]) -> int:
    """Count the vectors that a pooling sets side by side; older versions wrote a switch for each kind."""
    modes = pooling.get("pooling_mode")
    if isinstance(modes, list):
        return len(modes)
    switches = [value for name, value in pooling.items() if name.startswith("pooling_mode_")]
    return 1 if modes else max(1, switches.count(True))


def _max_tokens(folder: Path, config: dict[str, Any]) -> int:
    tokenizer = folder / "tokenizer_config.json"
    transformer = folder / "sentence_bert_config.json"
    limits = (
        _read(transformer).get("max_seq_length") if transformer.is_file() else None,
        _read(tokenizer).get("model_max_length") if tokenizer.is_file() else None,
        config.get("max_position_embeddings", _USUAL_MAX_TOKENS + _FIRST_POSITION) - _FIRST_POSITION,
    )
    return min(limit for limit in map(_whole_number, limits) if limit)


def _prompts(folder: Path) -> tuple[str | None, str | None]:
    path = folder / "config_sentence_transformers.json"
    prompts = _read(path).get("prompts") or {} if path.is_file() else {}
    return _first(prompts, _QUERY_PROMPTS), _first(prompts, _DOCUMENT_PROMPTS)


def _first(prompts: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((prompts[name] for name in names if isinstance(prompts.get(name), str)), None)


def _whole_number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and value >= 1 else None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        msg = f"{path} cannot be read: {error}"
        raise EmbedderUnavailableError(msg, hint="Get the files of the model again.") from error
