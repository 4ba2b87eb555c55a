"""A sentence is supported by the passage it cites, or it is marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.chat.verification import MIN_SUPPORT, verify, with_citations
from chatbot_mvp.evaluation.kb.questions import auroc
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk
from tests.fakes import fake_app

SPANISH = Analyzer("es")
PASSAGES = (
    Chunk("a", "d", "Dietas", "La dieta completa es de 48 euros. Fuera de España sube a 72 euros.", 0, 66),
    Chunk("b", "d", "Hotel", "El límite para hotel es de 95 euros por noche.", 70, 116),
)


def shown(answer: str) -> list[tuple[str, tuple[int, ...], bool]]:
    return [(answer[s.start : s.end], s.numbers, s.supported) for s in verify(answer, PASSAGES, SPANISH, lambda _: 1.0)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("La dieta completa es de 48 euros. [1]", [("La dieta completa es de 48 euros.", (1,), True)]),
        ("La dieta completa es de 48 euros [1].", [("La dieta completa es de 48 euros", (1,), True)]),
        # The right words under the wrong number.
        ("La dieta completa es de 48 euros. [2]", [("La dieta completa es de 48 euros.", (2,), False)]),
        # One figure wrong.
        ("La dieta completa es de 60 euros. [1]", [("La dieta completa es de 60 euros.", (1,), False)]),
        # Two passages for one sentence: one is enough.
        ("El hotel tiene un límite de 95 euros por noche. [1] [2]",
         [("El hotel tiene un límite de 95 euros por noche.", (1, 2), True)]),
        # Without a citation it is held against all passages.
        ("El límite para hotel es de 95 euros. El cielo es verde. [2]",
         [("El límite para hotel es de 95 euros.", (2,), True), ("El cielo es verde.", (2,), False)]),
        ("Los submarinos navegan bajo el hielo.", [("Los submarinos navegan bajo el hielo.", (), False)]),
        # What states nothing.
        ("", []), ("¿?", []), ("# Dietas\n\n[1]", []),
    ],
)  # fmt: skip
def test_each_sentence_is_held_against_what_it_cites(answer: str, expected: list[object]) -> None:
    assert shown(answer) == expected


@given(st.text(max_size=120) | st.text(alphabet="Ladietcompl48 .[]12\n", max_size=120))
def test_any_answer_gives_ordered_statements_inside_it(answer: str) -> None:
    behind = 0
    for statement in verify(answer, PASSAGES, SPANISH, lambda _: 1.0):
        assert behind <= statement.start < statement.end <= len(answer)
        assert 0.0 <= statement.score <= 1.0
        behind = statement.end


def test_the_threshold_tells_supported_statements_about_the_handbook_from_others(settings: Settings) -> None:
    """Words alone keep 23 of the 30 true statements and mark all 30 false ones."""
    cases = json.loads(Path(__file__).with_name("support_cases.json").read_text("utf-8"))
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"))
    index = app.kbs.pipeline(app.kbs.add_sample().kb_id).index
    found: dict[str, list[float]] = {"supported": [], "unsupported": []}
    for label, scores in found.items():
        for heading, text in cases[label]:
            passages = [chunk for chunk in index.chunks if chunk.section.split(" > ")[-1] == heading]
            assert passages, heading
            scores.append(min(one.score for one in verify(text, passages, SPANISH, index.idf)))
    assert len(found["supported"]) == len(found["unsupported"]) == 30
    assert (auroc(found["supported"], found["unsupported"]) or 0.0) >= 0.97
    assert sum(score >= MIN_SUPPORT for score in found["supported"]) >= 22
    assert sum(score < MIN_SUPPORT for score in found["unsupported"]) >= 29


def test_a_supported_sentence_without_a_citation_gets_that_of_its_passage() -> None:
    answer = "1. El límite para hotel es de 95 euros.\n2. El cielo es verde.\n"
    text, statements = with_citations(answer, verify(answer, PASSAGES, SPANISH, lambda _: 1.0))
    assert text == "1. El límite para hotel es de 95 euros. [2]\n2. El cielo es verde.\n"
    assert [(text[s.start : s.end], s.supported, s.cited) for s in statements] == [
        ("El límite para hotel es de 95 euros.", True, False),
        ("El cielo es verde.", False, False),
    ]
