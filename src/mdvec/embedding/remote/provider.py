"""The differences between services that embed: address, key, requests, responses and limits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from mdvec.embedding.interface import Role
from mdvec.embedding.remote.vectors import RawVector, parse_indexed
from mdvec.embedding.windows import Window
from mdvec.errors import EmbedderUnavailableError
from mdvec.net.response import Response
from mdvec.settings import Address, Count, Seconds, SettingsSection, VariableName
from mdvec.types.space import EmbeddingSpace

# Tokens are estimated, so a fifth of each limit is left free: a text that is cut here keeps all its parts,
# one that is cut by the service loses its end.
_USED_SHARE = 0.8


class ApiKey(Struct, frozen=True):
    """The key of a service: read from the environment when it is needed, and not stored.

    Attributes:
        service: Name of the service in messages.
        variables: Names of the variables that may hold it; the first one that is set counts.
            Empty if the service needs none.
        obtain: Where to get one, for messages.
    """

    service: str
    variables: tuple[str, ...]
    obtain: str = ""

    @property
    def hint(self) -> str:
        """The command that sets a key, or the setting that names one."""
        if not self.variables:
            return "Set api_key_env in the settings of the provider to the variable that holds your key."
        obtain = f" ({self.obtain})" if self.obtain else ""
        return f"Run 'export {self.variables[0]}=KEY' with your key{obtain}, then the command again."

    @property
    def value(self) -> str:
        """The key; empty when there is none."""
        values = (os.environ.get(variable, "").strip() for variable in self.variables)
        return next((value for value in values if value), "")

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """The reason why there is no usable key; None if there is one, or none is needed."""
        value = self.value
        if value and not (value.isascii() and value.isprintable() and " " not in value):
            msg = f"the key of {self.service} has characters that are not allowed in a key"
            return EmbedderUnavailableError(msg, hint=self.hint)
        if not value and self.variables:
            msg = f"{self.service} needs a key, and {' or '.join(self.variables)} is not set"
            return EmbedderUnavailableError(msg, hint=self.hint)
        return None


class DimensionParameter(StrEnum):
    """When a request contains the length of vectors."""

    ALWAYS = "always"
    IF_NEEDED = "if_needed"
    """After a response with vectors of another length: some servers refuse the parameter."""
    NEVER = "never"


class Service(Struct, frozen=True, kw_only=True):
    """A service and a model, and how it is reached. Nothing here sends anything.

    Attributes:
        provider: Name of the adapter.
        key: Its key.
        model: The model; of several, that of the documents.
        base_url: Address of the service.
        known_models: Models that the service is known to have.
        stage: Its settings are in ``[<stage>.<provider>]``.
    """

    provider: str
    key: ApiKey
    model: str
    base_url: str
    known_models: tuple[str, ...] = ()
    stage: str = "embedding"

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.key.service

    @property
    def section(self) -> str:
        """The section of its settings."""
        return f"{self.stage}.{self.provider}"

    def address(self, key: str) -> str:  # noqa: ARG002 - the same for every key
        """Return the address of the service for the owner of a key."""
        return self.base_url

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers of every request: the key, if there is one."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def retry_after(self, response: Response) -> float | None:  # noqa: ARG002 - most have no own way
        """Return the wait that a response requests in the service's own way.

        See ``retry_after`` of :class:`mdvec.net.client.HttpClient`.
        """
        return None


class Request(Struct, frozen=True):
    """A request for vectors.

    Attributes:
        path: Below the address of the service.
        body: JSON.
    """

    path: str
    body: Mapping[str, object]


class Provider(Service, frozen=True, kw_only=True):
    """A service that embeds, and its protocol: OpenAI's, unless an adapter says otherwise.

    Attributes:
        dimension: Length of its vectors; None if only a response shows it.
        text_tokens: Most tokens of a text, as its model counts them.
        batch_texts: Most texts of a request.
        batch_tokens: Most tokens of a request.
        dimension_parameter: Whether requests name the dimension.
        revision: Differs for vectors of this model that cannot be compared.
        warnings: Likely mistakes in the settings.
    """

    dimension: int | None
    text_tokens: int
    batch_texts: int
    batch_tokens: int
    dimension_parameter: DimensionParameter = DimensionParameter.ALWAYS
    revision: str = "1"
    warnings: tuple[str, ...] = ()

    def space(self, dimension: int) -> EmbeddingSpace:
        """Return the space of its vectors. It is the same at any address."""
        return EmbeddingSpace(self.provider, self.model, self.revision, dimension)

    def request(self, windows: Sequence[Window], role: Role, dimension: int | None) -> Request:
        """Return the request for the vectors of some texts."""
        raise NotImplementedError

    def parse_response(self, body: object, count: int) -> Sequence[RawVector]:
        """Return the vectors in a response, in the order of the texts.

        Raises:
            EmbeddingError: If they are not there.
        """
        return parse_indexed(body, count, self.name)


def usable(tokens: int, *, taken: int = 0) -> int:
    """Return how many estimated tokens fit into a limit; ``taken`` are needed for something else."""
    return max(1, int(tokens * _USED_SHARE) - taken)


class ServiceSettings(SettingsSection, frozen=True, kw_only=True):
    """The settings of a service; None leaves one to the provider.

    Attributes:
        api_key_env: The variable that holds the key.
        base_url: Where the service is.
        requests_at_once: Most requests in flight at the same time.
        timeout_s: How long the service may be silent, in seconds.
        attempts: Most times a request is sent.
    """

    api_key_env: VariableName | None = None
    base_url: Address | None = None
    requests_at_once: Count = 4
    timeout_s: Seconds = 60.0
    attempts: Count = 6


class RerankServiceSettings(SettingsSection, frozen=True, kw_only=True):
    """The settings of a service that reranks; None leaves one to the provider.

    Attributes:
        api_key_env: The variable that holds the key.
        base_url: Where the service is, with or without the path to its reranker.
    """

    api_key_env: VariableName | None = None
    base_url: Address | None = None

    def address(self, usual: str) -> str:
        """Return the address below which the service is, given its usual one."""
        return (self.base_url or usual).removesuffix("/rerank")
