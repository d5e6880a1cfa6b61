"""Presets: those that come with mdvec, and those of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdvec.config.presets import DEFAULT_PRESET, load_preset, preset_names
from mdvec.errors import ConfigError
from mdvec.registry import names
from mdvec.types.collection import ChunkingSpec, EmbeddingSpec, SearchDefaults

STRUCTURES = {
    "local-rag": "gemini",
    "section-tree": "ruri",
    "token-windows": "plamo",
    "vault": "voyage",
}


def test_the_presets_can_be_read_and_name_parts_that_exist() -> None:
    """Each has a description, a chunker and an embedder of ours; the default is the first."""
    full = [f"{name}-{model}" for name, model in STRUCTURES.items()]
    assert preset_names() == ["folder", *sorted([*STRUCTURES, *full])]
    for name in preset_names():
        preset = load_preset(name, cwd=Path("/"))
        assert preset.name == name
        assert preset.description
        assert preset.chunking.strategy in names("chunking")
        assert preset.embedding is None or preset.embedding.provider in names("embedding")


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_leaves_the_model_to_the_configuration(name: str) -> None:
    """It sends texts nowhere and hides no hits; the preset with a model cuts and takes the same."""
    plain = load_preset(name, cwd=Path("/"))
    full = load_preset(f"{name}-{STRUCTURES[name]}", cwd=Path("/"))
    assert (plain.embedding, plain.search.threshold) == (None, None)
    assert full.embedding is not None
    assert (plain.chunking, plain.include, plain.exclude, plain.search.limit) == (
        full.chunking,
        full.include,
        full.exclude,
        full.search.limit,
    )


def test_the_default_preset_leaves_everything_to_the_configuration() -> None:
    """A collection made without a preset is as it was before there were any."""
    preset = load_preset(DEFAULT_PRESET, cwd=Path("/"))
    assert (preset.chunking, preset.embedding, preset.search) == (ChunkingSpec(), None, SearchDefaults())
    assert (preset.include, preset.exclude) == ((), ())


def test_a_preset_of_ones_own_is_a_file(tmp_path: Path) -> None:
    """A path that ends in .toml is read, relative to the working directory."""
    (tmp_path / "mine.toml").write_text(
        "[chunking]\nstrategy = 'windows'\nmax_tokens = 600\n[embedding]\nprovider = 'openai'\n"
        "model = 'nomic-embed-text:latest'\n[source]\nexclude = ['drafts/']\n[search]\n"
        "threshold = 0.4\nper_document = 2\n"
    )
    preset = load_preset("mine.toml", cwd=tmp_path)
    assert preset.chunking == ChunkingSpec("windows", max_tokens=600)
    assert preset.embedding == EmbeddingSpec("openai", "nomic-embed-text:latest")
    assert preset.exclude == ("drafts/",)
    assert preset.search == SearchDefaults(threshold=0.4, per_document=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[chunking]\nstrategi = 'x'\n",
            ":2: unknown setting chunking.strategi; did you mean chunking.strategy?",
        ),
        ("[search]\n\nlimit = 0\n", ":3: search.limit must be a whole number from 1 to 1000, not 0"),
        (
            "[chunking]\nlevels = [1, 9]\n",
            ":2: chunking.levels must be a list of levels of headings, from 1 to 6, not [1, 9]",
        ),
        ("[serch]\nlimit = 1\n", ":1: unknown section [serch]; did you mean [search]?"),
        ("descripton = 'x'\n", ":1: unknown setting descripton; did you mean description?"),
        (
            "[search]\ndescription = 'x'\n",
            ":2: unknown setting search.description; it belongs at the top, before the first [section]",
        ),
        (
            "threshold = 0.5\n",
            ":1: unknown setting threshold; it belongs in [search]",
        ),
        ("description = 5\n", ":1: description must be a text, not 5"),
        (
            "[source]\nexclude = 'drafts/'\n",
            ":2: source.exclude must be a list of patterns such as 'drafts/', not 'drafts/'",
        ),
        ("search = 5\n", ":1: [search] must be a table of settings"),
        (
            "[embedding]\nmodel = 'x'\n",
            ":1: embedding.provider is missing: a model needs its provider",
        ),
        (
            "[chunking]\nsize = 64\noverlap = 64\n",
            ":3: chunking.overlap_tokens must be less than chunking.max_tokens (64)",
        ),
        ("[chunking\n", ":1: not TOML: Expected ']' at the end of a table declaration"),
    ],
)
def test_what_cannot_be_used_is_told_as_in_the_configuration(tmp_path: Path, text: str, said: str) -> None:
    """The message names file, line and setting and says what is allowed; the next step is given."""
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load_preset("mine.toml", cwd=tmp_path)
    assert str(error.value) == f"{tmp_path / 'mine.toml'}{said}"
    assert error.value.hint


def test_all_mistakes_of_a_preset_are_told_at_once(tmp_path: Path) -> None:
    """Who corrects a file does not run into the next mistake one by one."""
    (tmp_path / "mine.toml").write_text("[chunking]\nmax_tokens = 'many'\n[search]\nlimt = 5\n")
    with pytest.raises(ConfigError) as error:
        load_preset("mine.toml", cwd=tmp_path)
    file = tmp_path / "mine.toml"
    assert str(error.value).splitlines() == [
        f"{file}:4: unknown setting search.limt; did you mean search.limit?",
        f"{file}:2: chunking.max_tokens must be a whole number of at least 8, not 'many'",
    ]


def test_settings_of_a_preset_may_have_the_names_people_try(tmp_path: Path) -> None:
    """The names of token windows, of options and of the configuration mean the same in a preset."""
    (tmp_path / "mine.toml").write_text(
        "[chunking]\nchunker = 'windows'\nsize = 256\nchunk_overlap = 32\n[search]\nk = 9\n"
    )
    preset = load_preset("mine.toml", cwd=tmp_path)
    assert preset.chunking == ChunkingSpec("windows", max_tokens=256, overlap_tokens=32)
    assert preset.search == SearchDefaults(limit=9)


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
