"""Rules of every run: nothing depends on the clock, and in CI no test is left out unnoticed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

IN_CI = bool(os.environ.get("CI"))

# What coverage is measured with: what needs a store or a service of others, and all of these folders but some
# files, which take a third of the time and cover next to nothing that others do not.
STORES = {"torch", "postgres", "lancedb", "chroma", "s3", "ray"}
LONG = {"node", "browser", "harness"}
MEASURED = {"unit", "contract", "integration"}
UNMEASURED = {
    *("benchmarks", "conversion", "test_builtin_model.py", "test_comments.py", "test_dense.py"),
    *("test_estimates.py", "test_excerpt.py", "test_first_index.py", "test_globs.py", "test_http_serving.py"),
    *("test_import_cost.py", "test_matrix.py", "test_mcp_hostile.py", "test_mcp_processes.py"),
    *("test_one_ranking.py", "test_other_platforms.py", "test_parsing.py", "test_ranking.py"),
    *("test_same_answers.py", "test_search.py", "test_service_imports.py", "test_style.py", "test_watch.py"),
    *("test_attached_sqlite_vec.py", "test_daemon.py", "test_embedder.py", "test_install_clients.py"),
    *(
        "test_sqlite_claims.py",
        "test_sqlite_plans.py",
        "test_sqlite_processes.py",
        "test_sqlite_statements.py",
    ),
    "test_store_move.py",
}

# On a machine of one's own each run tries other examples; in CI all runs try the same.
hypothesis.settings.register_profile("mdvec", deadline=None, derandomize=IN_CI)
hypothesis.settings.load_profile("mdvec")

# Processes that tests start read the bytecode of those before them: compiling takes half of a short command.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts background jobs deaf to Ctrl-C, and so would be the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def is_measured(item: pytest.Item) -> bool:
    """Return True for a test that coverage is measured with.

    Tests of examples that hypothesis makes, and of how work grows, are not: they run the same lines by the
    thousand, and measuring makes them three times as slow.
    """
    marks = {mark.name for mark in item.iter_markers()}
    folder, *below = item.path.relative_to(Path(__file__).parent).parts
    function = getattr(item, "function", None)
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    is_chosen = bool(marks & STORES) or (folder in MEASURED and UNMEASURED.isdisjoint(below))
    repeats = getattr(function, "is_hypothesis_test", False) or "assert_grows_linearly" in names
    return is_chosen and not repeats and not marks & LONG


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what is measured."""
    if is_measured(item):
        item.add_marker("measured")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure nothing while a test runs that is not to be measured, nor in the processes that it starts."""
    coverage = sys.modules.get("coverage")
    measuring = None if coverage is None else coverage.Coverage.current()
    if measuring is None or item.get_closest_marker("measured"):
        return (yield)
    variables = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("COVERAGE_")}
    measuring.stop()
    try:
        return (yield)
    finally:
        measuring.start()
        os.environ.update(variables)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes a minute, so that no process works alone at the end."""
    items.sort(key=lambda item: item.get_closest_marker("harness") is None)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run in CI that skipped a test: what cannot run in a step is deselected by its marker."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if IN_CI and reporter is not None and reporter.stats.get("skipped") and exitstatus == pytest.ExitCode.OK:
        reporter.write_line("\nSkipped tests count as failed in CI.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    # A worker that still has a thread is killed at the end of the run, with what it has measured.
    if "PYTEST_XDIST_WORKER" in os.environ and (coverage := sys.modules.get("coverage")) is not None:
        measuring = coverage.Coverage.current()
        if measuring is not None:
            measuring.save()


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder of the model, the same for all processes that run tests."""
    folder = tmp_path_factory.getbasetemp()
    return (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "model"


@pytest.fixture(scope="session", autouse=True)
def user_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Databases and trusted folders are not remembered in the home of the person who runs tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The packages that build a site are installed once for all processes that run tests, and not at home."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield
