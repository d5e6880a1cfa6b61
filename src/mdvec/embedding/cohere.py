"""Rerankers over HTTP: Cohere, and every server that speaks its protocol, such as Jina and vLLM; and TEI."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from mdvec.embedding.interface import RerankerFactory
from mdvec.embedding.remote.provider import ApiKey, RerankServiceSettings, Service
from mdvec.embedding.remote.remote_reranker import RemoteReranker
from mdvec.errors import ConfigError
from mdvec.settings import declares


def _service(
    provider: str,
    name: str,
    address: str,
    variable: str = "",
    known_models: tuple[str, ...] = (),
    only_model: str = "",
    texts_field: str = "documents",
    **more: object,
) -> RerankerFactory:
    """Return the factory for a service.

    Args:
        provider: Its name in the configuration.
        name: Its name in messages.
        address: Its usual address; a server elsewhere gets no key but one that is named for it.
        variable: The variable that holds its key; empty if it needs none.
        known_models: Its models, the default one first; empty for a server that has the user's own.
        only_model: The name in messages of the one model of a server that takes no name; else empty.
        texts_field: The field of a request that holds the texts.
        more: Further fields of each request.
    """

    @declares(RerankServiceSettings)
    def make(*, model: str, timeout_s: float, threads: int | None, **settings: Any) -> RemoteReranker:  # noqa: ARG001
        chosen = RerankServiceSettings(**settings)
        base_url = chosen.address(address)
        is_own = bool(variable) and urlsplit(base_url).hostname == urlsplit(address).hostname
        chosen_model = model or only_model or (known_models[0] if is_own else "")
        if not chosen_model:
            msg = f"the reranker {provider!r} needs the name of a model"
            raise ConfigError(msg, hint=f"Give the name that the server uses: {provider}:MODEL.")
        variables = (chosen.api_key_env or variable,) if chosen.api_key_env or is_own else ()
        key = ApiKey(name if is_own else f"the server at {urlsplit(base_url).netloc}", variables)
        service = Service(
            provider=provider,
            key=key,
            model=chosen_model,
            base_url=base_url,
            known_models=known_models if is_own else (),
            stage="rerank",
        )
        options = more if only_model else {"model": chosen_model, **more}
        return RemoteReranker(service, timeout_s=timeout_s, texts_field=texts_field, options=options)

    return make


make_cohere = _service(
    "cohere",
    "Cohere",
    "https://api.cohere.com/v2",
    "COHERE_API_KEY",
    ("rerank-v3.5", "rerank-v4.0-fast", "rerank-v4.0-pro"),
)
make_jina = _service(
    "jina",
    "Jina",
    "https://api.jina.ai/v1",
    "JINA_API_KEY",
    ("jina-reranker-v2-base-multilingual", "jina-reranker-v3"),
    return_documents=False,
)
make_vllm = _service("vllm", "vLLM", "http://localhost:8000/v1")
make_tei = _service(
    "tei",
    "Text Embeddings Inference",
    "http://localhost:8080",
    only_model="tei",
    texts_field="texts",
    truncate=True,
)
