"""Verdicts on the chat's answers become labelled questions, whatever happens between the two files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import FileOfLaterVersion, QuestionSetChanged
from chatbot_mvp.evaluation.kb.sets import QuestionSet
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.storage.jsonl import append_lines
from chatbot_mvp.wings.review.service import Reviews
from chatbot_mvp.wings.review.verdicts import ReviewItem, for_two, item_id_of
from tests.raising import raises

TEXT = (
    "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n\n"
    "La media dieta se paga sin pernocta.\n"
)
DIET, DAYS, TOWER = (
    "¿De cuánto es la dieta completa?",
    "¿De cuántos días dispone cada persona?",
    "¿Qué altura tiene la torre Eiffel?",
)
ANA, BEN, EVA = "Ana", "Ben", "Eva"


@pytest.fixture
def app(settings: Settings) -> App:
    return build_app(
        load_settings(
            data_dir=settings.data_dir, retrieval_strategy="LEXICAL", provider="demo", kb_review_twice_share=1.0
        )
    )


@pytest.fixture
def kb_id(app: App) -> str:
    return app.kbs.add("normas.md", TEXT.encode()).kb_id


def ask(app: App, kb_id: str, *questions: str, good: bool | None = None) -> str:
    """Ask in a session of its own, and rate every answer; return the session's name."""
    session = app.chat.new_session()
    conversation = app.chat.start(session, kb_id, "normas.md")
    for question in questions:
        turn = app.chat.begin(session, conversation, question, UserContext())
        assert turn.join(20)
        if good is not None:
            app.chat.rate(session, conversation, turn.turn_id, good, "falta algo")
    return session


def item(app: App, kb_id: str, question: str, reviewer: str = "nobody yet") -> ReviewItem:
    return next(one for one in app.get(Reviews).waiting(kb_id, reviewer) if one.question == question)


def labels(app: App, kb_id: str) -> QuestionSet:
    return app.question_sets.question_set(kb_id, app.get(Reviews).summary(kb_id).set_id)


def rows(app: App, kb_id: str) -> dict[str, tuple[str | None, str | None]]:
    return {one.question.question: (one.question.kind, one.question.paragraph) for one in labels(app, kb_id).questions}


def test_thumbs_down_come_first_then_refusals_and_doubts_and_equal_questions_are_one_item(app: App, kb_id: str) -> None:
    ask(app, kb_id, DIET, DAYS, TOWER)
    ask(app, kb_id, DIET.upper(), good=False)
    waiting = app.get(Reviews).waiting(kb_id, ANA)
    assert [one.bad for one in waiting] == [True, False, False]
    assert (waiting[0].times, waiting[0].note) == (2, "falta algo")
    assert {waiting[1].outcome, waiting[2].outcome} <= {"refused", "nearest", "answered"}
    assert waiting[1].question == TOWER and waiting[1].outcome != "answered"
    assert sorted(app.get(Reviews).waiting(kb_id, ANA, "random"), key=str) == sorted(waiting, key=str)


def test_only_the_named_session_is_read_and_no_other_knowledge_base(app: App, kb_id: str) -> None:
    other = app.kbs.add("otras.md", TEXT.replace("48", "52").encode()).kb_id
    mine = ask(app, kb_id, DIET)
    ask(app, kb_id, DAYS)
    ask(app, other, DAYS)
    both = app.chat.start(mine, kb_id, "normas.md", {other: "otras.md"})
    assert app.chat.begin(mine, both, TOWER, UserContext()).join(20)
    assert [one.question for one in app.get(Reviews).waiting(kb_id, ANA, session=mine)] == [DIET]
    assert len(app.get(Reviews).waiting(kb_id, ANA)) == 2
    assert (
        app.get(Reviews).waiting(kb_id, ANA, session="../x") == app.get(Reviews).waiting(kb_id, ANA, session="") == []
    )


def test_only_the_newest_answers_are_read(app: App, kb_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(app, kb_id, DAYS, TOWER)
    ask(app, kb_id, DIET)
    monkeypatch.setattr("chatbot_mvp.wings.review.live_answers._MOST_ANSWERS", 2)
    assert {one.question for one in app.get(Reviews).waiting(kb_id, ANA)} == {DIET, TOWER}


def test_each_verdict_becomes_the_label_that_it_means(app: App, kb_id: str) -> None:
    ask(app, kb_id, DIET, DAYS, TOWER)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "right", ANA)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DAYS), "should_refuse", ANA)
    refused = item(app, kb_id, TOWER)
    app.get(Reviews).judge(kb_id, refused, "right", ANA)
    assert rows(app, kb_id) == {
        DIET: ("answerable", "La dieta completa es de 48 euros."),
        DAYS: ("near", None),
        TOWER: ("far" if refused.far else "near", None),
    }
    assert {one.origin for one in labels(app, kb_id).questions} == {"review"}
    assert app.get(Reviews).waiting(kb_id, ANA) == []
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "wrong", ANA)
    assert rows(app, kb_id)[DIET] == ("answerable", None)
    position = next(n for n, one in enumerate(item(app, kb_id, DIET).passages) if "48 euros" in one.chunk.text)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "wrong", ANA, position)
    paragraph = rows(app, kb_id)[DIET][1]
    assert paragraph and "48 euros" in paragraph and paragraph in TEXT


def test_a_verdict_that_does_not_fit_a_passage_that_is_not_there_and_a_blank_name_are_refused(
    app: App, kb_id: str
) -> None:
    ask(app, kb_id, DIET, TOWER)
    with raises("verdict_not_possible", match="right, wrong, should_refuse"):
        app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "should_answer", ANA)
    with raises("verdict_not_possible", match="right, should_answer"):
        app.get(Reviews).judge(kb_id, item(app, kb_id, TOWER), "wrong", ANA)
    with raises("verdict_not_possible", match="a passage from 1 to"):
        app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "wrong", ANA, 9)
    with raises("no_reviewer"):
        app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "right", "  ")
    with raises("review_item_not_found"):
        app.get(Reviews).decide(kb_id, "0", "right", ANA)
    assert app.get(Reviews).summary(kb_id).labelled == 0


def test_undo_takes_back_one_verdict_of_the_same_person_and_its_label(app: App, kb_id: str) -> None:
    ask(app, kb_id, DIET, DAYS)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "right", ANA)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DAYS), "right", ANA)
    assert app.get(Reviews).undo(kb_id, BEN) is None
    undone = app.get(Reviews).undo(kb_id, " ANA ")
    assert undone is not None and undone.question == DAYS
    assert list(rows(app, kb_id)) == [DIET]
    assert [one.question for one in app.get(Reviews).waiting(kb_id, ANA)] == [DAYS]
    app.get(Reviews).undo(kb_id, ANA)
    assert rows(app, kb_id) == {} and app.get(Reviews).undo(kb_id, ANA) is None


def test_a_skip_is_no_label_and_is_not_shown_to_the_same_person_again(app: App, kb_id: str) -> None:
    ask(app, kb_id, DIET)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "skip", ANA)
    assert app.get(Reviews).waiting(kb_id, ANA) == [] and len(app.get(Reviews).waiting(kb_id, BEN)) == 1
    assert (app.get(Reviews).summary(kb_id).labelled, app.get(Reviews).summary(kb_id).skipped) == (0, 1)


def test_a_disagreement_is_no_label_until_it_is_decided(app: App, kb_id: str) -> None:
    ask(app, kb_id, DIET, DAYS)
    for question in (DIET, DAYS):
        app.get(Reviews).judge(kb_id, item(app, kb_id, question), "right", ANA)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET, BEN), "should_refuse", BEN)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DAYS, BEN), "right", BEN)
    assert app.get(Reviews).waiting(kb_id, EVA) == []
    summary = app.get(Reviews).summary(kb_id)
    assert [[one.reviewer for one in each] for each in summary.disputed] == [[ANA, BEN]]
    assert (summary.agreement.agreed.count, summary.agreement.agreed.total) == (1, 2)
    assert list(rows(app, kb_id)) == [DAYS]
    with raises("verdict_not_possible", match="right, should_refuse"):
        app.get(Reviews).decide(kb_id, item_id_of(DIET), "wrong", EVA)
    app.get(Reviews).decide(kb_id, item_id_of(DIET), "should_refuse", EVA)
    assert rows(app, kb_id)[DIET] == ("near", None)
    assert app.get(Reviews).summary(kb_id).disputed == ()
    app.get(Reviews).undo(kb_id, EVA)
    assert list(rows(app, kb_id)) == [DAYS]


def test_a_second_person_is_shown_only_the_items_for_two(settings: Settings) -> None:
    app = build_app(
        load_settings(
            data_dir=settings.data_dir, retrieval_strategy="LEXICAL", provider="demo", kb_review_twice_share=0.5
        )
    )
    kb_id = app.kbs.add("normas.md", TEXT.encode()).kb_id
    asked = [f"¿De cuánto es la dieta completa {n}?" for n in range(8)]
    ask(app, kb_id, *asked)
    for one in app.get(Reviews).waiting(kb_id, ANA):
        app.get(Reviews).judge(kb_id, one, "right" if one.outcome == "answered" else "should_answer", ANA)
    twice = {question for question in asked if for_two(item_id_of(question), 0.5)}
    assert {one.question for one in app.get(Reviews).waiting(kb_id, BEN)} == twice and 0 < len(twice) < 8


def test_a_fifth_of_the_items_is_for_two() -> None:
    found = sum(for_two(item_id_of(f"pregunta {n}"), 0.2) for n in range(5_000)) / 5_000
    assert 0.18 < found < 0.22


def test_a_set_that_someone_saves_meanwhile_keeps_their_change_and_gets_the_label(
    app: App, kb_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(app, kb_id, DIET, DAYS)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "right", ANA)
    save: Callable[[QuestionSet], QuestionSet] = app.question_sets.save
    left = [1]

    def save_after_another(questions: QuestionSet) -> QuestionSet:
        if left and left.pop():
            save(replace(labels(app, kb_id), name="con otro nombre"))
        return save(questions)

    monkeypatch.setattr(app.question_sets, "save", save_after_another)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DAYS), "right", ANA)
    assert labels(app, kb_id).name == "con otro nombre" and len(rows(app, kb_id)) == 2


def test_a_label_that_could_not_be_written_is_written_with_the_next_verdict(
    app: App, kb_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies between the two files leaves the same: a verdict without its label."""
    ask(app, kb_id, DIET, DAYS)

    def fails(questions: QuestionSet) -> QuestionSet:
        raise QuestionSetChanged(kb_id=kb_id, name=questions.name)

    with monkeypatch.context() as patch:
        patch.setattr(app.question_sets, "save", fails)
        with pytest.raises(QuestionSetChanged):
            app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "right", ANA)
    assert rows(app, kb_id) == {}
    app.get(Reviews).judge(kb_id, item(app, kb_id, DAYS), "right", ANA)
    assert set(rows(app, kb_id)) == {DIET, DAYS}


def test_a_person_s_change_of_a_label_stays_and_a_deleted_set_is_made_again_with_all_labels(
    app: App, kb_id: str
) -> None:
    ask(app, kb_id, DIET, DAYS, TOWER)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "right", ANA)
    found = labels(app, kb_id)
    app.question_sets.save(replace(found, questions=(replace(found.questions[0], keep=False),)))
    app.get(Reviews).judge(kb_id, item(app, kb_id, DAYS), "right", ANA)
    assert [one.keep for one in labels(app, kb_id).questions] == [False, True]
    app.question_sets.delete_set(kb_id, labels(app, kb_id).set_id)
    app.get(Reviews).judge(kb_id, item(app, kb_id, TOWER), "right", ANA)
    assert len(rows(app, kb_id)) == 3


def test_another_set_takes_all_labels_and_keeps_its_own_questions(app: App, kb_id: str) -> None:
    ask(app, kb_id, DIET)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "right", ANA)
    own = app.question_sets.import_set(kb_id, "mías.jsonl", b'{"question": "Otra", "kind": "far"}')
    app.get(Reviews).choose_set(kb_id, own.set_id)
    assert set(rows(app, kb_id)) == {"Otra", DIET} and labels(app, kb_id).set_id == own.set_id


def test_damaged_lines_are_skipped_and_a_file_of_a_later_version_gets_no_line(app: App, kb_id: str) -> None:
    ask(app, kb_id, DIET, DAYS)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "right", ANA)
    path = app.settings.kb_dir / kb_id / "evaluation" / "reviews.jsonl"
    with path.open("ab") as file:
        file.write(b'{"type": "verdict", "item_id": 3}\n[]\n{"type": "undo"}\n{"format_ver')
    app.get(Reviews).judge(kb_id, item(app, kb_id, DAYS), "right", ANA)
    assert app.get(Reviews).summary(kb_id).labelled == 2
    append_lines(path, [{"format_version": 99, "type": "verdict"}])
    before = path.read_bytes()
    with pytest.raises(FileOfLaterVersion):
        app.get(Reviews).undo(kb_id, ANA)
    assert path.read_bytes() == before


def test_no_name_of_a_session_stands_in_the_file(app: App, kb_id: str) -> None:
    """It would give access to the session's conversations."""
    session = ask(app, kb_id, DIET)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "right", ANA)
    folder = app.settings.kb_dir / kb_id
    written = [path.read_text("utf-8") for path in folder.rglob("*") if path.is_file() and "json" in path.suffix]
    assert written and not any(session in content for content in written)
    first = json.loads((folder / "evaluation" / "reviews.jsonl").read_text("utf-8").splitlines()[0])
    assert (first["format_version"], first["reviewer"], first["verdict"]) == (1, ANA, "right")
