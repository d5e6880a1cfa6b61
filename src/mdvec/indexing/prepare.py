"""Computes everything that is written of a document from its bytes, before any transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mdvec.chunking.metadata import metadata_chunk
from mdvec.indexing.recipe import BINARY_RULE, POINTER_RULE, Recipe
from mdvec.stores.records import ChunkTerms, DocumentRecord, first_names
from mdvec.text.encodings import Decoded, decode
from mdvec.text.hashing import content_hash, text_hash
from mdvec.text.indexed_terms import once, terms_of
from mdvec.text.properties import property_text
from mdvec.text.prose import Prose, is_fragment, is_unspaced_prose, part_addresses, skeletons
from mdvec.types.change import Exclusion, SourceEntry
from mdvec.types.chunk import Chunk
from mdvec.types.document import Document

# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
_POINTER_START = b"version https://git-lfs.github.com/spec/v1\n"
_MAX_POINTER_BYTES = 1024


class Prepared(Struct, frozen=True):
    """A document ready to be written.

    Attributes:
        record: The record to write.
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
        contexts: Replace the contexts of the chunks, if there are as many.

    Returns:
        The prepared document, or an exclusion if the file is binary or only names a file of Git LFS.
    """
    decoded = text_or_rule(raw)
    if isinstance(decoded, str):
        return Exclusion(entry.path, decoded)
    identity = entry.content_hash or content_hash(raw)
    prepared = prepare_text(entry, decoded.text, recipe, content_hash=identity, contexts=contexts)
    if not decoded.warning:
        return prepared
    return replace(prepared, warnings=(decoded.warning, *prepared.warnings))


def text_or_rule(raw: bytes) -> Decoded | str:
    """Return the text of a file, or the rule under which it is excluded because it holds none."""
    if len(raw) < _MAX_POINTER_BYTES and raw.startswith(_POINTER_START):
        return POINTER_RULE
    return decode(raw) or BINARY_RULE


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
        contexts: Replace the contexts of the chunks, if there are as many.
    """
    document = recipe.parse(entry.path, text)
    cut = recipe.chunker.chunk(document)
    chunks = cut.chunks or (metadata_chunk(document),)
    if contexts is not None and len(contexts) == len(chunks):
        chunks = tuple(
            replace(chunk, context=context) for chunk, context in zip(chunks, contexts, strict=True)
        )
    fragments = _fragments(chunks)
    chunks = tuple(replace(each, context="") if each.ordinal in fragments else each for each in chunks)
    record = make_record(entry, content_hash, recipe.fingerprint, document, chunks)
    return Prepared(record, (*document.warnings, *cut.warnings))


def make_record(
    entry: SourceEntry, content_hash: bytes, fingerprint: str, document: Document, chunks: tuple[Chunk, ...]
) -> DocumentRecord:
    """Return the record of a document and its chunks, with their terms."""
    fragments = _fragments(chunks)
    # Bounded, since the terms are written with every chunk.
    names = first_names(document.names)
    headings = ["\n".join(chunk.heading_path) for chunk in chunks]
    # A document without text has one chunk, its frontmatter.
    is_text = bool(chunks) and chunks[0].end > document.content_start
    if is_text and (properties := property_text(document.frontmatter)):
        # The words of its properties count as another heading of its first chunk.
        headings[0] = "\n".join((*chunks[0].heading_path, properties))
    texts = [part_addresses(chunk.text) for chunk in chunks]
    bare = skeletons([each.text for each in texts], names) if is_text else [""] * len(chunks)
    return DocumentRecord(
        entry=entry,
        content_hash=content_hash,
        fingerprint=fingerprint,
        document=document,
        chunks=chunks,
        text_hashes=tuple(text_hash(each.embedded_text) for each in chunks),
        terms=tuple(
            ChunkTerms("", "", each.body, "") if ordinal in fragments else each
            for ordinal, each in enumerate(terms_of_chunks(names, headings, texts))
        ),
        unspaced=is_unspaced_prose(document.title, document.body[document.content_start :]),
        skeletons=tuple(text_hash(each) if each else b"" for each in bare),
    )


def _fragments(chunks: Sequence[Chunk]) -> frozenset[int]:
    """Return the chunks that names and headings must not find, by ordinal; none if there are no others.

    They hold nothing but pieces of an address that was too long for one chunk, or of encoded data. The title
    and the headings above would make each of them as good an answer as the text that they belong to.
    """
    found = frozenset(each.ordinal for each in chunks if is_fragment(each.text))
    return found if len(found) < len(chunks) else frozenset()


def terms_of_chunks(
    names: Sequence[str], headings: Sequence[str], texts: Sequence[Prose]
) -> Iterator[ChunkTerms]:
    """Yield the terms of a document's chunks.

    Args:
        names: Those of the document.
        headings: Of each chunk, those above it, a line each.
        texts: Of each chunk.
    """
    others = ["\n".join(names), *dict.fromkeys(headings)]
    title, *found = terms_of([*map(part_addresses, others), *texts])
    of_heading = dict(zip(others[1:], found, strict=False))
    for heading, body in zip(map(of_heading.__getitem__, headings), found[len(of_heading) :], strict=True):
        every = (title, heading, body)
        # How often a particle follows a noun carries no meaning, so each pair counts once.
        pairs = once(" ".join(each.pairs for each in every))
        singles = once(" ".join(each.singles for each in every))
        # The words of the title twice, since its main terms weigh twice.
        words = " ".join(each.words for each in (title, *every))
        yield ChunkTerms(title.main, heading.main, body.main, f"{words} {pairs} {singles}")
