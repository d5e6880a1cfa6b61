"""A package of another author that extends mdvec at each of its ports, by entry points alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mdvec.chunking.interface import TokenEnds
from mdvec.chunking.windows import WindowChunker
from mdvec.embedding.interface import Runtime
from mdvec.errors import UsageError
from mdvec.settings import Address, Count, SettingsSection, Text, declares
from mdvec.sources.selection import ScanSettings
from mdvec.stores.sqlite.store import SqliteStore
from mdvec.testing.embedder import HashingEmbedder
from mdvec.types.change import Listing, SourceEntry
from mdvec.types.chunk import CutDocument
from mdvec.types.document import Document


class ToySourceSettings(SettingsSection, frozen=True, kw_only=True):
    """``[toy]``."""

    greeting: Text = "hello"
    repeat: Count = 1


@dataclass
class ToySource:
    """Holds one greeting for each name of its location."""

    location: str
    include: Sequence[str]
    exclude: Sequence[str]
    scan: ScanSettings
    cache_dir: Path
    greeting: str
    repeat: int

    Settings = ToySourceSettings

    @staticmethod
    def parse(location: str) -> str:
        """Names are separated by commas."""
        if not location.strip(","):
            msg = "a toy has a name"
            raise UsageError(msg, hint="Write toy:NAME.")
        return location.strip(",").lower()

    def list(self) -> Listing:
        """Each name is a document."""
        return Listing(
            tuple(SourceEntry(f"{name}.md", name, 0, 0) for name in sorted(self.location.split(",")))
        )

    def read(self, entry: SourceEntry) -> bytes:
        """A greeting."""
        return f"# {entry.locator}\n\n{f'{self.greeting} {entry.locator} ' * self.repeat}\n".encode()

    def prefetch(self, entries: Sequence[SourceEntry]) -> None:
        """Nothing is fetched."""

    def differs(self, known: SourceEntry) -> bool:
        """Nothing changes."""
        return False


class ToyChunkerSettings(SettingsSection, frozen=True, kw_only=True):
    """``[chunking.toy]``: types without a description are fine."""

    windows: int = 512
    max_tokens: Count | None = None


@dataclass
class ToyChunker:
    """Windows under another name."""

    token_ends: TokenEnds
    tokenizer_name: str
    token_limit: int | None
    windows: int
    max_tokens: int | None = None

    Settings = ToyChunkerSettings

    @property
    def fingerprint(self) -> str:
        """With all of the settings."""
        return f"toy:{self.windows}:{self.max_tokens}:{self.tokenizer_name}"

    def chunk(self, document: Document) -> CutDocument:
        """Leave it to the windows."""
        return WindowChunker(token_ends=self.token_ends, max_tokens=self.windows).chunk(document)


class ToyEmbeddingSettings(SettingsSection, frozen=True, kw_only=True):
    """``[embedding.toy]``."""

    base_url: Address | None = None
    length: Count = 16


@declares(ToyEmbeddingSettings)
def make_toy(
    *, model: str, dimension: int | None, runtime: Runtime, length: int, base_url: str = ""
) -> HashingEmbedder:
    """Make vectors from hashes."""
    return HashingEmbedder(dimension=dimension or length)


class ToyStoreSettings(SettingsSection, frozen=True, kw_only=True):
    """``[store.toy]``."""

    folder: Path | None = None


class ToyVectorIndexSettings(SettingsSection, frozen=True, kw_only=True):
    """``[store.toy-vectors]``."""

    probes: Count = 1


@dataclass
class ToyVectorIndex:
    """Remembers where it is, and how far it looks."""

    location: str
    probes: int

    Settings = ToyVectorIndexSettings


class ToyStore(SqliteStore):
    """A database by name, in a folder of databases."""

    Settings = ToyStoreSettings

    takes_vector_index = True

    def __init__(self, location: str, *, folder: Path, vector_index: ToyVectorIndex | None = None) -> None:
        super().__init__(folder / f"{location.removeprefix('toy://')}.db")
        self.toy_index = vector_index
