"""A visitor's conversations: over one knowledge base or several, with titles, pins and a search, and kept as lines."""

from __future__ import annotations

import json
import re

import pytest

from chatbot_mvp.api import Conversation, DocumentFilter, UserContext
from chatbot_mvp.app import App
from chatbot_mvp.chat.limits import MOST_TITLE_CHARS
from chatbot_mvp.chat.sessions import found_in
from chatbot_mvp.errors import ConversationNotFound
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from tests.fakes import FakeEmbedder, fake_app
from tests.knowledge_base.test_filters import OPEN, SECRET, new
from tests.raising import raises

ME, OTHER = "0123456789abcdef", "fedcba9876543210"
HOLIDAYS, KILOMETRES = "¿Cuántos días duran las vacaciones de Zurbarán?", "¿A cuánto se paga cada kilómetro?"


@pytest.fixture
def app(settings: Settings) -> App:
    changed = settings.with_changes(retrieval_strategy="LEXICAL")
    return fake_app(changed, lambda _: FakeEmbedder(), DemoModel)


def two(app: App) -> tuple[str, str]:
    """Both have a document of the same path."""
    store = app.kbs.store
    one = store.keep([new(*pair) for pair in OPEN.items()], 100_000, "Personas").kb_id
    return one, store.keep([new("viajes.md", SECRET), new("otro.md", "# Otro\n\nNada.")], 100_000, "Dirección").kb_id


def begun(app: App, kb_ids: tuple[str, ...], *questions: str, session: str = ME, **context: object) -> str:
    names = {record.kb_id: record.kb_name for record in app.kbs.records()}
    first, *others = kb_ids
    own = app.chat.start(session, first, names[first], {kb_id: names[kb_id] for kb_id in others})
    for question in questions:
        assert app.chat.begin(session, own, question, UserContext(**context)).join(60)  # type: ignore[arg-type]
    return own


def lines(app: App, own: str) -> list[dict[str, object]]:
    path = app.settings.conversations_dir / ME / f"{own}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def kept(app: App, own: str) -> Conversation:
    """The conversation as another process reads it."""
    return fake_app(app.settings, lambda _: FakeEmbedder(), DemoModel).chat.conversation(ME, own)


def test_each_answer_over_several_names_the_knowledge_base_of_its_sources(app: App) -> None:
    one, other = two(app)
    own = begun(app, (other, one), HOLIDAYS, KILOMETRES)
    found = kept(app, own)
    assert found.kb_names == {other: "Dirección", one: "Personas"}
    about = []
    for turn in found.turns:
        assert turn.answer is not None
        [source, *_] = turn.answer.sources
        assert source.place is not None
        about.append((source.chunk.doc_id, source.place.title, source.place.file, found.kb_of(turn)))
        now = app.answering.citation_now(source)
        assert now is not None
        assert now.state == "same"
    assert about == [
        (other, "Dirección: viajes.md", "viajes.md", other),
        (one, "Personas: viajes.md", "viajes.md", one),
    ]
    exported = app.chat.export(ME, own, "markdown", "es")
    assert "Dirección: viajes.md" in exported
    assert exported.startswith(f"# {found.title}\n\nConversación con «Dirección, Personas» · ")
    assert re.search(r"\*\d\d/\d\d/\d{4} \d\d:\d\d · ", exported) and not re.search(r"\d-\d\dT\d\d:", exported)
    assert [each.conversation_id for each in app.chat.conversations(ME, one)] == [own]


def test_a_follow_up_is_understood_over_several(app: App) -> None:
    one, other = two(app)
    own = begun(app, (one, other), "¿Cuántos días de vacaciones hay?", "¿Y los de Zurbarán?")
    first, second = (turn.answer for turn in kept(app, own).turns)
    assert first is not None
    assert second is not None
    assert second.search_how == "previous"
    assert second.nearest is not None
    assert second.nearest.passages[0].chunk.doc_id == other


def test_a_question_for_the_evaluation_goes_to_the_knowledge_base_that_it_is_about(app: App) -> None:
    one, other = two(app)
    own = begun(app, (other, one), KILOMETRES)
    assert app.chat.add_question(ME, own, app.chat.conversation(ME, own).turns[0].turn_id, None)
    assert KILOMETRES in app.chat.questions_path(one).read_text("utf-8")
    assert not app.chat.questions_path(other).exists()


def test_a_filter_holds_in_all_and_is_kept_with_the_question(app: App) -> None:
    one, other = two(app)
    own = begun(app, (one, other), HOLIDAYS, documents=DocumentFilter(folders=("rrhh",)))
    [turn] = kept(app, own).turns
    assert turn.answer is not None
    assert turn.documents.folders == ("rrhh",)
    assert {source.chunk.doc_id for source in turn.answer.sources} <= {one}


def test_a_purge_in_one_of_several_leaves_nothing_of_its_document_and_the_others_as_they_are(app: App) -> None:
    one, other = two(app)
    own = begun(app, (one, other), HOLIDAYS, KILOMETRES)
    before = kept(app, own)
    app.kb_changes.purge(other, ["viajes.md"])
    after = kept(app, own)
    assert after.turns[1].text == before.turns[1].text
    said = json.dumps([row["answer"] for row in lines(app, own) if row["type"] == "answer"], ensure_ascii=False)
    assert "99 días" not in said
    assert "777001" not in said
    assert "veintiséis céntimos" in said


def test_a_conversation_of_one_is_written_as_ever(app: App) -> None:
    one, _ = two(app)
    [head, *_] = lines(app, begun(app, (one,)))
    assert {name: value for name, value in head.items() if name != "at"} == {
        "type": "conversation",
        "format_version": 1,
        "kb_id": one,
        "kb_name": "Personas",
    }


def test_a_conversation_whose_knowledge_base_is_gone_stays_and_a_question_to_it_says_so(app: App) -> None:
    one, other = two(app)
    own = begun(app, (one, other), KILOMETRES)
    app.kbs.delete(other)
    assert app.chat.begin(ME, own, HOLIDAYS, UserContext()).join(60)
    first, second = kept(app, own).turns
    assert "veintiséis" in first.text
    assert second.failure is not None
    assert second.failure.code == "kb_not_found"
    app.kbs.delete(one)
    with raises("kb_not_found"):
        app.chat.add_question(ME, own, first.turn_id, None)
    assert not app.chat.questions_path(one).parent.exists()


def test_titles_and_pins_are_lines_and_the_last_one_counts(app: App) -> None:
    one, _ = two(app)
    own = begun(app, (one,), f"{KILOMETRES}\n ¿Seguro?")
    assert app.chat.heads(ME)[0].title == f"{KILOMETRES} ¿Seguro?"
    app.chat.rename(ME, own, "  Viajes\nde 2026 ")
    app.chat.pin(ME, own, True)
    assert (kept(app, own).title, kept(app, own).pinned) == ("Viajes de 2026", True)
    assert [row["type"] for row in lines(app, own)][-2:] == ["title", "pin"]
    app.chat.pin(ME, own, False)
    app.chat.rename(ME, own, "x" * 1_000)
    assert (len(kept(app, own).title), kept(app, own).pinned) == (MOST_TITLE_CHARS, False)
    app.chat.rename(ME, own, " ")
    assert kept(app, own).title.startswith(KILOMETRES)
    assert not kept(app, own).damaged


def test_only_its_owner_renames_or_pins_it_and_what_was_deleted_stays_so(app: App) -> None:
    one, _ = two(app)
    own = begun(app, (one,), KILOMETRES)
    with pytest.raises(ConversationNotFound):
        app.chat.rename(OTHER, own, "mía")
    with pytest.raises(ConversationNotFound):
        app.chat.pin(OTHER, own, True)
    assert not app.chat.heads(OTHER)
    app.chat.delete(ME, own)
    with pytest.raises(ConversationNotFound):
        app.chat.rename(ME, own, "otra vez")
    assert not app.chat.heads(ME)


def test_the_list_has_titles_and_questions_without_answers_the_last_asked_first(app: App) -> None:
    one, other = two(app)
    first, second = begun(app, (one,), KILOMETRES), begun(app, (other,), HOLIDAYS)
    assert [head.conversation_id for head in app.chat.heads(ME)] == [second, first]
    assert app.chat.begin(ME, first, HOLIDAYS, UserContext()).join(60)
    app.chat.rate(ME, first, kept(app, first).turns[0].turn_id, True)
    app.chat.pin(ME, second, True)
    heads = app.chat.heads(ME)
    assert [head.conversation_id for head in heads] == [first, second]
    assert [turn.question for turn in heads[0].turns] == [KILOMETRES, HOLIDAYS]
    assert all(turn.answer is None and not turn.text for head in heads for turn in head.turns)
    whole = kept(app, first)
    assert (heads[0].title, heads[0].kb_names, heads[0].last_at) == (whole.title, whole.kb_names, whole.last_at)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("zurbaran", {"b"}),
        ("KILÓMETRO", {"a"}),
        ("cuan dias", {"b"}),
        ("comité", {"c"}),
        ("vacaciones kilometro", set()),
        ("   ", {"a", "b", "c"}),
        (".*", set()),
        ("veintiseis", {"a"}),
        ("kilometro CENTIMOS", {"a"}),
        ("encuentro", set()),  # a fixed reply
    ],
)
def test_a_search_finds_words_of_titles_questions_and_answers_in_any_case_without_accents(
    app: App, wanted: str, found: set[str]
) -> None:
    one, _ = two(app)
    names = {
        begun(app, (one,), KILOMETRES): "a",
        begun(app, (one,), HOLIDAYS): "b",
        begun(app, (one,), "¿Horario?"): "c",
    }
    app.chat.rename(ME, next(own for own, name in names.items() if name == "c"), "Para el comite")
    assert {names[head.conversation_id] for head in app.chat.heads(ME, wanted)} == found


def test_a_search_finds_words_of_the_passage_that_was_open_below_a_fixed_reply(app: App) -> None:
    one, _ = two(app)
    own = begun(app, (one,), "¿Quién aprueba las vacaciones de Zurbarán?")
    [turn] = kept(app, own).turns
    assert turn.answer is not None and turn.answer.nearest is not None
    opened = turn.answer.nearest.passages[0].chunk.text
    [head] = app.chat.heads(ME, max(opened.split(), key=len))
    assert found_in(head, opened.split()[0])[0] == turn.turn_id


def test_passages_that_are_shown_before_the_answer_name_their_knowledge_base(app: App) -> None:
    one, other = two(app)
    own = begun(app, (one, other))
    found = app.chat.begin(ME, own, HOLIDAYS, UserContext())
    assert found.join(60)
    shown = found.wait(-1, 0.0).found or ()
    assert {source.place.title.partition(":")[0] for source in shown if source.place} == {"Personas", "Dirección"}
