"""What the conformance run relies on: pinned clients from anywhere, and an honest list of failures."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.conformance.clients import HERE

LOCK: dict[str, Any] = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))


def test_every_package_is_pinned_by_its_checksum() -> None:
    """The lock holds a version and a checksum for each package, and no host to fetch it from."""
    packages = {name: package for name, package in LOCK["packages"].items() if name}
    assert len(packages) > 100
    for name, package in packages.items():
        assert re.match(r"\d+\.\d+\.\d+", package["version"]), name
        bundled = package.get("inBundle", False)
        assert bundled or package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name


def test_the_clients_are_exact_versions() -> None:
    """What is asked for is what is locked, not a range."""
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert LOCK["packages"][""]["dependencies"] == wanted
    for name, version in wanted.items():
        assert version.rpartition("@")[2] == LOCK["packages"][f"node_modules/{name}"]["version"]


def test_only_what_mdvec_never_asks_of_a_client_may_fail() -> None:
    """The expected failures are scenarios of sampling and elicitation; no other one hides among them."""
    text = (HERE / "expected-failures.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^  - (\S+)$", text, re.MULTILINE)
    assert listed
    assert [
        name for name in listed if not re.search("sampling|elicitation|input-required-result", name)
    ] == []
