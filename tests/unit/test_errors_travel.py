"""What another process answers arrives as it was."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest
from tests.unit.interfaces.fake_workspace import RESULT

from mdvec.errors import MdvecError


def tree(kind: type[MdvecError] = MdvecError) -> Iterator[type[MdvecError]]:
    """Walk the classes of errors that mdvec defines."""
    yield kind
    for each in kind.__subclasses__():
        yield from tree(each)


@pytest.mark.parametrize("kind", [each for each in tree() if each.__module__.startswith("mdvec.")])
def test_every_error_travels(kind: type[MdvecError]) -> None:
    """With its message, its hint and what else it holds."""
    error = kind("日本語 \udcff", hint="do this")
    arrived = pickle.loads(pickle.dumps(error))
    assert (type(arrived), str(arrived), vars(arrived)) == (kind, str(error), vars(error))


def test_results_travel() -> None:
    """Hits and all."""
    assert RESULT.hits
    assert pickle.loads(pickle.dumps(RESULT)) == RESULT
