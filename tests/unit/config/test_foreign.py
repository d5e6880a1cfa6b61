"""Configurations of other programs are read as they are, within what an untrusted folder may set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mdvec.config import load_config
from mdvec.config.foreign import translated
from mdvec.config.trust import trust
from mdvec.errors import ConfigError

SEARCH_DOCS = {
    "version": "1.0",
    "files": {"include": ["**/*.md"], "exclude": ["drafts/"], "ignoreGitignore": True},
    "indexing": {
        "maxTokensPerSection": 1500,
        "minTokensForSplit": 80,
        "maxDepth": 2,
        "vectorDimension": 256,
        "embeddingModel": "cl-nagoya/ruri-v3-30m",
    },
    "server": {"maxConcurrentIndexing": 2, "dirtyCheckInterval": 2500},
}
LOCAL_RAG = """
embedding:
  model: "gemini-embedding-001"
  output_dimensionality: 768
  batch_size: 100
  task_type_document: "RETRIEVAL_DOCUMENT"
  task_type_query: "RETRIEVAL_QUERY"
chunker:
  max_chunk_chars: 2500
  min_chunk_chars: 40
  heading_levels: [1, 2]
chromadb: {collection_name: "documents", hnsw_space: "cosine", hnsw_construction_ef: 200, hnsw_search_ef: 100,
           hnsw_M: 16}
search: {default_top_k: 7}
retry: {max_retries: 3, base_delay: 1.0, backoff_factor: 2.0}
scanner: {file_extensions: [".md"], exclude_dirs: ["data"]}
"""
VECTOR_DB = """
[database]
path = "vector-db.sqlite"
[chunking]
size = 1024
overlap = 64
[display]
default_format = "table"
[search]
k = 6
[model]
auto_unload_minutes = 5
memory_threshold = 0.7
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", [".search-docs.json", ".search-docs/config.json"])
def test_search_docs_counts_in_the_folder_that_is_served(tmp_path: Path, name: str) -> None:
    """What decides how documents are cut and filtered counts; the rest is named, and counts once trusted."""
    docs = tmp_path / "docs"
    file = write(docs / name, json.dumps(SEARCH_DOCS))
    loaded = load_config(cwd=tmp_path, env={}, docs_dir=docs)
    config = loaded.config
    assert loaded.path == file
    assert (config.scanner.include, config.scanner.exclude) == (("**/*.md",), ("drafts/",))
    assert not config.scanner.gitignore
    assert (config.chunking.max_tokens, config.chunking.min_tokens) == (1500, 80)
    assert config.chunking.levels == (1, 2)
    assert config.embedding.provider == "builtin"
    [warning] = loaded.config.warnings
    for name in ("embedding.model", "embedding.dimension", "watch.interval_s", f"mdvec trust {docs}"):
        assert name in warning
    trust(docs)
    config = load_config(cwd=tmp_path, env={}, docs_dir=docs).config
    assert (config.embedding.provider, config.embedding.model, config.embedding.dimension) == (
        "sentence-transformers",
        "cl-nagoya/ruri-v3-30m",
        256,
    )
    assert (config.watch.concurrency, config.watch.interval_s) == (2, 2.5)


def test_local_rag_is_read_as_it_is_when_named(tmp_path: Path) -> None:
    """A file that the user names sets everything that has a counterpart, with the names it came from."""
    file = write(tmp_path / "config.yaml", LOCAL_RAG)
    loaded = load_config(file, cwd=tmp_path, env={})
    config = loaded.config
    assert (config.embedding.provider, config.embedding.model, config.embedding.dimension) == (
        "gemini",
        "gemini-embedding-001",
        768,
    )
    assert (config.chunking.strategy, config.chunking.max_chars, config.chunking.min_chars) == (
        "headings",
        2500,
        40,
    )
    assert (config.chunking.levels, config.search.k) == ((1, 2), 7)
    assert (config.scanner.extensions, config.scanner.exclude_dirs) == ((".md",), ("data",))
    assert getattr(config.extension_sections["embedding.gemini"], "attempts") == 4  # noqa: B009
    assert loaded.origins["search.k"] == f"{file}: search.default_top_k"
    assert config.warnings == ()


def test_config_toml_is_read_as_it_is_when_named(tmp_path: Path) -> None:
    """Its model's settings are those of our embedding; a path is relative to the file."""
    file = write(tmp_path / "config.toml", VECTOR_DB)
    config = load_config(file, cwd=Path("/"), env={}).config
    assert config.store.location == str(tmp_path / "vector-db.sqlite")
    assert (config.chunking.max_tokens, config.chunking.overlap_tokens, config.search.k) == (1024, 64, 6)
    assert (config.embedding.auto_unload_minutes, config.embedding.memory_threshold) == (5, 0.7)


def test_files_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    """A config.toml or config.yaml of something else among documents is not read, even a broken one."""
    write(tmp_path / "config.toml", 'title = "A site"\n[params]\nsearch = true\n')
    write(tmp_path / "config.yaml", "search: {top: 3}\nnav: [")
    loaded = load_config(cwd=tmp_path, env={}, docs_dir=tmp_path)
    assert (loaded.path, loaded.config.search.k) == (None, 5)


def test_a_recognised_config_yaml_counts_in_the_folder_that_is_served(tmp_path: Path) -> None:
    """The file of local-rag is where its program looks for it."""
    write(tmp_path / "docs" / "config.yaml", LOCAL_RAG)
    loaded = load_config(cwd=tmp_path, env={}, docs_dir=tmp_path / "docs")
    assert (loaded.config.search.k, loaded.config.embedding.provider) == (7, "builtin")


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("search:\n  default_top_k: 7\n", True),
        ("chunker: {}\nsearch: {default_top_k: 7, more: 1}\n", True),
        ("search: {default_top_k: 7, more: 1}\n", True),
        ("search: {default_top_k: 7}\nlogging: {level: debug}\n", True),
        ("embeding: {output_dimensionality: 768}\nsearch: {default_top_k: 7}\n", True),
        ("search: {k: 7}\n", False),
        ("search: {k: 7}\nchromadb: {collection_name: notes}\nstore: {vectors: sqlite-vec}\n", True),
        ("embedding: {model: bge, batch_size: 8}\nsearch: {k: 7}\nllm: {model: x}\n", False),
        ("", False),
        ("- a\n", False),
    ],
)
def test_a_part_of_a_config_yaml_is_enough(tmp_path: Path, text: str, is_read: bool) -> None:
    """A partial, misspelt or extended file counts; one that is not clearly local-rag's is left alone."""
    write(tmp_path / "config.yaml", text)
    assert load_config(cwd=tmp_path, env={}, docs_dir=tmp_path).config.search.k == (7 if is_read else 5)


def test_every_setting_has_a_fate_and_unknown_ones_are_named(tmp_path: Path) -> None:
    """Nothing of a file is passed over in silence."""
    found = translated(write(tmp_path / "config.yaml", f"{LOCAL_RAG}extra: 1\n"))
    assert found
    assert len(found.settings) + len(found.left_out) == 21  # with the provider and the strategy
    assert found.settings["search.k"].value == 7
    assert found.left_out["embedding.batch_size"].startswith("mdvec sends")
    assert (found.unknown, found.chosen) == ({"extra": ""}, ())
    file = write(tmp_path / ".search-docs.json", json.dumps({"files": {"includes": []}}))
    [warning] = load_config(cwd=tmp_path, env={}).config.warnings
    assert warning == f"{file}: unknown: files.includes (did you mean files.include?)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("embeding: {model: x}\n", "unknown: embeding.model (did you mean embedding.model?)"),
        ("logging: {level: debug}\n", "unknown: logging.level"),
        ("embedding: {batch_size: 100}\n", ""),
        ("embedding: {batch_size: 8}\n", "embedding.batch_size has no effect: mdvec sends as many"),
        (
            "retry: {base_delay: 3, backoff_factor: 4}\n",
            "retry.base_delay, retry.backoff_factor have no effect",
        ),
        ("chromadb: {hnsw_M: 16}\n", ""),
        (
            "chromadb: {hnsw_M: 32, hnsw_search_ef: 50}\n",
            'chromadb.hnsw_M, chromadb.hnsw_search_ef have no effect without [store] vectors = "chroma"',
        ),
    ],
)
def test_what_has_no_effect_is_a_warning(tmp_path: Path, text: str, said: str) -> None:
    """It says which setting and why; a value that is the other program's default was no choice."""
    file = write(tmp_path / "config.yaml", f"search: {{default_top_k: 7}}\n{text}")
    warnings = load_config(file, cwd=tmp_path, env={}).config.warnings
    assert [each.removeprefix(f"{file}: ")[: len(said)] for each in warnings] == ([said] if said else [])


@pytest.mark.chroma
def test_settings_of_chroma_reach_it(tmp_path: Path) -> None:
    """They count as soon as Chroma is chosen, which the file itself may do by the name that mdvec has."""
    file = write(
        tmp_path / "config.yaml", f"{LOCAL_RAG.replace('M: 16', 'M: 32')}store: {{vectors: chroma}}\n"
    )
    config = load_config(file, cwd=tmp_path, env={}).config
    assert (config.store.vectors, config.warnings) == ("chroma", ())
    assert getattr(config.extension_sections["store.chroma"], "hnsw_M") == 32  # noqa: B009


def test_config_toml_counts_where_search_docs_json_does(tmp_path: Path) -> None:
    """It is looked for upward from the working directory, and names what needs trust."""
    file = write(tmp_path / "config.toml", VECTOR_DB)
    (tmp_path / "deep").mkdir()
    loaded = load_config(cwd=tmp_path / "deep", env={})
    assert (loaded.path, loaded.config.search.k, loaded.config.chunking.max_tokens) == (file, 6, 1024)
    [warning] = loaded.config.warnings
    assert "ignored store.location, embedding.auto_unload_minutes" in warning
    trust(tmp_path)
    assert load_config(cwd=tmp_path, env={}).config.store.location == str(tmp_path / "vector-db.sqlite")


def test_a_broken_file_with_its_words_is_an_error(tmp_path: Path) -> None:
    """One mistake in the file of local-rag does not switch off all of it in silence."""
    write(tmp_path / "config.yaml", "search:\n  default_top_k: 7\n bad: [1\n")
    with pytest.raises(ConfigError, match=r"config\.yaml:3: not YAML"):
        load_config(cwd=tmp_path, env={})


def test_the_section_of_a_model_may_stay_in_mdvec_toml(tmp_path: Path) -> None:
    """A config.toml that is renamed counts whole."""
    write(tmp_path / "mdvec.toml", VECTOR_DB.replace("vector-db.sqlite", "x.sqlite"))
    trust(tmp_path)
    loaded = load_config(cwd=tmp_path, env={})
    assert (loaded.config.embedding.auto_unload_minutes, loaded.config.embedding.memory_threshold) == (5, 0.7)


def test_a_wrong_value_is_an_error_with_both_names(tmp_path: Path) -> None:
    """The message names the file, the setting there and the setting here."""
    file = write(tmp_path / ".search-docs.json", json.dumps({"files": {"include": "x"}}))
    with pytest.raises(ConfigError) as caught:
        load_config(cwd=tmp_path, env={})
    assert str(caught.value).startswith(f"{file}: files.include: scanner.include must be a list of patterns")


def _bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join([*lines, "search:", "  default_top_k: *a11", ""])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("config.yaml", _bomb(), ":4: not YAML: more than 20 aliases"),
        ("config.yaml", "[" * 100_000, ":1: not YAML: tables or lists are nested too deeply"),
        ("config.yaml", f"search: {{k: {'9' * 100_000}}}", ":1: not YAML: Exceeds the limit"),
        ("config.yaml", "search:\n  - a\n b: [1\n", ":3: not YAML: "),
        ("config.yaml", "search: \x01", ":1: not YAML: unacceptable character"),
        (".search-docs.json", "[" * 100_000, ":1: not JSON: tables or lists are nested too deeply"),
        (".search-docs.json", '{"files": ' + "9" * 100_000 + "}", ":1: not JSON: Exceeds the limit"),
        (".search-docs.json", '{"files": {\n"include": }}', ":2: not JSON: Expecting value"),
        (".search-docs.json", "[]", ": expected settings by section, found list"),
    ],
)
def test_a_broken_or_hostile_file_is_an_error(tmp_path: Path, name: str, text: str, said: str) -> None:
    """It may neither take all of the memory nor end in a traceback."""
    file = write(tmp_path / name, text)
    with pytest.raises(ConfigError) as caught:
        load_config(file, cwd=tmp_path, env={})
    assert str(caught.value).startswith(f"{file}{said}")


def test_a_few_aliases_are_fine(tmp_path: Path) -> None:
    """YAML is YAML."""
    text = "search: &s {default_top_k: 7}\nchunker: {<<: {max_chunk_chars: 900}}\n"
    config = load_config(write(tmp_path / "config.yaml", text), cwd=tmp_path, env={}).config
    assert (config.search.k, config.chunking.max_chars) == (7, 900)


def test_mdvec_toml_counts_in_the_folder_that_is_served(tmp_path: Path) -> None:
    """A client may start the server anywhere; the folder's file wins over that of the working directory."""
    write(tmp_path / "docs" / "mdvec.toml", "[search]\nk = 9\n")
    write(tmp_path / "docs" / ".search-docs.json", json.dumps(SEARCH_DOCS))
    write(tmp_path / "elsewhere" / "mdvec.toml", "[search]\nk = 2\n")
    loaded = load_config(cwd=tmp_path / "elsewhere", env={}, docs_dir=tmp_path / "docs")
    assert (loaded.path, loaded.config.search.k) == (tmp_path / "docs" / "mdvec.toml", 9)
    write(tmp_path / "docs" / "mdvec.toml", '[embedding]\nprovider = "voyage"\n')
    with pytest.raises(ConfigError, match="by itself, and it sets more than"):
        load_config(cwd=tmp_path / "elsewhere", env={}, docs_dir=tmp_path / "docs")
