"""Identifiers, each its own type so that they cannot be mixed up."""

from __future__ import annotations

from typing import NewType

CollectionId = NewType("CollectionId", int)
DocumentId = NewType("DocumentId", int)
ChunkId = NewType("ChunkId", int)
SpaceId = NewType("SpaceId", int)
TextHash = NewType("TextHash", bytes)
"""16 bytes of BLAKE2b over an embedded text."""
