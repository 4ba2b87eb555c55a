"""Pipelines that share indexes and results of stages find what pipelines of their own find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.evaluation.kb.questions import load_questions
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.shared_work import SharedWork
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.expansion import Expansion
from chatbot_mvp.retrieval.stages.stitching import Stitching
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.types import Chunk, last

KB = PROJECT_ROOT / "data" / "samples" / "kb" / "politica_empresa.md"
CHANGES: list[dict[str, Any]] = [
    {},
    {"kb_top_k": 8},
    {"kb_min_score": 0.5},
    {"retrieval_stitching": False},
    {"retrieval_expansion": False},
    {"retrieval_pre_fusion_k": 20},
    {"retrieval_fusion": "rrf"},
    {"retrieval_fusion": "rrf", "retrieval_rrf_k": 5},
    {"kb_max_context_chars": 1_000},
    {"retrieval_k": 3},
    {},
]

Make = Callable[[SharedWork | None, Settings], list[RetrievalTrace]]


@pytest.fixture(params=["kb", "corpus"])
def traces(request: pytest.FixtureRequest, app: App) -> Make:
    """Traces of the sample's questions over a knowledge base, or over its chunks as whole passages."""
    kb_id = app.kbs.add(KB.name, KB.read_bytes()).kb_id
    chunks = app.kbs.chunks(kb_id)
    asked = [one.question for one in load_questions(KB.with_name("preguntas.jsonl"))][:12]
    if request.param == "corpus":
        chunks = [Chunk(one.chunk_id, one.chunk_id, one.section, one.text, 0, len(one.text)) for one in chunks]
    embedders, providers = app.embedders, app.providers

    def make(sharing: SharedWork | None, settings: Settings) -> list[RetrievalTrace]:
        own = kb_id if request.param == "kb" else ""
        factory = _factory(embedders, providers, sharing)
        return last(factory.grow(chunks, "es", settings, kb_id=own)).retrieve(asked)

    return make


def _factory(embedders: Embedders, providers: Providers, sharing: SharedWork | None) -> PipelineFactory:
    return PipelineFactory(embedders, providers, sharing)


def _found(trace: RetrievalTrace) -> tuple[object, ...]:
    notes = tuple((record.stage, record.notes) for record in trace.records)
    return replace(trace, records=()), notes


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if not STRATEGIES[name].needs_language_model])
def test_shared_results_are_those_of_a_pipeline_of_its_own(traces: Make, settings: Settings, strategy: str) -> None:
    sharing = SharedWork()
    for changes in CHANGES:
        under = settings.with_changes(retrieval_strategy=strategy, vector_store="exact", **changes)
        shared, own = traces(sharing, under), traces(None, under)
        assert [_found(trace) for trace in shared] == [_found(trace) for trace in own], changes


def test_a_stage_runs_once_for_configurations_that_differ_in_later_stages(
    traces: Make, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    usual = Stage.run

    def run(self: Stage, trace: RetrievalTrace) -> RetrievalTrace:
        ran.append(self.name)
        return usual(self, trace)

    monkeypatch.setattr(Stage, "run", run)
    sharing, lexical = SharedWork(), settings.with_changes(retrieval_strategy="LEXICAL")
    traces(sharing, lexical)
    before = ran.count("lexical")
    traces(sharing, lexical.with_changes(kb_top_k=9))
    assert (before, ran.count("lexical")) == (12, 12)
    assert ran.count("selection") == 24


def test_a_setting_leaves_expansion_and_stitching_out(traces: Make, settings: Settings) -> None:
    without = settings.with_changes(retrieval_strategy="LEXICAL", retrieval_expansion=False, retrieval_stitching=False)
    stages = {record.stage for trace in traces(None, without) for record in trace.records}
    assert not {Expansion.name, Stitching.name} & stages
    assert "lexical" in stages
