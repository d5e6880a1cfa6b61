"""Presets: those that come with mdvec, and those of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdvec.config.presets import DEFAULT_PRESET, load_preset, preset_names
from mdvec.errors import ConfigError
from mdvec.model.collection import ChunkingSpec, EmbeddingSpec, SearchDefaults
from mdvec.registry import names


def test_the_five_presets_can_be_read_and_name_parts_that_exist() -> None:
    """Each has a description, a chunker and an embedder of ours; the default is the first."""
    assert preset_names() == ["folder", "local-rag", "section-tree", "token-windows", "vault"]
    for name in preset_names():
        preset = load_preset(name, cwd=Path("/"))
        assert preset.name == name
        assert preset.description
        assert preset.chunking.strategy in names("chunking")
        assert preset.embedding is None or preset.embedding.provider in names("embedding")


def test_the_default_preset_leaves_everything_to_the_configuration() -> None:
    """A collection made without a preset is as it was before there were any."""
    preset = load_preset(DEFAULT_PRESET, cwd=Path("/"))
    assert (preset.chunking, preset.embedding, preset.search) == (ChunkingSpec(), None, SearchDefaults())
    assert (preset.include, preset.exclude) == ((), ())


def test_a_preset_of_ones_own_is_a_file(tmp_path: Path) -> None:
    """A path that ends in .toml is read, relative to the working directory."""
    (tmp_path / "mine.toml").write_text(
        "[chunking]\nstrategy = 'windows'\nmax_tokens = 600\n[embedding]\nprovider = 'openai'\n"
        "model = 'nomic-embed-text:latest'\n[source]\nexclude = ['drafts/']\n[search]\nthreshold = 0.4\n"
    )
    preset = load_preset("mine.toml", cwd=tmp_path)
    assert preset.chunking == ChunkingSpec("windows", max_tokens=600)
    assert preset.embedding == EmbeddingSpec("openai", "nomic-embed-text:latest")
    assert preset.exclude == ("drafts/",)
    assert preset.search == SearchDefaults(threshold=0.4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[chunking]\nstrategi = 'x'\n", "mine.toml:2: chunking.strategi: "),
        ("[search]\n\nlimit = 0\n", "mine.toml:3: search.limit: "),
        ("[chunking]\nlevels = [1, 9]\n", "mine.toml:2: chunking.levels: "),
        ("[serch]\nlimit = 1\n", "mine.toml:1: serch: "),
        ("[embedding]\nmodel = 'x'\n", "provider"),
        ("[chunking\n", ":1: not TOML"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, said: str) -> None:
    """The message names file, line and key, and the next step is given."""
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"mine\.toml") as error:
        load_preset("mine.toml", cwd=tmp_path)
    assert said in str(error.value)


def test_a_preset_file_that_is_not_there_is_told_with_how_to_make_one(tmp_path: Path) -> None:
    """What is missing is the preset, not a key in it; a folder is none either."""
    (tmp_path / "folder.toml").mkdir()
    for name in ("mine.toml", "folder.toml"):
        with pytest.raises(ConfigError, match=f"no preset file {name}") as error:
            load_preset(name, cwd=tmp_path)
        assert "preset show" in error.value.hint


def test_an_unknown_preset_is_told_with_the_nearest() -> None:
    """A slip of the pen gets the right name, anything else all of them."""
    with pytest.raises(ConfigError, match="no preset 'valt'") as near:
        load_preset("valt", cwd=Path("/"))
    assert "Did you mean vault?" in near.value.hint
    with pytest.raises(ConfigError) as far:
        load_preset("zzz", cwd=Path("/"))
    assert "folder, local-rag" in far.value.hint
