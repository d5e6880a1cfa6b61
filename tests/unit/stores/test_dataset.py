"""Versions in a folder: what is sent and fetched, and what a crash or another process leaves."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.waiting import HANG_S

from mdvec.errors import (
    ConfigError,
    DamagedDatabaseError,
    DatabaseFullError,
    OtherVersionError,
    StoreError,
    WriterBusyError,
)
from mdvec.stores.published import dataset
from mdvec.stores.published.dataset import LocalFile, Manifest
from mdvec.stores.published.places import FolderPlace, open_place

PART = 1 << 20
HUGE = 1 << 40
ROOT = Path(__file__).resolve().parents[3]


class CountingPlace(FolderPlace):
    """Remembers which parts were written and read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.written: list[str] = []
        self.fetched: list[str] = []

    def put(self, name: str, content: bytes) -> None:
        self.written.append(name)
        super().put(name, content)

    def get(self, name: str, most_bytes: int) -> bytes | None:
        if name.startswith("parts/"):
            self.fetched.append(name)
        return super().get(name, most_bytes)


@pytest.fixture
def place(tmp_path: Path) -> CountingPlace:
    """A folder that is not there yet."""
    return CountingPlace(tmp_path / "published")


def contents(parts: Sequence[int], tail: int = 10) -> bytes:
    """Return a part for each seed, and a few bytes more."""
    return b"".join(random.Random(seed).randbytes(PART) for seed in parts) + b"x" * tail


def publish(place: FolderPlace, folder: Path, content: bytes | bytearray) -> Manifest:
    file = folder / "file"
    file.write_bytes(content)
    previous = dataset.latest(place)
    number = 1 if previous is None else previous.number + 1
    return dataset.publish(place, file, number, ["notes"], previous)[0]


def fetched(place: FolderPlace, folder: Path, near: LocalFile | None = None) -> bytes:
    """Return the file of the newest version."""
    manifest = dataset.latest(place)
    assert manifest is not None
    dataset.fetch(place, manifest, folder / "fetched", near)
    return (folder / "fetched").read_bytes()


def test_only_what_changed_is_sent_and_fetched(place: CountingPlace, tmp_path: Path) -> None:
    """A version takes the pages that it shares from the one before; a machine has those in its file."""
    assert dataset.latest(place) is None
    first = publish(place, tmp_path, contents([1, 2, 2, 3]))
    assert len(place.written) == 3 + 1 + 1, "different pages, the rest, and digests of all"
    assert fetched(place, tmp_path) == contents([1, 2, 2, 3])
    (tmp_path / "fetched").rename(tmp_path / "near")
    place.written = []
    second = publish(place, tmp_path, contents([1, 4, 2, 3]))
    new = [f"parts/{name}" for name in second.parts if name.startswith("0000000002/")]
    assert len(new) == 1
    assert sorted(place.written) == sorted([*new, f"parts/{second.pages}"])
    near = LocalFile(tmp_path / "near", first)
    place.fetched = []
    assert fetched(place, tmp_path, near) == contents([1, 4, 2, 3])
    assert place.fetched == new
    near.path.write_bytes(contents([9, 9, 9, 9]))
    assert fetched(place, tmp_path, near) == contents([1, 4, 2, 3]), "a damaged file is of no use"
    near.path.unlink()
    assert fetched(place, tmp_path, near) == contents([1, 4, 2, 3])


def test_a_few_pages_are_sent_alone(place: CountingPlace, tmp_path: Path) -> None:
    """Pages that change all over a file come together in one part."""
    content = bytearray(contents([1, 2, 3]))
    publish(place, tmp_path, content)
    for at in range(0, len(content), PART // 8):
        content[at] ^= 1
    place.written = []
    publish(place, tmp_path, content)
    assert len(place.written) == 2, "pages, and digests"
    assert fetched(place, tmp_path) == content


def test_scattered_pages_are_gathered(place: CountingPlace, tmp_path: Path) -> None:
    """A file that uses little of many parts is sent anew, so that nobody fetches much more than it."""
    content = contents([1, 2, 3, 4], tail=0)
    publish(place, tmp_path, content)
    some = b"".join(content[at : at + PART // 4] for at in range(0, len(content), PART))
    assert [name[:10] for name in publish(place, tmp_path, some).parts] == ["0000000002"]
    assert fetched(place, tmp_path) == some


DYING = """
import os, signal, sys
from pathlib import Path
from mdvec.stores.published import dataset
from mdvec.stores.published.places import FolderPlace

class DyingPlace(FolderPlace):
    left = int(sys.argv[3])
    def _write(self, path, content):
        if self.left == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content[:100])
            os.kill(os.getpid(), signal.SIGKILL)
        DyingPlace.left -= 1
        super()._write(path, content)

place = DyingPlace(Path(sys.argv[1]))
previous = dataset.latest(place)
dataset._THREADS = 1
dataset.publish(place, Path(sys.argv[2]), previous.number + 1, ["notes"], previous)
"""


@pytest.mark.harness
@pytest.mark.parametrize("writes", [0, 1, 3], ids=["first part", "last part", "manifest"])
def test_a_killed_publisher_leaves_the_version_before(
    place: CountingPlace, tmp_path: Path, writes: int
) -> None:
    """However far it came, the newest version is the old one, whole; and the next attempt succeeds."""
    publish(place, tmp_path, contents([1, 2]))
    (tmp_path / "next").write_bytes(contents([3, 4], tail=10))
    command = [sys.executable, "-c", DYING, str(tmp_path / "published"), str(tmp_path / "next"), str(writes)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    died = subprocess.run(command, env=environment, timeout=HANG_S, check=False)
    assert died.returncode == -signal.SIGKILL
    assert dataset.numbers(place) == [1]
    assert fetched(place, tmp_path) == contents([1, 2])
    assert publish(place, tmp_path, contents([3, 4])).number == 2
    assert fetched(place, tmp_path) == contents([3, 4])


def test_of_two_publishers_one_succeeds(place: CountingPlace, tmp_path: Path) -> None:
    """A version is never replaced: the second has to begin again."""
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "other").write_bytes(b"other")
    dataset.publish(place, tmp_path / "other", 1, ["notes"], None)
    with pytest.raises(WriterBusyError, match="published version 1") as caught:
        dataset.publish(place, tmp_path / "mine", 1, ["notes"], None)
    assert caught.value.retry
    assert fetched(place, tmp_path) == b"other"


def test_old_versions_are_removed(place: CountingPlace, tmp_path: Path) -> None:
    """The newest stay with all they need; what others keep there or are sending stays too."""
    for seeds in ([1, 2], [1, 3], [1, 4]):
        publish(place, tmp_path, contents(seeds))
    foreign = ["parts/notes.md", f"parts/0000000004/{'a' * 64}", "versions/readme.md", "other/file"]
    for name in foreign:
        place.put(name, b"")
    assert dataset.prune(place, 3, keep=5) == 0
    assert len(place.names("parts")) == 4 + 2 + 2 + 2
    assert dataset.prune(place, 3, keep=1) == 2
    assert dataset.numbers(place) == [3]
    assert len(place.names("parts")) == 4 + 2
    assert {*foreign} <= {*place.names("parts"), *place.names("versions"), *place.names("other")}
    assert fetched(place, tmp_path) == contents([1, 4])


def test_what_is_damaged_or_gone_is_an_error(place: CountingPlace, tmp_path: Path) -> None:
    """Every part is compared with its name, and a manifest names nothing but parts."""
    manifest = publish(place, tmp_path, contents([1]))
    part = f"parts/{manifest.parts[0]}"
    content = place.get(part, 2 * PART)
    for wrong in (b"", b"no zlib", (content or b"")[:-9]):
        place.put(part, wrong)
        with pytest.raises(DamagedDatabaseError, match="is damaged"):
            fetched(place, tmp_path)
    place.delete([part])
    with pytest.raises(StoreError, match="is gone"):
        fetched(place, tmp_path)
    name = "versions/0000000001.json"
    text = (place.get(name, PART) or b"").decode()
    place.put(name, text.replace(manifest.parts[0], "../../secret").encode())
    with pytest.raises(DamagedDatabaseError, match=r"version 1 of .* is damaged"):
        dataset.latest(place)
    place.put(name, text.replace('"runs":[[0,', '"runs":[[9,').encode())
    with pytest.raises(DamagedDatabaseError, match="names a part that it does not have"):
        dataset.latest(place)
    place.put(name, text.replace('"runs":[[0,0,', '"runs":[[0,1,').encode())
    place.put(part, content or b"")
    with pytest.raises(DamagedDatabaseError, match="version 1 of"):
        fetched(place, tmp_path)
    place.put(name, text.replace('"format":1', '"format":2').encode())
    with pytest.raises(OtherVersionError, match="newer mdvec"):
        dataset.latest(place)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"runs": [[0, 0, HUGE]]}, "names pages that no part has"),
        ({"runs": [[0, HUGE, 1]]}, "names pages that no part has"),
        ({"runs": []}, "not as many as those of its file"),
        ({"runs": [[0, 0, 256]]}, "not as many as those of its file"),
        ({"size_bytes": HUGE}, "not as many as those of its file"),
        ({"size_bytes": 33 * PART, "runs": [[0, 0, 256]] * 33}, "too large for its parts"),
        ({"runs": [[0, 0, -1]]}, "Expected `int` >= 0"),
        ({"number": 2}, "calls itself version 2"),
        ({"parts": [f"0000000001/{'a' * 64}\n"] * 2}, "matching regex"),
        ({"pages": f"0000000001/{'a' * 64}\n"}, "matching regex"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(
    place: CountingPlace, tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    """It is refused before a part is fetched or a file is written: the work would never end."""
    publish(place, tmp_path, contents([1]))
    path = tmp_path / "published" / "versions" / "0000000001.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DamagedDatabaseError, match=reason):
        dataset.latest(place)


def test_a_manifest_that_is_no_text_is_refused(place: CountingPlace, tmp_path: Path) -> None:
    """A byte that is not UTF-8, as an altered bit leaves it, is damage and no bug."""
    publish(place, tmp_path, contents([1]))
    path = tmp_path / "published" / "versions" / "0000000001.json"
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b'"', b'"\xe1', 1))
    with pytest.raises(DamagedDatabaseError, match="version 1 of"):
        dataset.latest(place)


def test_a_nested_manifest_is_refused(place: CountingPlace, tmp_path: Path) -> None:
    """However deep, it is damaged and no bug."""
    publish(place, tmp_path, contents([1]))
    (tmp_path / "published" / "versions" / "0000000001.json").write_text("[" * 200_000)
    with pytest.raises(DamagedDatabaseError, match="version 1 of"):
        dataset.latest(place)


@pytest.mark.parametrize("kind", ["fifo", "device", "link", "large"])
@pytest.mark.parametrize("what", ["manifest", "part"])
def test_only_regular_files_of_a_size_are_read(
    place: CountingPlace, tmp_path: Path, kind: str, what: str
) -> None:
    """A pipe, a device or a link is not opened, and of a large file no more is read than it may have."""
    manifest = publish(place, tmp_path, contents([1]))
    name = "versions/0000000001.json" if what == "manifest" else f"parts/{manifest.parts[0]}"
    path = tmp_path / "published" / name
    kept = path.rename(tmp_path / "kept")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(HUGE)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else kept)
    reason = "larger than" if kind == "large" else "not a regular file"
    with pytest.raises(DamagedDatabaseError, match=reason) as failed:
        fetched(place, tmp_path)
    assert "publish --full" in failed.value.hint


def test_a_place_is_a_folder_or_a_bucket(tmp_path: Path) -> None:
    """Other addresses are refused without their passwords, and a folder that cannot be used is named."""
    with pytest.raises(ConfigError, match=r"to ftp://\*\*\*@host"):
        open_place("ftp://me:secret@host/x")
    (tmp_path / "file").write_text("")
    place = open_place(tmp_path / "file" / "x")
    with pytest.raises(StoreError, match="cannot be used"):
        place.put("versions/1.json", b"")
    assert place.names("versions") == []


class FullPlace(FolderPlace):
    """On a disk without space."""

    def _write(self, path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """Nothing is published, and the next step is not about permissions."""
    place = FullPlace(tmp_path / "published")
    with pytest.raises(DatabaseFullError, match="the disk is full") as caught:
        publish(place, tmp_path, contents([1]))
    assert "Free some space" in caught.value.hint
    assert dataset.latest(place) is None
