"""From raw bytes to everything that is written of a document; computed before any transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mdvec.chunking.interface import Chunker
from mdvec.chunking.metadata import metadata_chunk
from mdvec.stores.records import ChunkTerms, DocumentRecord, embedded_names
from mdvec.text.encodings import decode
from mdvec.text.hashing import content_hash, text_hash
from mdvec.text.properties import property_text
from mdvec.text.prose import is_unspaced_prose, skeleton
from mdvec.text.terms import TERMS_VERSION, Terms, index_terms
from mdvec.types.change import Exclusion, SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.document import Document

BINARY_RULE = "binary"
"""The rule under which files without text are excluded."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents are prepared.

    Attributes:
        parse: Makes a document of a path and its text.
        parser_version: Raised when the same text gives another document.
        chunker: Cuts it.
    """

    parse: Callable[[str, str], Document]
    parser_version: str
    chunker: Chunker

    @property
    def fingerprint(self) -> str:
        """All that decides what is written for the same bytes; a new one means preparing anew."""
        return f"p{self.parser_version}/t{TERMS_VERSION}/{self.chunker.fingerprint}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be written.

    Attributes:
        record: What is written.
        warnings: For people.
    """

    record: DocumentRecord
    warnings: tuple[str, ...]


def prepare(
    entry: SourceEntry, raw: bytes, recipe: Recipe, *, contexts: Sequence[str] | None = None
) -> Prepared | Exclusion:
    """Decode, parse, cut and tokenise a file.

    Args:
        entry: What the source listed.
        raw: The bytes of the file.
        recipe: How to do it.
        contexts: Used instead of the chunks' own when there are as many: those of the same content.

    Returns:
        The prepared document, or an exclusion when the bytes are no text.
    """
    decoded = decode(raw)
    if decoded is None:
        return Exclusion(entry.path, BINARY_RULE)
    identity = entry.content_hash or content_hash(raw)
    prepared = prepare_text(entry, decoded.text, recipe, content_hash=identity, contexts=contexts)
    if not decoded.warning:
        return prepared
    return replace(prepared, warnings=(decoded.warning, *prepared.warnings))


def prepare_text(
    entry: SourceEntry,
    text: str,
    recipe: Recipe,
    *,
    content_hash: bytes,
    contexts: Sequence[str] | None = None,
) -> Prepared:
    """Parse, cut and tokenise a text.

    Args:
        entry: What the source listed.
        text: As :func:`mdvec.text.encodings.decode` gives it.
        recipe: How to do it.
        content_hash: The identity of the file's content.
        contexts: Used instead of the chunks' own when there are as many: those of the same content.
    """
    document = recipe.parse(entry.path, text)
    cut = recipe.chunker.chunk(document)
    chunks = cut.chunks or (metadata_chunk(document),)
    if contexts is not None and len(contexts) == len(chunks):
        chunks = tuple(
            replace(chunk, context=context) for chunk, context in zip(chunks, contexts, strict=True)
        )
    record = make_record(entry, content_hash, recipe.fingerprint, document, chunks)
    return Prepared(record, (*document.warnings, *cut.warnings))


def make_record(
    entry: SourceEntry, content_hash: bytes, fingerprint: str, document: Document, chunks: tuple[Chunk, ...]
) -> DocumentRecord:
    """Return all that is written of a document that was cut, with the terms of its chunks."""
    # Bounded, since the terms are written with every chunk.
    names = embedded_names(document)
    title = index_terms("\n".join(names))
    terms: list[ChunkTerms] = []
    skeletons: list[bytes] = []
    # The chunk of a document without text is its frontmatter.
    is_text = bool(chunks) and chunks[0].end > document.content_start
    for chunk in chunks:
        terms.append(chunk_terms(title, chunk))
        skeletons.append(_skeleton(chunk, names) if is_text else b"")
    if is_text and (properties := property_text(document.frontmatter)):
        # As one more heading of its first chunk, a document is found by the words of its properties.
        named = replace(chunks[0], heading_path=(*chunks[0].heading_path, properties))
        terms[0] = chunk_terms(title, named)
    return DocumentRecord(
        entry=entry,
        content_hash=content_hash,
        fingerprint=fingerprint,
        document=document,
        chunks=chunks,
        terms=tuple(terms),
        unspaced=is_unspaced_prose(document.title, document.body[document.content_start :]),
        skeletons=tuple(skeletons),
    )


def _skeleton(chunk: Chunk, names: Sequence[str]) -> bytes:
    """Return the identity of what a chunk's text is apart from the names of its document; may be empty."""
    words = skeleton(chunk.text, names)
    return text_hash(words) if words else b""


def chunk_terms(title: Terms, chunk: Chunk) -> ChunkTerms:
    """Return the terms of a chunk.

    Args:
        title: The terms of its document's names.
        chunk: The chunk.
    """
    heading, body = index_terms("\n".join(chunk.heading_path)), index_terms(chunk.text)
    every = (title, heading, body)
    # How often a particle follows a noun says nothing of what a text is about: once is enough.
    pairs = dict.fromkeys(pair for terms in every for pair in terms.pairs)
    singles = dict.fromkeys(single for terms in every for single in terms.singles)
    # The words of the title twice, since its main terms weigh twice.
    words = (word for terms in (title, *every) for word in terms.words)
    return ChunkTerms(title.main, heading.main, body.main, (*words, *pairs, *singles))
