"""Pictures in a real browser: a line is dragged, files are kept and opened, clicks lead to what was clicked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from tests.browser import SOON_MS
from tests.e2e.conftest import Server
from tests.e2e.test_tour import settle, visit
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("views")]


@pytest.fixture(scope="module")
def worked_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A folder with a run over a data set, and a measured set of questions about the sample."""
    data_dir = tmp_path_factory.mktemp("pictures")
    app = build_app(load_settings(data_dir=data_dir, provider="demo", retrieval_strategy="LEXICAL"))
    kb_id = app.kbs.add_sample().kb_id
    questions = app.question_sets.save(replace(app.kb_evaluation.propose_now(kb_id, count=12), name="propuestas"))
    app.kb_evaluation.start(kb_id, questions.set_id)
    wait_until(lambda: bool(app.kb_evaluation.results(kb_id)), 60, "the result of the questions")
    app.runs.run_now(retrieval_strategy="LEXICAL", generation_enabled=False)
    running = Server(data_dir, RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo")
    running.start()
    yield running
    running.kill()


def results(page: Any, server: Server, step: str) -> None:
    visit(page, server, "Evaluar_mi_KB")
    page.get_by_text(step, exact=True).first.click()
    settle(page)


def picture(page: Any, name: str) -> Any:
    found = page.locator(f"[class*='st-key-picture-{name}']").first
    found.locator("svg.marks").wait_for()
    found.scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # Vega measures its text once more
    return found


def line_says(drawn: Any) -> str:
    return str(drawn.locator("svg.marks text").filter(has_text="contesta").first.text_content())


def run_of(server: Server) -> str:
    [run] = [path.name for path in (server.data_dir / "results").iterdir() if "valle" in path.name]
    return run


def test_a_dragged_line_moves_the_slider_and_the_slider_moves_the_line(page: Any, worked_in: Server) -> None:
    results(page, worked_in, "2. Resultados")
    page.get_by_text("Cuánta evidencia exigir").click()
    drawn = picture(page, "evidence")
    before = line_says(drawn)
    settle(page)
    drawn.locator("svg.marks").scroll_into_view_if_needed()
    box = drawn.locator("svg.marks .background").first.bounding_box()
    height = box["y"] + 0.6 * box["height"]
    page.mouse.move(box["x"] + 0.5 * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], height, steps=8)
    said = line_says(drawn)
    assert said != before and re.match(r"0,(79|80|81):", said)  # while the button is held
    page.mouse.up()
    settle(page)
    slider = page.get_by_role("slider", name="Umbral de evidencia")
    assert page.get_by_role("button", name=f"Usar {said[:4]} en el chat").count()
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Usar 0,00 en el chat").wait_for()
    settle(page)
    assert line_says(picture(page, "evidence")).startswith("0,00: contesta")


def test_a_finger_drags_the_line(browser: Any, worked_in: Server) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    context.set_default_timeout(SOON_MS)
    page = context.new_page()
    results(page, worked_in, "2. Resultados")
    page.get_by_text("Cuánta evidencia exigir").click()
    drawn = picture(page, "evidence")
    drawn.locator("svg.marks").scroll_into_view_if_needed()
    box = drawn.locator("svg.marks .background").first.bounding_box()
    touch = context.new_cdp_session(page)
    for kind, share in (("touchStart", 0.5), ("touchMove", 0.6), ("touchMove", 0.7), ("touchMove", 0.8)):
        place = {"x": box["x"] + share * box["width"], "y": box["y"] + 0.6 * box["height"]}
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [place]})
        page.wait_for_timeout(50)
    said = line_says(drawn)
    assert re.match(r"0,(79|80|81):", said)
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.get_by_role("button", name=f"Usar {said[:4]} en el chat").wait_for()
    context.close()


def test_each_picture_of_the_pages_is_kept_as_png_and_svg_with_its_title(page: Any, worked_in: Server) -> None:
    kept: list[str] = []
    for path, step in (
        (f"Evaluacion?run={run_of(worked_in)}", ""),
        ("Evaluacion?view=history", ""),
        ("Evaluar_mi_KB", "2. Resultados"),
        ("Evaluar_mi_KB", "Mapa"),
    ):
        if step:
            results(page, worked_in, step)
        else:
            visit(page, worked_in, path)
        page.locator("svg.marks").first.wait_for(state="attached")
        settle(page)
        if step == "2. Resultados":
            page.get_by_text("Cuánta evidencia exigir").click()
        for tab in page.get_by_role("tab").all() or [None]:
            if tab:
                tab.click()
                settle(page)
            for found in page.locator("[class*='st-key-picture-']:visible").all():
                name, title = _keep(page, found)
                kept.append(re.split(r"[-.]", name)[0])
                above = found.locator("h2") if found.locator("h2").count() else tab  # the tab says the same
                assert above and title in above.inner_text()
    assert {"squares", "flow", "curves", "distribution", "phases", "history", "evidence", "strategies", "map"} == set(
        kept
    )


def _keep(page: Any, found: Any) -> tuple[str, str]:
    """Download both files and open them; return the name of the picture and the title in it."""
    found.locator("svg.marks").first.wait_for()
    files = {}
    for form in ("PNG", "SVG"):
        with page.expect_download() as download:
            found.get_by_role("button", name=f"como {form}").click()
        files[form] = Path(download.value.path()).read_bytes()
        name = download.value.suggested_filename
        assert name.endswith(f".{form.lower()}")
    svg = ElementTree.fromstring(files["SVG"])
    texts = [element.text or "" for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    title = svg.findtext("{http://www.w3.org/2000/svg}title") or ""
    assert title and title.split()[0] in texts[0]
    assert len(texts) > 3
    image = Image.open(BytesIO(files["PNG"])).convert("RGB")
    assert image.size == (2 * int(svg.attrib["width"]), 2 * int(svg.attrib["height"]))
    colours = image.getcolors(maxcolors=2**24)
    assert colours is not None and len(colours) > 20  # neither empty nor one area
    return name, title


def test_a_click_on_a_square_opens_its_question(page: Any, worked_in: Server) -> None:
    run = run_of(worked_in)
    visit(page, worked_in, f"Evaluacion?run={run}")
    picture(page, "squares").locator("svg.marks .mark-rect path").last.click()
    page.wait_for_url(f"**/Evaluacion?run={run}&query=*")
    settle(page)
    query = page.url.partition("query=")[2].partition("&")[0]
    told = page.get_by_text(re.compile(rf"^{query} · ")).first
    told.wait_for()
    page.wait_for_timeout(1_000)  # it scrolls there
    assert 0 <= told.bounding_box()["y"] <= 900


def test_a_click_on_a_cell_opens_its_passage(page: Any, worked_in: Server) -> None:
    results(page, worked_in, "Mapa")
    picture(page, "map").locator("svg.marks .mark-rect path").nth(3).click()
    page.wait_for_url("**/Documento?*start=*")
    settle(page)
    page.locator(".kbtext mark").first.wait_for()
    page.go_back()
    page.get_by_text("El mapa de la base").wait_for()  # and stays
    settle(page)
    assert "Documento" not in page.url


def test_the_last_label_of_an_axis_is_whole(page: Any, worked_in: Server) -> None:
    """Its letters are up to two pixels wider than what the browser says of them."""
    results(page, worked_in, "2. Resultados")
    page.get_by_role("tab", name="Qué estrategia encuentra mejor").click()
    drawn = picture(page, "strategies")
    room = drawn.evaluate(
        """one => {
          const label = [...one.querySelectorAll("svg.marks text")].find((text) => text.textContent === "100 %");
          return one.querySelector("svg.marks").getBoundingClientRect().right - label.getBoundingClientRect().right;
        }"""
    )
    assert room >= 2


def test_what_is_missing_of_the_strategies_is_measured_with_one_click(page: Any, worked_in: Server) -> None:
    results(page, worked_in, "2. Resultados")
    page.get_by_role("tab", name="Qué estrategia encuentra mejor").click()
    assert picture(page, "strategies").locator("text=solo palabras").count()
    page.get_by_role("button", name="Medir las 3 que faltan").click()
    page.locator(".st-key-mykb_strategies").wait_for(state="detached", timeout=90_000)
    settle(page)
    drawn = picture(page, "strategies")
    for strategy in ("solo palabras", "palabras y vectores", "palabras, vectores y enlaces"):
        drawn.get_by_text(strategy, exact=True).first.wait_for(state="attached", timeout=180_000)  # three runs
