"""The five signals are the whole score of the KB chat, by the formulas of ``KbChatScore``."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from chatbot_mvp.chat.quality import debug_values
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.kb_chat.score import WEIGHTS
from chatbot_mvp.retrieval.trace import PART, Hit
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.text import Analyzer, fold
from tests.retrieval.stages.kb_chat.handbook import Piece, kb_chunks, passages, pipeline_over

PIECES = [("Gato negro", "gato negro luna"), ("Perro", "perro luna luna sol"), ("Mar", "mar sol")]
ALL = {"kb_min_score": 0.0, "kb_top_k": 50}


def hits_of(pieces: Sequence[Piece], question: str, settings: Settings, whole: bool = False) -> dict[str, Hit]:
    """Heading -> hit of a question that is not expanded."""
    chunks = passages(pieces) if whole else kb_chunks(pieces)
    [trace] = pipeline_over(chunks, settings, retrieval_expansion=False, **ALL).retrieve([question])
    return {hit.chunk.section: hit for hit in trace.hits}


def test_the_signals_and_the_score_of_a_question_by_hand(settings: Settings) -> None:
    """Three chunks of 3, 4 and 2 terms, 3 on average. "gato" and "negro" are in one of them, "luna" in two.

    idf: ln(1 + 2.5 / 1.5) = 0.980829 and ln(1 + 1.5 / 2.5) = 0.470004. The first chunk has the mean length, so each
    term adds its idf: 2.431662. The second has "luna" twice: 0.470004 x 2 x 2.5 / (2 + 1.5 x (0.25 + 0.75 x 4 / 3)).
    """
    found = hits_of(PIECES, "gato negro luna", settings)
    assert list(found) == ["Gato negro", "Perro"]
    first, second = found["Gato negro"], found["Perro"]
    assert {name: first.signals[name] for name in WEIGHTS} == pytest.approx(
        {
            "bm25_norm": 1.0,
            "overlap_norm": 1.0,
            "exact_bonus": 0.36 + 0.06,  # one trigram, two bigrams; three of three terms
            "heading_bonus": 0.28 * 2 / 3,
            "fuzzy_bonus": 0.6 * (2 * 10 / 25 - 0.72),  # 10 letters in common, of 15 and 10
        },
        abs=1e-6,
    )
    assert {name: second.signals[name] for name in WEIGHTS} == pytest.approx(
        {
            "bm25_norm": 0.470004 * 5 / 3.875 / 2.431662,
            "overlap_norm": 1 / 3,
            "exact_bonus": 0.0,
            "heading_bonus": 0.0,
            "fuzzy_bonus": 0.0,
        },
        abs=1e-6,
    )
    assert first.score == pytest.approx(0.5 + 0.3 + 0.42 + 0.186667 + 0.048, abs=1e-6)
    assert second.score == pytest.approx(0.5 * 0.249401 + 0.3 / 3, abs=1e-6)
    assert (first.signals["strong_match"], second.signals["strong_match"]) == (1.0, 0.0)


def test_the_parts_that_the_debug_panel_draws_add_up_to_the_score(settings: Settings) -> None:
    [trace] = pipeline_over(kb_chunks(PIECES), settings).retrieve(["¿Dónde duerme el gato negro?"])
    for shown in debug_values(trace)["chunks_final"]:
        assert set(shown["parts"]) == set(WEIGHTS)
        assert sum(shown["parts"].values()) == pytest.approx(shown["score"], abs=3e-4)


def test_a_title_of_a_passage_counts_as_the_heading_line_of_a_chunk(settings: Settings) -> None:
    written = [(title, f"# {title}\n\n{text}") for title, text in PIECES]
    chunks = hits_of(written, "gato negro luna", settings)
    whole = hits_of(PIECES, "gato negro luna", settings, whole=True)
    assert {title: hit.score for title, hit in whole.items()} == {title: hit.score for title, hit in chunks.items()}


@pytest.mark.parametrize(
    ("question", "text", "bonus"),
    [
        ("luna roja del gato negro", "El gato negro duerme.", 0.12),  # 2 of 4 terms are not most of them
        ("gato rojo", "El gato negro duerme.", 0.0),
        ("negro gato", "El gato negro duerme.", 0.06),  # both words, in another order
        ("gato negro", "El gato negro duerme.", 0.18),
        ("gato negro", "El gato es negro.", 0.06),  # side by side without stop words only
        ("Gato: ¡NEGRO!", "El gáto negro duerme.", 0.18),  # without case, accents and punctuation
        ("gato negro duerme al sol", "Un gato negro duerme.", 0.42),  # two bigrams, one trigram, 3 of 4 terms
    ],
)
def test_the_exact_bonus_counts_literal_phrases_and_most_words(
    question: str, text: str, bonus: float, settings: Settings
) -> None:
    hit = hits_of([("Uno", text), ("Dos", "Nada.")], question, settings)["Uno"]
    assert hit.signals["exact_bonus"] == pytest.approx(bonus)


@pytest.mark.parametrize(
    ("question", "strong"),
    [
        ("gato negro grande", 1.0),  # a phrase of the text
        ("luna verde marea alta", 0.0),
        ("reserva antelada de salas grandes", 1.0),  # two terms of a heading
        ("salas", 1.0),  # 1 of 1 terms is more than 40 % of them
        ("salas azules altas nuevas", 0.0),  # 1 of 4
    ],
)
def test_what_makes_a_match_strong(question: str, strong: float, settings: Settings) -> None:
    pieces = [("Reserva de salas", "El gato negro mira la luna."), ("Otra cosa", "Nada de nada.")]
    assert hits_of(pieces, question, settings)["Reserva de salas"].signals["strong_match"] == strong


VOCABULARY = "gato negro luna perro sol mar torno prensa".split()
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=7).map(" ".join)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return load_settings(data_dir=tmp_path_factory.mktemp("data"))


@pytest.mark.slow
@given(pieces=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), question=WORDS)
def test_scores_are_those_of_the_formulas_computed_chunk_by_chunk(
    base: Settings, pieces: list[Piece], question: str
) -> None:
    [trace] = pipeline_over(kb_chunks(pieces), base, **ALL).retrieve([question])
    expected = slow_scores(pieces, question, trace.query_expanded or question)
    scores = {hit.chunk.chunk_id: hit.score for hit in trace.hits}
    assert scores == pytest.approx({f"d:{row:02d}": score for row, score in enumerate(expected) if score > 0})
    assert [hit.score for hit in trace.hits] == sorted((hit.score for hit in trace.hits), reverse=True)
    for hit in trace.hits:
        parts = [value for name, value in hit.signals.items() if name.startswith(PART)]
        assert sum(parts) == pytest.approx(hit.score, abs=1e-5)
        assert sum(weight * hit.signals[name] for name, weight in WEIGHTS.items()) == pytest.approx(hit.score, abs=1e-5)


def slow_scores(pieces: Sequence[Piece], question: str, expanded: str) -> list[float]:
    """The formulas, one chunk after the other, over the words of each text."""
    terms = Analyzer("es").terms
    texts = [terms(text) for _, text in pieces]
    mean = sum(map(len, texts)) / len(texts)
    counts = Counter(terms(expanded))

    def bm25(text: list[str]) -> float:
        total = 0.0
        for term, times in counts.items():
            n = sum(term in other for other in texts)
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            tf = text.count(term)
            total += times * idf * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * len(text) / mean))
        return total

    best = max(map(bm25, texts))
    asked = re.findall(r"\w+", fold(question))
    own = set(terms(question))
    grams = {" ".join(asked[at : at + size]) for size in (2, 3) for at in range(len(asked) - size + 1)}
    scores = []
    for (heading, written), text in zip(pieces, texts, strict=True):
        phrases = sum(f" {gram} " in f" {fold(written)} " for gram in grams)
        exact = min(0.36, 0.12 * phrases) + 0.06 * (len(own & set(text)) >= max(2, math.ceil(0.6 * len(own))))
        ratio = fuzz.ratio(fold(question), fold(heading)) / 100
        scores.append(
            0.5 * (bm25(text) / best if best else 0.0)
            + 0.3 * len(counts.keys() & set(text)) / len(counts)
            + exact
            + 0.28 * len(counts.keys() & set(terms(heading))) / len(counts)
            + (min(0.24, 0.6 * (ratio - 0.72)) if ratio >= 0.72 else 0.0)
        )
    return scores


def test_a_question_without_a_known_word_finds_nothing(settings: Settings) -> None:
    pipeline: Pipeline = pipeline_over(kb_chunks(PIECES), settings)
    [trace] = pipeline.retrieve(["¿Quién descubrió Urano?"])
    assert (trace.hits, trace.chunks_final, trace.evidence) == ((), (), 0.0)
