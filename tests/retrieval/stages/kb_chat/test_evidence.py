"""The evidence rule of the KB chat: a strong match with a fair score, two high scores, or one high score alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.kb_chat.score import KbChatEvidence, degree
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.types import Chunk
from tests.retrieval.stages.kb_chat.handbook import kb_chunks, pipeline_over

Scored = tuple[float, bool]
"""(score, strong match)"""


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return pipeline_over(kb_chunks([("A", "gato")]), load_settings(data_dir=tmp_path_factory.mktemp("data")))


def judged(pipeline: Pipeline, scored: list[Scored], added: int = 0) -> RetrievalTrace:
    """Judge hits of some scores, the last ``added`` of which came by stitching."""
    hits = tuple(
        Hit(Chunk(f"d:{row}", "d", "A", "gato", 0, 4), score, {"strong_match": float(strong)})
        for row, (score, strong) in enumerate(scored)
    )
    ids = tuple(hit.chunk.chunk_id for hit in hits[len(hits) - added :])
    trace = RetrievalTrace("gato", chunks_final=hits, chunks_added_by_stitching=ids)
    return KbChatEvidence(pipeline.index, pipeline.config).run(trace)


@pytest.mark.parametrize(
    ("scored", "enough"),
    [
        ([], False),
        ([(0.20, True)], True),
        ([(0.19, True)], False),
        ([(0.20, False), (0.15, True)], True),  # any selected chunk may be the strong one
        ([(0.45, False), (0.40, False)], True),
        ([(0.45, False), (0.39, False)], False),
        ([(0.45, False), (0.39, False), (0.39, False)], False),  # the two best, not all
        ([(0.58, False)], True),
        ([(0.57, False)], False),
    ],
)
def test_the_evidence_is_half_or_more_exactly_when_the_rule_holds(
    pipeline: Pipeline, scored: list[Scored], enough: bool
) -> None:
    trace = judged(pipeline, scored)
    assert trace.evidence is not None
    assert (trace.evidence >= 0.5) == enough
    assert trace.topic is None


def test_chunks_that_stitching_added_are_no_evidence(pipeline: Pipeline) -> None:
    with_neighbour = [(0.5, False), (0.5, True)]
    assert judged(pipeline, with_neighbour).evidence == pytest.approx(1 - 0.5 / 2.5)
    assert judged(pipeline, with_neighbour, added=1).evidence == pytest.approx(0.5 / 0.58 / 2)


@given(st.lists(st.tuples(st.floats(0.0, 1.7), st.booleans()), max_size=6))
def test_the_degree_never_contradicts_the_rule(pipeline: Pipeline, scored: list[Scored]) -> None:
    scores = sorted((score for score, _ in scored), reverse=True)
    top = scores[0] if scores else 0.0
    rule = (any(strong for _, strong in scored) and top >= 0.20) or sum(scores[:2]) >= 0.85 or top >= 0.58
    evidence = judged(pipeline, scored).evidence
    assert evidence is not None
    assert (evidence >= 0.5) == rule
    assert 0.0 <= evidence < 1.0


def test_the_degree_rises_with_the_criterion_and_halves_at_its_threshold() -> None:
    assert [degree([reached]) for reached in (0.0, 0.5, 1.0, 2.0, 4.0)] == [0.0, 0.25, 0.5, 0.75, 0.875]
    assert degree([0.3, 2.0]) == 0.75


TOPICS = "vacaciones reembolsos contraseñas teletrabajo licencias becas matrículas multas".split()


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_counts_as_much_as_a_word_that_nobody_knows(settings: Settings, topic: str) -> None:
    """No rule is about a topic: with another word in its place, in text and question, every figure is the same."""

    def figures(word: str, asked: str) -> list[float]:
        text = [("Capítulo", f"Las {word} se piden con un mes de antelación a Personal."), ("Otros", "Nada.")]
        pipeline = pipeline_over(kb_chunks(text), settings)
        traces = pipeline.retrieve([f"¿Cómo se piden las {asked}?", f"¿Hay {asked}?"])
        return [round(value or 0.0, 6) for trace in traces for value in (trace.evidence, trace.hits[0].score)]

    other = "brumbelas"
    assert figures(topic, topic) == figures(other, other)
