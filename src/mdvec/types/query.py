"""Search queries and their filters."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import force_setattr

from mdvec.errors import UsageError
from mdvec.types.ids import ChunkId, CollectionId, DocumentId


class SearchMode(StrEnum):
    """The ways to find hits."""

    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


class Expansion(StrEnum):
    """The amount of text around a found chunk that is returned.

    ``chunk`` is each chunk by itself, ranked as it is. Otherwise neighbouring chunks are joined to a passage,
    and other documents come before one has a further hit.
    """

    PASSAGE = "passage"
    CHUNK = "chunk"
    SECTION = "section"
    DOCUMENT = "document"
    NEIGHBOURS = "neighbours"


class TagMatch(StrEnum):
    """The number of tags a document needs: one of them or all."""

    ANY = "any"
    ALL = "all"


class LinkFilter(StrEnum):
    """The documents without a link from or to another one, and those with a link that leads to nothing."""

    ORPHAN = "orphan"
    UNRESOLVED = "unresolved"


class Comparison(StrEnum):
    """The ways to compare a property with a value."""

    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


ANY_VALUE = "*"
"""Equals every value of a property."""


class PropertyCondition(Struct, frozen=True):
    """A condition on a property of the frontmatter; of a list one value has to meet it.

    Attributes:
        key: The property; case does not count.
        comparison: How it is compared. Only numbers and dates are smaller or larger than others. A document
            without the property is unequal to everything.
        value: With what. Case does not count, and a link is compared by its target. ``*`` equals any value.
    """

    key: str
    comparison: Comparison
    value: str


class Filters(Struct, frozen=True):
    """Conditions on chunks; each field that is set narrows further.

    Attributes:
        tags: Tags; ``a`` also stands for ``a/b``. Case does not count.
        tag_match: If one of them is enough, or all are needed.
        alias_prefix: Keep documents with an alias that starts so (case does not count).
        path: Glob over the document's path: ``*`` stays inside one folder, ``**`` crosses folders,
            a pattern without ``/`` is matched against the file's name, or takes all below any folder of
            that name, and one that ends in ``/`` takes all below that folder.
        depths: Depths 0-3 of chunks; empty for all.
        updated_since_ns: Keep documents updated at or after this time, in nanoseconds since 1970: what their
            frontmatter says (``updated``), else the time of their file.
        updated_until_ns: Keep documents updated before this time.
        linked_to: Keep documents with a link to the document at this path.
        links: Keep documents whose links are so.
        include_superseded: Also find documents that another names as its ``previous`` one.
        properties: Conditions on the frontmatter, all of which a document has to meet.
        clean_only: Leave out documents that are marked as changed since they were indexed.
    """

    tags: tuple[str, ...] = ()
    tag_match: TagMatch = TagMatch.ANY
    alias_prefix: str | None = None
    path: str | None = None
    depths: tuple[int, ...] = ()
    updated_since_ns: int | None = None
    updated_until_ns: int | None = None
    linked_to: str | None = None
    links: LinkFilter | None = None
    include_superseded: bool = False
    properties: tuple[PropertyCondition, ...] = ()
    clean_only: bool = False


class Where(Struct, frozen=True):
    """The chunks that a store may find: filters inside some collections.

    Attributes:
        collections: The collections.
        filters: More conditions. A store ignores ``linked_to``, ``links`` and ``include_superseded``: they
            arrive as the documents in ``only`` and ``hidden``.
        only: Documents to look in, inside the collections; None for all.
        hidden: Documents that are left out.
        chunks: Chunks to look among, inside all of that; None for all.
        hidden_chunks: Chunks that are left out.
    """

    collections: tuple[CollectionId, ...]
    filters: Filters = field(default_factory=Filters)
    only: frozenset[DocumentId] | None = None
    hidden: frozenset[DocumentId] = frozenset()
    chunks: frozenset[ChunkId] | None = None
    hidden_chunks: frozenset[ChunkId] = frozenset()


class SortBy(StrEnum):
    """The order of the hits that are shown."""

    SCORE = "score"
    DATE = "date"


MIN_SCORE = 0.025
"""The smallest score of a hit that is shown by default: a weaker one hardly ever answers."""


class SearchQuery(Struct, frozen=True):
    """A search query to a workspace.

    Attributes:
        text: A question or keywords, in any language.
        mode: The way to search.
        collections: Names; empty for all enabled ones.
        filters: Conditions on the chunks.
        limit: Most hits to return.
        min_score: Smallest score of a hit; the others are left out and counted.
        all_similar: Whether each of several like texts is a hit of its own.
        sort: The order of these hits: the best first, or the last updated.
        threshold: Smallest cosine similarity of a hit; None for no limit. Hits without a
            similarity (found by words alone, not embedded yet) stay.
        per_document: Most hits of one document; None for any number, where other documents come first.
        expand: How much text to return around a hit.
        expand_tokens: Most tokens of text in all hits together that ``expand`` returns; it cuts no passage.
        max_tokens: Most tokens of text in all hits together; None for no limit.
        queries: Other phrasings or parts of ``text``. The hits of all are merged: each passage once, with its
            best score.
        rerank: Whether the reranker orders the first passages, if one is configured.
    """

    text: str
    mode: SearchMode = SearchMode.HYBRID
    collections: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    limit: int = 5
    min_score: float = MIN_SCORE
    all_similar: bool = False
    sort: SortBy = SortBy.SCORE
    threshold: float | None = None
    per_document: int | None = None
    expand: Expansion = Expansion.PASSAGE
    expand_tokens: int = 10_000
    max_tokens: int | None = None
    queries: tuple[str, ...] = ()
    rerank: bool = True

    def __post_init__(self) -> None:
        """Take the words of an enumeration, too: ``mode="lexical"``.

        Raises:
            UsageError: If it is none of the enumeration.
        """
        try:
            force_setattr(self, "mode", SearchMode(self.mode))
            force_setattr(self, "sort", SortBy(self.sort))
            force_setattr(self, "expand", Expansion(self.expand))
        except ValueError as error:
            raise UsageError(str(error)) from error
