"""Models of the Hugging Face hub: fetched once, in two steps, then used without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.hub import COMMIT, FakeHub, fake_hub
from tests.fakes.tiny_models import make_ruri

pytestmark = pytest.mark.torch

HUB_ID = "cl-nagoya/ruri-v3-30m"

# The library reads its environment when it is imported, so every step is a process.
_STEP = """
import json, sys
from pathlib import Path
from mdvec import registry
from mdvec.embedding.interface import Runtime
from mdvec.errors import EmbedderUnavailableError
from mdvec.run import Run, bound
model, cache, step, settings = sys.argv[1], Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
told = []
make = registry.load("embedding", "sentence-transformers")
runtime = Runtime(cache, threads=1)
listen = Run(lambda stage, done, total, detail='': told.append(done))
embedder = make(model=model, dimension=None, runtime=runtime, hub_dir=cache, **settings)
answer = {"problem": str(embedder.problem or "")}
try:
    answer["space"] = embedder.space.key
    if step == "check":
        with bound(listen):
            embedder.embed_query("probe")
except EmbedderUnavailableError as error:
    answer["error"], answer["hint"] = str(error), error.hint
print(json.dumps({**answer, "told": told, "torch": "torch" in sys.modules}))
"""


@dataclass(frozen=True)
class Machine:
    """A machine with an empty cache, and a way to the hub.

    Attributes:
        cache: The hub's cache.
        url: Where it looks for the hub.
    """

    cache: Path
    url: str

    def run(self, step: str, *, model: str = "ruri-v3-30m", offline: bool = False, **settings: Any) -> Any:
        """Make an embedder in a process of its own, and ask for its space or try it."""
        environment = {**os.environ, "HF_ENDPOINT": self.url, "HF_HUB_OFFLINE": str(int(offline))}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", _STEP, model, str(self.cache), step, json.dumps(settings)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files on the hub, with some that nobody needs here."""
    folder = make_ruri(tmp_path_factory.mktemp("models") / "ruri-v3-30m")
    for name in ("onnx/model.bin", "onnx/config.json", "pytorch_model.bin", "model.onnx"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"of no use")
    return folder


def _sent(hub: FakeHub) -> set[str]:
    """Return what the hub has sent since this was last asked."""
    sent = set(hub.sent)
    hub.sent.clear()
    return sent


def test_a_model_is_fetched_once(model: Path, tmp_path: Path) -> None:
    """Its space takes the settings alone; the first text takes the weights; then the hub is not asked."""
    with fake_hub(HUB_ID, model) as hub:
        machine = Machine(tmp_path, hub.url)
        known = machine.run("space")
        assert known["space"].startswith(f"sentence-transformers:{HUB_ID}@{COMMIT[:12]}-")
        assert known["told"] == []
        assert not known["torch"]
        assert _sent(hub) == {
            "1_Pooling/config.json",
            "config.json",
            "config_sentence_transformers.json",
            "modules.json",
            "sentence_bert_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        }
        half = machine.run("space", offline=True)
        assert half["problem"] == f"the model {HUB_ID} is not on this machine, and downloads are off"
        assert half["error"] == half["problem"]
        used = machine.run("check")
        assert "error" not in used
        assert used["space"] == known["space"]
        assert used["told"] == sorted(used["told"])
        assert (used["told"][0], used["told"][-1]) == (0, 100)
        assert _sent(hub) == {"model.safetensors"}
    for settings in ({}, {"offline": True}, {"revision": COMMIT}):
        again = machine.run("space", **settings)
        assert (again["problem"], again["space"]) == ("", known["space"])


def test_a_name_that_the_hub_does_not_know(model: Path, tmp_path: Path) -> None:
    """It is neither a folder nor a model."""
    with fake_hub(HUB_ID, model) as hub:
        told = Machine(tmp_path, hub.url).run("check", model="somebody/something")
    assert told["error"] == "there is no model somebody/something, neither as a folder here nor on the hub"
    assert "hf auth login" in told["hint"]


def test_a_hub_that_cannot_be_reached(tmp_path: Path) -> None:
    """The error names the model and the hub, and the way without mdvec."""
    told = Machine(tmp_path, "http://127.0.0.1:9").run("check")
    assert told["error"].startswith(f"the model {HUB_ID} cannot be fetched from http://127.0.0.1:9: ")
    assert f"hf download {HUB_ID}" in told["hint"]
