"""The page Evaluación as a list, a leaderboard and an address, with little on disk and with a lot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.runs.line import append_submission
from chatbot_mvp.runs.records import RunFolder
from streamlit_app.shared.state import get_app
from streamlit_app.shared.tables import picked
from tests.made_results import LINE, made_result
from tests.runs.test_kinds import plant
from tests.ui.test_pages import finished_run, open_page, texts


def made_up(data_dir: Path, count: int, **values: Any) -> list[str]:
    """Lines of as many runs; ids, the newest first. Nothing else of them is on disk."""
    ids = []
    for number in range(count):
        run_id = f"run-{number:03}"
        line = {
            "run_id": run_id,
            "dataset": "hotpotqa",
            "dataset_sha256": "1",
            "strategy": "BRIDGE" if number % 2 else "LEXICAL",
            "fingerprint": f"{number:012}",
            "queries": 7_405,
            "documents": 66_576,
            "metrics": {"recall@5": number / count, "ndcg@10": 0.5},
            "scored": {"recall@5": [7_405, 7_405], "ndcg@10": [7_405, 7_405]},
            "intervals": {"recall@5": [number / count, number / count + 0.01]},
            "started_at": f"2026-03-{1 + number // 24:02}T{number % 24:02}:00:00.000+00:00",
        }
        append_submission(data_dir / "submissions.jsonl", made_result(**{**line, **values}))
        ids.append(run_id)
    return ids[::-1]


def table(page: AppTest) -> Any:
    """The list or the leaderboard."""
    [found] = [each.value for each in page.dataframe if "Fecha" in each.value]
    return found


def warnings(page: AppTest) -> str:
    return " ".join(each.value for each in page.warning)


def test_the_list_is_searched_filtered_and_tells_how_much_of_it_is_shown(data_dir: Path) -> None:
    ids = made_up(data_dir, 200)
    get_app().archive.tag(ids[3], ["línea base"])
    page = open_page("evaluation")
    assert len(table(page)) == 200
    assert not page.metric, "no run is opened for the list"
    page = page.text_input(key="runs-search").input("lexical LINEA").run()
    assert len(table(page)) == 1
    for words in ("lexical", "solo palabras"):
        page = page.text_input(key="runs-search").input(words).run()
        assert set(table(page)["Estrategia"]) == {"solo palabras"}
    assert "Se muestran 100 de 200 ejecuciones" in texts(page)
    page = page.text_input(key="runs-search").input("nada de eso").run()
    assert "Ninguna ejecución coincide" in page.info[0].value
    [clear] = [button for button in page.button if "Quitar búsqueda" in button.label]
    page = clear.click().run()
    assert len(table(page)) == 200
    page = page.multiselect(key="runs-with-tags").set_value(["línea base"]).run()
    [tags] = table(page)["Etiquetas"]
    assert list(tags) == ["línea base"]
    assert not page.exception


def test_a_text_that_is_longer_than_its_column_ends_in_an_ellipsis_and_any_cell_chooses_its_row(data_dir: Path) -> None:
    name = "Normas de la comunidad de propietarios de la calle Mayor"
    (data_dir / "submissions.jsonl").write_text(json.dumps({**LINE, "run_id": "long", "dataset": name}) + "\n")
    [shown] = [each for each in open_page("evaluation").dataframe if "Fecha" in each.value]
    assert list(shown.value["Conjunto de datos"]) == [name], "a download has the whole"
    cells = pyarrow.ipc.open_stream(shown.proto.arrow_data.styler.display_values).read_all().to_pydict()
    assert ["Normas de la comunidad de propietarios d…"] in cells.values()
    assert list(shown.proto.selection_mode) == [shown.proto.SelectionMode.SINGLE_CELL]
    assert picked({"cells": [(3, "Fecha")]}, 4) == 3
    assert picked({"cells": [(3, "Fecha")]}, 3) is picked({"cells": []}, 3) is None


@pytest.mark.slow
@pytest.mark.usefixtures("known_vectors")
def test_a_chosen_run_is_tagged_noted_and_opened(data_dir: Path) -> None:
    run_id = finished_run()
    page = open_page("evaluation")
    page = page.text_area(key=f"runs-note-{run_id}").input("con poca memoria").run()
    # Somebody else tags it while this page is open.
    get_app().archive.tag(run_id, ["de otra"])
    page = page.multiselect(key=f"runs-tags-{run_id}").set_value([]).run()
    assert page.multiselect(key=f"runs-tags-{run_id}").value == ["de otra"]
    note = get_app().archive.notes()[run_id]
    assert (note.tags, note.note) == (("de otra",), "con poca memoria")
    page = page.multiselect(key=f"runs-tags-{run_id}").set_value([]).run()
    assert get_app().archive.notes()[run_id].tags == ()
    page = page.button(key="runs-open").click().run()
    assert page.query_params["run"] == run_id
    assert "Lo primero, correcto" in {metric.label for metric in page.metric}


def test_two_notes_at_once_are_both_shown_and_neither_is_lost(data_dir: Path) -> None:
    [run_id] = made_up(data_dir, 1)
    page = open_page("evaluation")
    get_app().archive.write_note(run_id, "la de otra", seen="")
    page = page.text_area(key=f"runs-note-{run_id}").input("la mía").run()
    assert "Ahora dice: «la de otra»" in page.error[0].value
    assert page.text_area(key=f"runs-note-{run_id}").value == "la mía"
    assert get_app().archive.notes()[run_id].note == "la de otra"
    page = page.text_area(key=f"runs-note-{run_id}").input("la de otra y la mía").run()
    assert not page.error
    assert get_app().archive.notes()[run_id].note == "la de otra y la mía"


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ({"run": "nope"}, "«nope»"),
        ({"run": "../../etc"}, "«../../etc»"),
        ({"compare": "nope,neither"}, "«nope», «neither»"),
        ({"run": "nope", "query": "x"}, "«nope»"),
    ],
)
def test_an_unknown_id_is_told_and_the_list_is_shown(
    data_dir: Path,
    address: dict[str, str],
    told: str,
) -> None:
    made_up(data_dir, 3)
    page = open_page("evaluation", **address)
    assert told in warnings(page)
    assert len(table(page)) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("known_vectors")
def test_an_address_opens_a_run_and_tells_of_a_query_that_it_does_not_have(data_dir: Path) -> None:
    run_id = finished_run()
    query_id = get_app().archive.run(run_id).per_query[0].query_id
    page = open_page("evaluation", run=run_id, query=query_id)
    assert page.metric
    assert not page.warning
    assert "«nope»" in warnings(open_page("evaluation", run=run_id, query="nope"))
    [link] = [code.value for code in page.code if "run=" in code.value]
    assert link.endswith(f"?run={run_id}&query={query_id}")


@pytest.mark.slow
@pytest.mark.usefixtures("known_vectors")
def test_an_address_opens_a_comparison_and_the_address_follows_what_is_chosen(data_dir: Path) -> None:
    bench = get_app().runs
    one, two, three = (str(bench.run_now(retrieval_strategy=name).run_id) for name in ("LEXICAL", "BRIDGE", "LEXICAL"))
    page = open_page("evaluation", compare=f"{one},{two},nope")
    assert "«nope»" in warnings(page)
    assert any("p corregida" in each.value for each in page.dataframe)
    [heads] = [list(each.value)[1:3] for each in page.dataframe if "Ajuste" in each.value]
    assert heads == ["A", "B"]  # whose names stand above
    [others] = [box for box in page.multiselect if (box.key or "").startswith("compare-others")]
    assert others.value == [two]
    page = others.set_value([three]).run()
    assert page.query_params["compare"] == f"{one},{three}"
    page = page.button_group(key="runs-view").set_value("run").run()
    assert page.query_params["run"] == three, "the newest, as none was open"
    assert "compare" not in page.query_params


def test_the_leaderboard_ranks_what_can_be_compared_and_says_what_cannot(data_dir: Path) -> None:
    ids = made_up(data_dir, 30)
    line = json.loads((data_dir / "submissions.jsonl").read_text("utf-8").splitlines()[0])
    few = made_result(**{**line, "run_id": "few", "queries": 10, "started_at": "2026-01-01"})
    append_submission(data_dir / "submissions.jsonl", few)
    page = open_page("evaluation", view="leaderboard")
    shown = table(page)
    assert list(shown["Puesto"]) == list(range(1, 31))
    assert shown["Recall@5"].iloc[0] == "0,967"
    assert shown["Intervalo del 95 %"].iloc[0] == "0,967 – 0,977"
    assert "no son comparables con estas" in page.info[0].value
    assert "El gráfico muestra las 15 primeras de 30" in texts(page)
    page = page.button(key="runs-board-open").click().run()
    assert page.query_params["run"] == ids[0]
    assert "view" not in page.query_params


def test_the_history_names_the_first_run_out_of_the_band_and_opens_it(data_dir: Path) -> None:
    """The values rise from 0 to 0.967 in 30 runs; one more falls to 0.1."""
    made_up(data_dir, 30)
    line = json.loads((data_dir / "submissions.jsonl").read_text("utf-8").splitlines()[0])
    fallen = {
        **line,
        "run_id": "fallen",
        "started_at": "2026-12-01",
        "metrics": {"recall@5": 0.1},
        "intervals": {},
    }
    append_submission(data_dir / "submissions.jsonl", made_result(**fallen))
    page = open_page("evaluation", view="history")
    assert not page.exception
    assert "la del 01/12/2026" in warnings(page)
    assert "la banda de las anteriores es 0,483 – 0,493" in warnings(page)
    assert "Su configuración es distinta" in warnings(page)
    page = page.button(key="runs-history-open").click().run()
    assert page.query_params["run"] == "fallen"


def test_a_history_without_a_fall_says_so_and_shows_hostile_names_literally(data_dir: Path) -> None:
    name = "<img src=x> [a](http://b) :red[c]"
    for number, value in enumerate((0.5, 0.9)):
        values = {"run_id": f"[r{number}](http://x)", "dataset": name, "started_at": f"2026-12-0{number + 1}"}
        found = made_result(**values, metrics={"recall@5": value}, intervals={"recall@5": [value - 0.1, value]})
        append_submission(data_dir / "submissions.jsonl", found)
    page = open_page("evaluation", view="history")
    assert not page.exception
    assert "Ninguna ejecución salió de la banda" in page.success[0].value
    low = made_result(
        run_id="[low](http://x)", dataset=name, started_at="2026-12-09", metrics={"recall@5": 0.1}, intervals={}
    )
    append_submission(data_dir / "submissions.jsonl", low)
    page = open_page("evaluation", view="history")
    assert "09/12/2026" in warnings(page)


@pytest.mark.parametrize("view", ["", "leaderboard", "history"])
def test_a_run_without_figures_is_listed(data_dir: Path, view: str) -> None:
    lines = [{**LINE, "run_id": "bare"}, {**LINE, "run_id": "odd", "metrics": {"m": None}, "started_at": "once"}]
    (data_dir / "submissions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = open_page("evaluation", view=view) if view else open_page("evaluation")
    assert not page.exception


def test_a_run_whose_kind_is_not_installed_is_drawn_as_a_benchmark(data_dir: Path) -> None:
    plant(RunFolder(data_dir / "results", "ended"), "gone")
    page = open_page("evaluation", run="ended")
    assert not page.error
    assert any("`ended`" in caption.proto.help for caption in page.caption)
    listed = open_page("evaluation")
    assert "understood" in table(listed)["Métrica principal"].iloc[0]
