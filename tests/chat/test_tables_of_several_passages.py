"""Tables that are longer than a passage, asked through the whole chat."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.grounding import rest_of_tables

ROUTES = "\n".join(
    ["Ruta;Zona;Kilómetros;Guía"]
    + [
        f"Ruta {at};{('Norte', 'Sur', 'Costa')[at % 3]};{at * 17 % 59},5;{('Eva Ruiz', 'Leo Paz')[at % 2]}"
        for at in range(1, 91)
    ]
)


@pytest.mark.parametrize(
    ("question", "said", "sources"),
    [
        ("¿Cuál es la ruta con más kilómetros?", "- Ruta: Ruta 52; Zona: Sur; Kilómetros: 58,5;", 1),
        ("¿Cuántas rutas hay en la zona Costa?", "30 [", 6),
        ("¿Qué zona tiene la ruta 77?", "- Ruta: Ruta 77; Zona: Costa;", 1),
    ],
)
def test_all_rows_are_compared_and_each_that_counts_is_a_source(
    app: App, question: str, said: str, sources: int
) -> None:
    kb_id = app.kbs.add("rutas.csv", ROUTES.encode()).kb_id
    answer = app.answering.ask(kb_id, question, UserContext("strict"))
    assert answer.outcome == "answered" and answer.text.startswith(said), answer.text
    assert len(answer.sources) == sources
    assert all(
        source.chunk.text[a - source.chunk.start : b - source.chunk.start]
        for source in answer.sources
        for a, b in source.highlights
    )


def test_of_a_table_that_is_too_long_no_other_row_is_read(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    kb_id = app.kbs.add("rutas.csv", ROUTES.encode()).kb_id
    index = app.kbs.pipeline(kb_id).index
    some = [index.chunks[1]]
    assert len(rest_of_tables(index, some)) == len(index.chunks) - 1
    monkeypatch.setattr("chatbot_mvp.chat.grounding._TABLE_CHARS", 3_000)
    assert not rest_of_tables(index, some)
    answer = app.answering.ask(kb_id, "¿Cuál es la ruta con más kilómetros?", UserContext("strict"))
    assert answer.outcome != "answered"
