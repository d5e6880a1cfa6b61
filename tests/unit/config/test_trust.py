"""The folders that the user trusts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mdvec.config.trust import distrust, is_trusted, trust, trusted_folders


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_folders_that_are_trusted_at_once_are_all_remembered(tmp_path: Path) -> None:
    """Each command reads the list and writes it again; one at a time."""
    folders = [tmp_path / f"f{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(trust, folders))
    assert trusted_folders() == tuple(sorted(folders))
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(distrust, folders))
    assert trusted_folders() == ()


def test_a_link_in_place_of_a_trusted_folder_leads_to_no_trust(tmp_path: Path) -> None:
    """What it leads to is another folder; the one that was trusted is so again once it is back."""
    folder, other = tmp_path / "mine", tmp_path / "theirs"
    for each in (folder, other):
        each.mkdir()
    trust(folder)
    moved = folder.rename(tmp_path / "moved")
    folder.symlink_to(other, target_is_directory=True)
    assert not any(map(is_trusted, (folder, other, moved)))
    folder.unlink()
    moved.rename(folder)
    assert is_trusted(folder)
