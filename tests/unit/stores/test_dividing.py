"""How processes that keep one store up to date divide its collections."""

from __future__ import annotations

import pytest

from mdvec.stores.sharing import divide
from mdvec.types.ids import CollectionId


@pytest.mark.parametrize(
    ("offers", "shares"),
    [
        ({}, {}),
        ({"a": []}, {"a": set()}),
        ({"a": [1, 2, 3]}, {"a": {1, 2, 3}}),
        ({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]}, {"a": {1, 3}, "b": {2, 4}}),
        ({"a": [1, 2], "b": [1, 2], "c": [1, 2]}, {"a": {1}, "b": {2}, "c": set()}),
        ({"a": [1, 2, 3], "b": [3]}, {"a": {1, 2}, "b": {3}}),  # who can do little does that
        ({"a": [1, 2, 3], "b": [2, 3]}, {"a": {1, 3}, "b": {2}}),
    ],
)
def test_each_collection_goes_to_one_that_offers_to_watch_it(
    offers: dict[str, list[int]], shares: dict[str, set[int]]
) -> None:
    """All have about as many; the oldest comes first."""
    assert divide({token: [*map(CollectionId, each)] for token, each in offers.items()}) == shares
