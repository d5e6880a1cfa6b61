"""The facts about a model in the files next to its weights, read without loading it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import Struct

from mdvec.errors import EmbedderUnavailableError

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
WEIGHTS = (".safetensors", ".bin")
SETTINGS = (".json", ".jsonl", ".model", ".py", ".txt")
# Files of other programs, and of other ways to run the model.
OTHER_FOLDERS = ("onnx", "openvino")
_MODULES = "modules.json"
_INDEXES = tuple(f"{suffix}.index.json" for suffix in WEIGHTS)
_USUAL_MAX_TOKENS = 512  # of a model whose files do not state it
_FIRST_POSITION = 2  # in the family of RoBERTa, which counts from there
_SAMPLE_BYTES = 1 << 20  # of each end of a file of weights
_QUERY_PROMPTS = ("query",)
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


T = TypeVar("T")
_Object = dict[str, Any]


class _Module(Struct, frozen=True):
    """A module of sentence-transformers."""

    type: str
    path: str = ""


class _WeightIndex(Struct, frozen=True):
    """The files of the weights, by tensor."""

    weight_map: dict[str, str] = {}


class _Prompts(Struct, frozen=True):
    """The prefixes of texts, by what the texts are."""

    prompts: _Object | None = None


class Layout(Struct, frozen=True):
    """The facts in the files of a model.

    Attributes:
        dimension: Length of its vectors; None if only the loaded model shows it.
        max_tokens: Most tokens it reads at once, markers included.
        query_prompt: Its prefix for queries; None if the files have none.
        document_prompt: Its prefix for passages; None if the files have none.
    """

    dimension: int | None
    max_tokens: int
    query_prompt: str | None = None
    document_prompt: str | None = None


def read_layout(folder: Path) -> Layout:
    """Return the facts in the files of a model.

    Raises:
        EmbedderUnavailableError: If the folder has no model, or a file cannot be read or has another shape.
    """
    modules = _read(folder / _MODULES, list[_Module], optional=True)
    first = folder / modules[0].path if modules else folder
    if not (first / CONFIG).is_file():
        if modules and not modules[0].type.endswith(".Transformer"):  # such as a table of words
            return Layout(None, _USUAL_MAX_TOKENS, *_prompts(folder))
        msg = f"there is no model in {folder}: {CONFIG} is missing"
        raise EmbedderUnavailableError(msg, hint="Name a folder with the files of a model.")
    config = _read(first / CONFIG, _Object)
    dimension = _whole_number(config.get("hidden_size"))
    return Layout(
        _after_modules(folder, modules[1:], dimension) if modules else dimension,
        _max_tokens(first, config),
        *_prompts(folder),
    )


def has_weights(folder: Path) -> bool:
    """Return True if all weights exist: one file, or every part that their index names."""
    indexes = [path for path in folder.glob("*.index.json") if path.name.endswith(_INDEXES)]
    if not indexes:
        return any(path.suffix in WEIGHTS for path in _files(folder))
    for index in indexes:
        parts = set(_read(index, _WeightIndex).weight_map.values())
        if all((folder / part).exists() for part in parts):
            return True
    return False


def identity(folder: Path) -> str:
    """Return a digest of the files of a model: 12 hex digits, the same for a copy of it.

    It covers settings whole, and of weights the sizes and both ends, so that gigabytes are not read.
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


class ModelTokenizer:
    """The model's own tokenizer, without the model.

    Args:
        path: A ``tokenizer.json``.

    Raises:
        EmbedderUnavailableError: If it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_buffer(path.read_bytes())
        except (OSError, ValueError) as error:
            _refuse(path, str(error), error)
        # Training may have left limits behind: texts are counted whole.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @property
    def markers(self) -> int:
        """The number of tokens added around a text."""
        return int(self._tokenizer.num_special_tokens_to_add(is_pair=False))

    def ends(self, text: str) -> list[int]:
        """Return one past the last character of each token, ascending; without markers."""
        offsets = self._tokenizer.encode(clean(text), add_special_tokens=False).offsets
        return [end for end in accumulate((end for _, end in offsets), max) if end > 0]


def clean(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold, character by character."""
    return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of the model, in the order of their names."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in inside)
        if path.suffix in (*WEIGHTS, *SETTINGS) and inside[0] not in OTHER_FOLDERS and not hidden:
            yield path


def _after_modules(folder: Path, modules: list[_Module], dimension: int | None) -> int | None:
    """Return the length of a vector after the modules of sentence-transformers that follow the network."""
    for module in modules:
        config = _read(folder / module.path / CONFIG, _Object, optional=True)
        match module.type.rpartition(".")[2]:
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
    """Count the vectors that a pooling concatenates; older versions wrote a switch for each kind."""
    modes = pooling.get("pooling_mode")
    if isinstance(modes, list):
        return len(modes)
    switches = [value for name, value in pooling.items() if name.startswith("pooling_mode_")]
    return 1 if modes else max(1, switches.count(True))


def _max_tokens(folder: Path, config: dict[str, Any]) -> int:
    positions = _whole_number(config.get("max_position_embeddings"))
    limits = (
        _whole_number(
            _read(folder / "sentence_bert_config.json", _Object, optional=True).get("max_seq_length")
        ),
        _whole_number(
            _read(folder / "tokenizer_config.json", _Object, optional=True).get("model_max_length")
        ),
        max(1, positions - _FIRST_POSITION) if positions else _USUAL_MAX_TOKENS,
    )
    return min(limit for limit in limits if limit)


def _prompts(folder: Path) -> tuple[str | None, str | None]:
    prompts = _read(folder / "config_sentence_transformers.json", _Prompts, optional=True).prompts or {}
    return _first(prompts, _QUERY_PROMPTS), _first(prompts, _DOCUMENT_PROMPTS)


def _first(prompts: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((prompts[name] for name in names if isinstance(prompts.get(name), str)), None)


def _whole_number(value: object) -> int | None:
    return int(min(value, 1 << 62)) if isinstance(value, int | float) and value >= 1 else None


def _read(path: Path, kind: type[T], *, optional: bool = False) -> T:
    """Return the JSON of a file as a type; its empty value for an optional file that is not there."""
    if optional and not path.is_file():
        return kind()
    try:
        return msgspec.convert(json.loads(path.read_bytes()), kind)
    except (OSError, ValueError, RecursionError) as error:
        _refuse(path, str(error), error)


def _refuse(path: Path, reason: str, cause: Exception | None = None) -> NoReturn:
    msg = f"{path} cannot be read: {reason}"
    raise EmbedderUnavailableError(msg, hint="Download the files of the model again.") from cause
