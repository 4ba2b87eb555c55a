"""Late interaction compares a question with paragraphs token by token."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.embedding.base import TokenEmbedder, TokenStates
from chatbot_mvp.embedding.e5.embedder import local_e5
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.retrieval.indexes.corpus import tokens_cache_path
from chatbot_mvp.retrieval.indexes.dense_side import passages_read
from chatbot_mvp.retrieval.late.matching import LENGTH_COST, SCALE, closest_tokens, grouped, late_weights, max_sim
from chatbot_mvp.retrieval.late.passages import PassageText, PassageTokens
from chatbot_mvp.retrieval.stages.late_interaction import LateInteraction
from chatbot_mvp.retrieval.trace import PART, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress, ignore_progress
from tests.fakes import FakeEmbedder, fake_app

PASSAGES = [
    PassageText("Vacaciones", "Cada persona dispone de 23 días. Se piden en el portal.", ((0, 32), (33, 55))),
    PassageText("", "El molino muele trigo.", ((0, 22),)),
    PassageText("", "\x00", ((0, 1),)),
]
TEXTS = [passage.whole for passage in PASSAGES]


@pytest.fixture(scope="module")
def embedder(models_dir: Path) -> TokenEmbedder:
    found = local_e5(models_dir, 1)
    assert isinstance(found, TokenEmbedder)
    return found


@pytest.fixture
def tokens(tmp_path: Path, embedder: TokenEmbedder) -> PassageTokens:
    return PassageTokens(tmp_path / "tokens.sqlite", embedder, late_weights())


def test_max_sim_by_hand() -> None:
    """Two question tokens, two texts of two and one tokens, in units of 1 / SCALE."""
    question = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    texts = [np.array([[SCALE / 2, 0], [0, SCALE / 4]], np.int8), np.array([[SCALE / 8, SCALE / 2]], np.int8)]
    closest = closest_tokens(question, texts)
    np.testing.assert_allclose(closest, [[0.5, 0.125], [0.25, 0.5]])
    both = [np.array([0, 1]), np.array([1])]
    np.testing.assert_allclose(grouped(closest, both), [[0.5, 0.125], [0.5, 0.5]])
    shares = np.array([0.75, 0.25], np.float32)
    np.testing.assert_allclose(
        max_sim(closest, shares, np.array([2, 1])), [0.4375 - LENGTH_COST * np.log(2), 0.21875], rtol=1e-6
    )


def test_special_tokens_and_prefix_are_no_content(embedder: TokenEmbedder) -> None:
    alone, doubled = embedder.text_tokens(["molino", "molino molino"], "query")
    assert 2 * len(alone.states) == len(doubled.states) == len(doubled.rarity)
    [passage] = embedder.text_tokens(["molino"], "passage")
    assert len(passage.states) == len(alone.states)


def test_all_windows_of_a_long_text_are_read(embedder: TokenEmbedder) -> None:
    [tokens] = embedder.text_tokens(["molino " * 900], "passage")
    assert len(tokens.states) == len(tokens.rarity) > 900


def test_shares_of_a_question_add_up_and_rare_tokens_count_more(embedder: TokenEmbedder) -> None:
    weights = late_weights()
    [question] = embedder.text_tokens(["¿Cuántos días de vacaciones?"], "query")
    assert weights.shares(question).sum() == pytest.approx(1.0)
    states = np.repeat(question.states[:1], 2, axis=0)
    common, rare = weights.shares(TokenStates(states, np.array([4.0, 16.0], np.float32)))
    assert rare == pytest.approx(2 * common)


def test_tokens_are_computed_once_and_survive_a_stop(tokens: PassageTokens, tmp_path: Path) -> None:
    def stop(_: Progress) -> None:
        raise RunStopped(run_id="a run")

    with pytest.raises(RunStopped):
        tokens.compute(PASSAGES, stop, "embed_corpus")
    sums = tokens.compute(PASSAGES, ignore_progress, "embed_corpus")
    reports: list[Progress] = []
    again = PassageTokens(tmp_path / "tokens.sqlite", tokens.embedder, tokens.weights)
    np.testing.assert_array_equal(again.compute(PASSAGES, reports.append, "embed_corpus"), sums)
    assert [(report.done, report.done_before) for report in reports] == [(3, 3)]


def test_the_sums_of_the_sentences_add_up_to_the_text_without_its_heading(tokens: PassageTokens) -> None:
    sums = tokens.compute(PASSAGES, ignore_progress, "embed_corpus")
    assert len(sums) == sum(len(passage.sentences) for passage in PASSAGES)
    of_texts = tokens.embedder.text_tokens(TEXTS, "passage")
    [heading] = tokens.embedder.token_counts(["Vacaciones"])
    np.testing.assert_allclose(sums[:2].sum(axis=0), of_texts[0].states[heading:].sum(axis=0), atol=1e-3)
    np.testing.assert_allclose(sums[2], of_texts[1].states.sum(axis=0), atol=1e-3)


def test_tokens_of_parts_add_up_to_those_of_the_text(embedder: TokenEmbedder) -> None:
    """Whatever white space is between the parts."""
    parts = ["Vacaciones ", "\n Cada  persona ", " ", "dispone\u00a0de 23 días."]
    [whole] = embedder.text_tokens(["".join(parts)], "passage")
    assert sum(embedder.token_counts(parts)) == len(whole.states)


def test_what_another_process_has_deleted_is_computed_again(tokens: PassageTokens) -> None:
    tokens.compute(PASSAGES, ignore_progress, "embed_corpus")
    before = tokens.of(TEXTS)
    tokens.forget(PASSAGES)
    reports: list[Progress] = []
    for one, other in zip(before, tokens.of(TEXTS), strict=True):
        np.testing.assert_allclose(one, other, atol=1)
    tokens.compute(PASSAGES, reports.append, "embed_corpus")
    assert reports[0].done_before == 0


def test_a_text_without_a_word_still_has_a_token(embedder: TokenEmbedder) -> None:
    """So that every text has a highest cosine."""
    assert all(len(found.states) for text in ("", " ", "\x00") for found in embedder.text_tokens([text], "query"))


def test_parts_of_a_score_add_up_no_hit_is_lost_and_deletion_leaves_no_tokens(
    settings: Settings, models_dir: Path
) -> None:
    app = build_app(settings)
    kb_id = app.kbs.add_sample().kb_id
    [trace] = app.kbs.pipeline(kb_id).retrieve(["me pagan el coche si voy a ver a un cliente"])
    assert trace.hits[0].chunk.section == "Gastos de viaje"
    for hit in trace.hits[:10]:
        parts = [value for name, value in hit.signals.items() if name.startswith(PART)]
        assert sum(parts) == pytest.approx(hit.score, abs=1e-5)
    assert [hit.score for hit in trace.hits] == sorted((hit.score for hit in trace.hits), reverse=True)
    assert len({hit.chunk.chunk_id for hit in trace.hits}) == len(trace.hits) > 10

    with sqlite3.connect(tokens_cache_path(settings.cache_dir)) as connection:
        counts = [f"SELECT count(*) FROM {table}" for table in ("tokens", "sentences")]
        assert all(connection.execute(count).fetchone() != (0,) for count in counts)
        app.kbs.delete(kb_id)
        assert all(connection.execute(count).fetchone() == (0,) for count in counts)


def test_another_embedding_model_ranks_without_it(settings: Settings) -> None:
    app = fake_app(settings, embedder=lambda _: FakeEmbedder())
    pipeline = app.kbs.pipeline(app.kbs.add_sample().kb_id)
    [trace] = pipeline.retrieve(["vacaciones"])
    assert LateInteraction.name not in {record.stage for record in trace.records}


def test_short_documents_are_compared_unless_the_question_names_one_or_links_lead_on(
    settings: Settings, models_dir: Path
) -> None:
    """The walk has nothing to start from in a question in own words, which asks for one document."""
    app = build_app(settings.with_changes(retrieval_strategy="BRIDGE_HYBRID"))
    texts = {
        "Ausencias": "Quien enferma avisa a su responsable antes de las diez de la mañana.",
        "Comidas": "La empresa abona hasta doce euros por almuerzo fuera de la oficina.",
        "Llaves": "La tarjeta de entrada se devuelve el último día de trabajo.",
        **{f"Sala {number}": f"La sala {number} tiene {number} sillas y una pantalla." for number in range(3, 12)},
    }
    document = "\n\n".join(f"## {heading}\n\n{text}" for heading, text in texts.items())
    kb_id = app.kbs.store.add("faq.md", document.encode(), 100_000, 1).kb_id
    pipeline = app.kbs.pipeline(kb_id)
    assert pipeline.index.graph is not None
    own_words, names_one = pipeline.retrieve(["me encuentro mal, ¿a quién llamo?", "¿qué hay en la Sala 7?"])
    assert own_words.hits[0].chunk.section == "Ausencias"
    assert _compared(own_words) > 0
    assert names_one.hits[0].chunk.section == "Sala 7"
    assert _compared(names_one) == 0


def _compared(trace: RetrievalTrace) -> int:
    [notes] = [record.notes for record in trace.records if record.stage == LateInteraction.name]
    return int(notes.get("candidates", 0))


def test_a_cache_of_an_earlier_version_gets_the_sums_that_it_lacks(tokens: PassageTokens, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "tokens.sqlite") as connection:
        connection.execute("CREATE TABLE tokens (key BLOB PRIMARY KEY, tokens BLOB NOT NULL) WITHOUT ROWID")
    assert len(tokens.compute(PASSAGES, ignore_progress, "embed_corpus")) == 4


def test_a_window_is_the_direction_of_its_sentences_sums(settings: Settings, models_dir: Path) -> None:
    """A paragraph's last window has one sentence, and no window reaches into the next paragraph."""
    app = build_app(settings)
    index = app.kbs.pipeline(app.kbs.add("kb.md", b"# Turnos\n\nUno va. Dos vienen.\n\nTres salen.").kb_id).index
    kb, side = index.kb, index.dense
    assert kb is not None and side is not None and side.tokens is not None and side.windows is not None
    sums = side.tokens.compute(passages_read(kb), ignore_progress, "embed_corpus")
    expected = np.array([sums[0] + sums[1], sums[1], sums[2]])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    for row, vector in enumerate(expected):
        assert side.windows.cosines(vector)[row] == pytest.approx(1.0, abs=1e-5)
