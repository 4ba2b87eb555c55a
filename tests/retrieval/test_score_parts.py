"""What a score is made of: for every strategy, the shown summands add up to the score, also behind a reranker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.score_parts import parts_of
from chatbot_mvp.retrieval.stages.kb_score import SIGNAL_WEIGHTS
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from streamlit_app.chat.debug import COLOURS
from tests.fakes import FakeLanguageModel, fake_app
from tests.models import share_converted_models

QUESTION = "¿Cuántos días de vacaciones hay por cada año trabajado?"
WITHOUT_MODEL = sorted(name for name, strategy in STRATEGIES.items() if not strategy.needs_language_model)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> App:
    """The App with the local embedding model, whose tokens late interaction compares."""
    folder = tmp_path_factory.mktemp("local")
    share_converted_models(folder)
    return build_app(Settings(_env_file=None, data_dir=folder, provider="demo"))  # type: ignore[call-arg]


def trace_of(app: App, kb_id: str, **search: Any) -> RetrievalTrace:
    [trace] = app.kbs.pipeline(kb_id, search=tuple(search.items())).retrieve([QUESTION])
    return trace


def check(trace: RetrievalTrace, least: int = 4) -> list[Mapping[str, float]]:
    """Every hit's parts add up to its score, and each has a colour in the chart."""
    found = [parts_of(hit, trace) for hit in trace.hits]
    assert len(found) >= least
    for hit, parts in zip(trace.hits, found, strict=True):
        assert sum(parts.values()) == pytest.approx(hit.score, abs=2e-5), (hit.chunk.chunk_id, parts)
        assert parts.keys() <= COLOURS.keys()
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", WITHOUT_MODEL)
def test_the_parts_of_every_hit_add_up_to_its_score(local: App, strategy: str) -> None:
    found = check(trace_of(local, local.kbs.add_sample().kb_id, retrieval_strategy=strategy))
    assert all("score" not in parts for parts in found)  # each strategy says what its scores are made of


def test_the_default_shows_late_interaction_and_the_keyword_signals(local: App) -> None:
    trace = trace_of(local, local.kbs.add_sample().kb_id)
    parts = check(trace)[0]
    assert parts.keys() == {"late", "late_chunk", "vector_norm", *SIGNAL_WEIGHTS}
    best = trace.hits[0].signals
    assert sum(parts[name] for name in SIGNAL_WEIGHTS) == pytest.approx(best["part_words"])
    # In proportion to weight x signal.
    ratio = parts["overlap_norm"] / parts["bm25_norm"]
    assert ratio == pytest.approx(0.5 * best["overlap_norm"] / best["bm25_norm"], rel=1e-4)


def test_the_kb_chat_shows_its_five_signals(local: App) -> None:
    for parts in check(trace_of(local, local.kbs.add_sample().kb_id, retrieval_strategy="KB_CHAT")):
        assert parts.keys() == {"bm25_norm", "overlap_norm", "exact_bonus", "heading_bonus", "fuzzy_bonus"}


def test_hits_that_are_not_compared_keep_the_proportions_of_their_score(local: App) -> None:
    """Late interaction scales what it does not compare below what it does."""
    text = "\n\n".join(f"# Apartado {n}\n\nPárrafo {n} sobre las vacaciones del año {1900 + n}." for n in range(90))
    trace = trace_of(local, local.kbs.add("largo.md", text.encode()).kb_id, retrieval_strategy="HYBRID")
    rest = [hit for hit in trace.hits if "late" not in hit.signals]
    assert rest
    check(trace)
    for hit in rest:
        assert parts_of(hit, trace).keys() <= {"vector_norm", "exact", *SIGNAL_WEIGHTS}


def rating(prompt: str) -> str:
    return "8" if "23" in prompt else "3"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("strategy", ["LEXICAL", "SIMPLE_VECTOR", "RAG_V2", "KB_CHAT", "CONTEXTUAL_RRF"])
def test_behind_a_reranker_the_parts_are_three_tenths_of_before_and_seven_of_the_rating(
    settings: Settings, strategy: str
) -> None:
    from tests.fakes import FakeEmbedder

    embedder = FakeEmbedder()
    changed = settings.with_changes(retrieval_strategy=strategy, reranker_enabled=True)
    app = fake_app(changed, lambda _: embedder, DemoModel, language_model=lambda *_: FakeLanguageModel(rating).model)
    trace = trace_of(app, app.kbs.add_sample().kb_id)
    assert trace.hits_before_rerank is not None
    best = max(hit.score for hit in trace.hits_before_rerank[:15])
    for hit, parts in zip(trace.hits, check(trace), strict=True):
        assert parts["rerank"] == pytest.approx(0.7 * hit.signals["rerank"])
        before = sum(value for name, value in parts.items() if name != "rerank")
        assert before == pytest.approx(0.3 * hit.signals["before_rerank"] / best, abs=1e-5)


def test_the_record_of_an_answer_has_parts_that_add_up(local: App) -> None:
    kb_id = local.kbs.add_sample().kb_id
    for strategy in ("BRIDGE_HYBRID", "KB_CHAT"):
        context = UserContext(retrieval=(("retrieval_strategy", strategy),))
        debug = record_of(local.answering.ask(kb_id, QUESTION, context)).debug
        for chunk in [*debug["candidates"], *debug["chunks_final"]]:
            assert sum(chunk["parts"].values()) == pytest.approx(chunk["score"], abs=1e-3)
            assert not [name for name in chunk["signals"] if name.startswith("part_")]
