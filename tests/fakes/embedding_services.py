"""Gemini, Voyage, OpenAI, Cohere and TEI as they speak over the wire: formats, limits and errors."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from tests.fakes.http_server import Answer, Asked, HttpServer

from mdvec.text.indexed_terms import index_terms
from mdvec.text.tokens import estimate_token_count

KEY = "key-of-the-test-0123"


def vector(text: str, dimension: int) -> list[float]:
    """Make a vector in which texts that share words are near each other; its length is not 1."""
    numbers = np.full(dimension, 0.02)
    terms = index_terms(text)
    for term in (*terms.main.split(), *terms.minor.split()):
        digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
        numbers[int.from_bytes(digest[:4], "little") % dimension] += 1 if digest[4] & 1 else -1
    return [float(number) for number in np.asarray(numbers, np.float32)]


def relevance(query: str, text: str) -> float:
    """Return the share of the words of a query that are in a text: what these servers find relevant."""
    words = [*index_terms(query).main.split(), *index_terms(query).minor.split()]
    terms = index_terms(text)
    return sum(word in {*terms.main.split(), *terms.minor.split()} for word in words) / max(1, len(words))


class GeminiServer(HttpServer):
    """``batchEmbedContents`` of two models."""

    MODELS = ("gemini-embedding-001", "gemini-embedding-2")

    def answer(self, asked: Asked) -> Answer:
        if "x-goog-api-key" not in asked.headers:
            text = "Method doesn't allow unregistered callers (callers without established identity)."
            return google_error(403, "PERMISSION_DENIED", text)
        if asked.headers["x-goog-api-key"] != KEY:
            info: dict[str, object] = {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
            }
            text = "API key not valid. Please pass a valid API key."
            return google_error(400, "INVALID_ARGUMENT", text, [info])
        route = re.fullmatch(r"/v1(?:beta)?/models/([\w.-]+):batchEmbedContents", asked.path)
        if asked.method != "POST" or route is None:
            return Answer(404, b"<html>Not Found</html>", {"Content-Type": "text/html"})
        model, requests = route[1], asked.body["requests"]
        if model not in self.MODELS:
            text = (
                f"models/{model} is not found for API version v1beta, or is not supported for embedContent."
            )
            return google_error(404, "NOT_FOUND", text)
        if len(requests) > 100:
            return google_error(
                400,
                "INVALID_ARGUMENT",
                "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n",
            )
        for request in requests:
            if (problem := self._problem(request, model)) is not None:
                return google_error(400, "INVALID_ARGUMENT", problem)
        values = [
            vector(request["content"]["parts"][0]["text"], request["outputDimensionality"])
            for request in requests
        ]
        return Answer(200, {"embeddings": [{"values": each} for each in values]})

    def _problem(self, request: dict[str, object], model: str) -> str | None:
        known = {"model", "content", "taskType", "title", "outputDimensionality"}
        if unknown := set(request) - known:
            return f"Invalid JSON payload received. Unknown name \"{unknown.pop()}\" at 'requests[0]'"
        if request["model"] != f"models/{model}":
            return "requests[].model must match the model in the request path"
        text = request["content"]["parts"][0]["text"]  # type: ignore[index]
        most = 2_048 if model.endswith("001") else 8_192
        if not text:
            return "* content.parts: contents are required"
        if (tokens := estimate_token_count(text)) > most:
            return f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({most})."
        if "title" in request and request.get("taskType") != "RETRIEVAL_DOCUMENT":
            return "title is only supported for task type RETRIEVAL_DOCUMENT"
        return None


class VoyageServer(HttpServer):
    """``/embeddings`` and ``/rerank`` of Voyage.

    Errors are a ``detail``, vectors may be base64, some models are flexible.
    """

    TOKENS: ClassVar = {"voyage-4-lite": 1_000_000, "voyage-4": 320_000, "voyage-4-large": 120_000}
    FIXED: ClassVar = {"voyage-3-lite": 512}
    RERANKERS = ("rerank-2.5", "rerank-2.5-lite", "rerank-2", "rerank-2-lite")

    def answer(self, asked: Asked) -> Answer:
        if asked.headers.get("authorization") != f"Bearer {KEY}":
            return Answer(401, {"detail": "Provided API key is invalid."})
        if asked.path == "/v1/rerank":
            return self._reranked(asked.body)
        if asked.path != "/v1/embeddings":
            return Answer(404, {"detail": "Not Found"})
        body = asked.body
        texts, model = body["input"], body["model"]
        if model not in {*self.TOKENS, *self.FIXED}:
            known = sorted({*self.TOKENS, *self.FIXED})
            return Answer(400, {"detail": f"Model {model} is not supported. Supported models are {known}."})
        if len(texts) > 1000 or not all(texts):
            return Answer(400, {"detail": "The batch size limit is 1000, and inputs cannot be empty."})
        tokens = sum(estimate_token_count(text) for text in texts)
        if tokens > (most := self.TOKENS.get(model, 120_000)):
            return Answer(
                400, {"detail": f"The max allowed tokens per submitted batch is {most}. Yours has {tokens}."}
            )
        if body["input_type"] not in {"query", "document", None}:
            return Answer(400, {"detail": "Argument 'input_type' must be 'query' or 'document'."})
        offered = [self.FIXED[model]] if model in self.FIXED else [256, 512, 1024, 2048]
        dimension = body.get("output_dimension", offered[0] if len(offered) == 1 else 1024)
        if dimension not in offered:
            return Answer(400, {"detail": f"Argument 'output_dimension' must be one of {offered}."})
        return listed(texts, dimension, body, model)

    def _reranked(self, body: dict[str, Any]) -> Answer:
        if unknown := {*body} - {"query", "documents", "model", "top_k", "return_documents", "truncation"}:
            return Answer(400, {"detail": f"Argument '{unknown.pop()}' is not supported by our API"})
        if body["model"] not in self.RERANKERS:
            known = [*self.RERANKERS]
            return Answer(
                400, {"detail": f"Model {body['model']} is not supported. Supported models are {known}."}
            )
        query, texts = body["query"], body["documents"]
        if not query or not texts or len(texts) > 1000 or not all(texts):
            return Answer(400, {"detail": "The query and the documents cannot be empty, at most 1000."})
        return Answer(
            200,
            {
                "object": "list",
                "data": best_first(query, texts),
                "model": body["model"],
                "usage": {"total_tokens": tokens_read(query, texts)},
            },
        )


class CohereServer(HttpServer):
    """``/v2/rerank`` of Cohere: errors are a ``message``, and what is billed are searches."""

    MODELS = ("rerank-v3.5", "rerank-v4.0-fast", "rerank-v4.0-pro")
    KNOWN: ClassVar = {"model", "query", "documents", "top_n", "max_tokens_per_doc", "priority"}

    def answer(self, asked: Asked) -> Answer:
        if asked.headers.get("authorization") != f"Bearer {KEY}":
            return Answer(401, {"id": "1", "message": "invalid api token"})
        if asked.path != "/v2/rerank":
            return Answer(404, {"message": "page not found"})
        body = asked.body
        if unknown := {*body} - self.KNOWN:
            return Answer(422, {"message": f"unknown field: parameter '{unknown.pop()}' is not valid"})
        if body["model"] not in self.MODELS:
            message = f"model '{body['model']}' not found, make sure the correct model ID was used"
            return Answer(404, {"id": "1", "message": message})
        if not all(body["documents"]):
            return Answer(400, {"message": "invalid request: list of documents must not be empty"})
        return Answer(
            200,
            {
                "id": "1",
                "results": best_first(body["query"], body["documents"]),
                "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
            },
        )


class VllmServer(HttpServer):
    """``/v1/rerank`` of vLLM and Jina: as Cohere, with the documents and the tokens that were read."""

    MODEL = "BAAI/bge-reranker-v2-m3"

    def answer(self, asked: Asked) -> Answer:
        body = asked.body
        if asked.path != "/v1/rerank":
            return Answer(404, {"detail": "Not Found"})
        if body["model"] != self.MODEL:
            return openai_error(404, f"The model `{body['model']}` does not exist.", None)
        results = [
            {**each, "document": {"text": body["documents"][int(each["index"])], "multi_modal": None}}
            for each in best_first(body["query"], body["documents"])
        ]
        tokens = tokens_read(body["query"], body["documents"])
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Answer(200, {"id": "rerank-1", "model": self.MODEL, "usage": usage, "results": results})


class OpenAiServer(HttpServer):
    """``/v1/embeddings`` of OpenAI.

    Attributes:
        native: Length of the vectors by model.
    """

    native: ClassVar = {
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "nomic-embed-text": 768,
    }
    needs_key = True

    def answer(self, asked: Asked) -> Answer:
        sent = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if self.needs_key and sent != KEY:
            message = f"Incorrect API key provided: {sent}. You can find your API key at https://example.com."
            return openai_error(401, message, "invalid_api_key")
        if asked.path == "/v1/models":
            return Answer(200, {"object": "list", "data": [{"id": name} for name in self.native]})
        if asked.path != "/v1/embeddings":
            return openai_error(404, f"Invalid URL (POST {asked.path})", None)
        body = asked.body
        if body["model"] not in self.native:
            message = f"The model `{body['model']}` does not exist or you do not have access to it."
            return openai_error(404, message, "model_not_found")
        if len(body["input"]) > 2048:
            return openai_error(400, "'input' array too long. Expected at most 2048 items.", None)
        if not all(body["input"]):
            return openai_error(400, "'$.input' is invalid: input cannot be an empty string.", None)
        native = self.native[body["model"]]
        dimension = body.get("dimensions", native)
        if dimension > native:
            return openai_error(400, f"Invalid value for 'dimensions' = {dimension}.", None)
        return listed(body["input"], dimension, body, body["model"])


class TeiServer(HttpServer):
    """Text Embeddings Inference: small batches and short texts, model and dimensions are not looked at."""

    DIMENSION = 384
    BATCH = 32
    TOKENS = 512

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/rerank":
            query, texts = asked.body["query"], asked.body["texts"]
            if len(texts) > self.BATCH:
                error = f"batch size {len(texts)} > maximum allowed batch size {self.BATCH}"
                return Answer(422, {"error": error, "error_type": "Validation"})
            scores = [
                {"index": each["index"], "score": each["relevance_score"]}
                for each in best_first(query, texts)
            ]
            return Answer(200, scores)
        if asked.path != "/v1/embeddings":
            return Answer(404, b"", {"Content-Type": "text/plain"})
        texts = asked.body["input"]
        if len(texts) > self.BATCH:
            return tei_error(422, f"batch size {len(texts)} > maximum allowed batch size {self.BATCH}")
        for text in texts:
            if not text:
                return tei_error(422, "`inputs` cannot be empty")
            if (tokens := estimate_token_count(text)) >= self.TOKENS:
                return tei_error(413, f"`inputs` must have less than {self.TOKENS} tokens. Given: {tokens}")
        return listed(texts, self.DIMENSION, asked.body, "tei")


def listed(texts: Sequence[str], dimension: int, body: dict[str, object], model: str) -> Answer:
    """Answer as OpenAI and Voyage do, but back to front: only ``index`` says what belongs to what."""
    data = [
        {"object": "embedding", "index": index, "embedding": written(text, dimension, body)}
        for index, text in enumerate(texts)
    ]
    return Answer(
        200, {"object": "list", "data": data[::-1], "model": model, "usage": {"total_tokens": len(texts)}}
    )


def best_first(query: str, texts: Sequence[str]) -> list[dict[str, float]]:
    """Score texts, and sort them as services do."""
    scored = [{"index": at, "relevance_score": relevance(query, text)} for at, text in enumerate(texts)]
    return sorted(scored, key=lambda each: -each["relevance_score"])


def tokens_read(query: str, texts: Sequence[str]) -> int:
    """Count what a reranker reads: the query once for each text."""
    return len(texts) * estimate_token_count(query) + sum(map(estimate_token_count, texts))


def written(text: str, dimension: int, body: dict[str, object]) -> list[float] | str:
    """Write a vector as numbers or base64, as asked."""
    numbers = vector(text, dimension)
    if body.get("encoding_format") == "base64":
        return base64.b64encode(np.asarray(numbers, "<f4").tobytes()).decode()
    return numbers


def google_error(
    code: int, status: str, message: str, details: Sequence[dict[str, object]] = (), **headers: str
) -> Answer:
    """Refuse as Google does."""
    error = {"code": code, "message": message, "status": status, "details": list(details)}
    return Answer(code, {"error": error}, headers)


def google_quota(*, retry_delay: str | None = None, daily: bool = False) -> Answer:
    """Refuse as Google does when a quota is used up."""
    period = "PerDay" if daily else "PerMinute"
    details: list[dict[str, object]] = [
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": f"EmbedContentRequests{period}PerUserPerProjectPerModel-FreeTier"}],
        }
    ]
    if retry_delay is not None:
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retry_delay})
    return google_error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", details)


def openai_error(status: int, message: str, code: str | None) -> Answer:
    """Refuse as OpenAI does."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Answer(status, {"error": error})


def tei_error(status: int, message: str) -> Answer:
    """Refuse as TEI's OpenAI route does."""
    return Answer(
        status, {"message": f"Input validation error: {message}", "code": status, "type": "validation"}
    )
