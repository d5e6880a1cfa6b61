"""Settings: which source wins, and what a wrong one is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec import registry
from mdvec.config import Config, LoadedConfig, load_config
from mdvec.config import paths as config_paths
from mdvec.config.load import DEFAULT_ORIGIN, every_setting
from mdvec.errors import ConfigError, UntrustedConfigError
from mdvec.types.query import SearchMode


@pytest.fixture
def cwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory far from any configuration, with a user directory beside it."""
    monkeypatch.setattr(config_paths, "user_config_dir", lambda: tmp_path / "user")
    (tmp_path / "user").mkdir()
    deep = tmp_path / "project" / "deep" / "er"
    deep.mkdir(parents=True)
    return deep


LOCATION = "a path, or an address such as 'postgresql://HOST/DATABASE'"


def set_for(loaded: LoadedConfig, provider: str) -> dict[str, Any]:
    return loaded.config.arguments("embedding", provider, registry.load("embedding", provider))


def problems(cwd: Path, text: str, name: str = "mdvec.toml", **env: str) -> list[str]:
    (cwd / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(cwd=cwd, env=env)
    return str(caught.value).splitlines()


def test_defaults_need_no_file(cwd: Path) -> None:
    """Without a file and without variables every setting has its default and says so."""
    loaded = load_config(cwd=cwd, env={})
    assert loaded.config == Config()
    assert loaded.path is None
    assert loaded.origins == {}
    assert {origin for _, _, origin in every_setting(loaded)} == {DEFAULT_ORIGIN}


def test_yaml_and_json_are_no_languages_of_ours(cwd: Path) -> None:
    """Files with such names are not looked for, and one that is named gets the next step."""
    for name in ("mdvec.yaml", "mdvec.json"):
        (cwd / name).write_text('{"search": {"k": 3}}')
        assert load_config(cwd=cwd, env={}).path is None
        with pytest.raises(ConfigError, match=r"ends in \.toml") as caught:
            load_config(Path(name), cwd=cwd, env={})
        assert "mdvec config import" in caught.value.hint


def test_the_nearest_file_upward_wins_over_the_users_own(cwd: Path, tmp_path: Path) -> None:
    """Files are tried from the working directory upward, then in the user's directory; one is read."""
    (tmp_path / "user" / "mdvec.toml").write_text("[search]\nk = 1\nper_document = 9\n")
    assert load_config(cwd=cwd, env={}).config.search.k == 1
    (tmp_path / "project" / "mdvec.toml").write_text("[search]\nk = 2\n")
    assert load_config(cwd=cwd, env={}).config.search.k == 2
    (cwd / "mdvec.toml").write_text("[search]\nk = 3\n")
    search = load_config(cwd=cwd, env={}).config.search
    assert (search.k, search.per_document) == (3, None)


def test_a_named_file_is_the_only_one_read(cwd: Path) -> None:
    """``--config`` beats ``MDVEC_CONFIG``, which beats the file found upward."""
    (cwd / "mdvec.toml").write_text("[search]\nk = 1\n")
    (cwd / "two.toml").write_text("[search]\nk = 2\n")
    (cwd / "three.toml").write_text("[search]\nk = 3\n")
    env = {"MDVEC_CONFIG": "two.toml"}
    assert load_config(cwd=cwd, env=env).config.search.k == 2
    assert load_config(Path("three.toml"), cwd=cwd, env=env).config.search.k == 3


def test_a_named_file_must_be_there(cwd: Path) -> None:
    """A named file that is missing is an error that names it, not a silent default."""
    with pytest.raises(ConfigError, match=r"gone\.toml: No such file"):
        load_config(Path("gone.toml"), cwd=cwd, env={})


def test_variables_beat_the_file(cwd: Path) -> None:
    """``MDVEC_<SECTION>_<KEY>`` sets any kind of setting; an empty variable sets nothing."""
    (cwd / "mdvec.toml").write_text('[search]\nk = 1\nmode = "dense"\n')
    env = {
        "MDVEC_SEARCH_K": "10",
        "MDVEC_SEARCH_MODE": "",
        "MDVEC_SEARCH_THRESHOLD": "0.25",
        "MDVEC_SCANNER_EXTENSIONS": ".md, .org",
        "MDVEC_DATABASE_PATH": "x/y.sqlite",
        "MDVEC_TRACE": "something of another program",
    }
    loaded = load_config(cwd=cwd, env=env)
    search = loaded.config.search
    assert (search.k, search.mode, search.threshold) == (10, SearchMode.DENSE, 0.25)
    assert loaded.config.scanner.extensions == (".md", ".org")
    assert loaded.config.store.location == str(cwd / "x/y.sqlite")
    assert loaded.origins["search.k"] == "MDVEC_SEARCH_K"
    assert loaded.origins["search.mode"] == f"{cwd / 'mdvec.toml'}:3"


def test_paths_in_a_file_are_relative_to_it(
    cwd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path means the same from every working directory, and ``~`` is the home."""
    monkeypatch.setenv("HOME", "/home/somebody")
    text = '[database]\npath = "data/i.sqlite"\n[embedding]\ncache_dir = "~/models"\n'
    (tmp_path / "project" / "mdvec.toml").write_text(text)
    config = load_config(tmp_path / "project" / "mdvec.toml", cwd=cwd, env={}).config
    assert config.store.location == str(tmp_path / "project" / "data" / "i.sqlite")
    assert config.embedding.cache_dir == Path("/home/somebody/models")


def test_token_windows_may_be_called_size_and_overlap(cwd: Path) -> None:
    """``chunking.size`` and ``chunking.overlap`` are other names of ``max_tokens``, ``overlap_tokens``."""
    (cwd / "mdvec.toml").write_text("[chunking]\nsize = 256\noverlap = 64\n")
    loaded = load_config(cwd=cwd, env={})
    assert (loaded.config.chunking.max_tokens, loaded.config.chunking.overlap_tokens) == (256, 64)
    assert loaded.origins["chunking.overlap_tokens"].endswith("mdvec.toml:3")


def test_the_names_of_options_are_names_of_settings(cwd: Path) -> None:
    """``--chunk-size``, ``--chunk-overlap``, ``--chunker`` and ``--limit`` are found in a file, too."""
    text = "[chunking]\nchunk_size = 256\nchunk_overlap = 64\nchunker = 'windows'\n[search]\nlimit = 9\n"
    (cwd / "mdvec.toml").write_text(text)
    config = load_config(cwd=cwd, env={}).config
    assert (config.chunking.max_tokens, config.chunking.overlap_tokens) == (256, 64)
    assert (config.chunking.strategy, config.search.k) == ("windows", 9)


def test_one_setting_is_not_given_under_two_names(cwd: Path) -> None:
    """Neither of two values is taken silently."""
    assert problems(cwd, "[chunking]\nmax_tokens = 256\nsize = 128\n") == [
        f"{cwd / 'mdvec.toml'}:3: chunking.size sets the same as {cwd / 'mdvec.toml'}:2; give one of them"
    ]
    assert problems(cwd, "[chunking]\nsize = 128\nmax_tokens = 256\n") == [
        f"{cwd / 'mdvec.toml'}:3: chunking.max_tokens sets the same as {cwd / 'mdvec.toml'}:2; "
        "give one of them"
    ]


def test_one_setting_is_not_given_by_two_variables(cwd: Path) -> None:
    """Neither of two values is taken silently here, either."""
    env = {"MDVEC_CHUNKING_MAX_TOKENS": "256", "MDVEC_CHUNKING_SIZE": "128"}
    with pytest.raises(ConfigError, match="_SIZE sets the same as MDVEC_CHUNKING_MAX_TOKENS; give one"):
        load_config(cwd=cwd, env=env)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("threshold = 0.5\n", "unknown setting threshold; it belongs in [search]"),
        ("limit = 5\n", "unknown setting limit; it belongs in [search]"),
        ("serch = 5\n", "unknown setting serch; did you mean [search]?"),
        ("[threshold]\n", "unknown section [threshold]; the setting threshold belongs in [search]"),
        ("[search]\nchunk_size = 5\n", "unknown setting search.chunk_size; it belongs in [chunking]"),
    ],
)
def test_a_setting_in_the_wrong_place_is_told_where_it_belongs(cwd: Path, text: str, said: str) -> None:
    """Under whichever name it is written, and without calling a setting a section."""
    (found,) = problems(cwd, text)
    assert found.partition(": ")[2] == said


def test_all_unknown_settings_are_told_at_once(cwd: Path) -> None:
    """Each unknown name is told with its file, its line and the nearest valid name."""
    text = "[serch]\nk = 5\n\n[search]\n# more\nkk = 5\nxyzzy = 1\npath = 1\n\n[display.more]\n"
    found = problems(cwd, text, MDVEC_SEARCH_MOD="dense")
    file = cwd / "mdvec.toml"
    assert found == [
        f"{file}:1: unknown section [serch]; did you mean [search]?",
        f"{file}:6: unknown setting search.kk; did you mean search.k?",
        f"{file}:7: unknown setting search.xyzzy; known: search.k, search.mode, search.per_document, "
        "search.expand, search.expand_tokens, search.max_tokens, search.threshold, search.min_score, "
        "search.rerank, search.sync_budget_ms",
        f"{file}:8: unknown setting search.path; it belongs in [store]",
        f"{file}:10: unknown setting display.more; known: display.default_format, "
        "display.color, display.editor",
        "unknown variable MDVEC_SEARCH_MOD; did you mean MDVEC_SEARCH_MODE?",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# c\n[search]\nmode = 'lexical'\nkk = 5\n", 4),
        ('database.path = "a = b"\nsearch.kk = 5\n', 2),
        ('search = {kk = 5}\n[database]\npath = """\n[search]\nkk = 5"""\n', 1),
        ('["search"]\n"kk" = 5\n', 2),
    ],
)
def test_the_line_is_found_however_a_key_is_written(cwd: Path, text: str, line: int) -> None:
    """The line named in the error is the one with the unknown name."""
    assert problems(cwd, text) == [
        f"{cwd / 'mdvec.toml'}:{line}: unknown setting search.kk; did you mean search.k?"
    ]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("search.k = 0", "search.k must be a whole number from 1 to 1000, not 0"),
        ("search.k = '5'", "search.k must be a whole number from 1 to 1000, not '5'"),
        ("search.k = true", "search.k must be a whole number from 1 to 1000, not True"),
        ("search.mode = 'fast'", "search.mode must be one of hybrid, dense, lexical, not 'fast'"),
        ("search.threshold = 2", "search.threshold must be a number from -1 to 1, not 2"),
        ("store.location = ''", f"store.location must be {LOCATION}, not ''"),
        ("database.path = 1", f"store.location must be {LOCATION}, not 1"),
        ("embedding.provider = ''", "embedding.provider must be a name, not ''"),
        ("scanner.max_file_mb = 0", "scanner.max_file_mb must be a number above 0, not 0"),
        (
            "scanner.extensions = ['*.md']",
            "scanner.extensions must be a list of file extensions such as '.md', not ['*.md']",
        ),
        (
            "scanner.exclude_dirs = 'x'",
            "scanner.exclude_dirs must be a list of folder names, not 'x'",
        ),
        (
            "display.default_format = 'xml'",
            "display.default_format must be one of text, table, json, jsonl, md, paths, not 'xml'",
        ),
        ("mcp.collection_tools = 1", "mcp.collection_tools must be true or false, not 1"),
        (
            "embedding.gemini.base_url = 'https://me:secret@host'",
            "embedding.gemini.base_url must be an address such as 'http://localhost:11434/v1', without user "
            "name, password or query, not 'https://***@host'",
        ),
        ("chunking.max_tokens = 4", "chunking.max_tokens must be a whole number of at least 8, not 4"),
    ],
)
def test_a_wrong_value_is_told_what_is_allowed(cwd: Path, setting: str, message: str) -> None:
    """A value of a wrong type or out of range names the dotted key, the line and what is allowed."""
    assert problems(cwd, f"\n{setting}\n") == [f"{cwd / 'mdvec.toml'}:2: {message}"]


def test_tables_in_sections_are_set_from_files_and_variables(cwd: Path) -> None:
    """A table in a section is one of the file; a variable joins the names of both with its own."""
    (cwd / "mdvec.toml").write_text("[embedding.openai]\nquery_prefix = 'query: '\nbatch_size = 8\n")
    env = {"MDVEC_EMBEDDING_OPENAI_BATCH_SIZE": "16", "MDVEC_EMBEDDING_BATCH_TOKENS": "99"}
    loaded = load_config(cwd / "mdvec.toml", cwd=cwd, env=env)
    openai = set_for(loaded, "openai")
    assert (openai["query_prefix"], openai["batch_size"]) == ("query: ", 16)
    assert (loaded.config.embedding.batch_tokens, openai["batch_tokens"]) == (99, 8192)
    assert loaded.origins["embedding.openai.query_prefix"] == f"{cwd / 'mdvec.toml'}:2"
    assert loaded.origins["embedding.openai.batch_size"] == "MDVEC_EMBEDDING_OPENAI_BATCH_SIZE"
    assert "embedding.openai.timeout_s" not in loaded.origins


def test_a_table_with_a_dash_in_its_name(cwd: Path) -> None:
    """``sentence-transformers`` is written as the provider is, and with ``_`` in a variable."""
    (cwd / "mdvec.toml").write_text("[embedding.sentence-transformers]\nhub_dir = 'hub'\nquery_prefix = ''\n")
    variable = "MDVEC_EMBEDDING_SENTENCE_TRANSFORMERS_OFFLINE"
    loaded = load_config(cwd / "mdvec.toml", cwd=cwd, env={variable: "true"})
    settings = set_for(loaded, "sentence-transformers")
    assert (settings["hub_dir"], settings["query_prefix"], settings["offline"]) == (cwd / "hub", "", True)
    assert "document_prefix" not in settings
    assert loaded.origins["embedding.sentence-transformers.offline"] == variable


def test_unknown_names_in_a_table_of_a_section_are_told(cwd: Path) -> None:
    """Names are looked for in the table they were written in, tables of the section included."""
    text = "[embedding.openai]\nqery_prefix = ''\n[embedding.gemni]\nx = 1\n[embedding]\nvoyage = 5\n"
    file = cwd / "mdvec.toml"
    assert problems(cwd, text, MDVEC_EMBEDDING_GEMINI_BASE="x") == [
        f"{file}:2: unknown setting embedding.openai.qery_prefix; "
        "did you mean embedding.openai.query_prefix?",
        f"{file}:3: unknown setting embedding.gemni; did you mean embedding.gemini?",
        f"{file}:6: [embedding.voyage] must be a table of settings",
        "unknown variable MDVEC_EMBEDDING_GEMINI_BASE; did you mean MDVEC_EMBEDDING_GEMINI_BASE_URL?",
    ]


def test_a_key_is_not_a_setting_and_not_shown(cwd: Path) -> None:
    """Who writes a key into the configuration learns where it goes, and the message does not repeat it."""
    text = "[embedding.gemini]\napi_key = 'AIzaSecret'\napi_key_env = 'AIzaSecret'\n"
    found = problems(cwd, text, MDVEC_EMBEDDING_VOYAGE_API_KEY="pa-secret")
    hint = "names the variable that holds it"
    assert found == [
        f"{cwd / 'mdvec.toml'}:2: unknown setting embedding.gemini.api_key; keys are not kept in settings; "
        f"embedding.gemini.api_key_env {hint}",
        "unknown variable MDVEC_EMBEDDING_VOYAGE_API_KEY; keys are not kept in settings; "
        f"embedding.voyage.api_key_env {hint}",
        f"{cwd / 'mdvec.toml'}:3: embedding.gemini.api_key_env must be the name of an environment variable, "
        "in capitals (the key itself is not kept here)",
    ]


def test_a_key_beside_the_provider_is_told_where_it_goes(cwd: Path) -> None:
    """That is the first place one would think of."""
    [found] = problems(cwd, "[embedding]\napi_key = 'secret'\n")
    assert found.endswith("embedding.PROVIDER.api_key_env names the variable that holds it")


TRUSTING = (
    "[embedding.gemini]\nbase_url = 'https://example.com'\n[embedding.plamo]\ntrust_remote_code = true\n"
)


def test_a_found_file_gets_no_key_and_runs_no_code(cwd: Path, tmp_path: Path) -> None:
    """A file above the working directory cannot name the receiver of keys, nor permit the code of a model."""
    file = cwd / "mdvec.toml"
    file.write_text(TRUSTING)
    with pytest.raises(UntrustedConfigError) as caught:
        load_config(cwd=cwd, env={})
    assert str(caught.value).splitlines()[1:] == [
        f"  {file}:2: embedding.gemini.base_url (the server there gets your key or token)",
        f"  {file}:4: embedding.plamo.trust_remote_code (it lets code of others run as you)",
    ]
    assert caught.value.folder == str(cwd)
    assert caught.value.hint == (
        f"If you trust its author, run 'mdvec trust {cwd}', or name the file with --config or MDVEC_CONFIG. "
        f"Otherwise set what you need in {tmp_path / 'user' / 'mdvec.toml'}."
    )


@pytest.mark.parametrize(
    "setting",
    [
        "embedding.cache_dir = 'assets'",
        "embedding.sentence-transformers.hub_dir = 'assets'",
        "embedding.openai.api_key_env = 'AWS_SECRET_ACCESS_KEY'",
        "github.token_env = 'AWS_SECRET_ACCESS_KEY'",
        "sources.github.base_url = 'https://example.com'",
        "store.location = 'postgresql://example.com/db'",
        "store.location = 'postgresql://localhost/db'",
    ],
)
def test_a_found_file_chooses_no_folder_key_or_server(cwd: Path, setting: str) -> None:
    """Folders hold settings of git and graphs that are run; a variable names any secret of the user."""
    (cwd / "mdvec.toml").write_text(f"{setting}\n")
    with pytest.raises(UntrustedConfigError, match=re.escape(setting.split(" ")[0].removeprefix("sources."))):
        load_config(cwd=cwd, env={})
    load_config(cwd / "mdvec.toml", cwd=cwd, env={})


@pytest.mark.parametrize("how", ["option", "variable", "own", "environment"])
def test_who_names_a_file_trusts_it(cwd: Path, tmp_path: Path, how: str) -> None:
    """The user's own file, a named one and variables decide all."""
    place = tmp_path / "user" if how == "own" else tmp_path
    env: dict[str, str] = {}
    if how == "environment":
        env["MDVEC_EMBEDDING_GEMINI_BASE_URL"] = "https://example.com"
        env["MDVEC_EMBEDDING_PLAMO_TRUST_REMOTE_CODE"] = "true"
    else:
        (place / "mdvec.toml").write_text(TRUSTING, encoding="utf-8")
    if how == "variable":
        env["MDVEC_CONFIG"] = str(place / "mdvec.toml")
    loaded = load_config(place / "mdvec.toml" if how == "option" else None, cwd=cwd, env=env)
    assert set_for(loaded, "gemini")["base_url"] == "https://example.com"
    assert set_for(loaded, "plamo")["trust_remote_code"]


def test_a_wrong_variable_is_named(cwd: Path) -> None:
    """A wrong value in the environment names the variable."""
    assert problems(cwd, "", MDVEC_SEARCH_K="many") == [
        "MDVEC_SEARCH_K: search.k must be a whole number from 1 to 1000, not 'many'"
    ]


def test_a_file_named_by_a_variable_says_so(cwd: Path) -> None:
    """Who forgot that MDVEC_CONFIG is set learns where the path comes from."""
    with pytest.raises(ConfigError, match=r"^MDVEC_CONFIG: .*gone\.toml: "):
        load_config(cwd=cwd, env={"MDVEC_CONFIG": "gone.toml"})


def test_overlap_must_leave_room(cwd: Path) -> None:
    """An overlap as large as the chunk itself would never get to the end of a section."""
    assert problems(cwd, "[chunking]\nmax_tokens = 64\noverlap_tokens = 64\n") == [
        f"{cwd / 'mdvec.toml'}:3: chunking.overlap_tokens must be less than chunking.max_tokens (64)"
    ]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("[search]\nk = \n", ":2: not TOML: Invalid value"),
        ("[search]\nk = 1\nk = 2\n", ":3: not TOML: Cannot overwrite a value"),
        ("search = 5\n", ":1: [search] must be a table of settings"),
    ],
)
def test_a_broken_file_names_path_and_line(cwd: Path, text: str, start: str) -> None:
    """What is no TOML is told with its path and line."""
    assert problems(cwd, text)[0].startswith(f"{cwd / 'mdvec.toml'}{start}")


def test_an_empty_file_sets_nothing(cwd: Path) -> None:
    """An empty configuration file is a valid one."""
    (cwd / "mdvec.toml").write_text("")
    assert load_config(cwd=cwd, env={}).config == Config()


def test_a_file_that_is_not_text_is_told(cwd: Path) -> None:
    """Bytes that are not UTF-8 are an error that names the file."""
    (cwd / "mdvec.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"mdvec\.toml: not UTF-8"):
        load_config(cwd=cwd, env={})


@given(k=st.integers())
def test_a_number_is_kept_or_refused(k: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """For every whole number: inside the limits it is the setting, outside it is an error; never changed."""
    # A folder of its own: a file further up would be found by other tests.
    folder = tmp_path_factory.getbasetemp() / "numbers"
    folder.mkdir(exist_ok=True)
    file = folder / "mdvec.toml"
    file.write_text(f"[search]\nk = {k}\n")
    if 1 <= k <= 1000:
        assert load_config(file, cwd=file.parent, env={}).config.search.k == k
    else:
        with pytest.raises(ConfigError, match=r"from 1 to 1000"):
            load_config(file, cwd=file.parent, env={})


def test_default_places_are_the_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, cache and configuration go where the platform keeps them, under ``mdvec``."""
    assert config_paths.default_database().name == "mdvec.sqlite"
    for place in (
        config_paths.default_database().parent,
        config_paths.default_cache_dir(),
        config_paths.user_config_dir(),
    ):
        assert place.is_absolute()
        assert "mdvec" in place.parts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 100_000, ":1: not TOML: tables or lists are nested too deeply"),
        (f"{'a.' * 2_000}a = 1", ":1: not TOML: tables or lists are nested too deeply"),
        (f"search.k = {'9' * 100_000}", ":1: not TOML: Exceeds the limit"),
        (f"search.k = 0x{'f' * 100_000}", ":1: search.k must be a whole number from 1 to 1000"),
        ("#" * 250_001, ": a configuration file has at most 250,000 bytes"),
    ],
)
def test_a_hostile_file_is_an_error(cwd: Path, text: str, said: str) -> None:
    """It lies in any folder above: it may neither take all of the memory nor end in a traceback."""
    (found,) = problems(cwd, text)
    assert found.startswith(f"{cwd / 'mdvec.toml'}{said}")


@pytest.mark.parametrize("section", ["", "[search]"])
def test_many_mistakes_are_not_all_listed(cwd: Path, section: str) -> None:
    """Fifty lines are enough, each with its line; the time for a key does not grow with their number."""
    found = problems(cwd, section + "".join(f"\nk{n} = 1" for n in range(500)))
    assert len(found) == 50
    assert found[-1].startswith(f"{cwd / 'mdvec.toml'}:51: unknown setting")
