"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from mdvec.text.quantity import quantity


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 documents"), (1, "1 document"), (2000, "2,000 documents")]
)
def test_one_is_singular(number: int, text: str) -> None:
    """Everything else is plural."""
    assert quantity(number, "document") == text
