"""Vectors over HTTP: what NIM asks for is sent, what it refuses is survived, what it gets wrong is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.embedding.registry import HOSTED, create_embedder
from chatbot_mvp.errors import ProviderBadRequest, ProviderNotConfigured, ProviderReplyUnusable, ProviderUnavailable
from chatbot_mvp.llm.creation import context_chars, context_tokens
from chatbot_mvp.remote.failures import Endpoint
from chatbot_mvp.remote.http import JsonEndpoint, calls_for
from chatbot_mvp.settings.model import Settings
from tests.embedding.nim_stub import DIMENSIONS, MODEL, MOST_TEXTS, NimEmbeddingStub
from tests.llm.http_stub import Fault, Response
from tests.raising import raises

TEXTS = [f"texto número {n}" for n in range(20)]


@pytest.fixture
def nim() -> Iterator[NimEmbeddingStub]:
    server = NimEmbeddingStub()
    with server:
        yield server


@pytest.fixture
def at_nim(settings: Settings, nim: NimEmbeddingStub) -> Settings:
    return settings.with_changes(
        embedding_base_url=nim.url, embedding_model_name=MODEL, embedding_batch_size=5, nim_max_retries=1
    )


def embedder_of(settings: Settings) -> Embedder:
    return create_embedder(settings.embedding_model_name, settings)


def expected(nim: NimEmbeddingStub, texts: list[str], input_type: str) -> np.ndarray:
    vectors = np.array([nim.vector(text, input_type) for text in texts])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("input_type", ["query", "passage"])
def test_rows_come_in_order_of_length_1_and_in_batches(
    nim: NimEmbeddingStub, at_nim: Settings, input_type: str
) -> None:
    vectors = embedder_of(at_nim).embed(TEXTS, input_type)  # type: ignore[arg-type]
    np.testing.assert_allclose(vectors, expected(nim, TEXTS, input_type), rtol=1e-5)
    assert vectors.dtype == np.float32
    assert [len(batch) for batch in nim.batches] == [5, 5, 5, 5]
    assert {request.json["input_type"] for request in nim.requests} == {input_type}


def test_an_asymmetric_endpoint_is_told_what_each_text_is(nim: NimEmbeddingStub, at_nim: Settings) -> None:
    model = embedder_of(at_nim)
    for input_type in ("query", "passage"):
        np.testing.assert_allclose(model.embed(["uno"], input_type), expected(nim, ["uno"], input_type), rtol=1e-5)
    assert [request.json["input_type"] for request in nim.requests] == ["query", "passage"]


def test_a_symmetric_endpoint_is_not_told_the_input_type(settings: Settings) -> None:
    server = NimEmbeddingStub(asymmetric=False)
    with server:
        symmetric = settings.with_changes(
            embedding_base_url=server.url, embedding_model_name=MODEL, embedding_model_type="symmetric"
        )
        vectors = embedder_of(symmetric).embed(["uno"], "query")
        np.testing.assert_allclose(vectors, expected(server, ["uno"], ""), rtol=1e-5)


def test_an_asymmetric_endpoint_that_is_treated_as_symmetric_says_so(nim: NimEmbeddingStub, at_nim: Settings) -> None:
    with pytest.raises(ProviderBadRequest, match="input_type"):
        embedder_of(at_nim.with_changes(embedding_model_type="symmetric")).embed(["uno"], "query")
    assert len(nim.requests) == 1


def test_a_batch_over_the_limit_falls_back_to_single_texts(nim: NimEmbeddingStub, at_nim: Settings) -> None:
    large = at_nim.with_changes(embedding_batch_size=MOST_TEXTS + 2)
    texts = TEXTS[: MOST_TEXTS + 2]
    np.testing.assert_allclose(embedder_of(large).embed(texts, "passage"), expected(nim, texts, "passage"), rtol=1e-5)
    assert [len(batch) for batch in nim.batches] == [MOST_TEXTS + 2, *[1] * len(texts)]


def test_a_failed_batch_is_repeated_as_a_whole_before_it_is_taken_apart(
    nim: NimEmbeddingStub, at_nim: Settings
) -> None:
    nim.faults.append(Fault(Response.json({"detail": "buffer"}, 500)))
    embedder_of(at_nim).embed(TEXTS[:5], "passage")
    assert [len(batch) for batch in nim.batches] == [5, 5]
    nim.reset()
    nim.faults.extend([Fault(Response.json({"detail": "buffer"}, 500))] * 2)
    embedder_of(at_nim).embed(TEXTS[:5], "passage")
    assert [len(batch) for batch in nim.batches] == [5, 5, 1, 1, 1, 1, 1]


def test_one_text_that_cannot_be_embedded_is_an_error_and_the_batches_before_it_stay_in_the_cache(
    nim: NimEmbeddingStub, at_nim: Settings, tmp_path: Path
) -> None:
    nim.poison = "texto número 7"
    cache = VectorCache(tmp_path / "v.sqlite", part_chars=sum(map(len, TEXTS[:4])))
    with pytest.raises(ProviderBadRequest, match="tokenised"):
        cache.embed(embedder_of(at_nim), TEXTS, "passage")
    before = len(nim.requests)
    nim.poison = ""
    cache.embed(embedder_of(at_nim), TEXTS, "passage")
    assert len(nim.requests) - before <= 6


def test_empty_texts_and_half_surrogates_do_not_fail_their_batch(at_nim: Settings) -> None:
    assert embedder_of(at_nim).embed(["", " \n", "\ud83d", "bien"], "passage").shape == (4, DIMENSIONS)
    assert embedder_of(at_nim).embed([], "passage").shape == (0, DIMENSIONS)


@pytest.mark.parametrize(
    "answer",
    [{}, {"data": []}, {"data": [{"index": 0, "embedding": "no"}]}, {"data": [{"index": 0, "embedding": []}]}, [1]],
    ids=["nothing", "no rows", "text for a vector", "an empty vector", "another form"],
)
def test_vectors_that_are_none_are_told(nim: NimEmbeddingStub, at_nim: Settings, answer: object) -> None:
    nim.faults.append(Fault(Response.json(answer)))
    with pytest.raises(ProviderReplyUnusable):
        embedder_of(at_nim).embed(["uno"], "query")


def test_vectors_of_another_length_than_before_are_told(nim: NimEmbeddingStub, at_nim: Settings) -> None:
    embedder = embedder_of(at_nim)
    assert embedder.dimensions == DIMENSIONS
    nim.dimensions = 4
    with pytest.raises(ProviderReplyUnusable, match="4 dimensions, earlier ones 6"):
        embedder.embed(["uno"], "query")


def test_the_model_id_tells_models_and_kinds_apart(at_nim: Settings) -> None:
    ids = {
        embedder_of(at_nim.with_changes(embedding_model_name=name, embedding_model_type=kind)).model_id
        for name in (MODEL, "other")
        for kind in ("symmetric", "asymmetric")
    }
    assert len(ids) == 4


def test_a_refused_key_and_an_unknown_model_are_told_without_the_key(settings: Settings) -> None:
    server = NimEmbeddingStub(key="nvapi-right")
    with server:
        base = settings.with_changes(embedding_base_url=server.url, embedding_model_name=MODEL)
        with raises("provider_key_refused", match="NVIDIA_API_KEY") as refused:
            embedder_of(base.with_changes(nvidia_api_key="nvapi-wrong")).embed(["uno"], "query")
        assert "nvapi-wrong" not in str(refused.value)
        right = base.with_changes(nvidia_api_key="nvapi-right")
        with raises("provider_model_unknown", match="EMBEDDING_MODEL_NAME"):
            embedder_of(right.with_changes(embedding_model_name="nonesuch")).embed(["uno"], "query")
        assert embedder_of(right).dimensions == DIMENSIONS


@pytest.mark.parametrize("vendor", HOSTED, ids=lambda vendor: vendor.provider)
def test_a_vendors_model_needs_the_vendors_key(settings: Settings, vendor: object) -> None:
    with pytest.raises(ProviderNotConfigured, match=vendor.key.upper()):  # type: ignore[attr-defined]
        create_embedder(f"{vendor.prefix}some-model", settings)  # type: ignore[attr-defined]


def test_openai_embeddings_are_asked_without_the_prefix_and_without_an_input_type(settings: Settings) -> None:
    server = NimEmbeddingStub(asymmetric=False, key="sk-right")
    with server:
        own = settings.with_changes(openai_base_url=f"{server.url}/v1", openai_api_key="sk-right")
        assert create_embedder(f"openai/{MODEL}", own).dimensions == DIMENSIONS
        assert server.requests[0].json["model"] == MODEL


def endpoint_at(nim: NimEmbeddingStub, settings: Settings) -> JsonEndpoint:
    return JsonEndpoint(calls_for(Endpoint("nim", MODEL, nim.url), settings), 5)


def test_the_context_length_is_what_the_list_of_models_says(nim: NimEmbeddingStub, at_nim: Settings) -> None:
    endpoint = endpoint_at(nim, at_nim)
    assert context_tokens(endpoint, MODEL) == 4_096
    assert context_tokens(endpoint, "other") is None
    assert context_tokens(endpoint, "nonesuch") is None
    assert context_chars(endpoint, MODEL, 1_096) == 9_000
    assert context_chars(endpoint, "other", 1_096) is None


def test_where_the_list_of_models_cannot_be_had_the_context_is_not_known(
    nim: NimEmbeddingStub, at_nim: Settings
) -> None:
    endpoint = endpoint_at(nim, at_nim.with_changes(nim_max_retries=0))
    nim.faults.extend([Fault(Response.json({}, 500))] * 2)
    assert context_chars(endpoint, MODEL, 100) is None
    with pytest.raises(ProviderUnavailable):
        context_tokens(endpoint, MODEL)
