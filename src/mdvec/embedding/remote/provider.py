"""What differs between the services that embed: where they are, how they are spoken to, what they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mdvec.embedding.remote.access import Access
from mdvec.embedding.remote.answers import RawVector
from mdvec.embedding.remote.packing import Window
from mdvec.net.reply import Reply
from mdvec.types.space import EmbeddingSpace

# Tokens are estimated, so a fifth of each limit is left free: a text that is cut by us keeps all its parts,
# one that is cut by the service loses its end.
_USED_SHARE = 0.8


class Purpose(StrEnum):
    """What a text is embedded for."""

    QUERY = "query"
    DOCUMENT = "document"


class Telling(StrEnum):
    """When a service is told how long its vectors should be."""

    ALWAYS = "always"
    IF_NEEDED = "if_needed"
    """Once it has answered with others: some servers refuse to be told even their own length."""
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a service takes, in tokens of its model.

    Attributes:
        text_tokens: Most tokens of a text.
        batch_texts: Most texts of a request.
        batch_tokens: Most tokens of a request.
    """

    text_tokens: int
    batch_texts: int
    batch_tokens: int


@dataclass(frozen=True, slots=True)
class Question:
    """What is sent to a service.

    Attributes:
        path: Below its address.
        body: JSON.
    """

    path: str
    body: Mapping[str, object]


class Provider(Protocol):
    """One service with one model. Nothing here is sent; all of it is known at once."""

    @property
    def service(self) -> str:
        """What messages call it."""
        ...

    @property
    def section(self) -> str:
        """Where its settings are, such as ``embedding.gemini``."""
        ...

    @property
    def access(self) -> Access:
        """Its key."""
        ...

    @property
    def model(self) -> str:
        """The model of the documents."""
        ...

    @property
    def dimension(self) -> int | None:
        """How long its vectors are; None when it has to be asked."""
        ...

    @property
    def telling(self) -> Telling:
        """Whether it is told that."""
        ...

    @property
    def known_models(self) -> Sequence[str]:
        """Models that are known to exist there."""
        ...

    @property
    def limits(self) -> Limits:
        """What it takes."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is likely to be a mistake in its settings."""
        ...

    def address(self, key: str) -> str:
        """Return where the service is for the owner of a key."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """Return what is sent with every request."""
        ...

    def space(self, dimension: int) -> EmbeddingSpace:
        """Return the space of its vectors."""
        ...

    def question(self, windows: Sequence[Window], purpose: Purpose, dimension: int | None) -> Question:
        """Ask for the vectors of some texts.

        Args:
            windows: The texts.
            purpose: What they are embedded for.
            dimension: How long the vectors should be; None to leave it to the service.
        """
        ...

    def answer(self, answer: object, count: int) -> Sequence[RawVector]:
        """Find the vectors in an answer, in the order of the texts.

        Args:
            answer: JSON.
            count: How many texts there were.

        Raises:
            EmbeddingError: If they are not there.
        """
        ...

    def asked_wait(self, reply: Reply) -> float | None:
        """See ``wait_of`` of :class:`mdvec.net.client.HttpClient`."""
        ...


def usable(tokens: int, *, taken: int = 0) -> int:
    """Return how many estimated tokens fit into a limit.

    Args:
        tokens: The limit, in tokens of the model.
        taken: Tokens that are needed for something else, such as a prefix.
    """
    return max(1, int(tokens * _USED_SHARE) - taken)
