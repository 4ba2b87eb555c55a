"""A promise is made from people's labels alone, kept on disk, and taken back when what it rests on changes."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.documents.kb_files import KbFile
from chatbot_mvp.errors import FileOfLaterVersion
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.results import ResultRow
from chatbot_mvp.evaluation.kb.sets import Origin, QuestionSet, SetQuestion
from chatbot_mvp.retrieval.pipeline import fingerprint
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.storage.jsonl import append_lines
from chatbot_mvp.types import Chunk
from chatbot_mvp.wings.promise.calibration import LabelledQuestion
from chatbot_mvp.wings.promise.labelled import groups_of, score_of
from chatbot_mvp.wings.promise.promise import Basis, Promise, make_promise, promise_text
from chatbot_mvp.wings.promise.service import Promises
from tests.conftest import Command
from tests.moving import document
from tests.raising import raises
from tests.wings.promise.labels import DAYS, DIET, TEXT, measured, promised, saved

BASIS = Basis("r", "s", "mías", "q", "k", "f", {})


def labelled(count: int, score: float, kind: str = "answerable", wrong: bool = False) -> list[LabelledQuestion]:
    asked = [KbQuestion(f"{n}", f"¿{kind} {score} {n}?", kind) for n in range(count)]
    return [LabelledQuestion(one, score, wrong, evidence=score) for one in asked]


def calibrated(*groups: list[LabelledQuestion], level: float = 0.05) -> Promise:
    return make_promise([one for group in groups for one in group], 0, level, BASIS)


def test_right_answers_above_wrong_ones_are_promised_and_the_refused_ones_are_counted() -> None:
    made = calibrated(
        labelled(100, 0.9), labelled(20, 0.2), labelled(90, 0.1, "far", True), labelled(30, 0.5, "near", True)
    )
    assert made.made and made.threshold is not None
    assert 1.5 < made.threshold <= 1.9
    assert made.wrong == 0 and made.bound <= 0.05
    assert 0 < made.refused < made.answerable < 120
    assert made.far.held and made.far.answered == 0
    assert made.basis.mix == {"answerable": 120, "far": 90, "near": 30}


def test_with_too_few_labels_there_is_no_promise_and_adding_the_missing_ones_makes_it() -> None:
    few = calibrated(labelled(40, 0.9), labelled(20, 0.1, "far", True))
    assert not few.made and few.missing is not None and few.far.missing == 59 - 20
    more = calibrated(labelled(40 + few.missing + 5, 0.9), labelled(59, 0.1, "far", True))
    assert more.made and more.far.held


def test_more_labels_are_not_asked_for_if_too_many_answers_are_wrong() -> None:
    made = calibrated(labelled(80, 0.9), labelled(40, 0.9, "near", True))
    assert not made.made and made.missing is None
    assert "more labels alone do not help" in promise_text(made)


def test_a_far_promise_is_refused_if_far_questions_are_answered() -> None:
    made = calibrated(labelled(400, 0.9), labelled(4, 0.9, "far", True), labelled(20, 0.1, "far", True))
    assert made.far.missing is None and not made.far.held


def test_scores_do_not_decide_which_questions_calibrate() -> None:
    one, other = calibrated(labelled(100, 0.9)), calibrated([replace(q, score=0.3) for q in labelled(100, 0.9)])
    assert one.answerable == other.answerable


ASKED = [KbQuestion(f"{n}", f"¿De cuánto es la dieta completa{' ' * n}?{n}", "answerable", DIET) for n in range(3)]


def made(app: App, kb_id: str, origin: Origin = "person") -> QuestionSet:
    questions = saved(app, kb_id, ASKED, origin)
    app.get(Promises).make(kb_id, measured(app, kb_id, questions).result_id, 0.05)
    return questions


def changed(app: App, kb_id: str) -> tuple[str, ...]:
    state = app.get(Promises).state(kb_id)
    assert state is not None
    return state.changed


def test_a_promise_is_read_again_as_it_was_made_and_goes_with_its_knowledge_base(app: App, kb_id: str) -> None:
    assert app.get(Promises).state(kb_id) is None
    state = promised(app, kb_id, ASKED)
    assert app.get(Promises).state(kb_id) == state
    assert state.changed == () and state.promise.answerable <= 3 and state.promise.wrong == 0
    assert state.promise.missing is not None and state.promise.missing > 50


@pytest.mark.parametrize("origin", ["rules", "model"])
def test_questions_that_rules_or_a_model_made_support_no_promise(app: App, kb_id: str, origin: Origin) -> None:
    with raises("no_labelled_questions", match="None of the 3 questions of 'mías'"):
        made(app, kb_id, origin)
    assert app.get(Promises).state(kb_id) is None


def test_a_changed_question_a_new_text_and_another_configuration_take_it_back_and_going_back_restores_it(
    app: App, kb_id: str
) -> None:
    questions = made(app, kb_id)
    assert changed(app, kb_id) == ()
    app.live.change("kb_top_k", app.settings.kb_top_k + 1)
    assert changed(app, kb_id) == ("configuration",)
    app.live.change("kb_top_k", app.settings.kb_top_k - 1)
    assert changed(app, kb_id) == ()
    app.kb_changes.change(kb_id, new=[document("normas.md", f"{TEXT}\nY nada más.\n")])
    assert changed(app, kb_id) == ("kb",)
    app.kb_changes.restore(kb_id, "1")
    assert changed(app, kb_id) == ()
    more = app.question_sets.save(questions.with_added([SetQuestion(KbQuestion("x", "¿Otra?", "far"))]))
    assert changed(app, kb_id) == ("questions",)
    app.question_sets.delete_set(kb_id, more.set_id)
    assert changed(app, kb_id) == ("questions",)


def test_an_answer_is_wrong_unless_it_quotes_the_labelled_paragraph(app: App, kb_id: str) -> None:
    asked = [KbQuestion(f"{n}", f"¿De cuánto es la dieta completa en {n}?", "answerable", DAYS) for n in range(8)]
    result = measured(app, kb_id, saved(app, kb_id, asked))
    assert all(one.wrong for one in app.get(Promises).judged(result, result.rows))
    fine = measured(app, kb_id, saved(app, kb_id, ASKED))
    assert not any(one.wrong for one in app.get(Promises).judged(fine, fine.rows))


PLAIN = KbQuestion("p", "¿Cuál es la dieta cada día?", "answerable", DIET)


def test_a_promise_counts_ticks_and_what_they_are_proven_by(app: App, kb_id: str) -> None:
    """As the chat gave them when the questions were asked: what is shown as nearest is no answer."""
    nearest = KbQuestion("n", "¿Qué se paga por cada noche de hotel en un viaje?", "answerable", DIET)
    result = measured(app, kb_id, saved(app, kb_id, [PLAIN, nearest]))
    one, other = app.get(Promises).judged(result, result.rows)
    said = result.rows[0].said
    assert said is not None and said.proof is not None and said.tick
    assert one.score == pytest.approx(min(1.0, said.proof - 1)) and one.score >= 0
    assert other.score < 0 and other.evidence == result.rows[1].evidence
    strict = replace(result, min_proof=1.5)  # the run asked for more: its proofs are over that
    assert score_of(result.rows[0], strict) == pytest.approx(min(1.0, said.proof * 1.5 - 1))
    by_model = replace(result.rows[0], said=replace(said, proof=None))
    assert score_of(by_model, result) == 1.0
    assert score_of(by_model, replace(result, min_proof=None)) == 0.0


def test_the_tick_asks_for_the_proof_of_the_setting_and_another_provider_takes_the_promise_back(
    app: App, kb_id: str
) -> None:
    made(app, kb_id)
    assert app.answering.ask(kb_id, PLAIN.question).outcome == "answered"
    app.live.change("kb_min_proof", 2.0)
    assert app.answering.ask(kb_id, PLAIN.question).outcome == "nearest"
    other = build_app(load_settings(data_dir=app.settings.data_dir, retrieval_strategy="LEXICAL", provider="ollama"))
    assert changed(other, kb_id) == ("configuration",)


def test_nothing_is_promised_below_the_proof_that_was_asked_for() -> None:
    right = labelled(100, 0.9)
    least = make_promise(right, 0, 0.05, BASIS, least=1.5).threshold
    loosest = make_promise(right, 0, 0.05, BASIS).threshold
    assert (least, loosest) == (1.5, 1.0)


def test_a_result_of_another_text_supports_no_promise(app: App, kb_id: str) -> None:
    run = app.kb_evaluation.evaluate(kb_id, saved(app, kb_id, ASKED).set_id)
    path = app.settings.results_dir / run["run_id"] / "manifest.json"
    path.write_text(path.read_text("utf-8").replace(app.kbs.store.record(kb_id).sha256, "0" * 64), "utf-8")
    with raises("result_of_other_text", match="Evaluate the questions again"):
        app.get(Promises).make(kb_id, run["run_id"], 0.05)


def test_a_damaged_promise_is_none_and_one_of_a_later_version_is_not_replaced(app: App, kb_id: str) -> None:
    made(app, kb_id)
    path = app.settings.kb_dir / kb_id / "evaluation" / "promise.json"
    whole = json.loads(path.read_text("utf-8"))
    incomplete = [json.dumps({key: value for key, value in whole.items() if key != name}) for name in whole]
    for content in ("{", '{"level": 0.05}', "[]", *incomplete):
        path.write_text(content, "utf-8")
        assert app.get(Promises).state(kb_id) is None
    path.write_text('{"format_version": 99}', "utf-8")
    with pytest.raises(FileOfLaterVersion):
        made(app, kb_id)
    assert path.read_text("utf-8") == '{"format_version": 99}'


@pytest.mark.parametrize(("low", "alarm"), [(0.0, True), (0.9, False)])
def test_live_questions_whose_scores_differ_raise_the_alarm_and_those_are_shown(
    app: App, kb_id: str, low: float, alarm: bool
) -> None:
    base = calibrated([replace(one, evidence=0.9 + n / 2_000) for n, one in enumerate(labelled(200, 0.9))])
    mark = fingerprint(app.settings)
    promise = replace(base, made_at="2026-01-01T00:00:00Z", basis=replace(BASIS, fingerprint=mark))
    line: dict[str, object] = {
        "kb_id": kb_id,
        "timestamp": "2026-02-01T00:00:00Z",
        "fingerprint": f"{mark}-0",
        "query_hash": "ab",
    }
    line |= {"format_version": 1, "outcome": "answered"}
    path = app.settings.metrics_log_path
    path.parent.mkdir(parents=True, exist_ok=True)
    alike = random.Random(1).sample(range(200), 30)
    early = {**line, "timestamp": "2026-01-15T00:00:00Z"}
    append_lines(path, [{**early, "evidence": 0.9 + n / 2_000} for n in alike])
    wrong = ({"kb_id": "other"}, {"fingerprint": "x"}, {"timestamp": "2025"}, {"evidence": None}, {"format_version": 2})
    for odd in wrong:
        append_lines(path, [{**line, "evidence": 0.5, **odd}])
    watch = app.get(Promises).watch(kb_id, promise)
    assert (watch.count, watch.unlike, watch.since, watch.alarm) == (30, 0, None, False)
    append_lines(path, [{**line, "evidence": low + n / 2_000} for n in random.Random(2).sample(range(200), 30)])
    watch = app.get(Promises).watch(kb_id, promise)
    assert (watch.count, watch.alarm, len(watch.sample)) == (60, alarm, 10)
    if alarm:
        assert watch.since is not None and abs(watch.unlike - 30) <= 3
        assert watch.distance > 0.9
        assert sum(one.evidence < 0.5 for one in watch.sample) >= 9
        append_lines(path, [{**line, "evidence": 0.9 + n / 2_000} for n in range(200)])
        assert app.get(Promises).watch(kb_id, promise).alarm  # it stays


def test_the_command_prints_one_object_and_refuses_an_impossible_share(command: Command, tmp_path: Path) -> None:
    kb, asked = tmp_path / "normas.md", tmp_path / "q.jsonl"
    kb.write_text(TEXT, "utf-8")
    question = KbQuestion("a", "¿De cuánto es la dieta completa?", "answerable", DIET)
    asked.write_text(question.as_line() + "\n", "utf-8")
    status, out, _ = command("kb", "promise", str(kb), str(asked), "--json")
    printed = json.loads(out)
    assert status == 4 and printed["promised"] is False and printed["level"] == 0.05
    assert printed["far"]["missing"] == 59 and "scores" not in printed
    status, out, _ = command("kb", "promise", str(kb), str(asked), "--at-most", "10%")
    assert status == 4 and "no promise of 0.1 yet" in out
    for wrong in ("0", "5", "x%", "nan", "100%"):
        status, _, err = command("kb", "promise", str(kb), str(asked), "--at-most", wrong)
        assert status == 2 and "is not a share" in err


def about(documents: int, each: int, wrong: int = 0) -> list[LabelledQuestion]:
    """Questions about documents; the first ``wrong`` documents have one wrong answer."""
    return [
        replace(one, group=f"doc {d}", wrong=d < wrong and n == 0, question=replace(one.question, question=f"{d} {n}"))
        for d in range(documents)
        for n, one in enumerate(labelled(each, 0.9))
    ]


def test_several_questions_about_a_document_are_one_draw_unless_every_question_is_meant_to_be_one() -> None:
    few = calibrated(about(20, 10))
    assert (few.unit, few.made, few.documents) == ("document", False, 16)
    assert few.missing is not None and 40 < few.missing < 60 and 0.16 < few.least < 0.18
    assert "about 54 documents with labelled questions" in promise_text(few)
    singly = make_promise(about(20, 10), 0, 0.05, BASIS, "question")
    assert (singly.unit, singly.made, singly.documents) == ("question", True, 0)
    assert calibrated(about(20, 10), level=0.2).made
    assert calibrated(about(100, 1)).unit == calibrated(labelled(100, 0.9)).unit == "question"


def test_enough_documents_make_the_promise_that_the_missing_ones_were_missing_for() -> None:
    few = calibrated(about(20, 3))
    assert few.missing is not None
    made = calibrated(about(20 + few.missing + 3, 3))
    assert made.made and made.bound <= 0.05
    assert "on average over documents" in promise_text(made)
    assert calibrated(about(30, 2, wrong=30)).missing is None


def test_questions_belong_to_the_file_or_the_top_section_of_their_passage(app: App, kb_id: str) -> None:
    asked = [
        KbQuestion("a", "¿De cuánto es la dieta completa?", "answerable", DIET),
        KbQuestion("b", "¿Cuántos días de vacaciones hay?", "answerable", DAYS),
        KbQuestion("c", "¿Quién paga la dieta completa?", "near"),
    ]
    result = measured(app, kb_id, saved(app, kb_id, asked))
    groups = {one.question.question_id: one.group for one in app.get(Promises).judged(result, result.rows)}
    assert groups == {"a": "Dietas", "b": "Vacaciones", "c": "Dietas"}
    assert app.get(Promises).make(kb_id, result.result_id, 0.05).promise.unit == "document"


def test_with_several_files_the_file_is_the_unit() -> None:
    files = [KbFile(name, start, start + 90, 90, False, "utf-8", "", (), ()) for name, start in (("a", 10), ("b", 110))]
    chunks = [Chunk("c", "d", "Una > Otra", "x", 0, 200)]
    at = [ResultRow(KbQuestion(str(n), "¿?"), 0.5, (), ((n, n + 1),), None, 0.0) for n in (12, 99, 115)]
    lost = ResultRow(KbQuestion("z", "¿?"), 0.5, (), (), None, 0.0)
    assert groups_of([*at, lost], files, chunks) == ["0", "0", "1", "alone z"]
    assert groups_of([*at, lost], files[:1], chunks) == ["Una", "Una", "Una", "alone z"]
