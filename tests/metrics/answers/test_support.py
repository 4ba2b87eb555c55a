"""Support of an answer's sentences by words alone, and the similarity of two vectors."""

from __future__ import annotations

import numpy as np
import pytest

from chatbot_mvp.metrics.answers.lexical_support import sentence_support
from chatbot_mvp.metrics.answers.semantic_similarity import semantic_similarity


def test_support_is_the_share_of_the_sentences_words_that_stand_together() -> None:
    contexts = ["Nothing here.", "Dogs chase cats. Birds sing. Fish swim."]
    found = dict(sentence_support("Dogs chase birds. Dogs chase fish. Planes fly.", contexts, "en"))
    assert found["Dogs chase birds."] == 1.0  # two successive sentences have all three words
    assert found["Dogs chase fish."] == pytest.approx(2 / 3)  # the fish are two sentences away
    assert found["Planes fly."] == 0.0


def test_a_figure_that_the_context_lacks_halves_the_support() -> None:
    [(_, right)] = sentence_support("The lease lasts 12 months.", ["The lease lasts 12 months."], "en")
    [(_, wrong)] = sentence_support("The lease lasts 12 months, from 2024.", ["The lease lasts 12 months."], "en")
    assert right == 1.0
    assert wrong == pytest.approx(0.5 * 4 / 5)


def test_words_of_another_form_count_in_the_given_language() -> None:
    assert sentence_support("El perro.", ["Los perros ladran."], "es") == [("El perro.", 1.0)]


def test_sentences_without_words_are_left_out_and_nothing_supports_without_contexts() -> None:
    assert sentence_support("The. Dogs bark.", [], "en") == [("Dogs bark.", 0.0)]


@pytest.mark.parametrize(
    ("other", "cosine"), [((1.0, 0.0), 1.0), ((0.6, 0.8), 0.6), ((0.0, 1.0), 0.0), ((-1.0, 0.0), 0.0)]
)
def test_similarity_is_the_cosine_and_never_negative(other: tuple[float, float], cosine: float) -> None:
    one = np.array((1.0, 0.0), dtype=np.float32)
    assert semantic_similarity(one, np.array(other, dtype=np.float32)) == pytest.approx(cosine)


def test_similarity_of_rounded_unit_vectors_does_not_exceed_one() -> None:
    vector = np.array((1.0001, 0.0), dtype=np.float32)
    assert semantic_similarity(vector, vector) == 1.0
