"""Two versions are asked as the chat is: known changes have known effects, and what was asked is kept."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.conversations import ConversationStore, new_session
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from chatbot_mvp.knowledge_base.changes import Remove
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress
from chatbot_mvp.wings.effects.comparing import EffectsReport
from chatbot_mvp.wings.effects.service import Effects
from chatbot_mvp.wings.effects.store import EffectsFolder
from tests.fakes import FailingChatModel, FakeChatModel, fake_app
from tests.raising import raises
from tests.waiting import wait_until
from tests.wings.effects.kb import (
    CLOTHES,
    DIET,
    KINDS,
    QUESTIONS,
    TOWNS,
    new,
    questions_of_towns,
    towns,
    without,
    written,
)


def compared(app: App, kb_id: str, asked: Path, **versions: str) -> EffectsReport:
    effects = app.get(Effects)
    effects_id = effects.create(effects.plan(kb_id, asked, **versions))
    effects.resume_now(kb_id, effects_id)
    return effects.report(kb_id, effects_id)


def answers_file(app: App, report: EffectsReport) -> Path:
    folder = app.settings.kb_dir / report.plan.kb_id / "evaluation" / "effects"
    return folder / report.plan.effects_id / "answers.jsonl"


def test_a_known_change_has_known_effects(app: App, kb_id: str, asked: Path) -> None:
    found = {one.question.question_id: one for one in compared(app, kb_id, asked).effects}
    assert {name: one.kind for name, one in found.items()} == KINDS
    assert [name for name, one in found.items() if one.gone] == ["diet", "clothes"]
    rights = {name: (one.before.right, one.after.right) for name, one in found.items()}
    assert rights == {
        "days": (True, True),
        "diet": (True, None),
        "clothes": (True, None),
        "bikes": (None, True),
        "far": (True, True),
    }
    diet, moved = found["diet"], found["days"]
    assert ("48 euros" in diet.before.text, "53 euros" in diet.after.text) == (True, True)
    assert diet.before.passages[0].cited == (DIET,)
    assert [one.path for side in (moved.before, moved.after) for one in side.passages] == [
        "vacaciones.md",
        "rrhh/vacaciones.md",
    ]


def test_the_draft_is_asked_and_the_current_version_goes_on_answering(app: App, kb_id: str, asked: Path) -> None:
    compared(app, kb_id, asked)
    assert CLOTHES in app.answering.ask(kb_id, QUESTIONS[2].question).text
    assert app.kb_changes.staged(kb_id) is not None


def test_asking_both_versions_leaves_no_question_in_the_log_of_the_chat(app: App, kb_id: str, asked: Path) -> None:
    compared(app, kb_id, asked)
    assert not app.settings.metrics_log_path.exists()


def test_versions_of_the_history_are_compared_in_both_directions(app: App, kb_id: str, asked: Path) -> None:
    app.kb_changes.publish(kb_id)
    there = compared(app, kb_id, asked, before="1", after="")
    back = compared(app, kb_id, asked, before="2", after="1")
    assert (there.plan.before_number, there.plan.after_number) == (1, 2)
    assert (there.counts["lost"], there.counts["new"]) == (back.counts["new"], back.counts["lost"]) == (1, 1)


def test_nothing_is_asked_twice_under_the_same_settings(app: App, kb_id: str, asked: Path) -> None:
    effects = app.get(Effects)
    first = compared(app, kb_id, asked)
    assert effects.estimate(effects.plan(kb_id, asked)).answers == 0
    second = compared(app, kb_id, asked)
    assert second.plan.effects_id != first.plan.effects_id
    assert second.effects == first.effects  # the seconds too, which no second answer would repeat
    app.live.change("kb_min_evidence", 0.99)
    assert compared(app, kb_id, asked).effects != first.effects  # asked again under others: other seconds at least


def test_a_stopped_comparison_continues_with_what_is_missing(app: App, kb_id: str, asked: Path) -> None:
    effects = app.get(Effects)
    plan = effects.plan(kb_id, asked)
    effects_id = effects.create(plan)

    def stop_at_third(progress: Progress) -> None:
        if (progress.phase, progress.done) == ("effects_before", 3):
            raise RunStopped(run_id="x")

    with raises("effects_stopped"):
        effects.resume_now(kb_id, effects_id, stop_at_third)
    [state] = effects.comparisons(kb_id)
    assert (state.done, state.total, state.finished) == (3, 10, False)
    with raises("effects_not_finished", match="3 of 10"):
        effects.report(kb_id, effects_id)
    before = EffectsFolder(app.settings.kb_dir, kb_id, effects_id).answers(plan)["before"]
    again = effects.create(effects.plan(kb_id, asked))
    assert again == effects_id, "the same comparison is continued, not begun anew"
    effects.resume_now(kb_id, effects_id)
    report = effects.report(kb_id, effects_id)
    kept = {one.question.question_id: one.before for one in report.effects}
    assert {name: kept[name] for name in before} == before
    lines = answers_file(app, report).read_text("utf-8").splitlines()
    assert len(lines) == 10


def test_a_torn_line_is_a_missing_answer(app: App, kb_id: str, asked: Path) -> None:
    effects = app.get(Effects)
    report = compared(app, kb_id, asked)
    path = answers_file(app, report)
    path.write_bytes(path.read_bytes()[:-40])
    [state] = effects.comparisons(kb_id)
    assert state.done == 9
    effects.resume_now(kb_id, report.plan.effects_id)
    assert effects.report(kb_id, report.plan.effects_id).counts == report.counts


def test_a_job_in_the_background_ends_with_a_report(app: App, kb_id: str, asked: Path) -> None:
    effects = app.get(Effects)
    effects_id = effects.start(effects.plan(kb_id, asked))
    wait_until(lambda: effects.comparisons(kb_id)[0].finished, 60, "the end of the job")
    assert effects.report(kb_id, effects_id).counts["lost"] == 1


def test_a_change_of_settings_ends_it_and_the_next_attempt_asks_anew(app: App, kb_id: str, asked: Path) -> None:
    effects = app.get(Effects)
    effects_id = effects.create(effects.plan(kb_id, asked))

    def change(progress: Progress) -> None:
        if progress.phase == "effects_after" and app.settings.kb_min_evidence != 0.01:
            app.live.change("kb_min_evidence", 0.01)

    with raises("effects_stopped_early"):
        effects.resume_now(kb_id, effects_id, change)
    effects.resume_now(kb_id, effects_id)
    sides = [side for one in effects.report(kb_id, effects_id).effects for side in (one.before, one.after)]
    assert len({side.fingerprint for side in sides}) == 1


def test_one_comparison_is_worked_on_by_one_process(app: App, kb_id: str, asked: Path) -> None:
    effects = app.get(Effects)
    effects_id = effects.create(effects.plan(kb_id, asked))
    with EffectsFolder(app.settings.kb_dir, kb_id, effects_id).held(), raises("run_busy"):
        effects.resume_now(kb_id, effects_id)


def test_the_draft_that_was_asked_is_published_and_no_other(app: App, kb_id: str, asked: Path) -> None:
    effects = app.get(Effects)
    old = compared(app, kb_id, asked).plan
    app.kb_changes.change(kb_id, [Remove("garaje.md")], stage=True)
    with raises("effects_draft_changed", match="it is not the version that was asked"):
        effects.publish(old)
    plan = compared(app, kb_id, asked).plan
    assert effects.publish(plan).number == 2
    with raises("effects_draft_changed", match="there is none any more"):
        effects.publish(plan)


def test_a_draft_is_not_published_over_a_version_that_it_was_not_compared_with(
    app: App, kb_id: str, asked: Path
) -> None:
    plan = compared(app, kb_id, asked).plan
    app.kb_changes.change(kb_id, new=[new("nuevo.md", "# Nuevo\n\nUn documento nuevo.\n")])
    with raises("effects_draft_changed"):
        app.get(Effects).publish(plan)


def test_what_cannot_be_compared_is_told(app: App, kb_id: str, asked: Path) -> None:
    effects = app.get(Effects)
    with raises("effects_no_questions"):
        effects.plan(kb_id)
    with raises("effects_no_chat"):
        effects.plan(kb_id, last=5)
    with raises("effects_same_version", match="version 1"):
        effects.plan(kb_id, asked, after="1")
    with raises("kb_version_not_found"):
        effects.plan(kb_id, asked, after="7")
    with raises("question_set_not_found"):
        effects.plan(kb_id, "20990101T000000")
    with raises("effects_not_found"):
        effects.report(kb_id, "../../x")
    app.kb_changes.drop(kb_id)
    with raises("kb_nothing_staged"):
        effects.plan(kb_id, asked)


def test_the_newest_question_set_is_asked_and_its_kept_questions_alone(app: App, kb_id: str) -> None:
    empty = app.question_sets.empty_set(kb_id, "mías")
    rows = tuple(SetQuestion(one, keep=one.question_id != "far") for one in QUESTIONS)
    made = app.question_sets.save(replace(empty, questions=rows))
    app.question_sets.empty_set(kb_id, "vacía")
    plan = app.get(Effects).plan(kb_id)
    assert (plan.source, plan.source_name, len(plan.questions)) == ("set", "mías", 4)
    assert app.get(Effects).plan(kb_id, made.set_id).questions == plan.questions


def test_the_last_questions_of_the_chat_are_asked(app: App, kb_id: str) -> None:
    session = new_session()
    store = ConversationStore(app.settings.conversations_dir)
    conversation = store.start(session, kb_id, "normas")
    for row, question in enumerate((QUESTIONS[0].question, QUESTIONS[2].question, QUESTIONS[0].question.upper())):
        entry = {
            "type": "question",
            "turn": str(row),
            "question": question,
            "mode": "strict",
            "at": f"2026-11-0{row + 1}",
        }
        store.append(session, conversation, entry)
    over_two = store.start(session, kb_id, "normas", {"another": "otras"})
    store.append(session, over_two, {**entry, "question": "¿Qué dicen las dos?"})
    plan = app.get(Effects).plan(kb_id)
    assert plan.source == "chat"
    assert [one.question for one in plan.questions] == [QUESTIONS[0].question.upper(), QUESTIONS[2].question]
    assert [one.question for one in app.get(Effects).plan(kb_id, last=1).questions] == [QUESTIONS[0].question.upper()]
    effects = app.get(Effects)
    with raises("effects_no_chat"):
        effects.plan(kb_id, last=9, session=new_session())
    effects.create(effects.plan(kb_id, last=9, session=session))
    assert len(effects.comparisons(kb_id, session)) == len(effects.comparisons(kb_id)) == 1
    assert effects.comparisons(kb_id, new_session()) == []


def test_questions_are_read_from_the_log_where_it_has_them(app: App, kb_id: str) -> None:
    app.answering._log_queries = True
    app.answering.ask(kb_id, QUESTIONS[1].question)
    [one] = app.get(Effects).plan(kb_id, last=9).questions
    assert one.question == QUESTIONS[1].question


def test_a_purge_deletes_the_comparisons_at_once(app: App, kb_id: str, asked: Path) -> None:
    report = compared(app, kb_id, asked)
    app.kb_changes.purge(kb_id, ["uniformes.md"])
    assert not answers_file(app, report).parent.exists()
    assert app.get(Effects).comparisons(kb_id) == []


def test_a_file_of_a_later_version_is_left_out_and_stays(app: App, kb_id: str, asked: Path) -> None:
    report = compared(app, kb_id, asked)
    path = answers_file(app, report).with_name("plan.json")
    content = json.dumps({**json.loads(path.read_text("utf-8")), "format_version": 99})
    path.write_text(content, "utf-8")
    assert app.get(Effects).comparisons(kb_id) == []
    with raises("file_of_later_version"):
        app.get(Effects).report(kb_id, report.plan.effects_id)
    assert path.read_text("utf-8") == content


def test_the_newest_twenty_comparisons_stay(app: App, kb_id: str, asked: Path) -> None:
    report = compared(app, kb_id, asked)
    folder = answers_file(app, report).parent
    for row in range(24):
        shutil.copytree(folder, folder.with_name(f"2020010{row // 10}T{row:06}"))
    compared(app, kb_id, asked)
    assert len(list(folder.parent.iterdir())) == 20
    assert folder.is_dir()


@pytest.mark.parametrize(("count", "verdict"), [(0, "not_worse"), (1, "unclear"), (6, "worse")])
def test_documents_that_go_take_their_answers_with_them(app: App, tmp_path: Path, count: int, verdict: str) -> None:
    kb_id = towns(app)
    without(app, kb_id, count)
    report = compared(app, kb_id, written(tmp_path / "q.jsonl", questions_of_towns()))
    assert [one.question.question_id for one in report.effects if one.gone] == list(TOWNS[:count])
    right = report.tested[0]
    assert (right.metric, right.test.pairs, right.before, right.after) == ("right", 12 - count, 1.0, 1.0)
    assert (report.counts["lost"], report.counts["same"]) == (count, 12 - count)
    assert report.verdict == verdict


def test_a_provider_that_fails_ends_it_and_no_answer_of_the_fallback_is_compared(
    settings: Settings, tmp_path: Path
) -> None:
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), chat_model=FailingChatModel)
    kb_id = towns(app)
    without(app, kb_id, 1)
    effects = app.get(Effects)
    effects_id = effects.create(effects.plan(kb_id, written(tmp_path / "q.jsonl", questions_of_towns())))
    with raises("effects_stopped_early", match="is away"):
        effects.resume_now(kb_id, effects_id)
    [state] = effects.comparisons(kb_id)
    assert (state.done, state.total) == (0, 24)


def test_a_model_that_says_the_same_of_the_same_passages_changes_nothing(settings: Settings, tmp_path: Path) -> None:
    model = FakeChatModel(lambda request: f"{request.grounding.passages[0].text.splitlines()[-1]} [1]")
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), chat_model=lambda: model)
    kb_id = towns(app)
    without(app, kb_id, 3)
    asked = questions_of_towns()[3:]
    report = compared(app, kb_id, written(tmp_path / "q.jsonl", asked))
    assert report.counts["same"] == 9
    assert all(one.after.right for one in report.effects)
    before = len(model.requests)
    compared(app, kb_id, written(tmp_path / "q.jsonl", asked))
    assert (before > 0, len(model.requests)) == (True, before), "nothing is asked twice"
