"""Questions about cells of tables: one cell, the row whose range holds a value, what rows say together."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from chatbot_mvp.documents.reading.grid import Cell, rows_of
from chatbot_mvp.llm.base import ChatRequest, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.extractive.cells import answer_from_cells
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.tables import bounds_in, number_in, tables_of, value_in
from chatbot_mvp.types import Chunk

TABLES = {
    "Cursos de cerámica": [
        "Curso|Profesora|Aforo|Precio|Enero|Febrero",
        "Torno|Marina|8|95 €|6|7",
        "Esmalte|Julia|12|60 €|11|9",
        "Modelado|Marina|15|45,50 €|15|12",
    ],
    "Envíos de piezas": ["Peso|Provincia|Resto", "Hasta 2 kg|4 €|7 €", "Más de 2 a 5 kg|6 €|9 €", "5 a 10 kg|9 €|14 €"],
    "Vitrinas": ["Tamaño de la vitrina|Cuota", "Grande|30 €", "Mediana|20 €", "Pequeña|10 €"],
    "Ficha del horno": ["Potencia|12 kW", "Color|gris"],
    "Imprenta": ["Folleto|Precio por unidad (€)|Plazo (días)", "Díptico|0,32|5", "Tríptico|0,41|6"],
    "Cuotas": ["Modalidad|Socios|No socios", "Anual|40 €|65 €", "De un mes|6 €|9 €"],
    "Clases de piragua": [
        "Servicio|Modalidad|Duración (min)|Tarifa (€)|Edad mínima (años)",
        "Bono|10 salidas en grupo|60|110|12",
        "Bono|5 salidas en grupo|60|60|12",
        "Clase suelta|Eslalon|40|15|8",
    ],
    "Motores": [
        "Dato|Dato|Valle|Valle Plus",
        "Autonomía (km)|Modo lento|90|120",
        "Garantía (meses)|Batería|24|30",
        "Carga (horas)|Batería|4,5|6",
    ],
    "Clays": ["Clay|Weight (kg)|Price (£)", "Red clay|22|9", "White clay|14|12"],
    "Horario del taller": ["Día|Apertura|Cierre", "Lunes a jueves|9:15|20:30", "Viernes y sábado|10:45|22:15"],
    "Gimnasio": ["Abono|Adultos", "Sala y clases|42 €", "Solo sala|30 €"],
    "Ficha de la caldera": ["Presión máxima|3 bar", "Presión mínima|1 bar"],
    "Turnos": ["Turno|Encargada|Zonas|Sala", "Mañana|Lola Peña|Hornos y patio|A2", "Tarde|Inés Rey|Almacén|B1"],
    "Kiln hire": ["Kiln|First slot|Last slot|Fee", "Small kiln|9:00|17:30|£12", "Big kiln|8:30|16:00|£20"],
}


def _chunk(title: str, rows: Sequence[str]) -> Chunk:
    cells = [[Cell(cell) for cell in row.split("|")] for row in rows]
    text = (
        f"# {title}\n\nSegún acuerdo de la asamblea.\n\n{rows_of(cells, heads=0 if title.startswith('Ficha') else 1)}"
    )
    return Chunk(title, "d", title, text, 0, len(text))


CHUNKS = tuple(_chunk(title, rows) for title, rows in TABLES.items())


def answer(question: str, goes_on: frozenset[tuple[str, int]] = frozenset()) -> tuple[str, list[str]] | None:
    """Return (what is computed, the first cell of each row that is quoted); None for no answer from cells."""
    language = "es" if "¿" in question else "en"
    grounding = Grounding(question, CHUNKS, language, least_proof=1.0, goes_on=goes_on)
    found = answer_from_cells(grounding, Reader(language))
    if found is None:
        return None
    return found.said, [unit.text.removeprefix("- ").split(";")[0].split(": ")[-1] for unit in found.units]


@pytest.mark.parametrize(
    ("question", "said", "rows"),
    [
        ("¿Qué aforo tiene el curso de esmalte?", "", ["Esmalte"]),
        ("¿Quién es la profesora de torno?", "", ["Torno"]),
        ("¿De qué color es el horno?", "", ["gris"]),
        # Units in the heads, as in files of a spreadsheet.
        ("¿Cuánto cuesta el folleto díptico?", "", ["Díptico"]),
        ("¿Cuántos días de plazo tiene el folleto tríptico?", "", ["Tríptico"]),
        ("¿Qué cursos tienen de profesora a Marina?", "", ["Torno", "Modelado"]),
        ("¿Cuántos cursos tienen de profesora a Marina?", "2", ["Torno", "Modelado"]),
        ("¿Cuál es el curso más caro?", "", ["Torno"]),
        ("¿Cuál es el curso más barato?", "", ["Modelado"]),
        ("¿Qué curso tiene mayor aforo?", "", ["Modelado"]),
        ("¿Qué curso de Marina tiene menor aforo?", "", ["Torno"]),
        ("¿Cuál es el aforo total de los cursos?", "35 = 8 + 12 + 15", ["Torno", "Esmalte", "Modelado"]),
        ("¿Cuál es la suma de febrero?", "28 = 7 + 9 + 12", ["Torno", "Esmalte", "Modelado"]),
        ("¿Qué cursos tienen un precio de menos de 80 €?", "", ["Esmalte", "Modelado"]),
        ("¿Qué cursos tienen un aforo de entre 10 y 12?", "", ["Esmalte"]),
        ("¿Cuánto cuesta un peso de 7 kg al resto?", "", ["5 a 10 kg"]),
        ("¿Cuánto cuesta la provincia hasta 2 kg?", "", ["Hasta 2 kg"]),
        # A head that says "no" is that of a question that says it.
        ("¿Cuánto cuesta la modalidad anual para socios?", "", ["Anual"]),
        ("¿Cuánto pagan los no socios por la modalidad de un mes?", "", ["De un mes"]),
        # A number at the beginning of a name; a kind that two columns have; a unit that is asked for.
        ("¿Cuánto cuesta el bono de 10 salidas en grupo?", "", ["Bono"]),
        ("¿Cuántos minutos dura la clase suelta de eslalon?", "", ["Clase suelta"]),
        # A head over two columns; a head within another; a unit in the head of the row.
        ("¿Cuántos meses de garantía tiene la batería de la Valle?", "", ["Garantía (meses)"]),
        ("¿Cuántos kilómetros hace la Valle Plus en modo lento?", "", ["Autonomía (km)"]),
        # Another form of what a head says; units behind their numbers.
        ("¿Qué modalidad dura menos?", "", ["Clase suelta"]),
        # A verb of what a head names; days in a range of days, and in a list.
        ("¿A qué hora abre el taller los martes?", "", ["Lunes a jueves"]),
        ("¿A qué hora cierra el taller los sábados?", "", ["Viernes y sábado"]),
        ("¿Dónde se hace el turno de mañana?", "", ["Mañana"]),
        # All of a cell rather than one of several things in it; what a head says is no comparison.
        ("¿Cuánto cuesta el abono solo sala para adultos?", "", ["Solo sala"]),
        ("¿Cuál es la presión máxima de la caldera?", "", ["3 bar"]),
        # The only column of names; one of several things in a cell; the sign of a unit; a plural that is cut otherwise.
        ("¿Quién tiene el turno de mañana?", "", ["Mañana"]),
        ("¿Qué encargada tiene el patio?", "", ["Mañana"]),
        ("¿Qué cursos tienen un precio de menos de 80 euros?", "", ["Esmalte", "Modelado"]),
        ("¿Cuántos turnos hay?", "2", ["Mañana", "Tarde"]),
        ("How heavy is the white clay?", "", ["White clay"]),
        ("How much is the red clay?", "", ["Red clay"]),
        ("What is the last slot of the small kiln?", "", ["Small kiln"]),
        ("Which kiln has the highest fee?", "", ["Big kiln"]),
    ],
)
def test_an_answer_comes_from_the_cells(question: str, said: str, rows: list[str]) -> None:
    assert answer(question) == (said, rows)


@pytest.mark.parametrize(
    "question",
    [
        "¿Qué aforo tiene el curso de vidriera?",  # no such row
        "¿Qué horario tiene el curso de esmalte?",  # no such column
        "¿Cuántas plazas libres quedan en total en febrero?",  # what is counted has no name here
        "¿Cuántas horas se hicieron en total en febrero?",
        "¿Cuántos kilos suman en total en febrero?",
        "¿Cuál es el curso de Alicante más caro?",
        "¿Qué curso es más caro en marzo?",
        "¿Qué cursos tienen un aforo de menos de 12 kg?",  # another unit
        "¿Cuánto cuesta un peso de 40 kg al resto?",  # in no range
        "¿Cuánto cuesta un peso de 5 kg al resto?",  # in two
        "¿Cuánto cuesta un peso de 7 horas al resto?",
        "¿Cuánto cuesta un peso de 7 kg?",  # which column?
        "¿Cuál es el aforo máximo del curso de esmalte?",  # of one row nothing is the most
        "¿Cuántos alumnos más hay en enero?",
        "¿Cuántas millas hace la Valle en modo lento?",
        "¿Cuántas semanas de garantía tiene la batería de la Valle?",
        "¿Qué curso no tiene aforo?",
        "¿Cuánto pagan los no jubilados por la modalidad de un mes?",
        "¿Tiene aforo el curso de esmalte?",
        "¿Por qué es tan caro el curso de torno?",
        "¿Cuál es el segundo curso más caro?",
        "¿Cuántas vitrinas hay?",  # there are three sizes of them
        "¿Cuántos cursos puedo hacer?",  # not as many as there are
        "What is the next slot of the small kiln?",
        "¿A qué hora abre el taller los domingos?",
        "¿A qué hora es la clase del taller los martes?",
        "¿Qué encargada tiene la tienda?",
    ],
)
def test_what_the_table_does_not_say_is_not_answered(question: str) -> None:
    assert answer(question) is None


@pytest.mark.parametrize(
    ("condition", "answers"), [("Si hay curso, ", True), ("Si un cliente deja una señal, ", False)]
)
def test_a_condition_before_the_question_has_to_be_met_too(condition: str, answers: bool) -> None:
    assert (answer(f"{condition}¿quién es la profesora de torno?") is not None) == answers


@pytest.mark.parametrize(
    ("turns", "rows"),
    [
        ("¿A qué hora abre el taller los lunes? ¿Y los viernes?", ["Viernes y sábado"]),
        ("¿A qué hora abre el taller los lunes? ¿Y los viernes? ¿Y los martes?", ["Lunes a jueves"]),
        ("¿Quién es la profesora de torno? ¿Y cuánto cuesta?", ["Torno"]),
        ("¿Quién es la profesora de torno? ¿Y la de esmalte? ¿Y cuánto cuesta?", ["Esmalte"]),
        ("¿Qué aforo tiene el curso de torno? ¿Y qué precio tiene?", ["Torno"]),
        ("¿Quién es la profesora de torno? ¿Y para los niños?", None),  # no row is about them
        ("¿A qué hora abre el taller los lunes? ¿Y los domingos?", None),
    ],
)
def test_a_row_is_named_by_the_last_question_that_names_one(turns: str, rows: list[str] | None) -> None:
    found = answer(turns)
    assert (found and found[1]) == rows


def test_a_table_over_several_passages_is_one() -> None:
    rows = [f"- Ruta: Ruta {at}; Distancia (km): {at * 7 % 40}; Guía: Eva" for at in range(1, 31)]
    text = "\n".join(rows)
    starts = [0, text.index("- Ruta: Ruta 11;"), text.index("- Ruta: Ruta 20;")]
    ends = [text.index("\n- Ruta: Ruta 12;"), text.index("\n- Ruta: Ruta 20;"), len(text)]  # the first two overlap
    chunks = [
        Chunk(f"c{at}", "d", "Rutas", text[start:end], start, end)
        for at, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
    goes_on = frozenset({("c0", 1), ("c1", -1), ("c1", 1), ("c2", -1)})
    (table,) = tables_of([chunks[1], chunks[0], chunks[2]], goes_on)
    assert (len(table.rows), table.whole) == (30, True)
    assert [unit.passage for unit in table.units] == [1] * 11 + [0] * 8 + [2] * 11
    assert not next(tables_of(chunks[:2], goes_on)).whole


def test_rows_are_compared_only_where_all_of_them_are_there() -> None:
    more_behind = frozenset({("Cursos de cerámica", 1)})
    assert answer("¿Cuál es el curso más caro?", more_behind) is None
    assert answer("¿Cuál es el aforo total de los cursos?", more_behind) is None
    assert answer("¿Cuántos cursos tienen de profesora a Marina?", more_behind) is None
    assert answer("¿Qué aforo tiene el curso de esmalte?", more_behind) == ("", ["Esmalte"])


def test_what_is_computed_stands_before_the_rows_that_it_is_computed_from() -> None:
    grounding = Grounding("¿Cuál es el aforo total de los cursos?", CHUNKS, "es", least_proof=1.0)
    completion = DemoModel().complete(ChatRequest((), grounding=grounding))
    assert completion.text.startswith("35 = 8 + 12 + 15 [1]\n\n- Curso: Torno;")
    assert len(completion.quotes or ()) == 3
    assert (completion.proof or 0) >= 1


def test_tables_are_read_as_they_are_written() -> None:
    for chunk, rows in zip(CHUNKS, TABLES.values(), strict=True):
        (table,) = tables_of([chunk], frozenset())
        written = [tuple(row.split("|")) for row in rows]
        form = chunk.section.startswith("Ficha")
        assert table.names == (("", "") if form else written[0])
        assert list(table.rows) == (written if form else written[1:])


def test_tables_of_markdown_keep_empty_cells() -> None:
    text = "| Sala | Aforo | Luz |\n|---|---|---|\n| Norte | 4 | |\n| Sur | | sí |"
    (table,) = tables_of([Chunk("c", "d", "Salas", text, 0, len(text))], frozenset())
    assert table.rows == (("Norte", "4", ""), ("Sur", "", "sí"))


@pytest.mark.parametrize(
    ("text", "spanish", "number"),
    [
        ("1.800", True, "1800"),
        ("1.800", False, "1.8"),
        ("1,800", False, "1800"),
        ("2,10 €", True, "2.10"),
        ("8.50", True, "8.50"),
        ("1.234,50", True, "1234.50"),
        ("£1,234.50", False, "1234.50"),
    ],
)
def test_numbers_are_read_as_their_language_writes_them(text: str, spanish: bool, number: str) -> None:
    assert number_in(text, spanish) == Decimal(number)


def test_values_have_units_and_codes_and_dates_have_none() -> None:
    assert value_in("12 m²", True) == (Decimal(12), "m2")
    assert value_in("9:30", True) == (Decimal(570), ":")
    assert value_in("12/03/2025", True) is None
    assert value_in("L2 Estadio", True) is None


def test_what_goes_up_to_a_number_is_no_range() -> None:
    assert bounds_in("the fee goes up to 25 pounds", False) is None
    assert bounds_in("la cuota sube hasta 25 euros", True) is None
    assert bounds_in("up to 25 pounds", False) is not None


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("de 12.001 a 18.000 €", "15000", "12000"),
        ("hasta 2 kg", "2", "2.1"),
        ("mas de 24.000 €", "24001", "24000"),
        ("500 o mas", "500", "499"),
        ("menos de 8 w", "7", "8"),
        ("entre 3 y 5 kg", "3", "6"),
    ],
)
def test_ranges_hold_their_values(text: str, inside: str, outside: str) -> None:
    bounds = bounds_in(text, True)
    assert bounds is not None
    assert (bounds.holds(Decimal(inside)), bounds.holds(Decimal(outside))) == (True, False)
