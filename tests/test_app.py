"""One engine: what answers in the chat is what a benchmark run measures."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import NotComparable
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.pipeline import Pipeline, fingerprint
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import last
from tests.fakes import FakeEmbedder, fake_app
from tests.strategies import OWN_STRATEGIES


def test_chat_and_benchmark_are_of_one_class_one_configuration_and_one_fingerprint(app: App) -> None:
    record = app.kbs.add_sample()
    chat = app.kbs.pipeline(record.kb_id)
    result = app.runs.run_now(eval_max_queries=3)
    assert type(chat) is Pipeline
    assert fingerprint(chat.config) == result.fingerprint
    assert app.runs.run_now(eval_max_queries=3, retrieval_strategy="LEXICAL").fingerprint != result.fingerprint


def test_chat_and_benchmark_retrieve_alike_over_the_same_text(app: App) -> None:
    """A passage asked for as a knowledge base and as a corpus gets the same evidence score."""
    record = app.kbs.add("rio.txt", "El río Belsuco nace en la fuente de los Tejos.".encode())
    chunks = app.kbs.chunks(record.kb_id)
    as_corpus = last(PipelineFactory(app.embedders, app.providers).grow(chunks, record.language, app.settings))
    question = "¿Dónde nace el río Belsuco?"
    [chat] = app.kbs.pipeline(record.kb_id).retrieve([question])
    [benchmark] = as_corpus.retrieve([question])
    assert (chat.evidence, [hit.score for hit in chat.hits]) == (benchmark.evidence, [h.score for h in benchmark.hits])


def test_only_strategies_that_can_run_are_offered(app: App, settings: Settings, embedder: FakeEmbedder) -> None:
    """The provider "demo" has no language model, so the strategy that needs one is not on its list."""
    without_model = fake_app(settings, embedder=lambda _: embedder, chat_model=DemoModel)
    gone = set(app.runs.strategies()) - set(without_model.runs.strategies())
    assert gone & set(OWN_STRATEGIES) == {"CONTEXTUAL_HYBRID", "CONTEXTUAL_RRF"}


def test_a_run_over_a_sample_of_a_corpus_is_exported_from_that_sample(app: App) -> None:
    """A sample has a hash of its own; the data set on disk has another."""
    changes = {"dev_mode": True, "dev_queries": 5, "dev_corpus_size": 20, "retrieval_strategy": "LEXICAL"}
    result = app.runs.run_now(**changes)
    whole = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=5)
    assert result.dataset_sha256 != whole.dataset_sha256
    assert app.archive.export(result.run_id, "trec").files
    with pytest.raises(NotComparable):
        app.archive.compare([result.run_id, whole.run_id])
