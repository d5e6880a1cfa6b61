"""Addresses of documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdvec.interfaces.mcp.places import STATUS, address_of, document_at

PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(PATHS)
def test_an_address_leads_back_to_its_document(path: str) -> None:
    """Whatever a file is called, its address is ASCII without spaces, and names it alone."""
    address = address_of("my-notes", path)
    assert address.isascii()
    assert " " not in address
    assert document_at(address) == ("my-notes", path)


@pytest.mark.parametrize(
    "address",
    [
        STATUS,
        "mdvec://notes",
        "mdvec://notes/",
        "mdvec:///a.md",
        "file:///a.md",
        "notes/a.md",
        "mdvec://n/%ff",
    ],
)
def test_what_names_no_document_is_no_address_of_one(address: str) -> None:
    """Neither a place without a path, nor bytes that are no text."""
    assert document_at(address) is None


def test_a_path_may_be_written_as_it_is() -> None:
    """People type addresses, too."""
    assert document_at("mdvec://notes/旅行/a b.md") == ("notes", "旅行/a b.md")
