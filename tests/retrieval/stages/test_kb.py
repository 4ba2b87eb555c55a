"""The pipeline over a knowledge base: one list by the best paragraph, with its breakdown, and the evidence for it."""

from __future__ import annotations

import json

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.stages.evidence import (
    DENSE_FEATURES,
    LEXICAL_FEATURES,
    MODELS,
    NAMED_HEADING,
    WEIGHTS_PATH,
    evidence_features,
    logistic,
)
from chatbot_mvp.retrieval.stages.fusion import adaptive_alpha, weighted_parts
from chatbot_mvp.retrieval.trace import Hit
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document, last
from tests.fakes import FakeEmbedder, chunks_of

TINY = (
    "# Vacaciones\n\nSon 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n\n"
    "# Taller\n\nEl taller abre a las 8."
)
ENGLISH = (
    "# Leave\n\nStaff get 23 days of leave.\n\n# Meals\n\nThe daily allowance is 48 euros.\n\n# Shop\n\nIt opens at 8."
)
SIGNALS = {"bm25_norm", "overlap_norm", "exact_bonus", "heading_bonus", "fuzzy_bonus", "link_bonus"}


def pipeline_of(settings: Settings, strategy: str, text: str = TINY, language: str = "es") -> Pipeline:
    chunks = chunk_document(Document("kb", "kb", text))
    return last(growing_pipeline(chunks, language, settings.with_changes(retrieval_strategy=strategy), FakeEmbedder))


@pytest.mark.parametrize("strategy", ["LEXICAL", "HYBRID"])
def test_every_hit_carries_its_breakdown_between_0_and_1(settings: Settings, strategy: str) -> None:
    [trace] = pipeline_of(settings, strategy).retrieve(["¿De cuántos euros es la dieta completa?"])
    assert trace.hits[0].chunk.section == "Dietas"
    for hit in trace.hits:
        assert set(hit.signals) == SIGNALS | {"words"} | ({"vector_norm", "cosine"} if strategy == "HYBRID" else set())
        assert all((-1 if name == "cosine" else 0) <= value <= 1 for name, value in hit.signals.items())
    assert len({hit.chunk.chunk_id for hit in trace.hits}) == len(trace.hits)


@pytest.mark.parametrize("strategy", ["LEXICAL", "HYBRID"])
def test_a_misspelt_word_finds_its_section(settings: Settings, strategy: str) -> None:
    [trace] = pipeline_of(settings, strategy).retrieve(["vacasiones"])
    assert trace.chunks_final[0].chunk.section == "Vacaciones"
    assert trace.expansion_notes == ("fuzzy_heading: Vacaciones",)


@pytest.mark.parametrize("strategy", ["LEXICAL", "HYBRID", "BRIDGE", "BRIDGE_HYBRID"])
@pytest.mark.parametrize(
    ("question", "section"),
    [("vacasiones", "Vacaciones"), ("tallercito", "Taller")],
    ids=["a corrected word", "letters"],
)
def test_every_strategy_finds_a_passage_without_a_word_of_the_question(
    settings: Settings, strategy: str, question: str, section: str
) -> None:
    [trace] = pipeline_of(settings, strategy).retrieve([question])
    assert trace.chunks_final[0].chunk.section == section


@pytest.mark.parametrize(
    ("strategy", "signals"),
    [
        ("HYBRID", {"vector_norm", "cosine"}),
        ("BRIDGE_HYBRID", {"vector_norm", "cosine"}),
        ("SIMPLE_VECTOR", {"vector", "vector_rank"}),
    ],
)
def test_vectors_alone_find_passages(settings: Settings, strategy: str, signals: set[str]) -> None:
    class Synonyms(FakeEmbedder):
        def vector(self, text: str) -> Vectors:
            return super().vector(text.replace("asueto", "vacaciones"))

    changed = settings.with_changes(retrieval_strategy=strategy)
    pipeline = last(growing_pipeline(chunk_document(Document("kb", "kb", TINY)), "es", changed, Synonyms))
    [trace] = pipeline.retrieve(["asueto"])
    assert trace.chunks_final[0].chunk.section == "Vacaciones"
    assert {name for name, value in trace.hits[0].signals.items() if value} == signals


@pytest.mark.parametrize("strategy", ["LEXICAL", "BRIDGE"])
def test_nothing_in_common_finds_nothing_without_vectors(settings: Settings, strategy: str) -> None:
    [trace] = pipeline_of(settings, strategy).retrieve(["xyz"])
    assert trace.hits == trace.chunks_final == ()


LINKED = (
    "# Formación\n\nLos cursos en otra ciudad siguen lo dicho en Viajes.\n\n"
    "# Viajes\n\nEl hotel tiene un límite de 95 euros.\n\n# Obras\n\nEl límite de ruido es de 60 decibelios."
)


def test_a_named_section_gains_by_what_it_adds_to_the_one_that_names_it(settings: Settings) -> None:
    question = "¿Qué límite hay para los cursos en otra ciudad?"
    [trace] = pipeline_of(settings, "LEXICAL", LINKED).retrieve([question])
    bonus = {hit.chunk.section: hit.signals["link_bonus"] for hit in trace.hits}
    assert bonus["Viajes"] > 0
    assert bonus["Formación"] == bonus["Obras"] == 0
    assert [hit.chunk.section for hit in trace.hits] == ["Formación", "Viajes", "Obras"]


def test_without_a_mention_there_is_no_link_bonus(settings: Settings) -> None:
    [trace] = pipeline_of(settings, "LEXICAL", LINKED.replace("en Viajes", "aparte")).retrieve(["límite de los cursos"])
    assert {hit.signals["link_bonus"] for hit in trace.hits} == {0.0}


def test_a_long_paragraph_is_one_hit_with_all_of_it(settings: Settings) -> None:
    long = " ".join(f"La norma {number} del taller habla de la pieza {number}." for number in range(70))
    [trace] = pipeline_of(settings, "LEXICAL", f"# Normas\n\n{long}\n\n# Otra\n\nTexto.").retrieve(
        ["norma 12 del taller"]
    )
    assert long in trace.chunks_final[0].chunk.text


@pytest.mark.parametrize(
    ("text", "language", "inside", "outside"),
    [
        (TINY, "es", "¿De cuántos euros es la dieta completa?", "¿Qué altura tiene la torre Eiffel?"),
        (ENGLISH, "en", "How many euros is the daily allowance?", "How tall is the Eiffel tower?"),
    ],
)
@pytest.mark.parametrize("strategy", ["LEXICAL", "HYBRID"])
def test_evidence_tells_inside_from_outside_over_three_sections(
    settings: Settings, strategy: str, text: str, language: str, inside: str, outside: str
) -> None:
    traces = pipeline_of(settings, strategy, text, language).retrieve([inside, outside, "", "¿?"])
    scores = [trace.evidence or 0.0 for trace in traces]
    assert scores[0] >= settings.kb_min_evidence > scores[1]
    assert scores[2:] == [0.0, 0.0]


@pytest.mark.parametrize("question", ["¿Qué hay sobre vacaciones?", "¿Qué hay sobre «vacaciones»?", "vacaciones"])
def test_a_question_that_names_a_heading_has_enough_evidence(settings: Settings, question: str) -> None:
    [trace] = pipeline_of(settings, "LEXICAL").retrieve([question])
    assert (trace.evidence or 0.0) >= NAMED_HEADING
    assert trace.topic == 1.0


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("¿Qué pasa si aparece E2 en la pantalla?", True),
        ("¿Qué pasa si aparece E7 en la pantalla?", False),  # no passage has it
        ("¿Qué pasa si aparece 14 en la pantalla?", False),  # no code
    ],
)
def test_a_question_with_a_code_of_a_passage_is_about_the_base(settings: Settings, question: str, about: bool) -> None:
    text = (
        "# Horno\n\n## Avisos\n\nE2: la puerta no cierra. Se borra en 14 minutos.\n\n## Limpieza\n\nCon un paño seco."
    )
    [trace] = pipeline_of(settings, "LEXICAL", text).retrieve([question])
    assert (trace.topic == 1.0) == about


def test_features_of_vectors_are_there_only_with_vectors(settings: Settings) -> None:
    for strategy, expected in (("LEXICAL", LEXICAL_FEATURES), ("HYBRID", LEXICAL_FEATURES + DENSE_FEATURES)):
        pipeline = pipeline_of(settings, strategy)
        [trace] = pipeline.retrieve(["dieta completa"])
        assert tuple(evidence_features(trace, pipeline.index)) == expected


def test_the_weights_of_one_embedding_model_are_not_used_for_another(settings: Settings) -> None:
    [trace] = pipeline_of(settings, "HYBRID").retrieve(["dieta completa"])
    assert trace.records[-1].notes["model"] == "lexical"


def test_the_file_of_weights_names_exactly_the_features() -> None:
    weights = json.loads(WEIGHTS_PATH.read_text("utf-8"))
    for name, model in MODELS.items():
        assert tuple(weights[name]["evidence"]["features"]) == model.evidence
        assert tuple(weights[name]["topic"]["features"]) == model.topic


def test_the_logistic_function_by_hand() -> None:
    """z = 1 + 2 x (3 - 1) / 4 = 2."""
    assert logistic({"a": 3.0}, {"intercept": 1.0, "features": {"a": [2.0, 1.0, 4.0]}}) == pytest.approx(
        0.880797, abs=1e-6
    )


@pytest.mark.parametrize(("words", "alpha"), [(0, 0.4), (4, 0.4), (9, 0.575), (14, 0.75), (100, 0.75)])
def test_the_share_of_the_vectors_grows_with_the_question(words: int, alpha: float) -> None:
    assert adaptive_alpha("palabra " * words) == pytest.approx(alpha)


def test_weighted_fusion_by_hand() -> None:
    """bm25 over the best: a 1, b 0.5; vectors from worst to best: b 1, a 0; alpha 0.4: a 0.6, b 0.3 + 0.4."""
    a, b = chunks_of("a", "b")
    parts = weighted_parts({"bm25": (Hit(a, 8.0), Hit(b, 4.0)), "vector": (Hit(b, 0.9), Hit(a, 0.8))}, 0.4)
    assert {chunk_id: sum(own.values()) for chunk_id, own in parts.items()} == pytest.approx({"c000": 0.6, "c001": 0.7})
