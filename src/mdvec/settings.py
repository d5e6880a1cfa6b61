"""How an adapter declares the settings of its section in the configuration.

A factory may carry an attribute ``Settings``: a frozen :class:`SettingsSection` whose fields are all
optional. They are the keys of ``[embedding.NAME]``, ``[chunking.NAME]``, ``[NAME]`` (a source) or
``[store.NAME]``. Those that are not None are passed to the factory as keyword arguments of the same names. A
class declares ``Settings`` as an attribute, a function with :func:`declares`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

AnyFactory = TypeVar("AnyFactory", bound=Callable[..., Any])

TRUSTING = "trusting"
"""In the ``extra`` of a type: why a configuration that was only found on the way may not set it."""

PRIVATE = "private"
"""In the ``extra`` of a type: a message does not repeat a wrong value, which may be the secret itself."""

PLACE = "place"
"""In the ``extra`` of a type: a relative path in the value is relative to its file."""


class SettingsSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the configuration."""


LARGEST_NUMBER = 1e12
"""More than any size or time; infinity is refused."""

# The description is what an error message says is allowed.
Count = Annotated[int, Meta(ge=1, description="a whole number of at least 1")]
Overlap = Annotated[int, Meta(ge=0, description="a whole number of at least 0")]
# Under 8 tokens a chunk is a few characters of Japanese: no unit of meaning.
ChunkTokens = Annotated[int, Meta(ge=8, description="a whole number of at least 8")]
Levels = Annotated[
    tuple[Annotated[int, Meta(ge=1, le=6)], ...],
    Meta(min_length=1, description="a list of levels of headings, from 1 to 6"),
]
Minutes = Annotated[float, Meta(ge=0, le=LARGEST_NUMBER, description="a number of at least 0")]
Seconds = Annotated[float, Meta(gt=0, le=LARGEST_NUMBER, description="a number above 0")]
Name = Annotated[str, Meta(min_length=1, description="a name")]
Text = Annotated[str, Meta(description="a text")]
# Lower case is refused, so that a key written here by mistake is.
VariableName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Z_][A-Z0-9_]*$",
        description="the name of an environment variable, in capitals (the key itself is not kept here)",
        extra={TRUSTING: "it chooses which of your secrets is sent", PRIVATE: True},
    ),
]
# Credentials do not belong into an address: it is shown.
Address = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$",
        description="an address such as 'http://localhost:11434/v1', without user name, password or query",
        extra={TRUSTING: "the server there gets your key or token"},
    ),
]
Permission = Annotated[
    bool, Meta(description="true or false", extra={TRUSTING: "it lets code of others run as you"})
]
# Repositories and models are kept there, with settings of git and graphs that are run.
OwnFolder = Annotated[
    Path, Meta(description="a path", extra={TRUSTING: "what lies there is run as part of mdvec"})
]
StoreLocation = Annotated[
    str,
    Meta(
        min_length=1,
        description="a path, or an address such as 'postgresql://HOST/DATABASE'",
        extra={PLACE: "store", TRUSTING: "your documents are sent there"},
    ),
]
VectorIndexLocation = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9_-]*(:.+)?$",
        description="NAME or NAME:PLACE of a vector index",
        extra={PLACE: "vectors", TRUSTING: "your documents are sent there"},
    ),
]


class BucketSettings(SettingsSection, frozen=True, kw_only=True):
    """How an S3 bucket is reached; credentials are those of the environment.

    Attributes:
        region: The region of the bucket; None for that of the environment.
        endpoint: The address of a server other than Amazon's that speaks S3.
    """

    region: Name | None = None
    endpoint: Address | None = None


def declares(kind: type[SettingsSection]) -> Callable[[AnyFactory], AnyFactory]:
    """Make a decorator that gives a factory function its ``Settings``."""

    def declare(factory: AnyFactory) -> AnyFactory:
        factory.__dict__["Settings"] = kind
        return factory

    return declare


def settings_kind(factory: object) -> type[Struct]:
    """Return what a factory declares; an empty section without a declaration."""
    kind: type[Struct] = getattr(factory, "Settings", SettingsSection)
    return kind


def set_only(**options: object) -> dict[str, Any]:
    """Return the options that are not None: for the others a default holds."""
    return {name: value for name, value in options.items() if value is not None}
