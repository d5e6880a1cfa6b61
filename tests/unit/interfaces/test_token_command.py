"""``mdvec token new``, and what the configuration makes of its output."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from tests.unit.interfaces.conftest import Mdvec
from tests.unit.interfaces.fake_workspace import COLLECTION

from mdvec.config import load_config
from mdvec.config.schema import AccessToken
from mdvec.errors import UsageError
from mdvec.interfaces.http.rights import digest_of, rights_of

NAME = COLLECTION.name
HASH = hashlib.sha256(b"x").hexdigest()


def test_a_token_is_printed_once_with_its_hash(mdvec: Mdvec, tmp_path: Path) -> None:
    """The output is TOML that a configuration takes; it holds the hash, and the token as a comment alone."""
    outcome = mdvec("token", "new", "-n", NAME, "-n", NAME)
    assert outcome.code == 0
    token = outcome.out.splitlines()[0].removeprefix("# token: ")
    assert len(token) >= 43
    digest = hashlib.sha256(token.encode()).hexdigest()
    assert tomllib.loads(outcome.out) == {"access": {"tokens": [{"hash": digest, "collections": [NAME]}]}}
    assert token not in outcome.err
    path = tmp_path / "own.toml"
    path.write_text(outcome.out)
    loaded = load_config(path, cwd=tmp_path, env={})
    assert loaded.config.access.tokens == (AccessToken(hash=digest, collections=(NAME,)),)
    assert mdvec("token", "new", "-n", NAME).out != outcome.out


def test_a_program_gets_json(mdvec: Mdvec) -> None:
    """``--format json`` has the token, its hash and the collections."""
    made = json.loads(mdvec("token", "new", "-n", NAME, "--format", "json").out)
    assert made["hash"] == hashlib.sha256(made["token"].encode()).hexdigest()
    assert made["collections"] == [NAME]


def test_a_token_needs_collections_that_are_there(mdvec: Mdvec) -> None:
    """Without a name, or with a mistyped one, nothing is printed."""
    assert mdvec("token", "new").code == 2
    outcome = mdvec("token", "new", "-n", "nots")
    assert (outcome.code, outcome.out) == (1, "")


@pytest.mark.parametrize(
    "entry",
    [
        "hash = 'my-secret-token-in-clear', collections = ['notes']",
        f"hash = '{HASH.upper()}', collections = ['notes']",
        f"hash = '{HASH}', collections = []",
        f"hash = '{HASH}'",
        f"hash = '{HASH}', collections = ['notes'], note = 'my-secret-token-in-clear'",
    ],
)
def test_a_wrong_entry_is_named_and_not_repeated(mdvec: Mdvec, tmp_path: Path, entry: str) -> None:
    """Somebody may write the token itself where its hash belongs."""
    path = tmp_path / "own.toml"
    path.write_text(f"[access]\ntokens = [{{ {entry} }}]\n")
    outcome = mdvec("config", "show", "--config", str(path))
    assert outcome.code == 2
    assert f"{path}:2: access.tokens must be a list of tables with hash (64 digits" in outcome.err
    assert "in-clear" not in outcome.err


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("hash = 'abc', collections = ['notes']", "; entry 2 is wrong at hash\n"),
        (f"hash = '{HASH}', collections = ['']", "; entry 2 is wrong at collections\n"),
        (f"hash = '{HASH}'", "; entry 2 has no collections\n"),
        (f"hash = '{HASH}', collections = ['a'], name = 'b'", "; entry 2 has an unknown key name\n"),
    ],
)
def test_a_wrong_entry_is_counted(mdvec: Mdvec, tmp_path: Path, entry: str, words: str) -> None:
    """Among many tokens one has to know which to correct, and what of it."""
    path = tmp_path / "own.toml"
    path.write_text(f"[access]\ntokens = [{{ hash = '{HASH}', collections = ['a'] }}, {{ {entry} }}]\n")
    assert words in mdvec("config", "show", "--config", str(path)).err


def test_the_same_token_twice_is_counted() -> None:
    """The entries are named by their places."""
    tokens = [AccessToken(hash=each * 64, collections=("a",)) for each in "010"]
    with pytest.raises(UsageError, match=r"entries 1 and 3 of access.tokens are the same token"):
        rights_of(None, tokens)
    own = AccessToken(hash=digest_of("x" * 20).hex(), collections=("a",))
    with pytest.raises(UsageError, match=r"entry 1 of access.tokens is the token of the server"):
        rights_of("x" * 20, [own])


def test_settings_can_be_shown_and_saved(mdvec: Mdvec, tmp_path: Path) -> None:
    """What ``config show`` prints of tokens and prices is TOML, and is read as it was."""
    path, copy = tmp_path / "own.toml", tmp_path / "copy.toml"
    path.write_text(
        f"[[access.tokens]]\nhash = '{HASH}'\ncollections = ['a', 'b']\n"
        "[prices]\nusd_per_million_tokens = { 'voyage-4' = 0.5 }\n"
    )
    copy.write_text(mdvec("config", "show", "--config", str(path)).out)
    first, second = (load_config(each, cwd=tmp_path, env={}).config for each in (path, copy))
    assert (first.access, first.prices) == (second.access, second.prices)
    shown = json.loads(mdvec("config", "show", "--config", str(path), "--format", "json").out)["settings"]
    assert shown["access.tokens"]["value"] == [{"hash": HASH, "collections": ["a", "b"]}]
