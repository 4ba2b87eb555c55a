"""Score and evidence of a knowledge base are those of the formulas, computed paragraph by paragraph."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import numpy as np
import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.stages.evidence import NAMED_HEADING, covered_share, evidence_features, judge, logistic
from chatbot_mvp.retrieval.stages.fusion import adaptive_alpha
from chatbot_mvp.retrieval.stages.kb_score import SIGNAL_WEIGHTS, score_parts
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document, last
from tests.fakes import FakeEmbedder
from tests.retrieval.kb import reference
from tests.retrieval.kb.reference import Paragraphs

KB = """# Gastos de viaje

El hotel tiene un límite de 95 euros. La noche se paga en el hotel. Se firma la hoja de ruta.

Los cursos siguen lo dicho en Formación. El tren se reserva en el portal de Renfe.

# Formación

Cada curso dura 12 horas y se firma. El límite es de 3 cursos.

La hoja de asistencia se guarda. El portal cierra los lunes.

# Dietas

La dieta completa es de 48 euros. La media dieta es de 20 euros, como dicen los Gastos de viaje.

# Taller

El taller abre a las ocho. El torno azul pesa mucho. Véase Formación.
"""
QUESTIONS = [
    "¿Qué límite de euros tiene el hotel?",
    "¿Cuánto dura cada curso de Renfe en Toledo?",
    "¿hoja de ruta firmada o guardada?",
    "dietas",
    "¿cuántas oras dura un cuurso con submarino?",
    "torno",
]


def over_best(values: list[float]) -> list[float]:
    best = max(values)
    return [value / best for value in values] if best > 0 else values


class Asked(NamedTuple):
    """A question, what the pipeline found, and what the formulas need for it."""

    pipeline: Pipeline
    kb: KbIndex
    trace: RetrievalTrace
    paragraphs: Paragraphs
    windows: list[list[float]]
    """Cosine of each window, paragraph by paragraph; empty without vectors."""
    sentences: list[list[float]]

    @property
    def terms(self) -> list[str]:
        return self.kb.analyzer.terms(self.trace.query)


@pytest.fixture(scope="module", params=["LEXICAL", "HYBRID"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Asked]:
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("kb"), retrieval_strategy=request.param)  # type: ignore[call-arg]
    embedder = FakeEmbedder()
    pipeline = last(growing_pipeline(chunk_document(Document("kb", "kb", KB)), "es", settings, lambda: embedder))
    kb = pipeline.index.kb
    assert kb is not None
    paragraphs = Paragraphs(kb.matcher.passages, kb.analyzer)
    made = []
    for trace in pipeline.retrieve(QUESTIONS):
        windows: list[list[float]] = []
        sentences: list[list[float]] = []
        if request.param == "HYBRID":
            vector = embedder.vector(trace.query)
            for passage, said in zip(paragraphs.passages, paragraphs.sentences, strict=True):
                texts = [f"{passage.section}\n{passage.text[start:end]}" for start, end in passage.windows]
                windows.append([float(embedder.vector(text) @ vector) for text in texts])
                sentences.append([float(embedder.vector(text) @ vector) for text in said])
        made.append(Asked(pipeline, kb, trace, paragraphs, windows, sentences))
    return made


def signals_of(one: Asked) -> dict[str, list[float]]:
    weights = dict.fromkeys(one.terms, 1.0)
    corrections = []
    for note in one.trace.expansion_notes:
        source, _, word = note.partition(": ")
        by_source = {"heading_match": 0.05, "fuzzy_heading": 0.7, "vocab": 0.7, "cooc": 0.05}[source]
        weights |= {term: by_source for term in one.kb.analyzer.terms(word) if term not in weights}
        corrections += [word] if source in ("fuzzy_heading", "vocab") else []
    p = one.paragraphs
    signals = {
        "bm25_norm": over_best(p.bm25(weights, searched=True)),
        "overlap_norm": over_best(p.coverage(weights)),
        "fuzzy_bonus": over_best(p.letters(" ".join([one.trace.query, *corrections]))),
        "exact_bonus": p.pairs(one.terms),
        "heading_bonus": [value / max(1, len({*one.terms})) for value in p.heading(one.terms)],
    }
    scores = [sum(SIGNAL_WEIGHTS[name] * of[row] for name, of in signals.items()) for row in range(len(p.passages))]
    best = sorted(range(len(scores)), key=lambda row: -scores[row])[:3]
    idf = {term: p.idf(term) for term in one.terms}
    bonus = [0.0] * len(scores)
    for row in best if scores[best[0]] > 0 else []:
        for named in one.kb.links[row]:
            gained = {*p.terms[named]} - {*p.terms[row]}
            share = sum(weight for term, weight in idf.items() if term in gained) / sum(idf.values())
            bonus[named] = max(bonus[named], share * scores[row] / scores[best[0]])
    return signals | {"link_bonus": bonus}


def test_hits_are_ranked_by_words_and_vectors_and_show_both(asked: list[Asked]) -> None:
    for one in asked:
        signals = signals_of(one)
        count = len(one.paragraphs.passages)
        words = over_best([sum(SIGNAL_WEIGHTS[n] * of[row] for n, of in signals.items()) for row in range(count)])
        shown = signals | {"words": words}
        scores = words
        if one.windows:
            cosines = [max(of) for of in one.windows]
            low, high = min(cosines), max(cosines)
            near = [(value - low) / max(1e-9, high - low) for value in cosines]
            share = adaptive_alpha(one.trace.query)
            scores = [(1 - share) * word + share * vector for word, vector in zip(words, near, strict=True)]
            shown = shown | {"vector_norm": near, "cosine": cosines}
        ids = [chunk.chunk_id for chunk in one.kb.chunks]
        expected = reference.ranked(scores, [p.hits for p in one.paragraphs.passages], ids)
        assert [hit.chunk.chunk_id for hit in one.trace.hits] == [ids[chunk] for chunk, _ in expected]
        for hit, (_, row) in zip(one.trace.hits, expected, strict=True):
            assert hit.score == pytest.approx(scores[row], abs=1e-6)
            assert hit.signals == pytest.approx({name: of[row] for name, of in shown.items()}, abs=2e-6)


def test_the_parts_of_a_score_add_up_to_it(asked: list[Asked]) -> None:
    for one in asked:
        share = adaptive_alpha(one.trace.query) if one.windows else 0.0
        for hit in one.trace.hits:
            parts = score_parts(hit.score, hit.signals, share)
            assert sum(parts.values()) == pytest.approx(hit.score, abs=1e-5)
            words = {name: parts[name] for name in SIGNAL_WEIGHTS}
            weighted = {name: weight * hit.signals[name] for name, weight in SIGNAL_WEIGHTS.items()}
            total = sum(weighted.values())
            for name, part in words.items():
                assert part == pytest.approx(sum(words.values()) * weighted[name] / total if total else 0.0, abs=1e-5)


def test_a_hit_of_another_stage_has_no_parts() -> None:
    assert score_parts(0.7, {"bm25": 3.0}, 0.5) == {}


def names_of(one: Asked) -> list[str]:
    """The terms of capitalised words after the first one, and of words with digits."""
    words = [word.strip("¿?.,") for word in one.trace.query.split()]
    chosen = [w for row, w in enumerate(words) if (row and w[0].isupper()) or any(c.isdigit() for c in w)]
    return list(dict.fromkeys(term for word in chosen for term in one.kb.analyzer.terms(word)))


def test_the_features_of_the_evidence_are_those_of_the_formulas(asked: list[Asked]) -> None:
    for one in asked:
        p, own = one.paragraphs, list(dict.fromkeys(one.terms))
        bm25, windows = p.bm25(dict.fromkeys(own, 1.0)), p.coverage(dict.fromkeys(own, 1.0))
        letters, pairs = p.letters(one.trace.query), p.pairs(own)
        of_words = over_best(
            [
                a + 0.5 * b + 0.5 * c
                for a, b, c in zip(over_best(bm25), over_best(windows), over_best(letters), strict=True)
            ]
        )
        match = of_words
        if one.windows:
            near = np.array([max(of) for of in one.windows])
            share = adaptive_alpha(one.trace.query)
            match = list((1 - share) * np.array(of_words) + share * (near - near.min()) / (near.max() - near.min()))
        first = [chunk.chunk_id for chunk in one.kb.chunks].index(one.trace.chunks_final[0].chunk.chunk_id)
        top = max((row for row, of in enumerate(p.passages) if first in of.hits), key=lambda row: (match[row], -row))
        beside = [n for n, of in enumerate(p.passages) if of.section == p.passages[top].section and n != top]
        idf = {term: p.idf(term) for term in own}
        total, everywhere = sum(idf.values()), {term for of in p.terms for term in of}
        lacking = sorted((idf[term] for term in own if term not in everywhere), reverse=True)
        corrected = sum(note.split(":")[0] in ("vocab", "fuzzy_heading") for note in one.trace.expansion_notes)
        present = {*own} & {*p.terms[top]}
        rarest = sorted(own, key=lambda term: (-idf[term], term))[:3]
        names = names_of(one)
        ranked = sorted(letters, reverse=True)
        expected = {
            "letters": ranked[0],
            "letters_margin": ranked[0] - sum(ranked[1:4]) / 3,
            "letters_lead": letters[top] - (max(letters[n] for n in beside) if beside else np.mean(letters)),
            "sentence": windows[top],
            "coverage": sum(idf[term] for term in present) / total,
            "unknown": (sum(lacking) - 0.5 * sum(lacking[:corrected])) / total,
            "elsewhere": sum(idf[term] for term in ({*own} & everywhere) - present) / total,
            "rarest": sum(term in present for term in rarest) / len(rarest),
            "bm25": bm25[top] / (2.2 * total),
            "bm25_sum": sum(sorted(bm25, reverse=True)[:3]) / (2.2 * total),
            "strong_match": pairs[top] * bm25[top] / (2.2 * total),
            "names_missing": sum(name not in present for name in names) / len(names) if names else 0.0,
            "terms": len(own),
        }
        if one.windows:
            flat = [value for of in one.windows for value in of]
            said = [max(of) for of in one.sentences]
            mean = np.mean([value for of in one.sentences for value in of])
            expected |= {
                "cosine": max(one.windows[top]),
                "cosine_z": (max(flat) - np.mean(flat)) / np.std(flat),
                "sentence_cosine": max(said),
                "section_lead": said[top] - (max(said[n] for n in beside) if beside else mean),
                "alone": 1 / sum(math.exp(40 * (value - max(said))) for value in said),
            }
        found = evidence_features(one.trace, one.pipeline.index)
        assert found == pytest.approx(expected, abs=1e-5), one.trace.query


def test_a_question_that_names_the_first_heading_has_the_evidence_of_one_at_least(asked: list[Asked]) -> None:
    [one] = [one for one in asked if one.trace.query == "dietas"]
    judged, notes = judge(one.trace, one.pipeline.index)
    assert judged.evidence is not None
    assert judged.evidence >= NAMED_HEADING
    assert (judged.topic, notes["topic"]) == (1.0, 1.0)
    assert notes["model"] == "lexical"
    assert notes["terms"] == 1.0


@pytest.mark.parametrize(("question", "hits"), [("", 1), ("¿y el de la?", 1), ("hotel", 0)])
def test_without_a_term_or_a_hit_there_is_no_evidence_and_no_topic(
    asked: list[Asked], question: str, hits: int
) -> None:
    found = RetrievalTrace(question, chunks_final=asked[0].trace.chunks_final[:hits])
    judged, notes = judge(found, asked[0].pipeline.index)
    assert (judged.evidence, judged.topic) == (0.0, None)
    assert notes["missing"] == asked[0].kb.analyzer.terms(question)


def test_the_share_that_passages_cover_is_that_of_the_best_of_the_first_three(settings: Settings) -> None:
    """Of a corpus: "hotel" is in one of four documents, "euros" in two, "submarino" in none."""
    texts = ["El hotel cobra en euros.", "La dieta es de 48 euros.", "El torno azul.", "Nada de nada."]
    documents = [Document(f"d{n}", f"T{n}", text) for n, text in enumerate(texts)]
    chunks = [chunk for document in documents for chunk in chunk_document(document)]
    pipeline = last(growing_pipeline(chunks, "es", settings.with_changes(retrieval_strategy="LEXICAL"), FakeEmbedder))
    [trace] = pipeline.retrieve(["hotel euros submarino"])
    by_text = {hit.chunk.text: hit for hit in trace.hits}
    first, second = by_text[texts[0]], by_text[texts[1]]
    index = pipeline.index
    weights = {term: index.idf(term) for term in index.analyzer.terms("hotel euros submarino")}
    hotel, euros, submarine = weights.values()
    share, notes = covered_share("hotel euros submarino", [second, first], index)
    assert share == pytest.approx((hotel + euros) / (hotel + euros + submarine))
    assert notes == {"terms": 3, "missing": index.analyzer.terms("submarino")}
    share, notes = covered_share("hotel euros submarino", [second, second, second, first], index)
    assert share == pytest.approx(euros / (hotel + euros + submarine))
    assert notes["missing"] == sorted(index.analyzer.terms("hotel submarino"))


@pytest.mark.parametrize(("value", "z"), [(1_000.0, 3.0), (-1_000.0, -3.0), (4.0, 1.0)])
def test_no_feature_counts_more_than_the_limit(value: float, z: float) -> None:
    model = {"intercept": 0.5, "features": {"a": [2.0, 2.0, 2.0]}}
    assert logistic({"a": value}, model, 3.0) == pytest.approx(1 / (1 + math.exp(-(0.5 + 2 * z))))


def test_an_extreme_sum_neither_overflows_nor_leaves_0_to_1() -> None:
    model = {"intercept": 0.0, "features": {"a": [1.0, 0.0, 1.0]}}
    assert logistic({"a": 1e9}, model) == pytest.approx(1.0)
    assert 0 < logistic({"a": -1e9}, model) < 1e-20


def test_a_question_finds_the_same_whatever_was_asked_before(asked: list[Asked]) -> None:
    """The same question gives the same trace again, whatever was asked in between."""
    one = asked[0]
    again = one.pipeline.retrieve(random.Random(1).sample(QUESTIONS, len(QUESTIONS)))
    for trace in again:
        [before] = [a.trace for a in asked if a.trace.query == trace.query]
        assert [(h.chunk.chunk_id, h.score) for h in trace.hits] == [(h.chunk.chunk_id, h.score) for h in before.hits]
