"""Runs the conformance suites and MCP Inspector against mdvec and says what passed."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from tests.conformance.clients import HERE, InstallError, Outcome, conformance, inspector, install
from tests.conformance.servers import MDVEC, ServerFailedError, make_notes, serving

EXPECTED_FAILURES = HERE / "expected-failures.yml"

# Scenarios that need none of the suite's own tools, so the real server must pass them.
HANDSHAKE_SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
MODERN_SCENARIOS = (
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
    "sep-2164-resource-not-found",
)
# Whole suites, for a server with the suite's tools: 0.1.16 as its authors run it, and everything
# that the two newest protocols require.
SUITES = (
    ("0.1", "--suite", "active"),
    ("0.2", "--requirements", "2025-11-25"),
    ("0.2", "--requirements", "2026-07-28"),
)
# What Inspector asks, and what its answer must hold.
_DOCUMENT = "mdvec://notes/" + quote("旅行/京都.md")
INSPECTIONS = (
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
)
# So much of a failed client's output is shown.
_SHOWN_LINES = 40


@dataclass(frozen=True, slots=True)
class Check:
    """One run of a client.

    Attributes:
        name: What it shows.
        run: Runs it.
        expected: What its output must hold.
    """

    name: str
    run: Callable[[], Outcome]
    expected: str = ""


def main() -> int:
    """Run everything; return 0 when all of it passed, else 1."""
    started = time.monotonic()
    failures = 0
    try:
        if install():
            print(f"installed the JavaScript clients in {time.monotonic() - started:.0f} s", flush=True)
        with tempfile.TemporaryDirectory() as temporary:
            for check in _checks(Path(temporary)):
                failures += not _passes(check)
    except (InstallError, ServerFailedError) as error:
        print(f"FAILED  {error}", file=sys.stderr, flush=True)
        failures += 1
    verdict = f"{failures} failed" if failures else "all passed"
    print(f"conformance: {verdict} in {time.monotonic() - started:.0f} s", flush=True)
    return 1 if failures else 0


def _checks(folder: Path) -> Iterator[Check]:
    """Yield the checks while the server they need runs."""
    environment = make_notes(folder)
    serve = (*MDVEC, "serve", "--http", "127.0.0.1:0")
    with serving(serve, environment, folder / "serve.log") as url:
        yield from _scenarios(url, folder)
        yield from _inspections("HTTP", (url, "--transport", "http"), folder)
    stdio = ("--transport", "stdio", *_inspector_environment(environment), *MDVEC, "serve")
    yield from _inspections("stdio", stdio, folder)
    fixture = (sys.executable, "-m", "tests.conformance.fixture_server")
    with serving(fixture, environment, folder / "fixture.log") as url:
        yield from _suites(url, folder)


def _scenarios(url: str, folder: Path) -> Iterator[Check]:
    for line, version, scenarios in (
        ("0.1", "2025-11-25", HANDSHAKE_SCENARIOS),
        ("0.2", "2025-11-25", ("server-session-lifecycle",)),
        ("0.2", "2026-07-28", MODERN_SCENARIOS),
    ):
        for scenario in scenarios:
            arguments = ("--url", url, "--scenario", scenario, "--spec-version", version)
            yield Check(
                f"mdvec serve, {scenario} at {version} (conformance {line})",
                lambda line=line, arguments=arguments: conformance(line, *arguments, cwd=folder),  # type: ignore[misc]
            )


def _suites(url: str, folder: Path) -> Iterator[Check]:
    for line, option, value in SUITES:
        arguments = ("--url", url, option, value, "--expected-failures", str(EXPECTED_FAILURES))
        yield Check(
            f"with fixtures, conformance {line} {option} {value}",
            lambda line=line, arguments=arguments: conformance(line, *arguments, cwd=folder),  # type: ignore[misc]
        )


def _inspections(transport: str, target: tuple[str, ...], folder: Path) -> Iterator[Check]:
    for era in ("legacy", "modern"):
        for asked, expected in INSPECTIONS:
            arguments = (*asked, "--protocol-era", era, "--format", "json", *target)
            yield Check(
                f"inspector over {transport}, {era}: {unquote(' '.join(asked[1:4:2]))}",
                lambda arguments=arguments: inspector(*arguments, cwd=folder),  # type: ignore[misc]
                expected,
            )


def _inspector_environment(environment: dict[str, str]) -> list[str]:
    """Return options that give a server started by Inspector its settings."""
    own = [
        (name, value) for name, value in environment.items() if name == "HOME" or name.startswith("MDVEC_")
    ]
    return [part for name, value in own for part in ("-e", f"{name}={value}")]


def _passes(check: Check) -> bool:
    started = time.monotonic()
    outcome = check.run()
    seconds = time.monotonic() - started
    problem = _problem(check, outcome)
    summary = _summary(outcome.stdout)
    if problem is None:
        print(f"ok      {check.name}{summary}  ({seconds:.1f} s)", flush=True)
        return True
    print(f"FAILED  {check.name}{summary}: {problem}", file=sys.stderr)
    output = f"{outcome.stdout}\n{outcome.stderr}".strip().splitlines()
    print("\n".join(f"        {line}" for line in output[-_SHOWN_LINES:]), file=sys.stderr, flush=True)
    return False


def _summary(output: str) -> str:
    """Count the scenarios of a whole suite; those that say nothing about conformance are optional ones."""
    failed = set(re.findall(r"^✗ ([^:]+):", output, re.MULTILINE))
    expected = set(re.findall(r"^  ~ (\S+)", output, re.MULTILINE))
    unexpected = set(re.findall(r"^  ✗ (\S+)$", output, re.MULTILINE))
    passed = set(re.findall(r"^✓ ([^:]+):", output, re.MULTILINE)) - expected - unexpected
    if not passed | failed:
        return ""
    counts = (
        (len(passed), "passed"),
        (len(expected), "failed as expected"),
        (len(failed - expected - unexpected), "optional ones failed"),
        (len(unexpected), "FAILED"),
    )
    return ": " + ", ".join(f"{count} {words}" for count, words in counts if count)


def _problem(check: Check, outcome: Outcome) -> str | None:
    if outcome.code is None:
        return "it did not end in time"
    if outcome.code != 0:
        return f"exit code {outcome.code}"
    if check.expected not in outcome.stdout:
        return f"its output does not hold {check.expected!r}"
    return None


if __name__ == "__main__":
    sys.exit(main())
