"""The MCP server under load: real searches by several clients, its start, its memory, its definitions.

The clients are as light as can be, so that on a small machine the server is measured and not they. Each
search is answered by the model and the words of real documents; no question is asked twice. What servers add
is seen beside what the same machine did in the same run: the searches without a server, and empty requests.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import multiprocessing
import os
import random
import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
from tests.conformance.servers import MDVEC, serving
from tests.integration.mcp_wire import Wire, ready, run_mdvec

from benchmarks import memory as documents_of
from benchmarks import speed_index
from benchmarks.harness import ROOT, peak_rss_mb, percentile, texts_below, time_ms, write_result
from benchmarks.speed_search import builtin_embedder
from mdvec import SearchQuery, open_workspace
from mdvec.interfaces.http.guard import MAX_REQUESTS
from mdvec.text.scripts import holds_unspaced
from mdvec.text.tokens import estimate_token_count
from mdvec.types.report import ImportOptions

CLIENTS = (1, 5, 20)
COLLECTIONS = {
    "notes": "Personal notes: ideas, journeys, books, recipes, what was learned.",
    "handbook": "The company's handbook: how we work, onboarding, expenses, holidays, security.",
    "api-docs": "Reference documentation of our HTTP API, with examples of requests and errors.",
}
# With them questions are as long as those of people: 9 to 15 tokens, mostly.
_CHARS_PER_WORD = 3  # in Japanese
QUESTION_WORDS = range(6, 11)
# More take long to embed, and make no search slower.
MAX_DOCUMENTS = 60
SERVERS = 10
SERVERS_CHUNKS = 100_000
FILE_MB = 5
TARGETS = {
    "start_cpu_ms": ("start to first tools/list, CPU ms", 1000),
    "definition_tokens": ("definitions of three collections, tokens", 3000),
    "growth_mb": ("growth of the server's own memory over all calls, MB", 5),
}

_PROTOCOL = "2026-07-28"
_MB = 1_000_000
# Searches before those that are timed, by as many clients: a server then has started the processes it wants.
_WARMING = 100
# Looked at every 15 s by the server, besides the idle time itself.
_UNLOAD_MINUTES = 0.02
_UNLOAD_WAIT_S = 25.0
_REFUSAL_WAIT_S = 5.0


def run(
    corpus: Sequence[Path], *, calls: int, flat_calls: int, rounds: int, clients: Sequence[int] = CLIENTS
) -> dict[str, Any]:
    """Index a corpus and measure servers on it.

    Args:
        corpus: Folders of real text.
        calls: Searches of all clients together, for each number of clients.
        flat_calls: Calls over which memory has to stay flat.
        rounds: How often the start is measured.
        clients: Numbers of HTTP clients.

    Returns:
        The figures.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        environment = prepare(folder, corpus)
        load_count = len(clients) + 2
        questions = iter(questions_from(corpus, load_count * (calls + _WARMING) + 2 * flat_calls + 500))
        figures: dict[str, Any] = start(environment, folder, rounds)
        figures["process"] = in_process(environment, questions, calls)
        figures["stdio"] = {"1 client": over_stdio(environment, folder, questions, calls)}
        figures["http"] = over_http(environment, folder, questions, calls, clients)
        for each in (*figures["stdio"].values(), *figures["http"].values()):
            if "requests_per_s" in each:
                times = each["requests_per_s"] / figures["process"]["requests_per_s"]
                each["times_process"] = round(times, 2)
        rest = list(questions)
        figures["memory"] = memory(environment, folder, rest)
        figures["flat"] = flat(environment, folder, rest, flat_calls)
        figures["servers"] = ten_servers(folder)
        figures["import"] = large_file(folder)
    return figures


def prepare(folder: Path, corpus: Sequence[Path]) -> dict[str, str]:
    """Index the corpus as three collections, and return the environment of the servers."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MDVEC_DATABASE")}
    environment = {**inherited, "MDVEC_DATABASE_PATH": str(folder / "index.sqlite")}
    docs = folder / "docs"
    for number, (path, text) in enumerate(texts_below(corpus, limit=MAX_DOCUMENTS)):
        target = docs / str(number % len(COLLECTIONS)) / f"{number}{path.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for number, (name, description) in enumerate(COLLECTIONS.items()):
        (docs / str(number)).mkdir(exist_ok=True)
        run_mdvec(environment, "tool", "add", "-n", name, "-d", description, "-s", str(docs / str(number)))
        run_mdvec(environment, "import", "-n", name)
    return environment


def questions_from(corpus: Sequence[Path], count: int) -> list[str]:
    """Cut questions of some words from the documents; they are all different."""
    chance = random.Random(1)
    words = [each for _, text in texts_below(corpus) if len(each := text.split()) > 2 * QUESTION_WORDS.stop]
    questions = dict[str, None]()
    while len(questions) < count:
        text = chance.choice(words)
        start = chance.randrange(len(text) - QUESTION_WORDS.stop)
        # What stands for an operator, such as a quotation mark, would be a filter, and no part of a question.
        length = chance.choice(QUESTION_WORDS)
        asked = " ".join(re.findall(r"\w+", " ".join(text[start : start + length])))
        questions[asked[: length * _CHARS_PER_WORD] if holds_unspaced(asked) else asked] = None
    questions.pop("", None)
    return list(questions)


# --- start and definitions -------------------------------------------------------------------------


def start(environment: Mapping[str, str], folder: Path, rounds: int) -> dict[str, Any]:
    """Measure new servers up to their first list of tools, and count what that list costs an agent."""
    spent, waited = [], []
    tools: list[dict[str, Any]] = []
    for _ in range(rounds):
        started = time.monotonic()
        with Wire(environment, log=folder / "start.log") as wire:
            wire.shake_hands()
            tools = wire.ask("tools/list")["result"]["tools"]
            waited.append((time.monotonic() - started) * 1000)
            times = psutil.Process(wire.process.pid).cpu_times()
            spent.append((times.user + times.system) * 1000)
    definitions = json.dumps(tools, ensure_ascii=False)
    return {
        "start_cpu_ms": round(percentile(spent, 0.5)),
        "start_wall_ms": round(percentile(waited, 0.5)),
        "definition_tokens": estimate_token_count(definitions),
        "definition_chars": len(definitions),
    }


# --- load ------------------------------------------------------------------------------------------


def in_process(environment: Mapping[str, str], questions: Iterator[str], calls: int) -> dict[str, Any]:
    """Search without any server, one question after the other."""
    path = Path(environment["MDVEC_DATABASE_PATH"])
    with open_workspace(database=path, embedder=builtin_embedder()) as workspace:
        return load([lambda question: workspace.search(SearchQuery(question))], questions, calls)


def over_stdio(
    environment: Mapping[str, str], folder: Path, questions: Iterator[str], calls: int
) -> dict[str, Any]:
    """One client on a server of its own."""
    with Wire(environment, log=folder / "stdio.log") as wire:
        ready(wire)
        return load([lambda question: wire.search(question)], questions, calls)


def over_http(
    environment: Mapping[str, str],
    folder: Path,
    questions: Iterator[str],
    calls: int,
    clients: Sequence[int],
) -> dict[str, Any]:
    """Several clients on one server, each on a connection of its own that stays open; and too many."""
    command = (*MDVEC, "serve", "--http", "127.0.0.1:0")
    figures = {}
    with serving(command, environment, folder / "http.log") as url:
        for count in clients:
            with ExitStack() as stack:
                searchers = [HttpClient(url) for _ in range(count)]
                for searcher in searchers:
                    stack.callback(searcher.close)
                name = f"{count} client{'s' if count > 1 else ''}"
                figures[name] = load([searcher.search for searcher in searchers], questions, calls)
        figures["overload"] = overload(url)
    return figures


def overload(url: str) -> dict[str, Any]:
    """Hold all places for requests, and see how soon the next one is refused; beside an empty request."""
    address = urlsplit(url)
    place = str(address.hostname), address.port or 80
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    lines = [f"{name}: {value}" for name, value in {"Host": address.netloc, **headers}.items()]
    half = "\r\n".join([f"POST {address.path} HTTP/1.1", *lines, "Content-Length: 9", "", "{"])
    connection = http.client.HTTPConnection(address.netloc, timeout=60)

    def status_of(method: str, path: str) -> int:
        connection.request(method, path, b"{}" if method == "POST" else None, headers)
        response = connection.getresponse()
        response.read()
        return response.status

    with ExitStack() as stack:
        stack.callback(connection.close)
        empty = [time_ms(lambda: status_of("GET", "/health")) for _ in range(100)]
        deadline = time.monotonic() + _REFUSAL_WAIT_S

        def hold() -> None:
            stack.enter_context(socket.create_connection(place)).sendall(half.encode())

        for _ in range(MAX_REQUESTS):
            hold()
        while (status := status_of("POST", address.path)) != http.HTTPStatus.SERVICE_UNAVAILABLE:
            if time.monotonic() > deadline:
                break
            hold()  # one of the others was refused while this one was answered
        refused = [time_ms(lambda: status_of("POST", address.path)) for _ in range(100)]
    return {
        "status": status,
        "refused_p99_ms": round(percentile(refused, 0.99), 2),
        "empty_request_p99_ms": round(percentile(empty, 0.99), 2),
    }


class HttpClient:
    """Searches over one connection, without a session, as the newest protocol has it."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._path = address.path
        self._connection = http.client.HTTPConnection(address.netloc, timeout=60)

    def search(self, question: str) -> dict[str, Any]:
        """Search once.

        Raises:
            RuntimeError: If that is not answered with hits.
        """
        meta = {
            "io.modelcontextprotocol/protocolVersion": _PROTOCOL,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
        }
        params = {"name": "search", "arguments": {"query": question}, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _PROTOCOL,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "search",
        }
        self._connection.request("POST", self._path, json.dumps(body).encode(), headers)
        response = self._connection.getresponse()
        text = response.read().decode()
        if "text/event-stream" in response.getheader("Content-Type", ""):
            text = next(line[5:] for line in reversed(text.splitlines()) if line.startswith("data:"))
        answer = json.loads(text)
        if "result" not in answer or answer["result"].get("isError"):
            msg = f"a search failed: {answer}"
            raise RuntimeError(msg)
        return dict(answer["result"]["structuredContent"])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def load(
    searchers: Sequence[Callable[[str], object]], questions: Iterator[str], calls: int
) -> dict[str, Any]:
    """Let all clients search without a pause, each its share of the calls."""
    _ask(searchers, list(itertools.islice(questions, _WARMING)))
    started = time.perf_counter()
    spent, failed = _ask(searchers, list(itertools.islice(questions, calls)))
    return {
        "calls": len(spent),
        "requests_per_s": round(len(spent) / (time.perf_counter() - started), 1),
        "p50_ms": round(percentile(spent, 0.5), 1),
        "p99_ms": round(percentile(spent, 0.99), 1),
        "failed": failed,
    }


def _ask(searchers: Sequence[Callable[[str], object]], questions: Sequence[str]) -> tuple[list[float], int]:
    """Let all clients ask at the same time; return what each question took, in ms, and how many failed."""
    spent: list[float] = []
    failures: list[str] = []

    def work(number: int, search: Callable[[str], object]) -> None:
        for question in questions[number :: len(searchers)]:
            started = time.perf_counter()
            try:
                search(question)
            except (RuntimeError, OSError, http.client.HTTPException) as error:
                failures.append(str(error))
            spent.append((time.perf_counter() - started) * 1000)

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(searchers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spent, len(failures)


# --- memory ----------------------------------------------------------------------------------------


def memory(environment: Mapping[str, str], folder: Path, questions: Sequence[str]) -> dict[str, Any]:
    """Look at a server before its first search, after some, and after the model was freed again."""
    settings = {**environment, "MDVEC_EMBEDDING_AUTO_UNLOAD_MINUTES": str(_UNLOAD_MINUTES)}
    with Wire(settings, log=folder / "memory.log") as wire:
        ready(wire)
        process = psutil.Process(wire.process.pid)
        figures = {"idle_mb": _rss_mb(process)}
        for question in questions[:50]:
            wire.search(question)
        figures["after_searches_mb"] = _rss_mb(process)
        time.sleep(_UNLOAD_WAIT_S)
        figures["after_unload_mb"] = _rss_mb(process)
        wire.search(questions[0])
        figures["loaded_again_mb"] = _rss_mb(process)
    return figures


def flat(
    environment: Mapping[str, str], folder: Path, questions: Sequence[str], calls: int
) -> dict[str, Any]:
    """Make many calls of every kind over one connection and see whether memory grows.

    The server's own memory counts: rare words bring pages of the model's mapped file, which processes share.
    """

    def call(number: int) -> None:
        question = questions[number % len(questions)]
        match number % 4:
            case 0:
                wire.search(question)
            case 1:
                wire.search(question, mode="lexical", limit=20)
            case 2:
                wire.call("search", query=question, limt=3)
            case _:
                wire.ask("tools/list")

    with Wire(environment, log=folder / "flat.log") as wire:
        ready(wire)
        process = psutil.Process(wire.process.pid)
        # Caches of words, and of pages of the model and the database, have reached their size by then.
        for number in range(calls):
            call(number)
        before = process.memory_info()
        for number in range(calls, 2 * calls):
            call(number)
        after = process.memory_info()
    mapped = after.shared - before.shared
    growth = after.rss - before.rss - mapped
    return {
        "calls": calls,
        "growth_mb": round(growth / _MB, 2),
        "mapped_growth_mb": round(mapped / _MB, 2),
    }


def ten_servers(folder: Path) -> dict[str, Any]:
    """Search with several servers on one large index, and look at the memory of the last of them.

    The last two ask the same: a page of a mapped file that both have read counts as shared, as it is.
    """
    database = folder / "large.sqlite"
    chance = np.random.default_rng(1)
    pools = speed_index.sentences(chance)
    speed_index.fill(database, SERVERS_CHUNKS, builtin_embedder().space, pools)
    questions = speed_index.questions(chance, pools, 40)
    environment = {**os.environ, "MDVEC_DATABASE_PATH": str(database)}
    with ExitStack() as stack:
        for number in range(SERVERS):
            wire = stack.enter_context(Wire(environment, log=folder / f"server{number}.log"))
            ready(wire)
            process = psutil.Process(wire.process.pid)
            idle = process.memory_full_info()
            for question in questions if number >= SERVERS - 2 else questions[:4]:
                wire.search(question)
        used = process.memory_full_info()
    return {
        "servers": SERVERS,
        "chunks": SERVERS_CHUNKS,
        "idle_own_mb": round(idle.uss / _MB),
        "last_own_mb": round(used.uss / _MB),
        "last_rss_mb": round(used.rss / _MB),
    }


def large_file(folder: Path) -> dict[str, Any]:
    """Import the text of one large file in a process of its own; how vectors are made is in ``memory``."""
    docs = folder / "large"
    docs.mkdir()
    made = documents_of.documents(
        FILE_MB * _MB // documents_of.SECTION_CHARS,
        documents_of.word_list([ROOT / "docs"]),
        random.Random(1),
    )
    text = "\n".join(made).encode()[: FILE_MB * _MB].decode(errors="ignore")
    (docs / "large.md").write_text(text, encoding="utf-8")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_import_file, (docs, folder / "file.sqlite"))


def _import_file(docs: Path, database: Path) -> dict[str, Any]:
    with open_workspace(database=database) as workspace:
        for name in ("small", "large"):  # the first loads what every import needs
            source = docs if name == "large" else docs.parent / name
            source.mkdir(exist_ok=True)
            (source / "a.md").write_text("# A\n\nSome words. いくつかの言葉。\n", encoding="utf-8")
            workspace.add_collection(name, "", str(source))
            idle = _rss_mb(psutil.Process())
            report = workspace.import_collection(name, ImportOptions(embed=False))
    peak = round(peak_rss_mb() * 1024**2 / _MB)
    return {"file_mb": FILE_MB, "chunks": report.total_chunks, "idle_mb": idle, "above_idle_mb": peak - idle}


def _rss_mb(process: psutil.Process) -> int:
    return round(process.memory_info().rss / _MB)


# --- report ----------------------------------------------------------------------------------------


def table(figures: Mapping[str, Any]) -> str:
    """Return the figures as Markdown tables."""
    lines = ["| clients | requests/s | p50 ms | p99 ms | failed |", "|---|---|---|---|---|"]
    for transport in ("stdio", "http"):
        lines += [
            f"| {transport}, {name} | {each['requests_per_s']:g} | {each['p50_ms']:g} "
            f"| {each['p99_ms']:g} | {each['failed']} |"
            for name, each in figures[transport].items()
            if name != "overload"
        ]
    lines += ["", "| what | measured | target |", "|---|---|---|"]
    measured = {**figures, **figures["flat"]}
    lines += [f"| {words} | {measured[key]:g} | ≤ {target} |" for key, (words, target) in TARGETS.items()]
    for part in ("memory", "servers", "import"):
        lines += [f"| {name.replace('_', ' ')} | {value} | |" for name, value in figures[part].items()]
    lines += [
        f"| {name.replace('_', ' ')} | {value} | |" for name, value in figures["http"]["overload"].items()
    ]
    return "\n".join(lines)


def main() -> int:
    """Run from the command line; returns 1 when a search failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus", type=Path, nargs="+", default=[ROOT / "docs"], help="folders of real text"
    )
    parser.add_argument("--calls", type=int, default=1000, help="searches for each number of clients")
    parser.add_argument("--flat-calls", type=int, default=4_000, help="calls for the memory's growth")
    parser.add_argument("--rounds", type=int, default=9, help="starts that are measured")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    figures = run(
        arguments.corpus, calls=arguments.calls, flat_calls=arguments.flat_calls, rounds=arguments.rounds
    )
    print(table(figures))
    write_result("mcp", figures, arguments.output)
    failed = sum(each.get("failed", 0) for name in ("stdio", "http") for each in figures[name].values())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
