"""Question sets and runs go on when their knowledge base changes, and say what the change was about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import NotComparable
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetQuestion
from chatbot_mvp.exports.comparison_text import comparison_text
from chatbot_mvp.knowledge_base.changes import Move, Remove
from chatbot_mvp.runs.comparable import why_not_comparable
from tests.moving import ALLOWANCES, HOLIDAYS, HOW_MANY_DAYS, PARKING, WHOSE_PLACE, app_over, document, moving_kb

ASKED = {
    "days": (HOW_MANY_DAYS, HOLIDAYS.split("\n\n")[1]),
    "allowance": ("¿De cuánto es la dieta de jornada completa?", ALLOWANCES.split("\n\n")[1]),
    "place": (WHOSE_PLACE, PARKING.split("\n\n")[1]),
    "far": ("¿Qué altura tiene la torre Eiffel?", None),
}
NEW_DAYS = HOLIDAYS.replace("23 días", "25 días")


@pytest.fixture
def app(tmp_path: Path, clean_env: Path) -> App:
    return app_over(tmp_path / "data")


@pytest.fixture
def kb_id(app: App) -> str:
    return moving_kb(app)


def saved_set(app: App, kb_id: str) -> QuestionSet:
    rows = [
        SetQuestion(KbQuestion(key, question, "answerable" if paragraph else "far", paragraph))
        for key, (question, paragraph) in ASKED.items()
    ]
    return app.question_sets.save(app.question_sets.empty_set(kb_id, "Preguntas").with_added(rows))


def moved_on(app: App, kb_id: str) -> None:
    """Change one document, move another and remove the third, each in a version of its own."""
    app.kb_changes.change(kb_id, new=[document("personas/vacaciones.md", NEW_DAYS)])
    app.kb_changes.change(kb_id, [Move("gastos/", "finanzas/")])
    app.kb_changes.change(kb_id, [Remove("edificio/")])


def states(app: App, questions: QuestionSet) -> dict[str, str]:
    return {key: now.state for key, now in app.question_sets.check(questions).passages.items()}


def test_a_saved_question_names_the_document_of_its_passage(app: App, kb_id: str) -> None:
    named = {each.question.question_id: each.question.document for each in saved_set(app, kb_id).questions}
    assert named == {
        "days": "personas/vacaciones.md",
        "allowance": "gastos/dietas.md",
        "place": "edificio/aparcamiento.md",
        "far": None,
    }


def test_a_set_of_before_there_were_documents_opens(app: App, kb_id: str) -> None:
    questions = saved_set(app, kb_id)
    path = app.settings.kb_dir / kb_id / "evaluation" / "sets" / f"{questions.set_id}.json"
    read = json.loads(path.read_text("utf-8"))
    for row in read["questions"]:
        del row["question"]["document"]
    path.write_text(json.dumps(read), "utf-8")
    [old] = app.question_sets.sets(kb_id)
    assert [each.question.asked for each in old.questions] == [each.question.asked for each in questions.questions]
    app.kb_changes.change(kb_id, [Move("gastos/", "finanzas/")])
    assert states(app, old) == {"days": "same", "allowance": "same", "place": "same"}


def test_a_check_says_which_passages_changed_moved_or_went(app: App, kb_id: str) -> None:
    questions = saved_set(app, kb_id)
    assert set(states(app, questions).values()) == {"same"}
    moved_on(app, kb_id)
    check = app.question_sets.check(questions)
    assert check.kb_changed
    assert check.lost == ("days", "place")
    assert states(app, questions) == {"days": "changed", "allowance": "moved", "place": "gone"}
    assert check.passages["days"].text == NEW_DAYS.split("\n\n")[1]


def test_new_paragraphs_are_taken_only_where_they_are_wanted(app: App, kb_id: str) -> None:
    questions = saved_set(app, kb_id)
    moved_on(app, kb_id)
    taken = app.question_sets.take_new(questions, ["days", "place"])
    by_id = {each.question.question_id: each.question for each in taken.questions}
    assert by_id["days"].paragraph == NEW_DAYS.split("\n\n")[1]
    assert by_id["place"].paragraph == ASKED["place"][1]
    assert len(taken.questions) == len(questions.questions)
    assert states(app, taken) == {"days": "same", "allowance": "same", "place": "gone"}


def test_a_run_names_its_version_and_shows_the_passages_of_that_version(app: App, kb_id: str) -> None:
    questions = saved_set(app, kb_id)
    run_id = app.kb_evaluation.evaluate(kb_id, questions.set_id)["run_id"]
    version = app.kbs.store.record(kb_id).version
    before = app.kb_evaluation.result(kb_id, run_id)
    found = [app.kb_evaluation.found(before, row) for row in before.rows]
    moved_on(app, kb_id)
    after = app_over(app.settings.kb_dir.parent)
    result = after.kb_evaluation.result(kb_id, run_id)
    facts = after.details.manifest(run_id).evaluation
    assert (result.version, facts["kb_version"], facts["kb_version_id"]) == (1, 1, version)
    assert [after.kb_evaluation.found(result, row) for row in result.rows] == found
    assert "23 días" in after.kb_evaluation.expected(result, result.rows[0])[0].chunk.text
    assert after.archive.documents(run_id, [found[0][0].chunk.chunk_id])
    assert after.archive.finished(run_id).dataset.sha256 == after.details.manifest(run_id).dataset_sha256


def test_runs_of_different_versions_are_compared_and_say_so(app: App, kb_id: str) -> None:
    questions = saved_set(app, kb_id)
    first = app.kb_evaluation.evaluate(kb_id, questions.set_id)["run_id"]
    moved_on(app, kb_id)
    second = app.kb_evaluation.evaluate(kb_id, questions.set_id)["run_id"]
    lines = {line.run_id: line for line in app.archive.runs()[0]}
    assert why_not_comparable(lines[first], lines[second]) is None
    compared = app.archive.compare([first, second])
    assert compared.versions == (1, 4)
    assert compared.changed_passages == ("days", "place")
    assert "different versions: 1, 4" in comparison_text(compared)
    hits = next(metric for metric in compared.runs[0].metrics if metric.metric == "hit@1")
    assert (hits.pairs, hits.total) == (1, 4)  # only one passage is there in both versions


def test_runs_of_one_version_say_nothing_of_versions(app: App, kb_id: str) -> None:
    questions = saved_set(app, kb_id)
    runs = [app.kb_evaluation.evaluate(kb_id, questions.set_id)["run_id"] for _ in range(2)]
    compared = app.archive.compare(runs)
    assert (compared.versions, compared.changed_passages) == ((), ())


def test_other_questions_are_not_compared_across_versions(app: App, kb_id: str) -> None:
    questions = saved_set(app, kb_id)
    first = app.kb_evaluation.evaluate(kb_id, questions.set_id)["run_id"]
    moved_on(app, kb_id)
    app.question_sets.save(
        questions.with_added([SetQuestion(KbQuestion("more", "¿Quién paga los taxis?", "answerable", None))])
    )
    second = app.kb_evaluation.evaluate(kb_id, questions.set_id)["run_id"]
    with pytest.raises(NotComparable, match="questions"):
        app.archive.compare([first, second])


def test_the_version_of_a_run_is_kept_however_many_follow(app: App, kb_id: str) -> None:
    app.kb_evaluation.evaluate(kb_id, saved_set(app, kb_id).set_id)
    for number in range(22):
        app.kb_changes.change(kb_id, new=[document("gastos/dietas.md", f"{ALLOWANCES}\n\nNota {number}.\n")])
    kept = {step.entry.number for step in app.kb_changes.history(kb_id) if step.kept}
    assert kept == {1, *range(4, 24)}
