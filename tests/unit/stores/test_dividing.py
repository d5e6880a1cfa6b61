"""How processes that keep one store up to date divide its collections."""

from __future__ import annotations

import pytest

from mdvec.stores.postgres.claims import divide
from mdvec.types.ids import CollectionId


@pytest.mark.parametrize(
    ("offers", "shares"),
    [
        ({}, {}),
        ({1: []}, {1: set()}),
        ({1: [1, 2, 3]}, {1: {1, 2, 3}}),
        ({1: [1, 2, 3, 4], 2: [1, 2, 3, 4]}, {1: {1, 3}, 2: {2, 4}}),
        ({1: [1, 2], 2: [1, 2], 3: [1, 2]}, {1: {1}, 2: {2}, 3: set()}),
        ({1: [1, 2, 3], 2: [3]}, {1: {1, 2}, 2: {3}}),  # who can do little does that
        ({1: [1, 2, 3], 2: [2, 3]}, {1: {1, 3}, 2: {2}}),
    ],
)
def test_each_collection_goes_to_one_that_offers_to_watch_it(
    offers: dict[int, list[int]], shares: dict[int, set[int]]
) -> None:
    """All have about as many; the oldest comes first."""
    assert divide({token: [*map(CollectionId, each)] for token, each in offers.items()}) == shares
