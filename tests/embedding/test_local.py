"""The embedding model that comes with the installation."""

from __future__ import annotations

import os

import numpy as np
import pytest

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.local import _short_waits
from chatbot_mvp.embedding.registry import EMBEDDERS
from chatbot_mvp.settings.model import LOCAL_EMBEDDER

QUESTION = "¿Cuántos días de vacaciones tiene cada trabajador?"
PARAPHRASE = "Los empleados disponen de 23 jornadas libres al año para descansar."
OTHER_TOPIC = "El puente de piedra cruza el río a la altura del molino viejo."


@pytest.fixture(scope="module")
def model() -> Embedder:
    return EMBEDDERS[LOCAL_EMBEDDER]()


def test_vectors_have_length_one_and_the_stated_shape(model: Embedder) -> None:
    texts = [PARAPHRASE, OTHER_TOPIC, "", "🙂"]
    # More than the 512 tokens that the model reads, in a batch of its own.
    vectors = np.concatenate([model.embed(texts, "passage"), model.embed(["palabra " * 600], "passage")])
    assert vectors.shape == (len(texts) + 1, model.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_a_spanish_question_is_nearer_to_its_answer_in_other_words_than_to_another_topic(model: Embedder) -> None:
    question = model.embed([QUESTION], "query")[0]
    answer, other = model.embed([PARAPHRASE, OTHER_TOPIC], "passage")
    assert question @ answer > question @ other


def test_a_question_in_spanish_is_nearer_to_an_english_answer_than_to_another_topic(model: Embedder) -> None:
    question = model.embed([QUESTION], "query")[0]
    answer, other = model.embed(["Every employee has 23 days of holiday a year.", "The bridge is old."], "passage")
    assert question @ answer > question @ other


def test_the_same_text_as_query_and_as_passage_are_two_vectors(model: Embedder) -> None:
    assert not np.allclose(model.embed([QUESTION], "query"), model.embed([QUESTION], "passage"), atol=1e-3)


def test_a_vector_is_the_same_each_time(model: Embedder) -> None:
    np.testing.assert_array_equal(model.embed([QUESTION], "query"), model.embed([QUESTION], "query"))


def test_a_nul_does_not_end_the_text(model: Embedder) -> None:
    cut, whole = model.embed(["vacaciones", "vacaciones\x00del personal"], "passage")
    assert not np.allclose(cut, whole, atol=1e-3)


def test_no_texts_give_an_empty_matrix_of_the_right_width(model: Embedder) -> None:
    assert model.embed([], "query").shape == (0, model.dimensions)


def test_short_waits_hold_while_the_engine_is_loaded_and_are_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    with _short_waits():
        assert int(os.environ["GOMP_SPINCOUNT"]) < 10_000
    assert "GOMP_SPINCOUNT" not in os.environ


@pytest.mark.parametrize(("name", "value"), [("GOMP_SPINCOUNT", "7"), ("OMP_WAIT_POLICY", "active")])
def test_what_the_environment_says_of_waiting_holds(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.setenv(name, value)
    with _short_waits():
        assert os.environ[name] == value
        assert (name == "GOMP_SPINCOUNT") == ("GOMP_SPINCOUNT" in os.environ)
    assert os.environ[name] == value
