"""Count the clicks of three things that people want to know, in a real browser, and print the sentence that says it.

    python -m benchmarks clicks [--pictures FOLDER]

A newcomer has uploaded a document of their own and asked ten questions in the chat. From the home page:
    strategy   Which way to search finds my passages best?     at most 5 clicks, and one pick per question
    trust      How far can I trust strict mode?                at most 5, and one pick per question
    providers  Which of two providers answers better?          at most 6

A pick says where a question is answered. No passage is chosen beforehand, so each question that shall count takes one;
picks are counted apart from the clicks of the way, and both are printed. Fails if a journey needs more of either, or if
it ends without its sentence. Two servers on loopback stand for the providers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from playwright.sync_api import FilePayload, Locator, Page

from benchmarks.app_in_browser import chromium, serve, wait_painted
from benchmarks.script import data_folder, head, parser, row
from tests.llm.openai_stub import OpenAiStub

DOCUMENT = """# Club de remo Alborada: normas para socios

## Horarios

El hangar abre de martes a domingo de 7:30 a 21:00. Los lunes está cerrado por mantenimiento.

## Cuotas

La cuota mensual de adultos es de 42 euros. La inscripción cuesta 60 euros y se paga una sola vez. El recibo se pasa el
día 3 de cada mes.

Una lesión acreditada permite congelar la cuota hasta cuatro meses.

## Barcos

Los barcos se reservan en la aplicación con un máximo de cinco días de antelación. Cada reserva dura noventa minutos.
Quien no se presenta dos veces en un mes pierde el derecho a reservar durante diez días.

## Seguridad

Con viento de más de 25 km/h no se sale al agua. El chaleco es obligatorio para los menores. Ante cualquier accidente
hay que llamar al 644 018 332.

## Invitados

Cada socio puede traer dos invitados al mes. El invitado paga 8 euros por salida y firma el seguro en la oficina.
"""
QUESTIONS = {
    "¿Qué día está cerrado?": "lunes",
    "¿Cuánto vale apuntarse?": "60 euros",
    "si me lesiono puedo dejar de pagar": "congelar",
    "¿Con cuántos días puedo coger barco?": "cinco días",
    "¿Cuánto rato puedo tener el barco?": "noventa minutos",
    "¿Puedo traer a un amigo?": "dos invitados",
    "¿Cuánto paga un invitado?": "8 euros",
    "¿A quién llamo si hay un accidente?": "644 018 332",
    "¿A partir de qué viento no se sale?": "25 km/h",
    "¿Tenéis piscina?": "",
}
"""Question -> words of the passage that answers it; "" if the document does not."""
GOALS = {"strategy": 5, "trust": 5, "providers": 6}
RIGHT = "La inscripción cuesta 60 euros; la reserva dura noventa minutos; el invitado, 8 euros; llame al 644 018 332."
SOON_MS = 120_000


@dataclass
class Hand:
    """Presses the mouse, and counts how often."""

    page: Page
    clicks: int = 0
    """Without the picks."""
    picks: int = 0
    """Clicks that say where a question is answered."""
    on: list[str] = field(default_factory=list)

    def click(self, target: Locator, what: str) -> None:
        target.click()
        self.clicks += 1
        self.on.append(what)
        self.settle()

    def pick(self, target: Locator, what: str) -> None:
        self.click(target, what)
        self.clicks -= 1
        self.picks += 1

    def settle(self) -> None:
        self.page.wait_for_selector("[data-testid='stApp'][data-test-script-state='notRunning']")
        self.page.wait_for_timeout(500)


@dataclass(frozen=True)
class Walked:
    """What a journey took."""

    name: str
    clicks: int
    """Without the picks."""
    picks: int
    """Clicks that say where a question is answered; at most one per question."""
    on: tuple[str, ...]
    seconds: float
    """From the first click to the sentence."""
    sentence: str


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--pictures", type=Path, help="keep a screenshot of the end of each journey there")
    pictures: Path | None = options.parse_args().pictures
    print(head(["journey", "goal", "clicks", "picks", "seconds"]))
    failed = False
    for walked in walk_all(pictures):
        goal = GOALS[walked.name]
        print(row([walked.name, goal, walked.clicks, walked.picks, f"{walked.seconds:.0f}"]))
        print(f"  {walked.sentence!r}\n  {' → '.join(walked.on)}", file=sys.stderr)
        failed |= walked.clicks > goal or walked.picks > len(QUESTIONS) or not walked.sentence
    return int(failed)


def walk_all(pictures: Path | None = None) -> Iterator[Walked]:
    """Walk each journey with data of its own."""
    journeys: dict[str, Callable[[Hand], str]] = {"strategy": strategy, "trust": trust, "providers": providers}
    for name, journey in journeys.items():
        yield walk(name, journey, pictures)


def walk(name: str, journey: Callable[[Hand], str], pictures: Path | None) -> Walked:
    """Prepare a knowledge base and a conversation, then walk from the home page to the sentence."""
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder(None))
        settings = {"UI_LANGUAGE": "es"}
        if name == "providers":
            one, two = stack.enter_context(OpenAiStub()), stack.enter_context(OpenAiStub())
            one.reply, two.reply = RIGHT, "Consulte las normas del club."
            settings |= {"OPENAI_BASE_URL": f"{one.url}/v1", "OPENAI_API_KEY": "key-of-loopback"}
            settings |= {"LLM_BASE_URL": f"{two.url}/v1", "LLM_MODEL_NAME": "otro-modelo"}
            keep_own_questions(folder)
        url = stack.enter_context(serve(folder, **settings))
        page = stack.enter_context(chromium()).new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(SOON_MS)
        if name != "providers":
            ask_in_chat(page, url)
        page.goto(url)
        wait_painted(page)
        hand = Hand(page)
        hand.settle()
        started = time.monotonic()
        sentence = journey(hand)
        seconds = time.monotonic() - started
        if pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            page.wait_for_timeout(1_500)
            page.screenshot(path=pictures / f"{name}.png")
        return Walked(name, hand.clicks, hand.picks, tuple(hand.on), seconds, sentence)


def ask_in_chat(page: Page, url: str) -> None:
    """Upload the document, and ask the questions with the keyboard."""
    page.goto(f"{url}/Chat")
    wait_painted(page)
    file: FilePayload = {"name": "remo.md", "mimeType": "text/markdown", "buffer": DOCUMENT.encode()}
    page.locator("[data-testid='stFileUploader'] input[type=file]").first.set_input_files(files=[file])
    box = page.locator("[data-testid='stChatInput'] textarea")
    box.wait_for()
    hand = Hand(page)
    hand.settle()
    for number, question in enumerate(QUESTIONS, 1):
        box.fill(question)
        page.keyboard.press("Enter")
        page.get_by_test_id("stChatMessage").nth(2 * number - 1).wait_for()
        hand.settle()


def keep_own_questions(folder: Path) -> None:
    """Have a knowledge base and one's own questions, as the other journeys leave them, with short answers."""
    from chatbot_mvp.app import build_app
    from chatbot_mvp.settings.model import load_settings

    app = build_app(load_settings(data_dir=folder, provider="demo"))
    kb = app.kbs.add("remo.md", DOCUMENT.encode())
    found = app.own_questions.find(kb.kb_id, list(QUESTIONS))
    decided = {
        one.question: next((source for source in one.passages if _answers(one.question, source.chunk.text)), None)
        for one in found
    }
    kept = app.own_questions.keep(kb.kb_id, "Preguntas propias", decided)
    answered = []
    for one in kept.questions:
        words = QUESTIONS[one.question.question]
        answered.append(replace(one, question=replace(one.question, answers=(words,) if words else ())))
    app.question_sets.save(replace(kept, questions=tuple(answered)))


def strategy(hand: Hand) -> str:
    """Best strategy for my document."""
    check_passages(hand)
    hand.click(hand.page.get_by_role("button", name="Medir y comparar formas de buscar"), "compare")
    return sentence_of(hand.page.locator("h2").filter(has_text="Contest"))


def trust(hand: Hand) -> str:
    """How far strict mode can be trusted."""
    check_passages(hand)
    hand.click(hand.page.get_by_role("button", name="Medir", exact=True), "measure")
    return sentence_of(hand.page.locator("h2").filter(has_text="el chat resuelve bien"))


def providers(hand: Hand) -> str:
    """Which of two providers answers better."""
    page = hand.page
    hand.click(page.get_by_role("link", name="Evaluación", exact=True), "Evaluación")
    hand.click(page.get_by_text("Comparar dos modelos"), "Comparar dos modelos")
    hand.click(page.locator(".st-key-versus_start button:visible").first, "compare")
    return sentence_of(page.locator("h2").filter(has_text="Contest"))


def check_passages(hand: Hand) -> None:
    """Open *Evaluar mi base*, whose questions are those of the chat, and say for each where it is answered."""
    page = hand.page
    hand.click(page.get_by_role("link", name="Evaluar mi base"), "Evaluar mi base")
    page.get_by_text("¿Dónde se contesta?").wait_for()
    hand.settle()
    for place in range(len(QUESTIONS)):
        card = page.locator(f".st-key-own-{place}")
        card.get_by_role("radio").first.wait_for()  # below the passages
        question = card.locator("strong").first.inner_text()
        passages = [_answers(question, text) for text in card.locator(".passage").all_inner_texts()]
        name = f"Lo contesta {'ABC'[passages.index(True)]}" if any(passages) else "No está en los documentos"
        # A passage that search does not show would be pasted; that is no click, and does not happen here.
        assert any(passages) or not QUESTIONS[question], question
        hand.pick(card.get_by_role("radio", name=name), f"{name}: {question}")


def _answers(question: str, passage: str) -> bool:
    return bool(QUESTIONS[question]) and QUESTIONS[question] in " ".join(passage.split())


def sentence_of(target: Locator) -> str:
    target.first.wait_for()
    # The text itself, not what is drawn: a page that is drawn anew at this moment shows nothing.
    return " ".join((target.first.text_content() or "").split())


if __name__ == "__main__":
    sys.exit(main())
