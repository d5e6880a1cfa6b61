"""Embedders and the services they ask: what goes over the wire, and every way in which it goes wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fakes.embedding_services import (
    KEY,
    GeminiServer,
    OpenAiServer,
    TeiServer,
    VoyageServer,
    google_quota,
    openai_error,
    vector,
)
from tests.fakes.fake_time import fake_time
from tests.fakes.http_server import DROPPED, Answer, Asked, HttpServer

from mdvec import registry
from mdvec.embedding.interface import Embedder, Runtime, embed_all
from mdvec.embedding.voyage import VoyageProvider
from mdvec.errors import (
    ConfigError,
    EmbedderBusyError,
    EmbedderUnavailableError,
    EmbeddingError,
    ImportStoppedError,
)

TEXTS = [f"note number {number} about {'harbours' if number % 2 else '港'}" for number in range(7)]
AT_ONCE = {"Retry-After": "0.01"}


@dataclass(frozen=True)
class Service:
    """A running service and the embedder's name for it.

    Attributes:
        name: Of the provider.
        server: Its server.
        path: What its address ends with.
        settings: What is always set.
    """

    name: str
    server: HttpServer
    path: str
    settings: Mapping[str, Any]

    def embedder(self, **settings: Any) -> Embedder:
        given = {"model": "", "dimension": None, "base_url": self.server.url + self.path}
        runtime = settings.pop("runtime", Runtime(Path("/nonexistent")))
        made: Embedder = registry.load("embedding", self.name)(
            runtime=runtime, **{**given, **self.settings, **settings}
        )
        return made


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    for variable in ("GEMINI_API_KEY", "VOYAGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, KEY)


@pytest.fixture
def gemini() -> Iterator[Service]:
    with GeminiServer() as server:
        yield Service("gemini", server, "", {})


@pytest.fixture
def voyage() -> Iterator[Service]:
    with VoyageServer() as server:
        yield Service("voyage", server, "/v1", {})


@pytest.fixture
def openai() -> Iterator[Service]:
    with OpenAiServer() as server:
        yield Service(
            "openai", server, "/v1", {"model": "text-embedding-3-small", "api_key_env": "OPENAI_API_KEY"}
        )


@pytest.fixture
def tei() -> Iterator[Service]:
    with TeiServer() as server:
        yield Service("openai", server, "/v1", {"model": "tei"})


@pytest.fixture(params=["gemini", "voyage", "openai"])
def service(request: pytest.FixtureRequest) -> Service:
    """Each kind of service."""
    found: Service = request.getfixturevalue(request.param)
    return found


def bodies(service: Service) -> list[Any]:
    return [asked.body for asked in service.server.asked]


def texts_of(asked: Asked) -> list[str]:
    if "input" in asked.body:
        return list(asked.body["input"])
    return [request["content"]["parts"][0]["text"] for request in asked.body["requests"]]


# --- what is sent ------------------------------------------------------------------------------


def test_gemini_001_is_told_the_task_and_the_title(gemini: Service) -> None:
    """The first generation gets task type, title and dimension apart; the key goes into a header."""
    embedder = gemini.embedder()
    embed_all(embedder, ["text"], titles=["Title"])
    embedder.embed_query("question")
    asked = gemini.server.asked[0]
    assert asked.path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert asked.headers["x-goog-api-key"] == KEY
    assert bodies(gemini) == [
        {
            "requests": [
                {
                    "model": "models/gemini-embedding-001",
                    "content": {"parts": [{"text": "text"}]},
                    "outputDimensionality": 768,
                    "taskType": "RETRIEVAL_DOCUMENT",
                    "title": "Title",
                }
            ]
        },
        {
            "requests": [
                {
                    "model": "models/gemini-embedding-001",
                    "content": {"parts": [{"text": "question"}]},
                    "outputDimensionality": 768,
                    "taskType": "RETRIEVAL_QUERY",
                }
            ]
        },
    ]


def test_gemini_2_reads_the_task_in_the_text(gemini: Service) -> None:
    """The second generation gets it as words in front of the text."""
    embedder = gemini.embedder(model="gemini-embedding-2", dimension=3072)
    assert embedder.space.dimension == 3072
    embed_all(embedder, ["text", "other"], titles=["Title", ""])
    embedder.embed_query("question")
    assert [texts_of(asked) for asked in gemini.server.asked] == [
        ["title: Title | text: text", "title: none | text: other"],
        ["task: search result | query: question"],
    ]
    assert all("taskType" not in request for body in bodies(gemini) for request in body["requests"])


def test_voyage_is_told_what_texts_are_for(voyage: Service) -> None:
    """Documents and questions differ by ``input_type``; questions may go to a smaller model of the family."""
    embedder = voyage.embedder(model="voyage-4-large", query_model="voyage-4-lite", dimension=256)
    embed_all(embedder, ["text"])
    embedder.embed_query("question")
    common = {"truncation": True, "encoding_format": "base64", "output_dimension": 256}
    assert bodies(voyage) == [
        {"input": ["text"], "model": "voyage-4-large", "input_type": "document", **common},
        {"input": ["question"], "model": "voyage-4-lite", "input_type": "query", **common},
    ]
    assert voyage.server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert embedder.space.key == "voyage:voyage-4-large@1:256:t1"


def test_voyages_third_generation_works(voyage: Service) -> None:
    """A model with one length of vectors is not asked for another one."""
    embedder = voyage.embedder(model="voyage-3-lite")
    assert embedder.embed_query("question").shape == (512,)
    assert "output_dimension" not in bodies(voyage)[0]


@pytest.mark.parametrize(
    ("key", "address"),
    [("pa-0123", "https://api.voyageai.com/v1"), ("al-0123", "https://ai.mongodb.com/v1")],
)
def test_keys_of_atlas_are_used_at_mongodb(key: str, address: str) -> None:
    """The beginning of a key says where it is known; an address of one's own counts more."""
    facts: dict[str, Any] = dict.fromkeys(VoyageProvider.__struct_fields__)
    assert VoyageProvider(**facts | {"base_url": ""}).address(key) == address
    assert VoyageProvider(**facts | {"base_url": "http://own"}).address(key) == "http://own"


def test_openai_gets_what_is_configured(openai: Service) -> None:
    """Prefixes and input types go with the texts, the dimension only when it is not the model's own."""
    embedder = openai.embedder(
        dimension=256,
        query_prefix="query: ",
        document_prefix="passage: ",
        query_input_type="query",
        document_input_type="passage",
    )
    embed_all(embedder, ["text"], titles=["Title is not used"])
    embedder.embed_query("question")
    common = {"model": "text-embedding-3-small", "encoding_format": "float", "dimensions": 256}
    assert bodies(openai) == [
        {"input": ["passage: text"], "input_type": "passage", **common},
        {"input": ["query: question"], "input_type": "query", **common},
    ]
    plain = openai.embedder(dimension=1536)
    plain.embed_query("question")
    assert set(bodies(openai)[-1]) == {"model", "input", "encoding_format"}


@pytest.mark.parametrize("provider", ["openai", "ollama", "lmstudio", "vllm"])
def test_openais_key_is_sent_to_no_other_server(provider: str, openai: Service) -> None:
    """Another server gets no key, whatever is in ``OPENAI_API_KEY``, and then the one it was given."""
    openai.server.needs_key = False  # type: ignore[attr-defined]
    service = replace(openai, name=provider, settings={"model": "text-embedding-3-small"})
    embedder = service.embedder()
    assert embedder.problem is None
    embedder.embed_query("question")
    service.embedder(api_key_env="OPENAI_API_KEY").embed_query("question")
    sent = [asked.headers.get("authorization") for asked in openai.server.asked]
    assert sent == [None, f"Bearer {KEY}"]


def test_a_server_that_wants_a_key_is_given_one_by_a_setting(openai: Service) -> None:
    """The error of a server that refuses a request without a key names the setting."""
    with pytest.raises(EmbeddingError) as caught:
        openai.embedder(api_key_env=None).embed_query("question")
    assert "api_key_env" in caught.value.hint


def test_an_unknown_length_is_asked_once(tei: Service) -> None:
    """How long the vectors of an unknown model are is asked once, however often the space is needed."""
    embedder = tei.embedder()
    assert tei.server.asked == []
    assert [embedder.space.dimension for _ in range(3)] == [384] * 3
    embed_all(embedder, TEXTS)
    assert len(tei.server.asked) == 2


def test_prefixes_make_another_space(tei: Service) -> None:
    """Vectors made with other prefixes are not comparable; those made at another address are."""
    plain = tei.embedder(dimension=384).space
    prefixed = tei.embedder(dimension=384, query_prefix="query: ", document_prefix="passage: ").space
    elsewhere = tei.embedder(dimension=384, base_url="http://elsewhere.example/v1").space
    assert plain == elsewhere
    assert plain.key != prefixed.key
    assert prefixed.revision.startswith("1-")


# --- batches -----------------------------------------------------------------------------------


def test_vectors_are_those_of_the_texts(service: Service) -> None:
    """However many texts there are and however they are packed, each row is the vector of its text."""
    settings: dict[str, Any] = {"batch_size": 10} if service.name == "openai" else {}
    embedder = service.embedder(requests_at_once=3, **settings)
    texts = [f"{text} {number}" for number in range(43) for text in TEXTS]
    matrix = embed_all(embedder, texts)
    wanted = np.array([vector(text, embedder.space.dimension) for text in texts])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(matrix, wanted, atol=1e-6)
    assert len(service.server.asked) > 1
    assert service.server.most_at_once <= 3


def test_gemini_takes_a_hundred_texts(gemini: Service) -> None:
    """201 short texts are three requests, none of them above Gemini's limit."""
    embed_all(gemini.embedder(requests_at_once=1), ["short"] * 201)
    assert [len(texts_of(asked)) for asked in gemini.server.asked] == [100, 100, 1]


def test_batches_keep_the_limit_of_tokens(voyage: Service) -> None:
    """Texts that are few but long are sent apart: Voyage refuses more than 120,000 tokens of this model."""
    long = "a b c d e f g h i j " * 2_000
    matrix = embed_all(voyage.embedder(model="voyage-4-large"), [long] * 6)
    assert matrix.shape == (6, 1024)
    assert len(voyage.server.asked) == 2


def test_a_batch_that_is_too_large_is_halved(tei: Service) -> None:
    """A server that takes 32 texts gets them in halves, and from then on never more."""
    embedder = tei.embedder(dimension=384, requests_at_once=1)
    matrix = embed_all(embedder, [f"text {number}" for number in range(64)])
    assert [len(texts_of(asked)) for asked in tei.server.asked] == [64, 32, 32]
    np.testing.assert_allclose(matrix[40], embed_all(embedder, ["text 40"])[0], atol=1e-6)
    embed_all(embedder, ["more"] * 64)
    assert [len(texts_of(asked)) for asked in tei.server.asked[-2:]] == [32, 32]


def test_what_a_server_takes_is_found_out_once(tei: Service) -> None:
    """Of many requests only those under way at first are too large: the others are packed after that."""
    embedder = tei.embedder(dimension=384, requests_at_once=2)
    assert embed_all(embedder, [f"text {number}" for number in range(640)]).shape == (640, 384)
    sizes = [len(texts_of(asked)) for asked in tei.server.asked]
    assert [size for size in sizes if size > 32] == [64, 64]
    assert len(sizes) == 2 + 640 // 32


@pytest.mark.parametrize("at_once", [1, 4])
def test_what_came_back_is_handed_out_before_the_error(tei: Service, at_once: int) -> None:
    """A text that is refused takes with it neither those of other requests nor those separated from it."""
    embedder = tei.embedder(dimension=384, max_tokens=10_000, batch_size=4, requests_at_once=at_once)
    texts = [f"short {number}" for number in range(14)] + ["word " * 600, "short"]
    parts = embedder.embed(texts)
    seen: list[int] = []
    with pytest.raises(EmbeddingError, match="less than 512 tokens"):
        seen.extend(position for positions, _ in parts for position in positions)
    assert sorted(seen) == list(range(14))


def test_nothing_is_sent_after_a_failure(tei: Service) -> None:
    """What is found too large after another request was refused for good is not sent again in halves."""
    tei.server.failures += [Answer(401, {}), Answer(413, {}, delay_s=0.3)]
    with pytest.raises(EmbedderUnavailableError, match="401"):
        embed_all(tei.embedder(dimension=384, batch_size=4, requests_at_once=2), ["short"] * 40)
    assert len(tei.server.asked) == 2


def test_a_text_that_is_too_long_alone_is_named(tei: Service) -> None:
    """A text that is refused even alone is told with its length, after the others were separated from it."""
    embedder = tei.embedder(dimension=384, max_tokens=10_000)
    with pytest.raises(EmbeddingError, match=r"less than 512 tokens.*3,000 characters") as caught:
        embed_all(embedder, ["short", "word " * 600, "short"])
    assert "--chunk-size" in caught.value.hint


def test_a_long_text_is_the_mean_of_its_windows(tei: Service) -> None:
    """A text longer than the model reads is sent in parts; none is refused, and all of them count."""
    embedder = tei.embedder(dimension=384)
    first, second = "apple " * embedder.tokens.max_tokens, "pear " * embedder.tokens.max_tokens
    mean = embed_all(embedder, [first + second])[0]
    parts = embed_all(embedder, [first, second])
    assert mean == pytest.approx(parts.sum(axis=0) / np.linalg.norm(parts.sum(axis=0)), abs=2e-2)


# --- what goes wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [
        Answer(429, {}, AT_ONCE),
        Answer(429, {}),
        google_quota(retry_delay="0.02s"),
        Answer(500, {"error": "oops"}, AT_ONCE),
        Answer(DROPPED),
        Answer(200, b'{"data": [{"embedding": [0.1, '),
        Answer(200, {"whole": True}, missing_bytes=4),
    ],
    ids=["429", "429 silent", "google's delay", "500", "dropped", "no JSON", "cut off"],
)
def test_passing_failures_are_survived(service: Service, failure: Answer) -> None:
    """A failure that passes costs a moment and nothing else."""
    service.server.failures.append(failure)
    assert embed_all(service.embedder(), TEXTS).shape[0] == len(TEXTS)
    assert len(service.server.asked) == 2


def test_a_service_that_stays_away_is_named(service: Service) -> None:
    """After the last attempt the error says what the service said; a later import may succeed."""
    service.server.failures.extend([Answer(503, {"error": {"message": "overloaded"}}, AT_ONCE)] * 2)
    with pytest.raises(EmbedderBusyError, match=r"cannot answer now \(HTTP 503: overloaded\)") as caught:
        embed_all(service.embedder(attempts=2), TEXTS)
    assert caught.value.retry
    assert "to go on" in caught.value.hint


def test_nobody_at_the_address(service: Service) -> None:
    """A server that is not running is named with its place and the setting that says where it is."""
    with HttpServer() as gone:
        url = gone.url
    embedder = service.embedder(base_url=url, attempts=1, dimension=256)
    with pytest.raises(EmbedderBusyError, match="cannot be reached") as caught:
        embedder.embed_query("probe")
    assert "127.0.0.1" in str(caught.value)
    assert f"[embedding.{service.name}] base_url" in caught.value.hint


def test_a_wrong_key_is_told_at_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is not accepted is not tried again; the hint is the command that sets another one."""
    variable = f"{service.name.upper()}_API_KEY"
    monkeypatch.setenv(variable, "wrong-key-4567")
    with pytest.raises(EmbedderUnavailableError, match=r"(?i)api key") as caught:
        service.embedder().embed_query("probe")
    assert len(service.server.asked) == 1
    assert f"export {variable}=" in caught.value.hint
    assert "wrong-key-4567" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("gemini", "GEMINI_API_KEY"), ("voyage", "VOYAGE_API_KEY"), ("openai", "OPENAI_API_KEY")],
)
def test_a_missing_key_is_a_problem(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a key nothing is sent: the problem names the variable and the command to set it."""
    monkeypatch.delenv(variable)
    embedder = registry.load("embedding", provider)(runtime=Runtime(tmp_path), model="", dimension=None)
    assert embedder.problem is not None
    assert variable in str(embedder.problem)
    assert f"export {variable}=" in embedder.problem.hint
    with pytest.raises(EmbedderUnavailableError, match=variable):
        embedder.embed_query("probe")


def test_gemini_knows_both_names_of_its_key(gemini: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """``GOOGLE_API_KEY`` counts where ``GEMINI_API_KEY`` is not set, and a variable of one's own alone."""
    monkeypatch.delenv("GEMINI_API_KEY")
    monkeypatch.setenv("GOOGLE_API_KEY", f" {KEY}\n")  # as pasted
    gemini.embedder().embed_query("probe")
    problem = gemini.embedder(api_key_env="MY_KEY").problem
    assert "MY_KEY is not set" in str(problem)


def test_a_key_that_cannot_be_sent_is_a_problem(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in letters of another alphabet would break the request; it is told before, and not shown."""
    monkeypatch.setenv(f"{service.name.upper()}_API_KEY", "ключ-0123")
    problem = service.embedder().problem
    assert problem is not None
    assert "ключ" not in str(problem) + problem.hint


def test_an_unknown_model_is_told_with_those_there_are(service: Service) -> None:
    """The service's own words come with the models that are known; a server of one's own is asked."""
    with pytest.raises(EmbedderUnavailableError, match="no-such-model") as caught:
        service.embedder(model="no-such-model", dimension=256).embed_query("probe")
    known = {"gemini": "gemini-embedding-001", "voyage": "voyage-4-lite", "openai": "nomic-embed-text"}
    assert known[service.name] in caught.value.hint


@pytest.mark.parametrize(
    ("provider", "settings", "message"),
    [
        ("gemini", {"dimension": 100}, "gemini-embedding-001 offers no vectors of 100 dimensions"),
        ("voyage", {"dimension": 768}, "voyage-4-lite offers no vectors of 768 dimensions"),
        ("voyage", {"query_model": "voyage-3-large"}, "voyage-3-large cannot find what voyage-4-lite"),
        ("openai", {"dimension": 4096}, "text-embedding-3-small offers no vectors of 4096"),
        ("openai", {"model": "text-embedding-ada-002", "dimension": 256}, "ada-002 offers no vectors of 256"),
        ("openai", {"base_url": "http://localhost:1/v1"}, "the name of a model of the server at localhost:1"),
    ],
)
def test_settings_that_cannot_be_are_told(
    provider: str, settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """A dimension the model does not offer and a model that is missing are errors before anything is sent."""
    given = {"model": "", "dimension": None, **settings}
    with pytest.raises(ConfigError, match=message) as caught:
        registry.load("embedding", provider)(runtime=Runtime(tmp_path), **given)
    assert caught.value.hint


def test_vectors_of_another_length_are_told(tei: Service) -> None:
    """A server that ignores the dimension it is asked for is found out, with the one it has."""
    with pytest.raises(EmbeddingError, match="vectors of 384 dimensions, not 256") as caught:
        embed_all(tei.embedder(dimension=256), ["text"])
    assert "openai:tei@384" in caught.value.hint


def test_the_dimension_is_told_where_it_has_to_be(tei: Service, openai: Service) -> None:
    """A model's own length is not asked for, as some servers refuse that; another one is when needed."""
    embed_all(tei.embedder(dimension=384), ["text"])
    assert "dimensions" not in bodies(tei)[0]
    embedder = openai.embedder(model="nomic-embed-text", dimension=256)
    assert embed_all(embedder, ["text"]).shape == (1, 256)
    assert embedder.embed_query("question").shape == (256,)
    assert [body.get("dimensions") for body in bodies(openai)] == [None, 256, 256]


@pytest.mark.parametrize(("send", "sent"), [(True, 384), (False, None)])
def test_telling_the_dimension_can_be_set(tei: Service, send: bool, sent: int | None) -> None:
    """``send_dimensions`` decides where it is set."""
    embed_all(tei.embedder(dimension=384, send_dimensions=send), ["text"])
    assert [body.get("dimensions") for body in bodies(tei)] == [sent]


def test_a_model_that_wants_prefixes_is_warned_about(openai: Service) -> None:
    """Who uses a model that wants prefixes without any is told which; who has set some is not."""
    assert openai.embedder(model="text-embedding-3-large").warnings == ()
    (warning,) = openai.embedder(model="nomic-embed-text").warnings
    assert 'query_prefix = "search_query: "' in warning
    assert openai.embedder(model="nomic-embed-text", document_prefix="search_document: ").warnings == ()


@pytest.mark.parametrize(
    "failure",
    [google_quota(retry_delay="20s", daily=True), openai_error(429, "quota", "insufficient_quota")],
    ids=["gemini", "openai"],
)
def test_what_waiting_does_not_mend_is_not_waited_for(
    failure: Answer, request: pytest.FixtureRequest
) -> None:
    """The quota of a day and an empty account end the import now, though the status says to try again."""
    service: Service = request.getfixturevalue("gemini" if "RESOURCE" in str(failure.body) else "openai")
    service.server.failures.append(failure)
    with pytest.raises(EmbedderBusyError, match="quota"):
        embed_all(service.embedder(), TEXTS)
    assert len(service.server.asked) == 1


def test_a_question_is_not_kept_waiting(service: Service) -> None:
    """A question gives up where a passage would wait: somebody looks at the screen."""
    service.server.failures.append(Answer(429, {}, {"Retry-After": "60"}))
    with pytest.raises(EmbedderBusyError, match="asks to wait 60 s"):
        service.embedder().embed_query("question")


def test_waits_are_reported_and_can_be_cancelled(tei: Service) -> None:
    """Waits in any thread reach the run of the caller; cancelling it ends the call."""
    embedder = tei.embedder(dimension=384, send_dimensions=False, batch_size=2)
    tei.server.failures.extend([Answer(429, {}, {"Retry-After": "60"})] * 4)
    with fake_time() as time:
        time.cancels = True
        with pytest.raises(ImportStoppedError):
            embed_all(embedder, TEXTS)
    assert time.waits
    assert all(0 < seconds <= 60 for seconds in time.waits)


def test_a_wait_ends_when_another_request_fails(tei: Service) -> None:
    """A request that waits for its turn is not needed any more when another one was refused."""
    tei.server.failures += [Answer(429, {}, {"Retry-After": "600"}, requests=2), Answer(401, {}, delay_s=0.1)]
    embedder = tei.embedder(dimension=384, batch_size=4, requests_at_once=2)
    with pytest.raises(EmbedderUnavailableError, match="401"):
        embed_all(embedder, ["short"] * 8)
    assert len(tei.server.asked) == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[" * 100_000, "not JSON"),
        (b'{"data": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}", "not JSON"),
        (b'{"data": 7}', "something other than vectors"),
        (b"[]", "something other than vectors"),
    ],
)
def test_responses_of_another_shape_are_named(tei: Service, body: bytes, message: str) -> None:
    """However deep it is nested: an error, not a crash."""
    tei.server.failures.append(Answer(200, body))
    with pytest.raises(EmbeddingError, match=message):
        tei.embedder(dimension=384, attempts=1).embed_query("question")


def test_keys_are_not_logged(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    """Not even a log of everything holds the key."""
    with caplog.at_level(logging.DEBUG):
        service.server.failures.append(Answer(429, {}, AT_ONCE))
        embed_all(service.embedder(), TEXTS)
    assert caplog.records
    assert KEY not in caplog.text
    assert KEY not in repr(service.embedder().problem) + repr(vars(service.embedder()))
