"""What is set for every service that embeds."""

from __future__ import annotations

from mdvec.settings import Address, Count, Seconds, Section, VariableName


class ServiceSettings(Section, frozen=True, kw_only=True):
    """The settings of a service; None leaves one to the provider.

    Attributes:
        api_key_env: The variable that holds the key.
        base_url: Where the service is.
        requests_at_once: Most requests under way at the same time.
        timeout_s: How long the service may be silent, in seconds.
        attempts: Most times a request is sent.
    """

    api_key_env: VariableName | None = None
    base_url: Address | None = None
    requests_at_once: Count = 4
    timeout_s: Seconds = 60.0
    attempts: Count = 6
