"""Measure what people feel: how soon a page stands, a click is answered, and an answer begins.

    python -m benchmarks felt [--repeats 5]

In headless Chromium, over a folder in which somebody has worked for an hour, with the provider ``demo``. Each thing is
done once before it is measured. By the browser's own clock, in ms:
    page    from the navigation until its heading and its first block are drawn              goal 1,000
    link    the same, from a press on its name in the navigation                             goal 1,000
    click   from the press of the mouse until the first change that can be seen              goal 200
    answer  from Enter until its first word                                                  goal 1,000

Prints the median and the slowest, until when the page stood still, the processor seconds that the server used for one,
and the machine's load. Fails if a median is over its goal. Times by the clock say something on an idle machine alone.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from playwright.sync_api import Page

from benchmarks.app_in_browser import chromium, serve_process, wait_painted
from benchmarks.process import load, process_s
from benchmarks.script import data_folder, head, parser, row

GOALS = {"page": 1_000, "link": 1_000, "click": 200, "answer": 1_000}
PAGES = {
    "Inicio": "",
    "Evaluación": "Evaluacion",
    "Chat": "Chat",
    "Administración": "Admin",
    "Evaluar mi base": "Evaluar_mi_KB",
}
"""Name in the navigation -> address."""
CLICKS = {
    ("Inicio", "a list opens"): ".st-key-run-choice-0 input",
    ("Evaluación", "another view"): ".st-key-runs-view [role=radio]:not([aria-checked=true])",
    ("Evaluación", "filters open"): "[data-testid=stMain] [data-testid=stPopoverButton] >> nth=-1",
    ("Chat", "a citation opens its source"): "a[href^='#source-'] >> nth=0",
    ("Chat", "the mode"): ".st-key-chat_mode [role=radio]:not([aria-checked=true])",
    ("Chat", "options open"): ".st-key-chat-bar [data-testid=stPopoverButton] >> nth=-1",
    ("Administración", "another tab"): "[role=tab][aria-selected=false] >> nth=0",
    ("Administración", "contents of a base"): "[class*='st-key-look-'] button",
    ("Evaluar mi base", "another step"): ".st-key-mykb_step [role=radio]:not([aria-checked=true]) >> nth=0",
    ("Evaluar mi base", "a list opens"): "[data-testid=stMain] [role=combobox] >> nth=0",
}
"""(page, what) -> what is pressed."""
QUESTIONS = (
    "¿Cuántos días de vacaciones tengo al año?",
    "¿De cuánto es la dieta de jornada completa?",
    "¿Cómo se pide un anticipo?",
    "¿Cuántos días de teletrabajo hay por semana?",
    "¿Cuánto dura el permiso de paternidad?",
    "¿Quién ganó la carrera ciclista de Flandes?",
)
_DRAWN = """(before) => {
  const main = document.querySelector("[data-testid='stMainBlockContainer']"), title = main?.querySelector("h1");
  const shown = (one) => one.getBoundingClientRect().height > 15;
  if (!title || !shown(title) || title.innerText === before) return 0;
  const block = [...main.querySelectorAll("[data-testid='stElementContainer']")]
    .some((one) => !one.contains(title) && one.dataset.stale !== "true" && shown(one));
  return block ? performance.now() : 0;
}"""
_WATCH = """(within) => {
  const felt = window.felt = {asked: 0, seen: 0, still: 0};
  const shown = (node) => {
    const at = node.nodeType === 1 ? node : node.parentElement;
    return at?.checkVisibility() && at.getBoundingClientRect().height > 0
      && !at.closest("style, script, [data-testid='stStatusWidget'], [data-testid='stTooltipContent']");
  };
  const words = () => [...document.querySelectorAll(within)].at(-1)?.innerText.trim();
  const observer = new MutationObserver((records) => {
    if (!felt.asked) return;
    felt.still = performance.now();
    const changed = within ? words()
      : records.some((one) => one.type === "childList" ? [...one.addedNodes].some(shown) : shown(one.target));
    if (!felt.seen && changed) requestAnimationFrame(() => { felt.seen ||= performance.now(); });
  });
  observer.observe(document.body, {childList: true, subtree: true, characterData: true, attributes: true,
    attributeFilter: ["aria-selected", "aria-checked", "aria-expanded", "open"]});
  for (const name of ["pointerdown", "keydown"])
    document.addEventListener(name, () => { felt.asked ||= performance.now(); }, {capture: true, once: true});
}"""


@dataclass(frozen=True)
class Felt:
    """One measurement; times in ms."""

    first: float
    still: float
    cpu_s: float
    """Processor seconds of the server."""


class Bench:
    """A page of a running app, and what it is asked to do."""

    def __init__(self, page: Page, url: str, server: int, chat: str) -> None:
        self.page, self._url, self._server, self._chat = page, url, server, chat

    def open(self, name: str) -> Felt:
        """Open a page by its address."""
        before = process_s(self._server)
        self.page.goto(f"{self._url}/{self._chat if name == 'Chat' else PAGES[name]}")
        return self._painted(before, "", 0)

    def follow(self, name: str) -> Felt:
        """Open a page by its name in the navigation, from another one."""
        self.open("Evaluación" if name != "Evaluación" else "Inicio")
        title = self.page.locator("h1").inner_text()
        before = process_s(self._server)
        self.page.evaluate(_WATCH, "")
        self.page.get_by_test_id("stSidebarNavLink").filter(has_text=name).last.click()
        return self._painted(before, title, self.page.evaluate("window.felt.asked"))

    def _painted(self, before: float, title: str, since: float) -> Felt:
        first = float(self.page.wait_for_function(_DRAWN, arg=title).json_value())
        wait_painted(self.page, title)
        still = float(self.page.evaluate("performance.now()"))
        self.page.wait_for_timeout(700)
        return Felt(first - since, still - since, process_s(self._server) - before)

    def click(self, name: str, target: str) -> Felt:
        """Press something on a page."""
        self.open(name)
        found = self.page.locator(target).first
        found.scroll_into_view_if_needed()
        found.hover()
        self.page.wait_for_timeout(500)
        return self._watched(lambda: found.click(no_wait_after=True), "")

    def ask(self, question: str) -> Felt:
        """Ask in a new conversation."""
        self.page.goto(f"{self._url}/Chat")
        wait_painted(self.page)
        self.page.locator(".st-key-talk-new button").click()
        self.page.locator("[data-testid='stChatMessage']").first.wait_for(state="detached")
        self.page.locator("[data-testid='stChatInputTextArea']").fill(question)
        self.page.wait_for_timeout(700)
        words = "[data-testid='stChatMessage']:has([aria-label='Respuesta']) [data-testid='stMarkdownContainer'] p"
        return self._watched(lambda: self.page.keyboard.press("Enter"), words)

    def _watched(self, act: Callable[[], None], within: str) -> Felt:
        before = process_s(self._server)
        self.page.evaluate(_WATCH, within)
        act()
        self.page.wait_for_function("() => window.felt.seen && performance.now() - window.felt.still > 500")
        felt = self.page.evaluate("window.felt")
        used = process_s(self._server) - before
        return Felt(felt["seen"] - felt["asked"], felt["still"] - felt["asked"], used)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=5)
    repeats: int = options.parse_args().repeats
    failed = False
    with ExitStack() as stack:
        bench = begin(stack)
        print(f"load {load()}\n\n{head(['kind', 'what', 'goal', 'median', 'slowest', 'still', 'CPU (s)'], 2)}")
        for kind, what, once in things(bench):
            once(0)
            all_of = [once(turn) for turn in range(1, repeats + 1)]
            first = statistics.median(one.first for one in all_of)
            slowest, still = max(one.first for one in all_of), statistics.median(one.still for one in all_of)
            cpu = statistics.median(one.cpu_s for one in all_of)
            cells = [kind, what, f"{GOALS[kind]:,}", f"{first:,.0f}", f"{slowest:,.0f}", f"{still:,.0f}", f"{cpu:.2f}"]
            print(row(cells), flush=True)
            failed |= first > GOALS[kind]
        print(f"\nload {load()}")
    return int(failed)


def begin(stack: ExitStack) -> Bench:
    """Fill a folder, serve it, and open a browser as the visitor whose conversation it holds."""
    from tests.e2e.views import VISITOR, fill
    from tests.e2e.visitors import cookie_of

    folder = stack.enter_context(data_folder(None))
    _, kb_id, conversation = fill(folder)
    url, server = stack.enter_context(serve_process(folder, RETRIEVAL_STRATEGY="LEXICAL", UI_LANGUAGE="es"))
    context = stack.enter_context(chromium()).new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)
    cookie = cookie_of(folder, url, VISITOR)
    context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": url}])
    return Bench(context.new_page(), url, server, f"Chat?kb={kb_id}&c={conversation}")


def things(bench: Bench) -> Iterator[tuple[str, str, Callable[[int], Felt]]]:
    """Yield what is measured: kind, name, and what does it once; its argument is the number of the turn."""
    for kind, act in (("page", bench.open), ("link", bench.follow)):
        for name in PAGES:
            yield kind, name, partial(_at_any_turn, partial(act, name))
    for (name, what), target in CLICKS.items():
        yield "click", f"{name}: {what}", partial(_at_any_turn, partial(bench.click, name, target))
    yield "answer", "first word, demo", lambda turn: bench.ask(QUESTIONS[turn % len(QUESTIONS)])


def _at_any_turn(act: Callable[[], Felt], _turn: int) -> Felt:
    """Do what is the same at each turn."""
    return act()


if __name__ == "__main__":
    sys.exit(main())
