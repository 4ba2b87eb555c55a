"""Of passages that say the same of different times, the one that held at the time asked about comes first."""

from __future__ import annotations

from datetime import date

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.dated import asked_date, date_of

MINUTES = """# Actas del club de remo

## Junta del 14 de enero de 2026

La cuota trimestral queda en 45 euros. El capitán es Iñaki Roldán.

## Junta del 3 de abril de 2026

Desde mayo la cuota trimestral sube a 52 euros. Se compra un remolque.

## Junta del 20 de septiembre de 2026

Se elige capitana a Nuria Salas. La cuota trimestral baja a 49 euros.
"""


@pytest.mark.parametrize(
    ("heading", "found"),
    [
        ("Actas > Junta del 14 de enero de 2026", date(2026, 1, 14)),
        ("Minutes > April 3, 2026", date(2026, 4, 3)),
        ("3rd of April 2026", date(2026, 4, 3)),
        ("Boletín de diciembre de 2025", date(2025, 12, 31)),
        ("2026-03-acta.md", date(2026, 3, 31)),
        ("2026-03-09 acta.md", date(2026, 3, 9)),
        ("Horario de enero", None),
        ("Horario de diciembre", None),
        ("December 9999", None),
        ("0001-01", None),
        ("31 de febrero de 2026", None),
        ("Artículo 2026", None),
        ("", None),
    ],
)
def test_a_heading_is_of_the_date_that_it_says(heading: str, found: date | None) -> None:
    assert date_of(heading) == found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("¿Cuál es la cuota ahora?", date(2026, 9, 20)),
        ("Who is the current captain?", date(2026, 9, 20)),
        ("¿Qué cuota había en febrero de 2026?", date(2026, 2, 28)),
        ("¿Qué cuota había en marzo?", date(2026, 3, 31)),
        ("¿Qué cuota había en noviembre?", date(2025, 11, 30)),
        ("¿Quién era capitán antes de abril?", date(2026, 3, 31)),
        ("What was the fee before April 3, 2026?", date(2026, 4, 2)),
        ("What was the fee in May?", date(2026, 5, 31)),
        ("What was the fee in December?", date(2025, 12, 31)),
        ("¿Qué cuota había antes de enero de 0001?", date(2025, 12, 31)),
        ("How long may a guest stay?", None),
        ("¿Cuál es la cuota?", None),
    ],
)
def test_a_question_asks_about_the_time_that_it_says(question: str, found: date | None) -> None:
    assert asked_date(question, date(2026, 9, 20)) == found


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("¿Cuál es la cuota trimestral ahora?", "49 euros"),
        ("¿Qué cuota trimestral había en febrero de 2026?", "45 euros"),
        ("¿Qué cuota trimestral había en junio?", "52 euros"),
        ("¿Qué cuota trimestral había antes de abril?", "45 euros"),
        ("¿Quién es la capitana actual del club?", "Nuria Salas"),
    ],
)
def test_the_nearest_passage_is_the_one_that_held_then(app: App, question: str, said: str) -> None:
    answer = app.answering.ask(app.kbs.add("actas.md", MINUTES.encode()).kb_id, question)
    shown = answer.text if answer.nearest is None else answer.nearest.passages[0].chunk.text
    assert said in shown


def test_lines_of_a_text_file_have_their_dates_and_nothing_is_asked_back(app: App) -> None:
    lines = MINUTES.replace("## ", "").replace("# ", "")
    kb_id = app.kbs.add("actas.txt", lines.encode()).kb_id
    answer = app.answering.ask(kb_id, "¿Cuál es la cuota trimestral?")
    assert answer.outcome != "asks"
    assert "49 euros" in (answer.text if answer.nearest is None else answer.nearest.passages[0].chunk.text)
