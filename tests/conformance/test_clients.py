"""Clients that we did not write pass against mdvec: the official conformance suites and MCP Inspector."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from tests.conformance.clients import HERE, Outcome, conformance, inspector, install
from tests.conformance.servers import MDVEC, make_notes, serving
from tests.waiting import HANG_S

pytestmark = pytest.mark.node

EXPECTED_FAILURES = HERE / "expected-failures.yml"

# Scenarios that need none of the suite's own tools, so the real server must pass them: the line of the
# suite, the protocol, the scenario.
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
SCENARIOS = [
    ("0.1", HANDSHAKE, "server-initialize"),
    ("0.1", HANDSHAKE, "ping"),
    ("0.1", HANDSHAKE, "tools-list"),
    ("0.1", HANDSHAKE, "resources-list"),
    ("0.1", HANDSHAKE, "prompts-list"),
    ("0.1", HANDSHAKE, "server-sse-multiple-streams"),
    ("0.1", HANDSHAKE, "dns-rebinding-protection"),
    ("0.2", HANDSHAKE, "server-session-lifecycle"),
    ("0.2", MODERN, "tools-list"),
    ("0.2", MODERN, "resources-list"),
    ("0.2", MODERN, "prompts-list"),
    ("0.2", MODERN, "server-sse-multiple-streams"),
    ("0.2", MODERN, "dns-rebinding-protection"),
    ("0.2", MODERN, "caching"),
    ("0.2", MODERN, "http-header-validation"),
    ("0.2", MODERN, "sep-2164-resource-not-found"),
]
# Whole suites, for a server with the suite's tools: 0.1.16 as its authors run it, and everything
# that the two newest protocols require.
SUITES = [
    ("0.1", "--suite", "active"),
    ("0.2", "--requirements", HANDSHAKE),
    ("0.2", "--requirements", MODERN),
]
# The request that Inspector sends, and what its output must hold.
_DOCUMENT = "mdvec://notes/" + quote("旅行/京都.md")
INSPECTIONS = [
    (("--method", "tools/list", "--strict"), '"search"'),
    (("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=旅館"), "四条の静かな旅館"),
    (("--method", "tools/call", "--tool-name", "notes", "--tool-arg", "query=password"), "account.md"),
    (("--method", "resources/list"), _DOCUMENT),
    (("--method", "resources/templates/list"), "mdvec://{collection}/{+path}"),
    (("--method", "resources/read", "--uri", _DOCUMENT), "四条の静かな旅館"),
    (
        (
            *("--method", "prompts/get", "--prompt-name", "answer_with_citations"),
            *("--prompt-args", "question=Where did we stay?"),
        ),
        "Where did we stay?",
    ),
]
# Each request goes over one transport in one era of the protocol; the first two over all.
RUNS = [
    (transport, era, inspection)
    for transport in ("stdio", "http")
    for era in ("legacy", "modern")
    for inspection in (INSPECTIONS if (transport, era) == ("stdio", "legacy") else INSPECTIONS[:2])
]


@pytest.fixture(scope="module", autouse=True)
def _clients() -> None:
    install()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of all servers here."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def environment(folder: Path) -> dict[str, str]:
    """The environment in which ``mdvec`` finds two notes."""
    return make_notes(folder)


@pytest.fixture(scope="module")
def url(folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run ``mdvec serve --http``."""
    with serving((*MDVEC, "serve", "--http", "127.0.0.1:0"), environment, folder / "serve.log") as url:
        yield url


@pytest.fixture(scope="module")
def url_with_fixtures(folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run the same server with the suites' own tools, resources and prompts laid over it."""
    command = (sys.executable, "-m", "tests.conformance.fixture_server")
    with serving(command, environment, folder / "fixture.log") as url:
        yield url


def passed(outcome: Outcome) -> str:
    """Return the output of a client that passed."""
    assert outcome.code == 0, f"exit code {outcome.code}\n{outcome.stdout}\n{outcome.stderr}"
    return outcome.stdout


@pytest.mark.parametrize(("line", "protocol", "scenario"), SCENARIOS)
def test_the_server_passes(url: str, tmp_path: Path, line: str, protocol: str, scenario: str) -> None:
    """``mdvec serve`` itself passes every scenario that needs no tools of the suite's own."""
    arguments = ("--url", url, "--scenario", scenario, "--spec-version", protocol)
    passed(conformance(line, *arguments, cwd=tmp_path))


@pytest.mark.parametrize(("line", "option", "value"), SUITES)
def test_whole_suites_pass(
    url_with_fixtures: str, tmp_path: Path, line: str, option: str, value: str
) -> None:
    """With the suites' own tools every scenario passes but those that are listed as left out."""
    arguments = ("--url", url_with_fixtures, option, value, "--expected-failures", str(EXPECTED_FAILURES))
    passed(conformance(line, *arguments, cwd=tmp_path))


@pytest.mark.parametrize(
    ("transport", "era", "inspection"),
    RUNS,
    ids=[f"{transport} {era} {unquote(' '.join(each[1:4:2]))}" for transport, era, (each, _) in RUNS],
)
def test_inspector_reads(
    request: pytest.FixtureRequest,
    environment: dict[str, str],
    tmp_path: Path,
    transport: str,
    era: str,
    inspection: tuple[tuple[str, ...], str],
) -> None:
    """MCP Inspector's command line gets answers over both transports, in both eras of the protocol."""
    request_options, expected = inspection
    if transport == "http":
        target = [request.getfixturevalue("url"), "--transport", "http"]
    else:
        own = [
            f"{name}={value}" for name, value in environment.items() if name.startswith(("HOME", "MDVEC_"))
        ]
        settings = [part for setting in own for part in ("-e", setting)]
        target = ["--transport", "stdio", *settings, *MDVEC, "serve"]
    patience = ("--connect-timeout", str(int(HANG_S * 1000)))  # its own 15 s are short on a busy machine
    options = (*request_options, "--protocol-era", era, *patience, "--format", "json", *target)
    assert expected in passed(inspector(*options, cwd=tmp_path))
