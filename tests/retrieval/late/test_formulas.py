"""Late interaction over a knowledge base gives what its formulas give, token by token."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.base import InputType, TokenStates, Vectors
from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.retrieval.late.matching import LateWeights
from chatbot_mvp.retrieval.late.passages import PassageTokens
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.stages import late_interaction
from chatbot_mvp.retrieval.stages.base import Selection
from chatbot_mvp.retrieval.stages.evidence import LATE_FEATURES, late_features
from chatbot_mvp.retrieval.stages.late_interaction import WEIGHTS, LateInteraction
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, Document, last
from tests.fakes import FakeEmbedder

KB = "\n\n".join(
    f"# Sección {number % 6}\n\nLa pieza {word} pesa {number} kilos y se guarda. El {word} no se moja nunca."
    for number, word in enumerate("torno sierra lima clavo tabla barniz pincel metro nivel taladro broca".split())
)
QUESTIONS = [
    "¿Cuánto pesa la sierra?",
    "¿dónde se guarda el barniz que no se moja?",
    "¿el clavo y el taladro pesan y se guardan?",
]


class FakeTokens(FakeEmbedder):
    """Each word is a token, whose state depends on its letters, and a little on whether it is in a question."""

    def text_tokens(self, texts: Sequence[str], input_type: InputType) -> list[TokenStates]:
        return [
            TokenStates(
                np.array([self._state(word, input_type) for word in text.split()], np.float32),
                np.array([float(len(word)) for word in text.split()], np.float32),
            )
            for text in texts
        ]

    def token_counts(self, parts: Sequence[str]) -> list[int]:
        return [len(part.split()) for part in parts]

    def _state(self, word: str, input_type: InputType) -> list[float]:
        letters, of_type = (
            hashlib.blake2b(text.encode(), digest_size=self.dimensions).digest() for text in (word, input_type + word)
        )
        return [(one + 0.2 * other) / 255 - 0.6 for one, other in zip(letters, of_type, strict=True)]


class Case(NamedTuple):
    pipeline: Pipeline
    stage: LateInteraction
    traces: list[RetrievalTrace]
    """Before late interaction."""
    embedder: FakeTokens
    weights: LateWeights

    def of_token(self, word: str) -> Vectors:
        """The stored vector of a token, as a number of steps of 1 / 200."""
        [states] = self.embedder.text_tokens([word], "passage")
        return np.clip(np.round(self.weights.project(states)[0] * 200), -127, 127) / 200

    def cosines(self, question: str, text: str) -> list[float]:
        """The cosine of each token of the question with its closest token of a text."""
        [asked] = self.embedder.text_tokens([question], "query")
        return [
            max(float(token @ self.of_token(word)) for word in text.split()) for token in self.weights.project(asked)
        ]

    def late(self, question: str, texts: Sequence[str]) -> float:
        """MaxSim with all texts together."""
        [asked] = self.embedder.text_tokens([question], "query")
        closest = [max(of) for of in zip(*(self.cosines(question, text) for text in texts), strict=True)]
        length = sum(len(text.split()) for text in texts)
        return float(self.weights.shares(asked) @ np.array(closest)) - 0.02 * math.log(length)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    folder = tmp_path_factory.mktemp("late")
    embedder = FakeTokens()
    draw = np.random.default_rng(3)
    dimensions = embedder.dimensions
    weights = LateWeights(
        key="0",
        model_id=embedder.model_id,
        mean=draw.normal(size=dimensions).astype(np.float32) / 20,
        projection=draw.normal(size=(dimensions, 12)).astype(np.float32),
        attention=draw.normal(size=dimensions).astype(np.float32),
        bias=0.3,
    )
    settings = Settings(_env_file=None, data_dir=folder, retrieval_strategy="HYBRID")  # type: ignore[call-arg]
    pipeline = last(growing_pipeline(chunk_document(Document("kb", "kb", KB)), "es", settings, lambda: embedder))
    assert pipeline.index.dense is not None
    tokens = PassageTokens(folder / "tokens.sqlite", embedder, weights)
    index = replace(pipeline.index, dense=replace(pipeline.index.dense, tokens=tokens))
    stage = LateInteraction(index, pipeline.config)
    with pytest.MonkeyPatch.context() as patch:
        # Few candidates, so that some hits are none.
        patch.setattr(late_interaction, "CANDIDATES", {"score": 3, "vector_norm": 2, "words": 4})
        yield Case(pipeline, stage, pipeline.retrieve(QUESTIONS), embedder, weights)


def whole(passage: Passage) -> str:
    return f"{passage.section}\n{passage.text}"


def paragraphs(case: Case, chunk: Chunk) -> list[str]:
    kb = case.stage.index.kb
    assert kb is not None
    position = [other.chunk_id for other in kb.chunks].index(chunk.chunk_id)
    return [whole(passage) for passage in kb.matcher.passages if position in passage.hits]


def candidates(hits: Sequence[Hit]) -> list[Hit]:
    best = set(range(min(3, len(hits))))
    for name, count in (("vector_norm", 2), ("words", 4)):
        best |= set(sorted(range(len(hits)), key=lambda row: -hits[row].signals[name])[:count])
    return [hits[row] for row in sorted(best)]


def scaled(values: Mapping[str, float]) -> dict[str, float]:
    low, high = min(values.values()), max(values.values())
    return {key: (value - low) / max(1e-9, high - low) for key, value in values.items()}


def test_candidates_are_ranked_by_the_weighted_mean_and_the_others_follow(case: Case) -> None:
    for before in case.traces:
        compared = candidates(before.hits)
        assert len(compared) < len(before.hits)
        values: dict[str, dict[str, float]] = {
            "late": {
                hit.chunk.chunk_id: max(case.late(before.query, [text]) for text in paragraphs(case, hit.chunk))
                for hit in compared
            },
            "late_chunk": {
                hit.chunk.chunk_id: case.late(before.query, paragraphs(case, hit.chunk)) for hit in compared
            },
            "words": {hit.chunk.chunk_id: hit.signals["words"] for hit in compared},
            "vector_norm": {hit.chunk.chunk_id: hit.signals["vector_norm"] for hit in compared},
        }
        parts = {
            name: {key: weight / sum(WEIGHTS.values()) * value for key, value in scaled(values[name]).items()}
            for name, weight in WEIGHTS.items()
        }
        score = {hit.chunk.chunk_id: sum(part[hit.chunk.chunk_id] for part in parts.values()) for hit in compared}
        order = sorted(score, key=lambda key: (-score[key], key))
        after = case.stage.run(before)
        assert after.records[-1].notes == {"candidates": len(compared)}
        assert [hit.chunk.chunk_id for hit in after.hits[: len(order)]] == order
        for hit in after.hits[: len(order)]:
            key = hit.chunk.chunk_id
            assert hit.score == pytest.approx(score[key], abs=1e-5)
            for name in WEIGHTS:
                assert hit.signals[name] == pytest.approx(values[name][key], abs=1e-5)
                assert hit.signals[f"{PART}{name}"] == pytest.approx(parts[name][key], abs=1e-5)
        rest = [hit for hit in before.hits if hit.chunk.chunk_id not in score]
        lowest = min(score.values())
        assert [hit.chunk.chunk_id for hit in after.hits[len(order) :]] == [hit.chunk.chunk_id for hit in rest]
        for hit, old in zip(after.hits[len(order) :], rest, strict=True):
            assert hit.score == pytest.approx(lowest * old.score, abs=1e-6)


def test_the_features_are_those_of_the_formulas(case: Case) -> None:
    for before in case.traces:
        trace = Selection(case.stage.index, case.pipeline.config).run(case.stage.run(before))
        first = trace.chunks_final[0]
        texts = paragraphs(case, first.chunk)
        best = max(texts, key=lambda text: case.late(trace.query, [text]))
        [asked] = case.embedder.text_tokens([trace.query], "query")
        shares, cosines = case.weights.shares(asked), np.array(case.cosines(trace.query, best))
        others = [hit for hit in trace.hits if "late" in hit.signals and hit.chunk != first.chunk]
        scores = sorted((hit.signals["late"] for hit in others), reverse=True)
        beside = [hit.signals["late"] for hit in others if hit.chunk.section == first.chunk.section]
        late = case.late(trace.query, [best])
        expected = {
            "late": late,
            "late_chunk": case.late(trace.query, texts),
            "late_margin": late - sum(scores[:3]) / len(scores[:3]),
            "late_lead": late - (max(beside) if beside else sum(scores) / len(scores)),
            "late_found": sum(share for share, cosine in zip(shares, cosines, strict=True) if cosine > 0.7),
            "late_missed": sum(share for share, cosine in zip(shares, cosines, strict=True) if cosine < 0.4),
            "late_worst": min(cosines[n] for n in range(len(shares)) if shares[n] >= shares.mean()),
            "words": first.signals["words"],
            "vector_norm": first.signals["vector_norm"],
        }
        assert tuple(expected) == LATE_FEATURES
        assert late_features(trace, case.stage.index) == pytest.approx(expected, abs=1e-5)


def test_a_single_candidate_is_compared_with_nothing(case: Case) -> None:
    before = replace(case.traces[0], hits=case.traces[0].hits[:1])
    trace = Selection(case.stage.index, case.pipeline.config).run(case.stage.run(before))
    found = late_features(trace, case.stage.index)
    assert found["late_margin"] == found["late_lead"] == found["late"]


def test_without_hits_or_without_late_interaction_there_are_no_features(case: Case) -> None:
    [empty] = [case.stage.run(replace(case.traces[0], hits=()))]
    assert (empty.hits, empty.records[-1].notes) == ((), {})
    trace = Selection(case.stage.index, case.pipeline.config).run(case.stage.run(case.traces[0]))
    assert late_features(replace(trace, query_tokens=None), case.stage.index) == {}
    assert late_features(trace, case.pipeline.index) == {}
    assert late_features(replace(trace, chunks_final=case.traces[0].chunks_final), case.stage.index) == {}


def test_a_token_is_kept_in_steps_and_the_largest_values_are_clipped(case: Case, tmp_path: Path) -> None:
    tokens = PassageTokens(tmp_path / "t.sqlite", case.embedder, case.weights)
    [stored] = tokens.of(["torno sierra"])
    assert stored.dtype == np.int8
    np.testing.assert_allclose(stored / 200, [case.of_token("torno"), case.of_token("sierra")], atol=1e-6)
    assert np.abs(stored).max() == 127


def test_tokens_are_stored_only_where_they_may_be(case: Case, tmp_path: Path) -> None:
    tokens = PassageTokens(tmp_path / "t.sqlite", case.embedder, case.weights)
    first = tokens.of(["torno"])
    assert not (tmp_path / "t.sqlite").exists()
    kept = tokens.of(["torno", "sierra", "torno"], keep=True)
    assert (tmp_path / "t.sqlite").exists()
    np.testing.assert_array_equal(kept[0], first[0])
    np.testing.assert_array_equal(kept[0], kept[2])
    again = PassageTokens(tmp_path / "t.sqlite", FakeTokens(model_id=case.embedder.model_id), case.weights)
    [stored] = again.of(["sierra"])
    np.testing.assert_array_equal(stored, kept[1])
