"""Hashes that identify files and texts by their content."""

from __future__ import annotations

import hashlib

from mdvec.types.ids import TextHash


def content_hash(raw: bytes) -> bytes:
    """Return the SHA-256 of a file's raw bytes (32 bytes)."""
    return hashlib.sha256(raw).digest()


def text_hash(text: str) -> TextHash:
    """Return the hash that identifies an embedded text (16 bytes of BLAKE2b)."""
    return TextHash(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
