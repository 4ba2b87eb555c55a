"""What a change of the documents does to a promise is computed from the labels that were made on them."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.knowledge_base.changes import Move, Remove
from chatbot_mvp.wings.promise.kb_change import KbChange
from chatbot_mvp.wings.promise.service import Promises, PromiseState
from tests.moving import ALLOWANCES, HOLIDAYS, PARKING, app_over, document, moving_kb
from tests.wings.promise.labels import measured, saved

LEVEL = 0.2


@pytest.fixture
def app(tmp_path: Path, clean_env: Path) -> App:
    return app_over(tmp_path / "data")


def asked(about: str, text: str, count: int) -> list[KbQuestion]:
    """Questions that a paragraph answers; the further words keep them from repeating each other."""
    rng = random.Random(about)
    paragraph = text.split("\n\n")[1]
    words = [" ".join("".join(rng.choices("bcdfgmnprst", k=8)) for _ in range(3)) for _ in range(count)]
    return [
        KbQuestion(f"{about[:4]}-{n}", f"¿{about} {said}?", "answerable", paragraph) for n, said in enumerate(words)
    ]


@pytest.fixture
def kb_id(app: App) -> str:
    return moving_kb(app)


@pytest.fixture
def state(app: App, kb_id: str, ticked: None) -> PromiseState:
    questions = [
        *asked("días laborables de vacaciones", HOLIDAYS, 36),
        *asked("dieta de jornada completa", ALLOWANCES, 36),
        *asked("plaza del sótano", PARKING, 6),
    ]
    result = measured(app, kb_id, saved(app, kb_id, questions))
    made = app.get(Promises).make(kb_id, result.result_id, LEVEL, "question")
    assert made.promise.made
    return made


def after(app: App, kb_id: str, state: PromiseState) -> KbChange:
    found = app.get(Promises).after_change(kb_id, state.promise)
    assert found is not None
    return found


def test_nothing_is_said_while_nothing_has_changed(app: App, kb_id: str, state: PromiseState) -> None:
    assert app.get(Promises).after_change(kb_id, state.promise) is None


def test_no_label_lapses_if_documents_come_or_move(app: App, kb_id: str, state: PromiseState) -> None:
    app.kb_changes.change(kb_id, [Move("personas/", "rrhh/")], [document("ropa.md", "# Ropa\n\nDos uniformes.\n")])
    found = after(app, kb_id, state)
    assert (found.verdict, found.lapsed, found.documents) == ("held", (), ())
    assert (found.version, found.current, found.labels, found.remaining) == (1, 2, 78, 78)


def test_few_lapsed_labels_leave_a_weaker_promise(app: App, kb_id: str, state: PromiseState) -> None:
    app.kb_changes.change(kb_id, [Remove("edificio/")])
    found = after(app, kb_id, state)
    assert (found.verdict, len(found.lapsed), found.remaining) == ("weaker", 6, 72)
    assert found.documents == ("edificio/aparcamiento.md",)
    assert found.bound is not None and found.bound <= LEVEL


def test_too_few_remaining_labels_withdraw_it(app: App, kb_id: str, state: PromiseState) -> None:
    new = [document("personas/vacaciones.md", HOLIDAYS.replace("23", "25"))]
    app.kb_changes.change(kb_id, [Remove("edificio/"), Remove("gastos/")], new)
    found = after(app, kb_id, state)
    assert (found.verdict, found.remaining, found.bound) == ("withdrawn", 0, None)
    now = app.get(Promises).state(kb_id)
    assert now is not None and now.changed == ("kb",) and not now.applies


def test_what_was_promised_is_there_again_when_its_version_is_restored(
    app: App, kb_id: str, state: PromiseState
) -> None:
    app.kb_changes.change(kb_id, [Remove("edificio/")])
    app.kb_changes.restore(kb_id, "1")
    now = app.get(Promises).state(kb_id)
    assert now is not None and now.applies


def test_the_version_of_a_promise_is_kept(app: App, kb_id: str, state: PromiseState) -> None:
    for questions in app.question_sets.sets(kb_id):
        app.question_sets.delete_set(kb_id, questions.set_id)
    shutil.rmtree(app.settings.results_dir / state.promise.basis.result_id)
    assert state.promise.basis.kb_sha256 in set(app.get(Promises).references(kb_id))
    for number in range(21):
        app.kb_changes.change(kb_id, new=[document("gastos/dietas.md", f"{ALLOWANCES}\n\nNota {number}.\n")])
    assert app.kb_changes.history(kb_id)[-1].kept
