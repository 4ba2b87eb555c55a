"""Labelled questions about a small knowledge base, and the promises that are made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatbot_mvp.app import App
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.results import KbResult
from chatbot_mvp.evaluation.kb.sets import Origin, QuestionSet, SetQuestion
from chatbot_mvp.wings.promise.calibration import Unit
from chatbot_mvp.wings.promise.service import Promises, PromiseState

DIET = "La dieta completa es de 48 euros por cada día de viaje."
DAYS = "Cada persona dispone de 23 días laborables de vacaciones."
TEXT = f"# Vacaciones\n\n{DAYS}\n\n# Dietas\n\n{DIET}\n\n# Ropa\n\nLa empresa entrega dos uniformes al año.\n"


def saved(app: App, kb_id: str, asked: Sequence[KbQuestion], origin: Origin = "person") -> QuestionSet:
    empty = app.question_sets.empty_set(kb_id, "mías")
    return app.question_sets.save(replace(empty, questions=tuple(SetQuestion(one, origin=origin) for one in asked)))


def measured(app: App, kb_id: str, questions: QuestionSet) -> KbResult:
    return app.kb_evaluation.result(kb_id, app.kb_evaluation.evaluate(kb_id, questions.set_id)["run_id"])


def promised(app: App, kb_id: str, asked: Sequence[KbQuestion], unit: Unit | None = None) -> PromiseState:
    result = measured(app, kb_id, saved(app, kb_id, asked))
    return app.get(Promises).make(kb_id, result.result_id, 0.05, unit)
