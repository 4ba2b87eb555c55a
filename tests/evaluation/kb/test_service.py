"""Sets and runs of a knowledge base: kept, checked against its text, asked in the background, taken over."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.errors import InvalidSetting, KbNotFound, KbResultNotFound, QuestionSetNotFound
from chatbot_mvp.evaluation.kb.jobs import EvaluationJob
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions
from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetQuestion
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.settings.saved import read_choices, save_provider
from tests.conftest import Command
from tests.raising import raises
from tests.waiting import wait_until

KB = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"
LATER = KB.replace("48 euros", "52 euros")
QUESTIONS = (
    SetQuestion(KbQuestion("a", "¿De cuánto es la dieta completa?", "answerable", "La dieta completa es de 48 euros.")),
    SetQuestion(KbQuestion("b", "¿De cuántos días dispone cada persona?", "answerable")),
    SetQuestion(KbQuestion("c", "¿Qué altura tiene la torre Eiffel?", "far")),
    SetQuestion(KbQuestion("d", "¿Quién inventó la dieta?", "near"), keep=False),
)


def added(app: App, text: str = KB) -> str:
    return app.kbs.add("normas.md", text.encode()).kb_id


def saved(app: App, kb_id: str) -> QuestionSet:
    empty = app.question_sets.empty_set(kb_id, "mías")
    return app.question_sets.save(replace(empty, questions=QUESTIONS))


def ended(app: App, kb_id: str) -> EvaluationJob:
    wait_until(lambda: not app.kb_evaluation.jobs(kb_id)[0].status.active, 60, "the end of the job")
    return app.kb_evaluation.jobs(kb_id)[0]


def test_a_set_is_kept_and_knows_which_passages_are_there(app: App) -> None:
    kb_id = added(app)
    made = saved(app, kb_id)
    again = build_app(app.settings).question_sets.question_set(kb_id, made.set_id)
    assert again == made
    assert again.counts() == {"answerable": 2, "near": 0, "far": 1, "unknown": 0}
    check = app.question_sets.check(again)
    assert (check.kb_changed, check.lost) == (False, ())


def test_a_set_taken_to_a_new_version_says_what_changed_until_it_is_reviewed(app: App) -> None:
    old, new = added(app), added(app, LATER)
    copied = app.question_sets.copy_set(old, saved(app, old).set_id, new)
    check = app.question_sets.check(copied)
    assert (check.kb_changed, check.lost) == (True, ("a",))
    reviewed = app.question_sets.save(replace(copied, kb_sha256=app.kbs.store.record(new).sha256))
    assert not app.question_sets.check(reviewed).kb_changed
    assert [one.set_id for one in app.question_sets.sets(new)] == [copied.set_id]
    app.kbs.delete(new)
    assert app.question_sets.sets(new) == []


def test_export_and_import_are_the_file_that_kb_evaluate_reads(app: App, tmp_path: Path) -> None:
    kb_id = added(app)
    text = app.question_sets.export(saved(app, kb_id))
    assert [json.loads(line)["id"] for line in text.splitlines()] == ["a", "b", "c"]
    path = tmp_path / "mías.jsonl"
    path.write_text(text, "utf-8")
    assert [one.asked for one in load_questions(path)] == [each.question for each in QUESTIONS[:3]]
    imported = app.question_sets.import_set(kb_id, "mías.jsonl", text.encode())
    assert imported.name == "mías"
    assert [one.asked for one in imported.kept] == [each.question for each in QUESTIONS[:3]]
    with raises("dataset_file_unreadable", match="line 1"):
        app.question_sets.import_set(kb_id, "rota.jsonl", b"{")


def test_ids_are_made_and_never_shared(app: App) -> None:
    kb_id = added(app)
    twice = (*QUESTIONS[:1], *QUESTIONS[:1], SetQuestion(KbQuestion("", "¿Otra?")))
    made = app.question_sets.save(replace(app.question_sets.empty_set(kb_id, "x"), questions=twice))
    ids = [each.question.question_id for each in made.questions]
    assert len(set(ids)) == 3
    assert all(ids)


def test_questions_of_the_chat_join_a_set_once(app: App) -> None:
    kb_id = added(app)
    path = app.chat.questions_path(kb_id)
    path.write_text('{"id": "fb-1", "question": "¿Y los  viernes?"}\n', "utf-8")
    made = app.question_sets.empty_set(kb_id, "x").with_added(app.question_sets.chat_questions(kb_id))
    assert [(each.question.question_id, each.origin) for each in made.questions] == [("fb-1", "chat")]
    assert made.with_added(app.question_sets.chat_questions(kb_id)) == made


def test_a_run_is_recorded_with_what_was_found_and_survives_a_restart(app: App) -> None:
    kb_id = added(app)
    made = saved(app, kb_id)
    app.kb_evaluation.start(kb_id, made.set_id)
    job = ended(app, kb_id)
    assert (job.kind, job.status.state, job.made) == ("run", "done", job.status.job_id)
    again = build_app(app.settings)
    result = again.kb_evaluation.result(kb_id, job.made)
    assert result == app.kb_evaluation.result(kb_id, job.made)
    assert [one.result_id for one in again.kb_evaluation.results(kb_id)] == [job.made]
    assert (result.set_id, result.strategy, result.min_evidence) == (made.set_id, "LEXICAL", 0.5)
    assert (len(result.rows), again.archive.run(job.made).queries) == (3, 3)
    assert result.summary == {"hit@1": 1.0, "hit@3": 1.0, "mrr": 1.0, "solved": 1.0}
    first = result.rows[0]
    assert (first.rank, first.outcome, first.accepted(0.5), first.accepted(1.01)) == (1, "right", True, False)
    [expected] = again.kb_evaluation.expected(result, first)
    assert KB[slice(*expected.highlights[0])] == "La dieta completa es de 48 euros."
    found = again.kb_evaluation.found(result, first)
    assert [KB[start:end] for start, end in found[0].highlights] == ["La dieta completa es de 48 euros."]
    with pytest.raises(KbResultNotFound):
        app.kb_evaluation.result(added(app, LATER), job.made)


def test_proposals_are_made_in_the_background(app: App) -> None:
    kb_id = app.kbs.add_sample().kb_id
    app.kb_evaluation.propose(kb_id, "propuestas", 24)
    job = ended(app, kb_id)
    assert (job.kind, job.status.state) == ("propose", "done")
    made = app.question_sets.question_set(kb_id, job.made)
    assert (made.name, made.counts()) == ("propuestas", {"answerable": 12, "near": 6, "far": 6, "unknown": 0})
    assert app.question_sets.check(made).lost == ()


def test_a_question_that_somebody_rewords_is_no_longer_an_automatic_one(app: App) -> None:
    kb_id = app.kbs.add_sample().kb_id
    made = app.kb_evaluation.propose_now(kb_id, 8)
    assert made.automatic == 4
    first, second, *rest = made.questions
    reworded = first.changed_to(replace(first.question, question="¿Y esto cómo va?"), True)
    kept = second.changed_to(replace(second.question, heading="Otro"), True)
    made = app.question_sets.save(replace(made, questions=(reworded, kept, *rest)))
    assert (reworded.origin, kept.origin, made.automatic) == ("person", "rules", 3)
    app.kb_evaluation.start(kb_id, made.set_id)
    assert app.kb_evaluation.result(kb_id, ended(app, kb_id).made).automatic == 3


def test_a_text_without_anything_to_ask_about_is_told(app: App) -> None:
    kb_id = app.kbs.add("nada.txt", b"uno dos tres").kb_id
    app.kb_evaluation.propose(kb_id, "x", 12)
    assert ended(app, kb_id).status.error_code == "nothing_proposed"
    assert app.question_sets.sets(kb_id) == []


def test_one_thing_at_a_time_and_a_stop(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    kb_id = added(app)
    made = saved(app, kb_id)
    many = tuple(SetQuestion(KbQuestion(str(n), f"¿Qué dieta hay el día {n}?", "near")) for n in range(5_000))
    long = app.question_sets.save(replace(made, questions=many))
    job_id = app.kb_evaluation.start(kb_id, long.set_id)
    with raises("run_busy"):
        app.kb_evaluation.start(kb_id, made.set_id)
    app.kb_evaluation.stop(job_id)
    assert ended(app, kb_id).status.state == "stopped"
    assert app.kb_evaluation.results(kb_id) == []
    [begun] = app.archive.unfinished()
    assert (begun.run_id, begun.queries) == (job_id, 5_000)


@pytest.mark.slow
def test_of_two_starts_at_once_one_is_queued_and_the_other_is_told(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    kb_id = added(app)
    made = saved(app, kb_id)
    go_on = threading.Event()
    monkeypatch.setattr(app.runs, "execute", lambda *_: go_on.wait(30))
    desk = app.kb_evaluation
    look = desk.jobs

    def slow_look(of: str) -> list[EvaluationJob]:
        found = look(of)
        time.sleep(0.2)
        return found

    monkeypatch.setattr(desk, "jobs", slow_look)
    with ThreadPoolExecutor(2) as pool:
        tries = [pool.submit(desk.start, kb_id, made.set_id) for _ in range(2)]
        failures = [error for each in tries if (error := each.exception()) is not None]
    assert [getattr(error, "code", "") for error in failures] == ["run_busy"]
    assert len(look(kb_id)) == 1
    go_on.set()
    ended(app, kb_id)


def test_what_is_not_there_is_told(app: App) -> None:
    kb_id = added(app)
    empty = app.question_sets.empty_set(kb_id, "vacío")
    with raises("no_questions_kept"):
        app.kb_evaluation.start(kb_id, empty.set_id)
    for wrong in ("nada", "../../x", ""):
        with pytest.raises(QuestionSetNotFound):
            app.question_sets.question_set(kb_id, wrong)
        with pytest.raises(KbResultNotFound):
            app.kb_evaluation.result(kb_id, wrong)
    with pytest.raises(KbNotFound):
        app.question_sets.empty_set("otra-00000000", "x")
    app.question_sets.delete_set(kb_id, empty.set_id)
    assert app.question_sets.sets(kb_id) == []


def test_a_damaged_file_hides_no_other(app: App) -> None:
    kb_id = added(app)
    made = saved(app, kb_id)
    folder = app.settings.kb_dir / kb_id / "evaluation" / "sets"
    (folder / "20990101T000000000000-aaaa.json").write_text("{", "utf-8")
    assert [one.set_id for one in app.question_sets.sets(kb_id)] == [made.set_id]


def test_a_chosen_threshold_decides_the_next_answer_and_outlives_the_process(app: App) -> None:
    kb_id = added(app)
    question = "¿De cuánto es la dieta completa?"
    assert not app.answering.ask(kb_id, question, UserContext("strict", "es")).abstained
    save_provider(app.settings.app_settings_path, "demo")
    app.live.change("kb_min_evidence", 1.0)
    app.live.change("kb_doubt_evidence", 1.0)
    assert read_choices(app.settings.app_settings_path).provider == "demo", "the other choice in the file stays"
    evidence = app.answering.ask(kb_id, question, UserContext("strict", "es")).decision
    assert (evidence.min_evidence, evidence.enough) == (1.0, evidence.evidence >= 1.0)
    again = build_app(load_settings(data_dir=app.settings.data_dir, provider="demo"))
    assert again.settings.kb_min_evidence == again.answering.defaults(kb_id).kb_min_evidence == 1.0
    with pytest.raises(InvalidSetting):
        app.live.change("kb_min_evidence", 1.5)


def test_a_threshold_from_outside_wins_and_cannot_be_chosen(settings: Settings) -> None:
    chosen = build_app(load_settings(data_dir=settings.data_dir))
    chosen.live.change("kb_min_evidence", 0.3)
    fixed = build_app(load_settings(data_dir=settings.data_dir, kb_min_evidence=0.7))
    assert not fixed.live.changeable("kb_min_evidence")
    assert fixed.settings.kb_min_evidence == 0.7
    with pytest.raises(InvalidSetting):
        fixed.live.change("kb_min_evidence", 0.4)
    illegal = {"format_version": 1, "settings": {"kb_min_evidence": "mucho"}}
    chosen.settings.app_settings_path.write_text(json.dumps(illegal), "utf-8")
    assert build_app(load_settings(data_dir=settings.data_dir)).settings.kb_min_evidence == 0.5


def test_the_command_proposes_a_file_that_kb_evaluate_takes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    document, out = tmp_path / "normas.md", tmp_path / "q.jsonl"
    document.write_text(KB, "utf-8")
    code, said, _ = command("kb", "questions", str(document), "--count", "8", "--out", str(out), "--json")
    assert code == 0
    told = json.loads(said)
    assert told["by"] == "rules"
    assert sum(told["questions"].values()) == len(load_questions(out))
    code, said, _ = command("kb", "evaluate", str(document), str(out), "--json")
    assert (code, json.loads(said)["questions"]) == (0, told["questions"])
    code, said, _ = command("kb", "questions", "nada-00000000", "--out", str(out))
    assert code == 2
