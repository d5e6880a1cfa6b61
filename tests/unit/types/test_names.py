"""Names of collections."""

from __future__ import annotations

import pytest

from mdvec.errors import InvalidNameError
from mdvec.types.names import RESERVED_NAMES, check_collection_name


@pytest.mark.parametrize("name", ["a", "my-notes", "api_docs2", "searching", "a" * 64])
def test_a_name_is_taken(name: str) -> None:
    """Lower case letters, digits, ``-`` and ``_``, a letter first, 64 at most."""
    check_collection_name(name)


@pytest.mark.parametrize("name", ["", "Notes", "2024", "-a", "a b", "メモ", "a" * 65, "a\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    """The error repeats it."""
    with pytest.raises(InvalidNameError) as caught:
        check_collection_name(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_the_name_of_a_general_tool_is_refused(name: str) -> None:
    """The hint proposes one that is taken."""
    with pytest.raises(InvalidNameError, match="agents have a tool of that name") as caught:
        check_collection_name(name)
    proposed = caught.value.hint.split("'")[1]
    check_collection_name(proposed)
