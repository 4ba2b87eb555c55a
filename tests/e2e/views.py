"""Every view of the pages, by name, with what opens it, over a folder that somebody has worked in for an hour."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from tests.e2e.conftest import Server
from tests.e2e.test_tour import settle, visit

VISITOR = "0" * 31 + "e"
ANSWERED, DECLINED = (
    "¿Cuántos días laborables de vacaciones tiene cada persona?",
    "¿Quién ganó la carrera ciclista de Flandes?",
)


@dataclass(frozen=True)
class World:
    """A running server, and the ids of what its folder holds."""

    server: Server
    runs: tuple[str, ...]
    kb_id: str
    conversation: str


def fill(data_dir: Path) -> tuple[tuple[str, ...], str, str]:
    """Fill a folder: the sample, questions with their result, a conversation, two runs; return the ids of ``World``."""
    settings = load_settings(data_dir=data_dir, eval_max_queries=10, provider="demo", retrieval_strategy="LEXICAL")
    app = build_app(settings)
    kb_id = app.kbs.add_sample().kb_id
    proposed = replace(app.kb_evaluation.propose_now(kb_id, count=8), name="Preguntas propuestas")
    app.kb_evaluation.start(kb_id, app.question_sets.save(proposed).set_id)
    while not app.kb_evaluation.results(kb_id):
        time.sleep(0.1)
    conversation = app.chat.start(VISITOR, kb_id, "kb")
    for question in (ANSWERED, DECLINED):
        assert app.chat.begin(VISITOR, conversation, question, UserContext()).join(60)
    runs = [path.name for path in (data_dir / "results").iterdir()]
    for strategy in ("LEXICAL", "BRIDGE"):
        app.runs.run_now(retrieval_strategy=strategy)
        # Two runs may begin in one second, and their names differ then by the strategy alone.
        runs += {path.name for path in (data_dir / "results").iterdir()} - {*runs}
    return tuple(runs), kb_id, conversation


@cache
def filled(beside: Path) -> tuple[Path, tuple[tuple[str, ...], str, str]]:
    """Fill one folder for all worlds of a process; return it, and what ``fill`` does."""
    whole = beside / "filled"
    return whole, fill(whole)


def world(data_dir: Path) -> Iterator[World]:
    """Serve a copy of a folder that is filled until the generator is closed."""
    whole, ids = filled(data_dir.parent)
    shutil.copytree(whole, data_dir, symlinks=True, dirs_exist_ok=True)
    running = Server(data_dir, RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo")
    running.start()
    yield World(running, *ids)
    running.kill()


def views(world: World) -> dict[str, tuple[str, Callable[[Any], None]]]:
    """Name -> (address, what is done there). The name begins with the page's.

    The browser has to be the visitor whose conversation the folder holds (``visitors.become``).
    """
    talk = f"Chat?kb={world.kb_id}&c={world.conversation}"
    admin, mykb = "Admin", "Evaluar_mi_KB"
    return {
        "home": ("", _nothing),
        "home, tour": ("?tour=on", _nothing),
        "chat, empty": (f"Chat?kb={world.kb_id}", _nothing),
        "chat, answered": (talk, _nothing),
        "chat, source": (talk, lambda page: page.get_by_role("link", name="[1]").first.click()),
        "chat, sources": (
            talk,
            lambda page: page.locator("[class*='st-key-sources-']").first.get_by_role("button").click(),
        ),
        "chat, search": (talk, _press("st-key-chat-bar >> [data-testid=stPopoverButton]", last=True)),
        "chat, documents": (talk, _press("st-key-chat-bar >> [data-testid=stPopoverButton]")),
        "chat, keys": (talk, _press("st-key-keys-help")),
        **{
            f"chat, {act}": (talk, _choose(act))
            for act in ("Cambiar el título", "Exportar", "Eliminar la conversación")
        },
        "chat, what is wrong": (talk, _what_is_wrong),
        "runs, list": ("Evaluacion", _nothing),
        "runs, filters": ("Evaluacion", _press("stMain >> [data-testid=stPopoverButton]", last=True)),
        "runs, leaderboard": ("Evaluacion?view=leaderboard", _nothing),
        "runs, history": ("Evaluacion?view=history", _nothing),
        **{f"runs, run {at}": (f"Evaluacion?run={run}", _nothing) for at, run in enumerate(world.runs)},
        "runs, comparison": (f"Evaluacion?compare={','.join(world.runs[-2:])}", _nothing),
        **{f"admin, tab {at}": (admin, _tab(at)) for at in range(TABS_OF_ADMIN)},
        "admin, deletion": (admin, _tab(0, _deletion("st-key-delete-", "st-key-delete-yes"))),
        **{f"mykb, step {at}": (mykb, _step(at)) for at in range(STEPS_OF_MYKB)},
        "mykb, review": (mykb, _review),
        "mykb, deletion": (mykb, _deletion("st-key-mykb_delete", "st-key-mykb_delete_yes")),
        "document": (f"Documento?kb={world.kb_id}", _nothing),
    }


TABS_OF_ADMIN = 7
STEPS_OF_MYKB = 3


def open_view(page: Any, world: World, name: str, after: str = "") -> None:
    """Open a view and wait until it stands still.

    Args:
        after: the view that the page shows. Of the chat, what is at the same address is not loaded again. The row of
            tabs of a page that has been narrow may stay where it was moved to, and is not as it is when it is opened.
    """
    address, prepare = views(world)[name]
    if after.startswith("chat") and views(world)[after][0] == address:
        close_boxes(page)
    else:
        visit(page, world.server, address)
    prepare(page)
    settle(page)


def close_boxes(page: Any) -> None:
    """Close whatever lies over the page or beside the chat."""
    over = page.locator("[role='dialog'], [role='menu'], [data-testid='stPopoverBody'], .st-key-source-pane")
    for _ in range(5):
        if not over.count():
            break
        page.keyboard.press("Escape")
        page.wait_for_timeout(300)
        settle(page)
    assert not over.count(), "it is still open"


def _nothing(page: Any) -> None:
    pass


def _press(within: str, last: bool = False) -> Callable[[Any], None]:
    outer, _, inner = within.partition(" >> ")
    place = f".{outer}" if outer.startswith("st-key-") else f"[data-testid={outer}]"

    def press(page: Any) -> None:
        found = page.locator(f"{place} {inner or 'button'}")
        (found.last if last else found.first).click()

    return press


def _tab(at: int, then: Callable[[Any], None] = _nothing) -> Callable[[Any], None]:
    def open_it(page: Any) -> None:
        page.get_by_role("tab").nth(at).click()
        settle(page)
        then(page)

    return open_it


def _step(at: int) -> Callable[[Any], None]:
    return lambda page: page.locator(".st-key-mykb_step button").nth(at).click()


def _choose(act: str) -> Callable[[Any], None]:
    """Open the dialog of an entry in the menu of a conversation."""

    def choose(page: Any) -> None:
        page.locator("[class*='st-key-talk-menu-'] button").first.click()
        page.get_by_role("menuitem", name=act).click()
        page.get_by_role("dialog").wait_for()

    return choose


def _what_is_wrong(page: Any) -> None:
    """Open the form behind a thumb down, which is given if it was not yet."""
    tell = page.get_by_role("button", name="Indicar qué falla")
    if not tell.count():
        page.get_by_role("radio", name="Pulgar abajo").first.click()
    tell.first.click()
    page.locator("[data-testid='stPopoverBody']").wait_for()


def _deletion(button: str, sure: str) -> Callable[[Any], None]:
    """Open the question behind a button in the last box of further actions; both by the class of their container."""

    def open_it(page: Any) -> None:
        page.get_by_role("button", name="Más", exact=True).last.click()
        page.locator(f"[data-testid='stPopoverBody'] [class*='{button}'] button").click()
        page.locator(f".{sure}").wait_for()

    return open_it


def _review(page: Any) -> None:
    _step(2)(page)
    page.get_by_role("textbox", name="Su nombre").fill("Ana")
    page.get_by_role("button", name="Empezar a revisar").click()
    page.locator(".st-key-review-item").wait_for()


NAMES = tuple(views(World(Server(Path()), ("", "", ""), "", "")))
WITH_BOXES = tuple(
    name
    for name in NAMES
    if name in ("home", "chat, answered", "document")
    or name.startswith(("runs, list", "runs, run", "runs, comparison", "admin, tab", "mykb, step"))
)
"""Views whose buttons open boxes over the page. An open source is not among them: on narrow screens it covers them."""
