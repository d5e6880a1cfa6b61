"""Rerankers and the services they ask: what goes over the wire, and every way in which it goes wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.fakes.embedding_services import (
    KEY,
    CohereServer,
    TeiServer,
    VllmServer,
    VoyageServer,
    relevance,
    tokens_read,
)
from tests.fakes.http_server import DROPPED, Answer, HttpServer

from mdvec import registry
from mdvec.embedding.interface import Reranker
from mdvec.embedding.voyage import make_voyage_reranker
from mdvec.errors import ConfigError, EmbedderBusyError, EmbedderUnavailableError, EmbeddingError

QUERY = "red lamp"
TEXTS = ["a blue ship", "the red lamp of the harbour", "a red door"]


@dataclass(frozen=True)
class Service:
    """A running service, and the reranker's name for it.

    Attributes:
        name: Of the provider.
        server: Its server.
        path: What its address ends with.
        sent: The body of a request, without the query and the texts.
        texts: The field of the texts.
        counts: Whether it says how many tokens it has read.
        settings: What is always set.
    """

    name: str
    server: HttpServer
    path: str
    sent: Mapping[str, Any]
    texts: str = "documents"
    counts: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    def reranker(self, *, model: str | None = None, timeout_s: float = 20.0, **settings: Any) -> Reranker:
        given = {"base_url": self.server.url + self.path, **self.settings, **settings}
        name = self.sent.get("model", "") if model is None else model
        made: Reranker = registry.load("rerankers", self.name)(
            model=name, timeout_s=timeout_s, threads=None, **given
        )
        return made


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("VOYAGE_API_KEY", "COHERE_API_KEY", "JINA_API_KEY"):
        monkeypatch.setenv(variable, KEY)


@pytest.fixture
def voyage() -> Iterator[Service]:
    with VoyageServer() as server:
        yield Service("voyage", server, "/v1", {"model": "rerank-2.5"})


@pytest.fixture
def cohere() -> Iterator[Service]:
    with CohereServer() as server:
        settings = {"api_key_env": "COHERE_API_KEY"}
        yield Service("cohere", server, "/v2", {"model": "rerank-v3.5"}, counts=False, settings=settings)


@pytest.fixture
def vllm() -> Iterator[Service]:
    with VllmServer() as server:
        yield Service("vllm", server, "/v1", {"model": VllmServer.MODEL})


@pytest.fixture
def jina() -> Iterator[Service]:
    with VllmServer() as server:
        sent = {"model": VllmServer.MODEL, "return_documents": False}
        yield Service("jina", server, "/v1", sent)


@pytest.fixture
def tei() -> Iterator[Service]:
    with TeiServer() as server:
        yield Service("tei", server, "", {"truncate": True}, "texts", counts=False)


@pytest.fixture(params=["voyage", "cohere", "vllm", "jina", "tei"])
def service(request: pytest.FixtureRequest) -> Service:
    """Each kind of service."""
    found: Service = request.getfixturevalue(request.param)
    return found


def failing(service: Service, *answers: Answer) -> Service:
    service.server.failures.extend(answers)
    return service


# --- what is sent and read ---------------------------------------------------------------------


def test_each_protocol_in_its_own_words(service: Service) -> None:
    """One request holds the query and all texts, nothing else; scores return in the order of the texts."""
    found = service.reranker().relevance(QUERY, TEXTS)
    [asked] = service.server.asked
    assert (asked.method, asked.path) == ("POST", f"{service.path}/rerank")
    assert asked.body == {"query": QUERY, service.texts: TEXTS, **service.sent}
    assert list(found.scores) == [relevance(QUERY, text) for text in TEXTS]
    assert found.tokens == tokens_read(QUERY, TEXTS)


def test_an_address_may_name_the_endpoint(vllm: Service) -> None:
    """The address is used as it is written in the examples of servers, with the endpoint at its end."""
    vllm.reranker(base_url=f"{vllm.server.url}/v1/rerank").relevance(QUERY, TEXTS)
    assert vllm.server.asked[0].path == "/v1/rerank"


def test_any_text_can_be_sent(service: Service) -> None:
    """Blank texts and lone surrogates, which services refuse, are replaced."""
    found = service.reranker().relevance("\ud800 red", ["", " \n", "red \udfff"])
    assert len(found.scores) == 3


def test_a_key_goes_to_its_own_service_alone(
    voyage: Service, cohere: Service, vllm: Service, jina: Service, tei: Service
) -> None:
    """A server of the user's own receives a key only if a variable is named for it."""
    for service in (vllm, jina, tei):
        service.reranker().relevance(QUERY, TEXTS)
        service.reranker(api_key_env="JINA_API_KEY").relevance(QUERY, TEXTS)
        sent = [asked.headers.get("authorization") for asked in service.server.asked]
        assert sent == [None, f"Bearer {KEY}"]
    for service in (voyage, cohere):
        service.reranker().relevance(QUERY, TEXTS)
        assert service.server.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("key", "address"), [("pa-1", "https://api.voyageai.com/v1"), ("al-1", "https://ai.mongodb.com/v1")]
)
def test_a_key_of_atlas_is_for_mongodb(key: str, address: str) -> None:
    """Voyage's rerankers are used at MongoDB with its keys, as its embedders are."""
    made = make_voyage_reranker(model="", timeout_s=1.0, threads=None)
    assert made._client._service.address(key) == address
    assert made.model == "rerank-2.5-lite"


def test_nothing_is_sent_without_a_key(cohere: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing key is known before anything is sent; the hint says how to set it."""
    monkeypatch.delenv("COHERE_API_KEY")
    reranker = cohere.reranker()
    assert reranker.problem is not None
    with pytest.raises(EmbedderUnavailableError, match="COHERE_API_KEY is not set") as caught:
        reranker.relevance(QUERY, TEXTS)
    assert "export COHERE_API_KEY=KEY" in caught.value.hint
    assert cohere.server.asked == []


def test_a_server_needs_the_name_of_its_model(vllm: Service, cohere: Service, tei: Service) -> None:
    """Nobody knows what a server of the user's own has; TEI has one, and Cohere a default."""
    for service in (vllm, cohere):
        with pytest.raises(ConfigError, match="needs the name of a model"):
            service.reranker(model="")
    assert tei.reranker().model == "tei"
    for name, model in (("cohere", "rerank-v3.5"), ("jina", "jina-reranker-v2-base-multilingual")):
        assert registry.load("rerankers", name)(model="", timeout_s=1.0, threads=None).model == model


# --- what goes wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [("voyage", "Provided API key is invalid"), ("cohere", "invalid api token")],
)
def test_a_wrong_key(
    name: str, message: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """401 is reported in the service's words, with the variable to set, and without the key."""
    service: Service = request.getfixturevalue(name)
    monkeypatch.setenv(f"{name.upper()}_API_KEY", "another-key-of-the-test")
    with pytest.raises(EmbedderUnavailableError, match=message) as caught:
        service.reranker().relevance(QUERY, TEXTS)
    assert f"export {name.upper()}_API_KEY=KEY" in caught.value.hint
    assert "another-key" not in str(caught.value)


@pytest.mark.parametrize("name", ["voyage", "cohere", "vllm"])
def test_an_unknown_model(name: str, request: pytest.FixtureRequest) -> None:
    """The hint names the model, and the section of its settings."""
    service: Service = request.getfixturevalue(name)
    with pytest.raises(EmbedderUnavailableError) as caught:
        service.reranker(model="rerank-9").relevance(QUERY, TEXTS)
    assert "'rerank-9'" in caught.value.hint
    assert f"[rerank.{name}] base_url" in caught.value.hint
    assert ("rerank-2.5-lite" in caught.value.hint) is (name == "voyage")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_service_is_asked_once(service: Service, status: int) -> None:
    """A person waits, and has the order without it: the request is not repeated."""
    failing(service, Answer(status, {"message": "busy"}))
    with pytest.raises(EmbedderBusyError, match=f"HTTP {status}: busy"):
        service.reranker().relevance(QUERY, TEXTS)
    assert len(service.server.asked) == 1


def test_retry_after_holds_for_the_next_queries(service: Service) -> None:
    """A service that wants to be left alone gets no request for that long."""
    reranker = failing(service, Answer(429, {"message": "slow down"}, {"Retry-After": "60"})).reranker()
    for _ in range(3):
        with pytest.raises(EmbedderBusyError, match="asks to wait"):
            reranker.relevance(QUERY, TEXTS)
    assert len(service.server.asked) == 1


def test_a_silent_service_is_left(service: Service) -> None:
    """No complete response within the limit is an error, whatever the service does later."""
    failing(service, Answer(200, [], delay_s=0.5))
    with pytest.raises(EmbedderBusyError, match="no complete response in time"):
        service.reranker(timeout_s=0.1).relevance(QUERY, TEXTS)


BODIES: Sequence[tuple[Answer, str]] = (
    (Answer(200, b'{"results": [{"index": 0, "rel'), "bytes that are not JSON"),
    (Answer(200, {"results": []}, missing_bytes=5), "breaks off"),
    (Answer(DROPPED), "breaks off|cannot be reached"),
    (Answer(200, {"embedding": []}), "scored 0 texts"),
    (Answer(200, {"results": [{"index": "a"}]}), "something other than scores|scored 0 texts"),
    (Answer(200, "fine"), "something other than scores"),
)


@pytest.mark.parametrize(("answer", "message"), BODIES)
def test_a_broken_response(service: Service, answer: Answer, message: str) -> None:
    """A response that ends early, is no JSON or means something else is an error, with the service's name."""
    failing(service, answer)
    with pytest.raises(EmbeddingError, match=message):
        service.reranker().relevance(QUERY, TEXTS)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([(0, 0.5), (1, 0.5)], "scored 2 texts, not the 3"),
        ([(0, 0.5), (1, 0.5), (1, 0.5)], "scored 2 texts, not the 3"),
        ([(0, 0.5), (1, 0.5), (3, 0.5)], "scored 3 texts, not the 3 that were sent"),
        ([(0, 0.5), (1, 0.5), (2, float("nan"))], "not a number"),
    ],
)
def test_scores_of_other_texts(service: Service, scores: list[tuple[int, float]], message: str) -> None:
    """Each text has one score, and it is a number."""
    name = "score" if service.name == "tei" else "relevance_score"
    found = [{"index": at, name: score} for at, score in scores]
    body = found if service.name == "tei" else {"data" if service.name == "voyage" else "results": found}
    failing(service, Answer(200, body))
    with pytest.raises(EmbeddingError, match=message):
        service.reranker().relevance(QUERY, TEXTS)


def test_more_texts_than_tei_takes(tei: Service) -> None:
    """The limit of the server is in the error."""
    with pytest.raises(EmbeddingError, match="batch size 33 > maximum allowed batch size 32"):
        tei.reranker().relevance(QUERY, ["red"] * 33)
