"""Extensions of another package, found by entry points, work from ``mdvec.toml`` alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mdvec import Workspace, open_workspace, registry
from mdvec.config import Config, load_config
from mdvec.config.load import every_setting
from mdvec.errors import ConfigError, MdvecError, UntrustedConfigError, UsageError
from mdvec.registry import install_command
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.collection import ChunkingSpec
from mdvec.types.query import SearchQuery
from mdvec.workspace.database import open_store
from mdvec.workspace.stages import Stages

Configure = Callable[[str], Config]


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the package: its folder has real metadata."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "extensions"))
    registry._entry_points.cache_clear()
    yield
    registry._entry_points.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_extensions"]:
        del sys.modules[name]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Writes an ``mdvec.toml`` and loads it."""

    def write(text: str) -> Config:
        (tmp_path / "mdvec.toml").write_text(text, encoding="utf-8")
        return load_config(tmp_path / "mdvec.toml", cwd=tmp_path, env={}).config

    return write


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Harbour\n\nThe harbour of the city is old.\n")
    return folder


def _found(workspace: Workspace, text: str) -> list[str]:
    return [hit.path for hit in workspace.search(SearchQuery(text)).hits]


@pytest.mark.parametrize("section", ["toy", "sources.toy"])
def test_a_source(configure: Configure, tmp_path: Path, section: str) -> None:
    """Its name is the prefix of locations, it spells them, and its section has its settings."""
    config = configure(f"[{section}]\ngreeting = 'salut'\nrepeat = 2\n")
    with open_workspace(config, database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        made = workspace.add_collection("greetings", "Greetings", "toy:Ann,Bob,")
        assert str(made.source) == "toy:ann,bob"
        assert workspace.import_collection("greetings").added == 2
        assert _found(workspace, "salut bob")[0] == "bob.md"
        with pytest.raises(UsageError, match="a toy has a name"):
            workspace.add_collection("nobody", "", "toy:")
        assert [str(each.source) for each in workspace.collections()] == ["toy:ann,bob"]


def test_a_chunker(configure: Configure, docs: Path, tmp_path: Path) -> None:
    """It is chosen by name; its section is stronger than what is set for all chunkers."""
    config = configure(
        "[chunking]\nstrategy = 'toy'\nmax_tokens = 99\nmin_tokens = 9\n[chunking.toy]\nwindows = 600\n"
    )
    with open_workspace(config, database=tmp_path / "i.sqlite", embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("docs", "Docs", str(docs))
        assert workspace.import_collection("docs").added == 1
        assert _found(workspace, "old harbour") == ["a.md"]
    recipe = Stages(config).recipe(ChunkingSpec("toy"), Stages(config, HashingEmbedder()).models.for_(None))
    assert recipe.chunker.fingerprint.startswith("toy:600:99:")
    with pytest.raises(ConfigError, match="does not know overlap_tokens"):
        Stages(config).check_chunking(ChunkingSpec("toy", overlap_tokens=5))


def test_an_embedding_provider(configure: Configure, docs: Path, tmp_path: Path) -> None:
    """Its settings reach it, and its vectors are searched."""
    config = configure("[embedding]\nprovider = 'toy'\n[embedding.toy]\nlength = 24\n")
    with open_workspace(config, database=tmp_path / "i.sqlite") as workspace:
        workspace.add_collection("docs", "Docs", str(docs))
        assert workspace.import_collection("docs").embedded_chunks
        assert "24" in workspace.status().model
        assert _found(workspace, "old harbour") == ["a.md"]


def test_a_store_and_a_vector_index(configure: Configure, docs: Path, tmp_path: Path) -> None:
    """The scheme of the location names the store; a relative path in its section is relative to the file."""
    config = configure(
        "[store]\nlocation = 'toy://shelf'\nvectors = 'toy-vectors:index'\n"
        "[store.toy]\nfolder = 'databases'\n[store.toy-vectors]\nprobes = 7\n"
    )
    with open_workspace(config, embedder=HashingEmbedder()) as workspace:
        workspace.add_collection("docs", "Docs", str(docs))
        workspace.import_collection("docs")
        assert workspace.status().database == workspace.location == "toy://shelf"
        assert _found(workspace, "old harbour") == ["a.md"]
    assert (tmp_path / "databases" / "shelf.db").is_file()
    store = open_store("toy://shelf", config)
    assert (store.toy_index.location, store.toy_index.probes) == (str(tmp_path / "index"), 7)  # type: ignore[attr-defined]
    store.close()


def test_a_store_that_takes_no_vector_index_says_so(
    configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is set is never ignored in silence; nor is an index that there is not."""
    monkeypatch.setattr(SqliteStore, "takes_vector_index", False)
    with pytest.raises(ConfigError, match="'sqlite' searches its own vectors"):
        open_store(tmp_path / "i.sqlite", configure("[store]\nvectors = 'toy-vectors'\n"))
    with pytest.raises(ConfigError, match="no vector index 'nope'") as caught:
        open_store("toy://a", configure("[store]\nvectors = 'nope'\n[store.toy]\nfolder = '.'\n"))
    assert "toy-vectors" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[toy]\ngreting = 'x'\n", ":2: unknown setting toy.greting; did you mean toy.greeting?"),
        ("[toy]\nrepeat = 0\n", ":2: toy.repeat must be a whole number of at least 1, not 0"),
        ("[chunking.toy]\nwindows = 'x'\n", ":2: chunking.toy.windows must be a whole number, not 'x'"),
        ("[embedding.toys]\nx = 1\n", ":1: unknown setting embedding.toys; did you mean embedding.toy?"),
        ("[store.toy]\nfolder = 5\n", ":2: store.toy.folder must be a path, not 5"),
        ("[toy]\nrepeat = 1\n[sources.toy]\nrepeat = 2\n", ":4: toy.repeat sets the same as "),
        ("[gone]\nx = 1\n", ":1: [gone]: the source 'gone' cannot be loaded: "),
        ("[folder]\nx = 1\n", ":2: unknown setting folder.x; [folder] has no settings"),
    ],
)
def test_its_settings_are_checked_as_ours_are(
    configure: Configure, tmp_path: Path, text: str, said: str
) -> None:
    """File, line, the nearest name and what is allowed; an extension that is not named is not loaded."""
    with pytest.raises(ConfigError) as caught:
        configure(text)
    assert str(caught.value).startswith(f"{tmp_path / 'mdvec.toml'}{said}")


def test_a_variable_sets_a_setting_of_an_extension(tmp_path: Path) -> None:
    """The names of section and setting are joined, as for ours."""
    env = {
        "MDVEC_TOY_GREETING": "ahoy",
        "MDVEC_STORE_TOY_FOLDER": "shelf",
        "MDVEC_CHUNKING_TOY_WINDOWS": "700",
    }
    loaded = load_config(cwd=tmp_path, env=env)
    found = {key: (value, origin) for key, value, origin in every_setting(loaded)}
    assert found["toy.greeting"] == ("ahoy", "MDVEC_TOY_GREETING")
    assert found["toy.repeat"] == (1, "default")
    assert found["store.toy.folder"][0] == tmp_path / "shelf"
    assert found["chunking.toy.windows"][0] == 700
    with pytest.raises(ConfigError, match="MDVEC_TOY_GREETNG; did you mean MDVEC_TOY_GREETING"):
        load_config(cwd=tmp_path, env={"MDVEC_TOY_GREETNG": "x"})


def test_no_extension_is_loaded_that_is_not_named(configure: Configure) -> None:
    """Reading a configuration imports the extension of each of its sections, and no other."""
    configure("[search]\nk = 3\n[embedding.gemini]\nattempts = 2\n")
    assert "toy_extensions" not in sys.modules
    configure("[toy]\nrepeat = 3\n")
    assert "toy_extensions" in sys.modules


def test_a_found_file_may_not_set_what_an_extension_marks(tmp_path: Path) -> None:
    """An address of an extension is as dangerous as one of ours."""
    (tmp_path / "mdvec.toml").write_text("[embedding.toy]\nbase_url = 'https://example.com'\n")
    with pytest.raises(UntrustedConfigError, match=r"embedding\.toy\.base_url \("):
        load_config(cwd=tmp_path, env={})


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_database_that_is_not_installed_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """No folder of that name is made, and the password is nowhere in the message."""
    for module in [each for each in sys.modules if each.startswith("mdvec.stores.postgres.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "psycopg", None)  # importing it fails, installed or not
    env = {"MDVEC_STORE_LOCATION": f"{scheme}://me:s3cr/et@h/db?sslkey=hidden"}
    config = load_config(cwd=tmp_path, env=env).config
    with (
        open_workspace(config) as workspace,
        pytest.raises(ConfigError, match="'postgres' is not installed") as caught,
    ):
        workspace.collections()
    assert caught.value.hint == f"Install it: {install_command('postgres')}"
    assert "s3cr" not in str(caught.value)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("location", ["mysql://me:s3cret@h/db", "sqlite:///x.sqlite"])
def test_an_address_that_no_store_is_for(tmp_path: Path, location: str) -> None:
    """It is an error that names those there are, and shows no password."""
    with (
        open_workspace(database=location) as workspace,
        pytest.raises(MdvecError, match="no store for") as caught,
    ):
        workspace.collections()
    assert "s3cret" not in f"{caught.value}{caught.value.hint}"
    assert "toy://" in caught.value.hint


def test_a_found_file_may_not_send_documents_elsewhere(tmp_path: Path) -> None:
    """Where documents are stored and searched is for the user to choose."""
    for text in (
        "location = 'toy://x:pw@y'",
        "vectors = 'toy-vectors:https://example.com'",
        "location = 'x.sqlite'",
        "vectors = 'toy-vectors:x'",
    ):
        (tmp_path / "mdvec.toml").write_text(f"[store]\n{text}\n")
        with pytest.raises(ConfigError, match="your documents are sent there") as caught:
            load_config(cwd=tmp_path, env={})
        assert "pw" not in str(caught.value)
    (tmp_path / "mdvec.toml").write_text("[store]\nlocation = 'x.sqlite'\nvectors = 'toy-vectors:x'\n")
    store = load_config(tmp_path / "mdvec.toml", cwd=tmp_path, env={}).config.store
    assert (store.location, store.vectors) == (str(tmp_path / "x.sqlite"), f"toy-vectors:{tmp_path / 'x'}")
