"""A configuration that was found is data: it chooses how documents are cut and shown, nothing else."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.security.conftest import Mdvec

MORE_THAN_SHOWN = [
    "[embedding]\ncache_dir = 'assets'\n",
    "[embedding]\nprovider = 'openai'\n",
    "[embedding]\nmodel = './model'\n",
    "[embedding.openai]\napi_key_env = 'AWS_SECRET_ACCESS_KEY'\n",
    "[embedding.openai]\nbase_url = 'http://127.0.0.1:18283/v1'\n",
    "[embedding.plamo]\nhub_dir = 'assets'\n",
    "[embedding.plamo]\ntrust_remote_code = true\n",
    "[search]\nrerank = 'vllm:model'\n",
    "[rerank]\ntimeout_s = 60\n",
    "[rerank.vllm]\nbase_url = 'http://127.0.0.1:18283/v1'\n",
    "[rerank.voyage]\napi_key_env = 'AWS_SECRET_ACCESS_KEY'\n",
    "[rerank.transformers]\ntrust_remote_code = true\n",
    "[github]\ntoken_env = 'AWS_SECRET_ACCESS_KEY'\n",
    "[github]\nbase_url = 'http://127.0.0.1:18283'\n",
    "[store]\nlocation = '~/.config/autostart/x.desktop'\n",
    "[store]\nlocation = 'index.sqlite'\n",
    "[store]\nvectors = 'chroma:there'\n",
    "[access]\ntokens = [{ hash = '" + 64 * "0" + "', collections = ['notes'] }]\n",
    "[prices]\nusd_per_million_tokens = { 'openai:x' = 0.0 }\n",
]
HARMLESS = (
    "[chunking]\nstrategy = 'headings'\n[search]\nk = 3\n[display]\ncolor = 'never'\n"
    "[scanner]\nmax_file_mb = 1\n[mcp]\ncollection_tools = false\n"
)


@pytest.mark.parametrize("text", MORE_THAN_SHOWN)
def test_what_is_more_is_refused(mdvec: Mdvec, folder: Path, text: str) -> None:
    """Every command refuses the file, and names the file, the key and what to run."""
    (folder / "mdvec.toml").write_text(text)
    for command in (["search", "setup"], ["doctor"], ["status"], ["serve", "--http", "127.0.0.1:0"]):
        outcome = mdvec(*command)
        assert outcome.code == 2
        assert f"{folder / 'mdvec.toml'}:2: {text.split(']')[0][1:]}." in outcome.err
        assert f"mdvec trust {folder}" in outcome.err
    assert not (folder / "index.sqlite").exists()


def test_a_file_above_is_refused_too(mdvec: Mdvec, folder: Path) -> None:
    """The file may lie in any folder above; that folder is the one to trust."""
    (folder / "mdvec.toml").write_text(MORE_THAN_SHOWN[0])
    (folder / "deep").mkdir()
    outcome = mdvec("status", cwd=folder / "deep")
    assert outcome.code == 2
    assert f"mdvec trust {folder}'" in outcome.err


def test_what_is_cut_and_shown_needs_no_trust(mdvec: Mdvec, folder: Path) -> None:
    """Settings that cannot read, send, run or write anything hold as before."""
    (folder / "mdvec.toml").write_text(HARMLESS)
    shown = json.loads(mdvec("config", "show", "--format", "json").out)["settings"]
    assert shown["search.k"]["value"] == 3
    assert shown["chunking.strategy"]["value"] == "headings"


def test_a_trusted_folder_decides_all(mdvec: Mdvec, folder: Path, home: Path) -> None:
    """Trust is remembered outside the folder, for it alone, and can be taken back."""
    (folder / "mdvec.toml").write_text(MORE_THAN_SHOWN[0])
    inner = folder / "cloned"
    inner.mkdir()
    (inner / "mdvec.toml").write_text(MORE_THAN_SHOWN[0])
    assert mdvec("trust", folder).code == 0
    assert mdvec("config", "show").code == 0
    assert mdvec("config", "show", cwd=inner).code == 2
    assert mdvec("trust", "--list").out == f"{folder}\n"
    (remembered,) = home.rglob("trusted.json")
    assert remembered.stat().st_mode & 0o777 == 0o600
    assert mdvec("trust", "--remove", folder).code == 0
    assert mdvec("config", "show").code == 2
    assert mdvec("trust", "--remove", folder).code == 1


def test_a_named_file_and_the_users_own_decide_all(mdvec: Mdvec, folder: Path, home: Path) -> None:
    """A file that the user names, or that lies in their configuration directory, needs no more trust."""
    file = folder / "mdvec.toml"
    file.write_text(MORE_THAN_SHOWN[0])
    assert mdvec("config", "show", "--config", file).code == 0
    assert mdvec("config", "show", MDVEC_CONFIG=str(file)).code == 0
    file.unlink()
    own = home / "config" / "mdvec"
    own.mkdir(parents=True)
    (own / "mdvec.toml").write_text(MORE_THAN_SHOWN[0])
    assert mdvec("config", "show").code == 0


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_a_person_is_asked_once(
    mdvec: Mdvec, folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    """On a terminal the user decides; the answer yes is remembered, no answer is no."""
    (folder / "mdvec.toml").write_text(MORE_THAN_SHOWN[0])
    keyboard = io.StringIO(answer if code == 0 else answer * 2)
    monkeypatch.setattr(keyboard, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", keyboard)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert mdvec("config", "show").code == code
    assert mdvec("config", "show").code == code


def test_a_server_for_agents_does_not_start(folder: Path, home: Path) -> None:
    """``mdvec serve`` in such a folder says why on standard error, and writes nothing else."""
    (folder / "mdvec.toml").write_text(MORE_THAN_SHOWN[0])
    done = subprocess.run(
        [sys.executable, "-P", "-m", "mdvec", "serve"],
        cwd=folder,
        env={**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
        input=b"",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == b""
    assert f"mdvec trust {folder}".encode() in done.stderr


def test_an_entry_that_names_the_file_is_said_to_trust_it(mdvec: Mdvec, folder: Path, tmp_path: Path) -> None:
    """``mdvec install`` names a found file in the entry, which makes it trusted: the user is warned."""
    (folder / "mdvec.toml").write_text(HARMLESS)
    outcome = mdvec("install", "cursor", "--file", tmp_path / "mcp.json")
    assert outcome.code == 0
    assert "is trusted from now on" in outcome.err
