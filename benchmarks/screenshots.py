"""Take the screenshots of README.md from the running app, with new data made from the bundled samples.

    python -m benchmarks screenshots [FOLDER]

Fills a temporary data folder through the App (the sample knowledge base, three runs, questions of the knowledge base),
starts the app on a free port, opens the pages in headless Chromium and saves screenshots.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

from benchmarks.app_in_browser import chromium, serve, wait_painted
from benchmarks.script import ROOT, data_folder, parser

WIDTH, HEIGHT = 1440, 900
Scheme = Literal["light", "dark"]
COLOURS = 128  # a palette is enough for pages of text, and a quarter of the size


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path, nargs="?", default=ROOT / "docs" / "img", help="default: docs/img")
    target = options.parse_args().folder
    target.mkdir(parents=True, exist_ok=True)
    with data_folder(None) as folder:
        run_ids = fill(folder)
        with serve(folder) as url, chromium() as browser:
            for picture, (address, prepare, scheme) in pictures(run_ids).items():
                context = browser.new_context(
                    viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce"
                )
                context.set_default_timeout(60_000)
                page = context.new_page()
                page.goto(f"{url}/{address}")
                _settle(page)
                prepare(page)
                _settle(page)
                _keep(page.screenshot(), target / f"{picture}.png")
                context.close()
                print(f"{picture}.png: {(target / f'{picture}.png').stat().st_size / 1000:.0f} kB")


def fill(folder: Path) -> list[str]:
    """What somebody has after an hour: ids of the runs, oldest first."""
    from chatbot_mvp.app import build_app
    from chatbot_mvp.settings.model import load_settings

    app = build_app(load_settings(data_dir=folder, provider="demo", ui_language="es"))
    kb = app.kbs.add_sample()
    desk = app.kb_evaluation
    questions = app.question_sets.save(replace(desk.propose_now(kb.kb_id, count=40), name="Preguntas del manual"))
    desk.start(kb.kb_id, questions.set_id)
    while not desk.results(kb.kb_id):
        time.sleep(0.2)
    return [app.runs.run_now(retrieval_strategy=strategy).run_id for strategy in ("LEXICAL", "HYBRID", "BRIDGE_HYBRID")]


def pictures(run_ids: list[str]) -> dict[str, tuple[str, Callable[[Page], None], Scheme]]:
    """Name -> (address, what is done there first, light or dark)."""
    best = run_ids[-1]
    compared = ",".join(run_ids)
    return {
        "inicio": ("", _nothing, "light"),
        "chat": ("Chat", _ask, "light"),
        "evaluacion": (f"Evaluacion?run={best}", _nothing, "light"),
        "comparacion": (f"Evaluacion?compare={compared}", _to_the_forest, "light"),
        "mi_base": ("Evaluar_mi_KB", _to_the_threshold, "light"),
        "chat_oscuro": ("Chat", _ask, "dark"),
    }


def _nothing(page: Page) -> None:
    pass


def _ask(page: Page) -> None:
    page.locator("[data-testid='stChatInput'] textarea").fill(
        "¿Cuántos días laborables de vacaciones tiene cada persona?"
    )
    page.keyboard.press("Enter")
    page.locator("[class*='st-key-sources-']").wait_for()
    _settle(page)
    page.locator("[class*='st-key-sources-']").get_by_role("button").click()
    page.locator(".st-key-source-pane").wait_for()
    _settle(page)


def _to_the_forest(page: Page) -> None:
    page.locator("[data-testid='stVegaLiteChart']").first.scroll_into_view_if_needed()


def _to_the_threshold(page: Page) -> None:
    page.get_by_text("2. Resultados", exact=True).first.click()
    page.get_by_text("Cuánta evidencia exigir").first.evaluate("heading => heading.scrollIntoView()")


def _settle(page: Page) -> None:
    wait_painted(page)
    page.wait_for_timeout(1_500)  # charts are drawn after the script has ended


def _keep(png: bytes, path: Path) -> None:
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
