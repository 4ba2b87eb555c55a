"""Answers against references: the official HotpotQA script's published rules on cases worked out by hand."""

from __future__ import annotations

import pytest

from chatbot_mvp.metrics.answers.accuracy import (
    answer_contains,
    answer_f1,
    answered_right,
    exact_match,
    generation_score,
    label_accuracy,
)
from chatbot_mvp.metrics.answers.text import AnswerCase, first_label, normalise
from chatbot_mvp.metrics.registry import metrics_of
from chatbot_mvp.metrics.spec import MetricSpec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("  a  man,\tan apple \n", "man apple"),
        # Punctuation is deleted, not replaced: the words grow together.
        ("mid-1990s", "mid1990s"),
        ("U.S.A.", "usa"),
        # Articles go after punctuation, so "A." is one and "a's" ("as") is none.
        ("A. Smith", "smith"),
        ("a's", "as"),
        # Only whole words are articles.
        ("Theatre another thesis", "theatre another thesis"),
        # Accents and dashes that are not ASCII stay.
        ("Café – bar", "café – bar"),
        ("The", ""),
        ("", ""),
    ],
)
def test_normalisation_follows_the_official_script(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("¡La torre Eiffel!", "torre eiffel"),
        ("«El Quijote»", "quijote"),
        ("the tower", "the tower"),
        ("Los a", "a"),
        # "lo" is no article in the script.
        ("lo mejor", "lo mejor"),
        # Every sign of category P goes, and so do the signs of ASCII; others, such as degrees and euros, stay.
        ("‹uno› • dos‐tres § 4 …", "uno dostres 4"),
        ("20 °C + 5 € = a|b", "20 °c 5 € ab"),
    ],
)
def test_spanish_normalisation_follows_the_script_of_mlqa(text: str, expected: str) -> None:
    assert normalise(text, "es") == expected


@pytest.mark.parametrize(
    ("response", "gold", "f1", "em"),
    [
        ("Chief of Protocol", "Chief of Protocol", 1.0, 1.0),
        ("the chief of protocol.", "Chief of Protocol", 1.0, 1.0),
        # 1 shared of 2 and of 3 words: P 1/2, R 1/3, F1 = 2 * (1/6) / (5/6) = 0.4.
        ("Animorphs series", "Animorphs books today", 0.4, 0.0),
        # P 3/5, R 3/3: 2 * 0.6 / 1.6 = 0.75.
        ("It was Chief of Protocol", "Chief of Protocol", 0.75, 0.0),
        # A word counts as often as both have it: 1 shared, P 1/3, R 1/2: 2 * (1/6) / (5/6) = 0.4.
        ("new new new", "new york", 0.4, 0.0),
        ("york new", "new york", 1.0, 0.0),
        ("something else", "new york", 0.0, 0.0),
        ("", "new york", 0.0, 0.0),
        # Both normalise to nothing: equal, and no word is shared.
        ("the", "a", 0.0, 1.0),
        # yes, no and noanswer are right only as a whole.
        ("yes", "yes", 1.0, 1.0),
        ("Yes.", "yes", 1.0, 1.0),
        ("yes they are", "yes", 0.0, 0.0),
        ("no", "yes", 0.0, 0.0),
        ("yes", "yes minister", 0.0, 0.0),
        ("no", "no country for old men", 0.0, 0.0),
        ("noanswer", "noanswer today", 0.0, 0.0),
        # A no among other words on both sides is a word as any.
        ("no country", "no country for men", 2 * 1.0 * 0.5 / 1.5, 0.0),
    ],
)
def test_f1_and_exact_match_are_the_official_ones(response: str, gold: str, f1: float, em: float) -> None:
    case = AnswerCase(response, gold)
    assert answer_f1(case) == pytest.approx(f1, abs=1e-12)
    assert exact_match(case) == em


def test_spanish_articles_are_left_out_only_when_the_language_is_spanish() -> None:
    assert exact_match(AnswerCase("El puente", "puente", language="es")) == 1.0
    assert exact_match(AnswerCase("El puente", "puente")) == 0.0
    assert exact_match(AnswerCase("puente", "el puente", language="es")) == 1.0
    # With its article the reference would have to stand in the answer with the article.
    assert answer_contains(AnswerCase("Es un puente.", "el puente", language="es")) == 1.0
    assert answer_contains(AnswerCase("Es un puente.", "el puente")) == 0.0
    assert answer_contains(AnswerCase("entre la torre y el puente", "torre y puente", language="es")) == 1.0


def test_a_language_without_a_rule_of_its_own_follows_the_english_one() -> None:
    assert normalise("The «Brücke»!", "de") == normalise("The «Brücke»!", "en") == "«brücke»"


@pytest.mark.parametrize(
    ("response", "gold", "f1"),
    [
        # 1 shared of 2 and of 1 words: P 1/2, R 1, F1 = 2 * (1/2) / (3/2) = 2/3. Only HotpotQA's script says 0.
        ("sí, ambos", "sí", 2 / 3),
        ("no", "no lo sé", 2 * 1.0 * (1 / 3) / (4 / 3)),
        # "lo" counts as a word: P 1/2, R 1.
        ("lo mejor", "mejor", 2 / 3),
        ("El río Ebro", "el Ebro", 2 * 0.5 * 1.0 / 1.5),
        ("«Unas» sierras", "las sierras", 1.0),
        ("la", "el", 0.0),
    ],
)
def test_spanish_f1_is_that_of_mlqa(response: str, gold: str, f1: float) -> None:
    assert answer_f1(AnswerCase(response, gold, language="es")) == pytest.approx(f1, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("yes", "yes"),
        ("No.", "no"),
        ("Yes, both are; no doubt.", "yes"),
        ("Well, no: only one is.", "no"),
        ("Sí, los dos.", "yes"),
        ("Si, los dos.", "yes"),
        # An unaccented "si" inside a sentence is "if".
        ("Depende de si llueve", None),
        ("Nobody knows", None),
        ("", None),
    ],
)
def test_the_label_of_an_answer_is_its_first_yes_or_no(text: str, label: str | None) -> None:
    assert first_label(text) == label


@pytest.mark.parametrize(
    ("response", "gold", "kind", "accuracy", "contains"),
    [
        ("Yes, both are Opera composers.", "yes", "label", 1.0, None),
        ("no", "yes", "label", 0.0, None),
        ("They are composers.", "yes", "label", 0.0, None),
        ("sí", "yes", "label", 1.0, None),
        ("¡Sí! Ambos.", "yes", "label", 1.0, None),
        # A label that is neither yes nor no must match.
        ("no idea", "no lo sé", "label", 0.0, None),
        ("Maybe", "maybe", "label", 1.0, None),
        ("maybe so", "maybe", "label", 0.0, None),
        # Files without a type: the reference tells.
        ("no", "no", "", 1.0, None),
        ("He was born in New York.", "New York", "", None, 1.0),
        ("He was born in New York.", "York Minster", "extractive", None, 0.0),
        # Word for word: not inside a longer word.
        ("Newark", "ark", "extractive", None, 0.0),
        ("the 1904s", "1904", "extractive", None, 0.0),
        ("", "New York", "extractive", None, 0.0),
        ("anything", "the", "extractive", None, None),
        # A yes as the reference of an extractive question is a word.
        ("yes", "Yes", "extractive", None, 1.0),
    ],
)
def test_yes_no_questions_have_an_accuracy_and_others_a_containment(
    response: str, gold: str, kind: str, accuracy: float | None, contains: float | None
) -> None:
    case = AnswerCase(response, gold, kind)
    assert label_accuracy(case) == accuracy
    assert answer_contains(case) == contains
    verdict = accuracy if accuracy is not None else contains
    assert answered_right(case) == (None if verdict is None else verdict == 1.0)


def test_the_primary_score_is_accuracy_of_labels_and_f1_of_the_rest() -> None:
    """RAG_P told small models' "yes, …" apart by F1, which is 0 for it; the accuracy of a label is not."""
    assert generation_score(AnswerCase("yes, both", "yes", "label")) == 1.0
    assert answer_f1(AnswerCase("yes, both", "yes", "label")) == 0.0
    assert generation_score(AnswerCase("Animorphs series", "Animorphs books today", "extractive")) == pytest.approx(0.4)


@pytest.mark.parametrize("spec", metrics_of("answer").values(), ids=lambda spec: spec.name)
@pytest.mark.parametrize("case", [AnswerCase(None, "gold"), AnswerCase("answer", ""), AnswerCase("answer", "  ")])
def test_without_an_answer_or_a_reference_nothing_is_scored(spec: MetricSpec, case: AnswerCase) -> None:
    assert spec.score(case) is None
