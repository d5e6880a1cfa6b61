"""What every embedder promises, whoever runs the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes import tiny_models
from tests.fakes.embedding_services import KEY, GeminiServer, OpenAiServer, TeiServer, VoyageServer
from tests.fakes.http_server import HttpServer

from mdvec.embedding.builtin.embedder import BuiltinEmbedder, available
from mdvec.embedding.gemini import make_gemini
from mdvec.embedding.interface import Embedder, Role, Runtime, embed_all
from mdvec.embedding.local.local_embedder import LocalEmbedder
from mdvec.embedding.local.plamo import make_plamo
from mdvec.embedding.local.sentence_transformers import make_sentence_transformers
from mdvec.embedding.openai import make_openai
from mdvec.embedding.voyage import make_voyage
from mdvec.testing.embedder import HashingEmbedder


def _on_onnxruntime(folder: Path) -> BuiltinEmbedder:
    embedder = BuiltinEmbedder(Runtime(folder, threads=1))
    embedder.embed_query("load")
    assert embedder.warnings == ()
    return embedder


def _sentence_transformers(folder: Path) -> LocalEmbedder:
    model = tiny_models.make_ruri(folder / "ruri-v3-30m")
    return make_sentence_transformers(model=str(model), dimension=None, runtime=Runtime(folder, threads=1))


def _cut_vectors(folder: Path) -> LocalEmbedder:
    model = tiny_models.make_ruri(folder / "ruri-v3-310m", hidden=768)
    return make_sentence_transformers(model=str(model), dimension=256, runtime=Runtime(folder, threads=1))


def _plamo(folder: Path) -> LocalEmbedder:
    model = tiny_models.make_plamo(folder / "plamo")
    return make_plamo(
        model=str(model), dimension=None, runtime=Runtime(folder, threads=1), trust_remote_code=True
    )


def _plamo_without_tokenizer_file(folder: Path) -> LocalEmbedder:
    model = tiny_models.make_plamo(folder / "plamo-word-pieces", fast_tokenizer=False)
    return make_plamo(
        model=str(model), dimension=None, runtime=Runtime(folder, threads=1), trust_remote_code=True
    )


@contextmanager
def _served(
    server: HttpServer, factory: Callable[..., Embedder], folder: Path, **settings: Any
) -> Iterator[Embedder]:
    with server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDVEC_TEST_KEY", KEY)
        given = {"model": "", "dimension": None, "api_key_env": "MDVEC_TEST_KEY", **settings}
        yield factory(runtime=Runtime(folder), **given)


def _gemini_001(folder: Path) -> AbstractContextManager[Embedder]:
    server = GeminiServer()
    return _served(server, make_gemini, folder, base_url=server.url)


def _gemini_2(folder: Path) -> AbstractContextManager[Embedder]:
    server = GeminiServer()
    model = "gemini-embedding-2"
    return _served(server, make_gemini, folder, base_url=server.url, model=model, dimension=1536)


def _voyage(folder: Path) -> AbstractContextManager[Embedder]:
    server = VoyageServer()
    return _served(server, make_voyage, folder, base_url=f"{server.url}/v1", dimension=512)


def _openai(folder: Path) -> AbstractContextManager[Embedder]:
    server = OpenAiServer()
    model = "text-embedding-3-small"
    return _served(server, make_openai, folder, base_url=f"{server.url}/v1", model=model, dimension=256)


def _tei(folder: Path) -> AbstractContextManager[Embedder]:
    server = TeiServer()
    settings = {"query_prefix": "query: ", "document_prefix": "passage: "}
    return _served(server, make_openai, folder, base_url=f"{server.url}/v1", model="tei", **settings)


def _hashing(_folder: Path) -> HashingEmbedder:
    return HashingEmbedder()


_NEEDS_MODEL = pytest.mark.skipif(not available(), reason="the builtin model is not installed here")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(_on_onnxruntime, id="builtin", marks=_NEEDS_MODEL),
        pytest.param(_hashing, id="hashing"),
        pytest.param(_gemini_001, id="gemini-001"),
        pytest.param(_gemini_2, id="gemini-2"),
        pytest.param(_voyage, id="voyage"),
        pytest.param(_openai, id="openai"),
        pytest.param(_tei, id="openai-tei"),
        pytest.param(_sentence_transformers, id="sentence-transformers", marks=pytest.mark.torch),
        pytest.param(_cut_vectors, id="sentence-transformers-cut", marks=pytest.mark.torch),
        pytest.param(_plamo, id="plamo", marks=pytest.mark.torch),
        pytest.param(
            _plamo_without_tokenizer_file, id="plamo-without-tokenizer-file", marks=pytest.mark.torch
        ),
    ],
)
def embedder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, model_cache: Path
) -> Iterator[Embedder]:
    """Each embedder there is; those of services with a server of their own."""
    make: Callable[[Path], Embedder | AbstractContextManager[Embedder]] = request.param
    made = make(model_cache if make is _on_onnxruntime else tmp_path_factory.mktemp("embedder"))
    if isinstance(made, AbstractContextManager):
        with made as served:
            yield served
    else:
        yield made


_ODD_TEXTS = {
    "empty": "",
    "blank": " \n\t\u3000",
    "one character": "x",
    "NUL": "before\0after",
    "only NUL": "\0\0",
    "lone surrogates": "\ud800 text \udfff",
    "control characters": "\x01\x02\x1b[31m",
    "emoji": "👩‍👩‍👧‍👦🇯🇵",
    "rare scripts": "𓀀𓂀 ᚠᚢᚦ",
    "combining marks": "か\u3099" + "e\u0301" * 30,
    "special tokens": "<s> </s> <pad> <unk> <mask>",
    "one long word": "donaudampfschifffahrt" * 70,
    "long without spaces": "東京都千代田区" * 130,
}


def test_space_and_vectors_agree(embedder: Embedder) -> None:
    """Vectors have the length the space says."""
    assert embedder.embed_query("question").shape == (embedder.space.dimension,)
    assert embed_all(embedder, ["one", "two"]).shape == (2, embedder.space.dimension)


def test_no_problem(embedder: Embedder) -> None:
    """An embedder that works has no problem to report."""
    assert embedder.problem is None


def test_no_texts(embedder: Embedder) -> None:
    """No texts give a matrix without rows."""
    assert embed_all(embedder, []).shape == (0, embedder.space.dimension)


@pytest.mark.parametrize("text", _ODD_TEXTS.values(), ids=_ODD_TEXTS)
def test_odd_texts(embedder: Embedder, text: str) -> None:
    """Any string has a finite vector of unit length in float32, as query and as passage."""
    for vector in (embedder.embed_query(text), embed_all(embedder, [text])[0]):
        assert vector.dtype == np.float32
        assert np.isfinite(vector).all()
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)


def test_questions_are_the_same_alone_and_together(embedder: Embedder) -> None:
    """Many at once have the vectors that each has by itself, and none give a matrix without rows."""
    questions = ["港はどこ？", "", "How do I prune an apple tree, and when?", "ships " * 40]
    together = embed_all(embedder, questions, Role.QUERY)
    assert together.dtype == np.float32
    alone = np.stack([embedder.embed_query(question) for question in questions])
    assert (together * alone).sum(axis=1) == pytest.approx(1, abs=2e-3)
    assert embed_all(embedder, [], Role.QUERY).shape == (0, embedder.space.dimension)


def test_order_and_company_do_not_matter(embedder: Embedder) -> None:
    """Rows come in the order of the texts; a vector is the same whatever else is embedded with it."""
    texts = [
        "a",
        "A much longer text about harbours and ships. " * 8,
        "短い文",
        "",
        "港と船の話。" * 5,
    ]
    together = embed_all(embedder, texts)
    alone = np.stack([embed_all(embedder, [text])[0] for text in texts])
    assert (together * alone).sum(axis=1) == pytest.approx(1, abs=2e-3)
    backwards = embed_all(embedder, texts[::-1])[::-1]
    assert (together * backwards).sum(axis=1) == pytest.approx(1, abs=2e-3)


def test_parts_make_up_the_whole(embedder: Embedder) -> None:
    """In parts each text comes once, with the vector that it has in one matrix."""
    assert embedder.texts_at_once > 0
    texts = [f"{kind} {number}" for number in range(60) for kind in ("A text about harbours", "港の話")]
    whole, found = embed_all(embedder, texts), np.zeros((len(texts), embedder.space.dimension))
    seen: list[int] = []
    for positions, vectors in embedder.embed(texts):
        assert vectors.dtype == np.float32
        seen += positions
        found[list(positions)] = vectors
    assert sorted(seen) == list(range(len(texts)))
    assert (found * whole).sum(axis=1) == pytest.approx(1, abs=2e-3)


def test_end_of_a_long_text_counts(embedder: Embedder) -> None:
    """Nothing is cut off: texts of several windows that differ in their last words have other vectors."""
    sentence = "The committee met again and talked about the budget. "
    body = sentence * (embedder.tokens.max_tokens // 10)
    assert len(embedder.tokens.ends(body)) > embedder.tokens.max_tokens
    ends = ["Whales are mammals. " * 8, "クジラは哺乳類である。" * 8]
    first, second = embed_all(embedder, [body + end for end in ends])
    assert np.abs(first - second).max() > 1e-5


@given(st.text(st.characters(), max_size=200))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_token_ends(embedder: Embedder, text: str) -> None:
    """Ends of tokens ascend, lie inside the text, and the last reaches its last visible character."""
    ends = list(embedder.tokens.ends(text))
    assert ends == sorted(ends)
    assert all(0 < end <= len(text) for end in ends)
    if text and text[-1].isalnum():
        assert ends[-1] == len(text)


def test_token_counts_add_up(embedder: Embedder) -> None:
    """Cut at a space, a text has as many tokens as its parts, give or take one."""
    left, right = "Searching notes in English and 日本語", " でも同じように働く、quickly."
    whole = len(embedder.tokens.ends(left + right))
    assert abs(whole - len(embedder.tokens.ends(left)) - len(embedder.tokens.ends(right))) <= 1
    assert (
        abs(
            sum(end <= len(left) for end in embedder.tokens.ends(left + right))
            - len(embedder.tokens.ends(left))
        )
        <= 1
    )


def test_a_model_that_was_freed_is_loaded_again(embedder: Embedder) -> None:
    """Only one that was idle long enough goes, and the next vector is the one from before."""
    before = embedder.embed_query("How do I prune an apple tree?")
    assert not embedder.unload(idle_s=60)
    freed = embedder.unload(idle_s=0)
    assert freed is isinstance(embedder, BuiltinEmbedder | LocalEmbedder)
    assert not embedder.unload(idle_s=0)
    np.testing.assert_allclose(embedder.embed_query("How do I prune an apple tree?"), before, atol=1e-6)
