"""The tools of an import: a collection under its claim, and the recipe by which documents are prepared."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from msgspec import Struct

from mdvec import run
from mdvec.chunking.interface import Chunker
from mdvec.documents import PARSER_VERSION
from mdvec.stores.claims import Claim
from mdvec.stores.interface import Store, Writer
from mdvec.text.terms import TERMS_VERSION
from mdvec.types.collection import Collection

BINARY_RULE = "binary"
"""The rule under which files without text are excluded."""
POINTER_RULE = "Git LFS pointer"
"""The rule under which files are excluded that only name a file that ``git lfs pull`` would fetch."""


class Work(Struct, frozen=True):
    """An import or a change of model that is under way.

    Attributes:
        collection: What is worked on, as it was when the work began.
        store: What holds it.
        claim: The right to work on it.
    """

    collection: Collection
    store: Store
    claim: Claim

    def write(self) -> AbstractContextManager[Writer]:
        """Open a transaction under the claim."""
        return self.store.write(self.claim)

    def report(self, stage: run.Stage, done: int, total: int) -> None:
        """Report progress to the caller and to waiting processes; stop if the run is cancelled.

        Raises:
            ImportStoppedError: If the run was cancelled.
        """
        self.claim.report(stage, done, total)
        run.current().report(stage, done, total)
        run.current().check()


class Recipe(Struct, frozen=True):
    """How documents are prepared.

    Attributes:
        chunker: Cuts them.
        versions: Whether ``previous`` in frontmatter names older versions; otherwise it holds links.
    """

    chunker: Chunker
    versions: bool = False

    @property
    def fingerprint(self) -> str:
        """Identifies everything that decides the record of a file; a new one means preparing it again."""
        versions = "v" if self.versions else ""
        return f"p{PARSER_VERSION}{versions}/t{TERMS_VERSION}/{self.chunker.fingerprint}"


def drop_unused_vectors(writer: Writer, *, keep: int = 0) -> None:
    """Remove the vectors that nothing uses, except the newest ``keep``.

    None is removed while a collection waits for an import, which after a rebuild finds its vectors here.
    """
    if all(each.last_indexed_ms is not None for each in writer.collections.all()):
        writer.vectors.drop_unused(keep=keep)


def named_documents(paths: Sequence[str]) -> str:
    """Name some documents by the first of them."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
