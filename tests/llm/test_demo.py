"""The built-in provider quotes its evidence letter for letter, or says nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.llm.base import ChatRequest, Grounding
from chatbot_mvp.llm.creation import create_chat_model
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.registry import PROVIDERS
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk
from tests.fakes import chunks_of

MARK = re.compile(r" \[(\d+)\]$")


def passage(section: str, text: str) -> Chunk:
    return Chunk(section, "d", section, text, 0, len(text))


PASSAGES = (
    passage(
        "Vacaciones",
        "## Vacaciones\n\nCada persona dispone de 23 días laborables de vacaciones. La solicitud va al portal. "
        "El responsable tiene 7 días para contestar.",
    ),
    passage("Dietas", "### Dietas\n\nLa dieta de jornada completa es de 48 euros. Fuera sube a 72 euros."),
)


def ask(question: str, *passages: Chunk, language: str = "es") -> list[tuple[str, int]]:
    """The quoted statements, each with the number that it cites."""
    text = DemoModel().complete(ChatRequest((), grounding=Grounding(question, passages, language))).text
    found = []
    for piece in text.split("\n\n") if text else []:
        mark = MARK.search(piece)
        assert mark, piece
        found.append((piece[: mark.start()], int(mark.group(1))))
    return found


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("¿De cuántos días de vacaciones dispone cada persona?", (PASSAGES[0], "23 días laborables")),
        ("¿Cuánto tiempo tiene el responsable para contestar?", (PASSAGES[0], "7 días para contestar")),
        ("¿Cuántos euros es la dieta de jornada completa?", (PASSAGES[1], "48 euros")),
    ],
)
def test_the_first_quoted_sentence_is_the_one_that_answers(question: str, quoted: tuple[Chunk, str]) -> None:
    statement, number = ask(question, *PASSAGES)[0]
    assert quoted[1] in statement
    assert PASSAGES[number - 1] == quoted[0]


@given(
    st.lists(st.sampled_from("vacaciones días portal euros dieta completa el 48 responsable submarino".split())),
    st.permutations(PASSAGES),
)
def test_every_statement_stands_letter_for_letter_in_the_passage_that_it_cites(
    words: list[str], passages: list[Chunk]
) -> None:
    statements = ask(" ".join(words), *passages)
    assert len(statements) <= 3
    for statement, number in statements:
        assert statement in passages[number - 1].text
        assert not statement.startswith("#")
    assert len({statement for statement, _ in statements}) == len(statements)


@pytest.mark.parametrize("question", ["¿Qué altura tiene la torre?", "", "¿Y el de la?", "🙂"])
def test_without_a_shared_term_there_is_no_answer(question: str) -> None:
    assert ask(question, *PASSAGES) == []


def test_without_passages_there_is_no_answer() -> None:
    assert ask("¿Cuántos días de vacaciones hay?") == []


def test_the_same_sentence_in_two_passages_is_quoted_once_from_the_better_one() -> None:
    text = "El puente mide cuarenta metros."
    assert ask("¿Cuánto mide el puente?", *chunks_of(text, text)) == [(text, 1)]


def test_english_evidence_is_read_as_english() -> None:
    text = "The bridge was opened in 1904. The mill closed."
    assert ask("When was the bridge opened?", *chunks_of(text), language="en") == [
        ("The bridge was opened in 1904.", 1)
    ]


def test_the_completion_names_the_provider() -> None:
    completion = DemoModel().complete(ChatRequest((), grounding=Grounding("?", (), "es")))
    assert (completion.model, completion.finish_reason) == ("demo", "stop")
    assert completion.seconds >= 0


def test_an_unknown_provider_is_answered_with_the_known_ones(settings: Settings) -> None:
    with pytest.raises(UnknownChoice) as raised:
        create_chat_model(settings.with_changes(provider="nonesuch"))
    assert "'nonesuch'" in str(raised.value)
    assert all(name in str(raised.value) for name in PROVIDERS)
