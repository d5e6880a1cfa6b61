"""Rerankers over HTTP: Cohere, and every server that speaks its protocol, such as Jina and vLLM; and TEI."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from mdvec.embedding.interface import RerankerFactory
from mdvec.embedding.remote.provider import ApiKey, RerankServiceSettings
from mdvec.embedding.remote.remote_reranker import Protocol, RemoteReranker, service_to_rerank
from mdvec.errors import ConfigError
from mdvec.settings import declares


def _service(
    provider: str,
    name: str,
    address: str,
    *,
    protocol: Protocol = Protocol.COHERE,
    variable: str = "",
    known_models: tuple[str, ...] = (),
    **options: object,
) -> RerankerFactory:
    """Return the factory for a service.

    Args:
        provider: Its name in the configuration.
        name: Its name in messages.
        address: Its usual address; a server elsewhere gets no key but one that is named for it.
        protocol: Its protocol.
        variable: The variable that holds its key; empty if it needs none.
        known_models: Its models, the default one first; empty for a server that has the user's own.
        options: Further fields of each request.
    """

    @declares(RerankServiceSettings)
    def make(*, model: str, timeout_s: float, threads: int | None, **settings: Any) -> RemoteReranker:  # noqa: ARG001
        chosen = RerankServiceSettings(**settings)
        base_url = chosen.base_url or address
        is_own = urlsplit(base_url).hostname == urlsplit(address).hostname
        own_models = known_models if is_own else ()
        # A server of TEI has one model, whose name it does not take.
        chosen_model = model or next(iter(own_models), "") or (provider if protocol is Protocol.TEI else "")
        if not chosen_model:
            msg = f"the reranker {provider!r} needs the name of a model"
            raise ConfigError(msg, hint=f"Give the name that the server uses: {provider}:MODEL.")
        variables = (variable,) if variable and is_own else ()
        key = ApiKey(
            name if is_own and variable else f"the server at {urlsplit(base_url).netloc}",
            (chosen.api_key_env,) if chosen.api_key_env else variables,
            needed=bool(variables or chosen.api_key_env),
        )
        endpoint = service_to_rerank(provider, key, chosen_model, own_models)
        return RemoteReranker(endpoint, protocol, lambda _: base_url, timeout_s=timeout_s, options=options)

    return make


make_cohere = _service(
    "cohere",
    "Cohere",
    "https://api.cohere.com/v2",
    variable="COHERE_API_KEY",
    known_models=("rerank-v3.5", "rerank-v4.0-fast", "rerank-v4.0-pro"),
)
make_jina = _service(
    "jina",
    "Jina",
    "https://api.jina.ai/v1",
    variable="JINA_API_KEY",
    known_models=("jina-reranker-v2-base-multilingual", "jina-reranker-v3"),
    return_documents=False,
)
make_vllm = _service("vllm", "vLLM", "http://localhost:8000/v1")
make_tei = _service("tei", "TEI", "http://localhost:8080", protocol=Protocol.TEI)
