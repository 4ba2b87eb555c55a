"""The pictures as data: what they count, where they put it, and that every file of them is a picture with real text."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from chatbot_mvp.api import Flow, KbMap, PassageUse, Share, StrategyFigure, StrategyFigures
from streamlit_app.pictures import kb_map, squares
from streamlit_app.pictures.evidence import DRAGGED, evidence_picture
from streamlit_app.pictures.flow import flow_picture
from streamlit_app.pictures.kb_map import kb_map_picture
from streamlit_app.pictures.palette import palette
from streamlit_app.pictures.picture import Picture
from streamlit_app.pictures.squares import squares_picture
from streamlit_app.pictures.strategies import strategies_picture

LIGHT = palette("light")
SCORES = {"answerable": [0.9, 0.91, 0.52, 1.0], "near": [0.5, 0.1], "far": [0.0]}
QUESTIONS = [("q1", "¿Una?", "ok"), ("q2", "¿Dos?", "below_cut"), ("q3", "¿Tres?", "below_cut"), ("q4", "¿Cuatro?", "")]
FLOW = Flow({(3, "right"): 6, (3, "wrong"): 2, (1, "declined"): 1, (0, "wrong"): 1}, left_out=2)
MAP = KbMap(
    "v",
    (
        PassageUse("a.md", "Uno", 0, 10, expected=1, missed=1),
        PassageUse("a.md", "Uno", 10, 20, cited=2),
        PassageUse("a.md", "Dos", 20, 30, expected=2, missed=1, found=1),
        PassageUse("b.md", "Tres", 30, 40, found=1),
        PassageUse("b.md", "Tres", 40, 50),
    ),
    1,
    2,
)
STRATEGIES = StrategyFigures(
    (
        StrategyFigure("HYBRID", "r1", Share(19, 20), Share(20, 20)),
        StrategyFigure("LEXICAL", "r2", Share(5, 20), Share(9, 20)),
    ),
    ("KB_CHAT",),
)


def made() -> dict[str, Picture]:
    pictures = {
        "evidence": evidence_picture("evidence", SCORES, 0.5, 0.4, LIGHT),
        "squares": squares_picture("squares", QUESTIONS, LIGHT),
        "flow": flow_picture("flow", FLOW, LIGHT),
        "map": kb_map_picture("map", MAP, LIGHT),
        "strategies": strategies_picture("strategies", STRATEGIES, "r1", LIGHT),
    }
    return {name: picture for name, picture in pictures.items() if picture is not None}


def rows(picture: Picture, field: str) -> list[dict[str, Any]]:
    """The rows of the data that have a field."""
    found = [row for data in picture.chart.to_dict()["datasets"].values() for row in data]
    return [row for row in found if field in row]


NAMES = ["evidence", "squares", "flow", "map", "strategies"]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_said_in_a_sentence_and_a_table(name: str) -> None:
    picture = made()[name]
    assert picture.said.endswith(".")
    assert picture.table
    assert re.fullmatch(r"[a-z-]+", picture.name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_is_drawn_with_real_text(name: str) -> None:
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", vl_convert.vegalite_to_svg(made()[name].chart.to_dict()))
    expected = {
        "evidence": "0,50: contesta 4 de 4 con respuesta",
        "squares": "Recuperado por debajo del corte: 2 (67 %)",
        "flow": "no se contesta",
        "map": "a.md",
        "strategies": "19 de 20",
    }
    assert expected[name] in texts


def test_evidence_stacks_what_has_an_answer_above_the_axis_and_the_rest_below() -> None:
    bars = rows(made()["evidence"], "range")
    assert sum(bar["count"] for bar in bars if bar["high"] > 0) == 4
    assert sum(bar["count"] for bar in bars if bar["high"] < 0) == 3
    last = max(bars, key=lambda bar: bar["x"])
    assert (last["x"], last["count"]) == (0.95, 1)  # a score of 1 is in the last bar


def test_the_line_says_at_each_hundredth_what_is_answered_and_let_through() -> None:
    points = {point[DRAGGED]: point for point in rows(made()["evidence"], "answers")}
    assert len(points) == 101
    assert points[0.5]["answers"] == "0,50: contesta 4 de 4 con respuesta"
    assert points[0.5]["lets"] == "deja pasar 1 de 2 del tema sin respuesta"
    assert points[0.51]["lets"] == "deja pasar 0 de 2 del tema sin respuesta"
    assert points[0.53]["answers"] == "0,53: contesta 3 de 4 con respuesta"


def test_a_square_stands_for_each_question_that_has_a_cause() -> None:
    cells = rows(made()["squares"], "query_id")
    assert [(cell["query_id"], cell["cause"]) for cell in cells] == [
        ("q1", "ok"),
        ("q2", "below_cut"),
        ("q3", "below_cut"),
    ]
    assert all(cell["x2"] - cell["x"] == cell["y2"] - cell["y"] for cell in cells)


def test_without_a_cause_or_a_relevant_document_there_is_no_picture() -> None:
    assert squares_picture("squares", [("q", "¿?", "")], LIGHT) is None
    assert flow_picture("flow", Flow({}, 3), LIGHT) is None
    assert kb_map_picture("map", KbMap("v", (), 0, 0), LIGHT) is None
    assert strategies_picture("strategies", StrategyFigures((), ("HYBRID",)), "", LIGHT) is None


def test_7405_questions_share_squares_and_the_picture_says_so() -> None:
    many = [(f"q{n}", "¿?", "ok" if n % 10 else "not_scored") for n in range(7_405)]
    picture = squares_picture("squares", many, LIGHT)
    assert picture is not None
    cells = rows(picture, "query_id")
    assert len(cells) <= squares.MOST
    assert Counter(cell["cause"] for cell in cells) == {"ok": 334, "not_scored": 38}  # 20 each, rounded up
    assert {cell["query_id"] for cell in cells} == {""}
    assert "cada cuadro representa hasta 20" in picture.said
    assert "6.664 de 6.664 preguntas no tienen ningún fallo" in picture.said  # what is not scored has not gone wrong
    assert [row["Preguntas"] for row in picture.table] == ["6.664", "741"]


def test_10000_passages_share_cells_within_their_document_and_the_picture_says_so() -> None:
    passages = tuple(PassageUse(f"{n // 2_500}.md", "", n, n + 1, cited=n == 7) for n in range(10_000))
    picture = kb_map_picture("map", KbMap("v", passages, 0, 1), LIGHT)
    assert picture is not None
    cells = rows(picture, "first")
    assert len(cells) == kb_map.MOST
    assert [cell["first"] for cell in cells[:2]] == [0, 10]
    assert cells[0]["state"].startswith("Citado") and cells[1]["state"].startswith("Nunca")
    assert "hasta 10 pasajes" in picture.said


def test_as_many_documents_as_passages_are_not_more_cells_than_fit() -> None:
    passages = tuple(PassageUse(f"{n}.md", "", n, n + 1) for n in range(10_000))
    picture = kb_map_picture("map", KbMap("v", passages, 0, 0), LIGHT)
    assert picture is not None
    assert len(rows(picture, "first")) == kb_map.MOST


def test_cells_stand_in_reading_order_below_their_document() -> None:
    cells = rows(made()["map"], "first")
    assert [cell["first"] for cell in cells] == [0, 1, 2, 3, 4]
    assert cells[2]["x"] - cells[1]["x"] > cells[1]["x"] - cells[0]["x"]  # another heading
    assert cells[3]["y"] > cells[2]["y"] and cells[3]["x"] == cells[0]["x"]  # another document
    assert [cell["state"].partition(":")[0] for cell in cells] == [
        "Se esperaba y no se halló",
        "Citado en el chat",
        "Lo espera una pregunta",
        "Solo hallado",
        "Nunca hallado",
    ]


def test_what_flows_out_of_a_stage_has_flown_into_it() -> None:
    picture = made()["flow"]
    ribbons = {row["told"]: row["y2"] - row["y"] for row in rows(picture, "told") if "y2" in row and "count" not in row}
    assert ribbons == {
        "Candidatos: completas → Bien colocado: completas: 8": 8,
        "Candidatos: completas → Bien colocado: falta algo: 1": 1,
        "Candidatos: falta algo → Bien colocado: falta algo: 1": 1,
        "Bien colocado: completas → En contexto: completas: 8": 8,
        "Bien colocado: falta algo → En contexto: falta algo: 2": 2,
        "En contexto: completas → bien: 6": 6,
        "En contexto: completas → mal: 2": 2,
        "En contexto: falta algo → mal: 1": 1,
        "En contexto: falta algo → no se contesta: 1": 1,
    }
    assert picture.said.startswith("De 10 preguntas, la búsqueda tiene entre sus candidatos todo lo necesario para 9")
    assert "Otras 2 no tienen pasaje correcto" in picture.said


def test_the_sentence_says_whether_the_intervals_tell_the_strategies_apart() -> None:
    assert made()["strategies"].said.endswith("Los intervalos del 95 % de las demás quedan por debajo.")
    close = StrategyFigures((STRATEGIES.figures[0], StrategyFigure("LEXICAL", "r2", Share(18, 20), Share(20, 20))), ())
    picture = strategies_picture("strategies", close, "r1", LIGHT)
    assert picture is not None
    assert "se solapan con los de otras (solo palabras)" in picture.said


def test_each_picture_has_a_file_of_its_own() -> None:
    folder = Path(squares.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__", "palette", "picture"} == {
        "kb_map" if name == "map" else name for name in made()
    }
