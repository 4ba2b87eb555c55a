"""A promise cannot be had from one question, from one document of many, or from no passage."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.wings.promise.service import Promises
from tests.conftest import Command
from tests.raising import raises
from tests.wings.promise.labels import DAYS, DIET, TEXT, promised

ASKED = "¿De cuánto es la dieta completa de un viaje?"
COUNT = 100


def misspelt(text: str, rng: random.Random) -> str:
    letters = list(text)
    at = rng.randrange(4, len(letters) - 2)
    match rng.randrange(3):
        case 0:
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        case 1:
            letters[at] *= 2
        case _:
            del letters[at]
    return "".join(letters)


def _shuffled(text: str, rng: random.Random) -> str:
    return " ".join(rng.sample(text.strip("¿?").split(), len(text.split())))


SPELLINGS: dict[str, Callable[[str, random.Random], str]] = {
    "under other ids": lambda text, rng: text,
    "in capitals": lambda text, rng: "".join(rng.choice((c.upper(), c.lower())) for c in text),
    "with blanks and signs": lambda text, rng: (
        text.replace(" ", rng.choice(("  ", " … ", ", ", " - "))) + "?" * rng.randrange(9)
    ),
    "with what nobody sees": lambda text, rng: "".join(c + "\u200b\u2060\u00ad"[: rng.randrange(4)] for c in text),
    "without accents, or in wide letters": lambda text, rng: "".join(
        chr(ord(c) + 0xFEE0) if "a" <= c <= "z" and rng.random() < 0.5 else c for c in text
    ),
    "in another order": _shuffled,
    "with two misspellings": lambda text, rng: misspelt(misspelt(text, rng), rng),
    "with a number": lambda text, rng: f"{text} {rng.randrange(10**4)}",
    "with letters apart": lambda text, rng: text.replace("completa", " ".join("completa"), rng.randrange(2)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_one_question_asked_a_hundred_times_is_one_label(app: App, kb_id: str, spelling: str) -> None:
    rng = random.Random(1)
    asked = [KbQuestion(f"{n}", SPELLINGS[spelling](ASKED, rng), "answerable", DIET) for n in range(COUNT)]
    promise = promised(app, kb_id, asked, "question").promise
    assert not promise.made
    assert (promise.labels, promise.repeated) == (1, COUNT - 1)
    assert promise.missing is not None and promise.missing > 50


def test_a_far_question_asked_a_hundred_times_is_one_label(app: App, kb_id: str) -> None:
    rng = random.Random(2)
    far = [
        KbQuestion(f"{n}", misspelt("¿Cuándo se plantan los tomates en el huerto?", rng), "far") for n in range(COUNT)
    ]
    promise = promised(app, kb_id, far).promise
    assert not promise.far.held and promise.far.total == 1


def test_a_wrong_answer_is_not_hidden_behind_right_ones_to_the_same_question(app: App, kb_id: str) -> None:
    right = [KbQuestion(f"{n}", f"{ASKED}{' ' * n}?", "answerable", DIET) for n in range(9)]
    promise = promised(app, kb_id, [*right, KbQuestion("w", f"{ASKED}!", "answerable", DAYS)], "question").promise
    assert (promise.labels, promise.repeated, promise.wrong) == (1, 9, 1)


def test_questions_about_one_thing_after_the_other_are_no_repeats(app: App) -> None:
    tools = ("azada", "rastrillo", "carretilla", "manguera", "tijera", "podadora")
    text = "".join(
        f"# Uso de {tool}\n\nLa revisión de la {tool} cuesta {n + 20} euros.\n\n" for n, tool in enumerate(tools)
    )
    kb_id = app.kbs.add("taller.md", text.encode()).kb_id
    asked = [
        KbQuestion(
            tool,
            f"¿Cuánto cuesta la revisión de la {tool}?",
            "answerable",
            f"La revisión de la {tool} cuesta {n + 20} euros.",
        )
        for n, tool in enumerate(tools)
    ]
    promise = promised(app, kb_id, asked).promise
    assert (promise.labels, promise.repeated, promise.sources, promise.parts) == (6, 0, 6, 6)


@pytest.mark.slow
def test_the_same_labels_in_a_file_make_no_promise_either(command: Command, tmp_path: Path) -> None:
    kb, asked = tmp_path / "normas.md", tmp_path / "q.jsonl"
    kb.write_text(TEXT, "utf-8")
    lines = [KbQuestion(f"{n}", ASKED, "answerable", DIET).as_line() for n in range(COUNT)]
    asked.write_text("\n".join(lines), "utf-8")
    status, out, _ = command("kb", "promise", str(kb), str(asked), "--by", "question", "--json")
    printed = json.loads(out)
    assert (status, printed["promised"], printed["labels"], printed["repeated"]) == (4, False, 1, COUNT - 1)
    status, out, _ = command("kb", "promise", str(kb), str(asked))
    assert status == 4
    assert "labels that count: 1, about 1 of 3 documents; asked again in other words: 99" in out


def _rules() -> dict[str, str]:
    """Question -> paragraph, both unlike the others."""
    rng = random.Random(3)
    words = ["".join(rng.choice("bcdfglmnprst") + rng.choice("aeiou") for _ in range(4)) for _ in range(3 * COUNT)]
    return {
        f"¿Cuánto vale {words[n]} {words[n + COUNT]} {words[n + 2 * COUNT]}?": (
            f"El precio de {words[n]} {words[n + COUNT]} {words[n + 2 * COUNT]} es de {n} euros en la tienda."
        )
        for n in range(COUNT)
    }


@pytest.mark.slow
def test_questions_about_one_document_of_several_do_not_become_the_unit(app: App) -> None:
    """A hundred different questions about one of three files say nothing about the other two."""
    rules = _rules()
    price = "\n\n".join(rules.values())
    texts = {"precios.md": f"# Precios\n\n{price}\n", "a.md": TEXT, "b.md": "# Otra\n\nOtra cosa distinta.\n"}
    files = [(name, parse_upload(name, text.encode(), 10**6, 9)) for name, text in texts.items()]
    kb_id = app.kbs.store.keep(files, 10**6).kb_id
    asked = [KbQuestion(f"{n}", one, "answerable", rule) for n, (one, rule) in enumerate(rules.items())]
    promise = promised(app, kb_id, asked).promise
    assert (promise.unit, promise.made, promise.repeated) == ("document", False, 0)
    assert (promise.labels, promise.sources, promise.parts) == (COUNT, 1, 3)
    singly = promised(app, kb_id, asked, "question").promise
    assert (singly.unit, singly.sources, singly.parts) == ("question", 1, 3)


@pytest.mark.parametrize(
    ("passage", "why"),
    [("a", "one letter"), ("de", "a word"), ("48 euros", "two words"), (TEXT.strip(), "the whole text")],
)
def test_a_letter_or_the_whole_text_is_no_passage(app: App, kb_id: str, passage: str, why: str) -> None:
    text = app.kbs.document(kb_id).text
    assert passage in text
    asked = [
        KbQuestion("fine", ASKED, "answerable", DIET),
        KbQuestion("odd", "¿Y los uniformes?", "answerable", passage),
    ]
    with raises("passage_length_illegal", match=r"'odd'.*20.*5000"):
        promised(app, kb_id, asked)
    assert app.get(Promises).state(kb_id) is None


def test_a_passage_that_stands_all_over_the_text_is_none(app: App) -> None:
    line = "Consulte la normativa vigente en el portal."
    text = "# A\n\n" + "\n\n".join(f"{line} Apartado {n}." for n in range(30))
    kb_id = app.kbs.add("normas.md", text.encode()).kb_id
    with raises("passage_length_illegal"):
        promised(app, kb_id, [KbQuestion("q", "¿Dónde está la normativa?", "answerable", line)])
