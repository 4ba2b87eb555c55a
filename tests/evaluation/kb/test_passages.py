"""The map of a knowledge base: which passages are expected, found and cited, also after the text has changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.documents.kb_files import KbFile
from chatbot_mvp.evaluation.kb.passages import PassageUse, Uses, moved, passage_uses
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from chatbot_mvp.evaluation.kb_map import KbMaps
from chatbot_mvp.knowledge_base.changes import Move
from chatbot_mvp.settings.access import Who, who_may
from chatbot_mvp.types import Chunk
from tests.evaluation.kb.test_across_versions import document
from tests.waiting import wait_until

DIET = "# Dietas\n\nLa dieta completa es de 48 euros.\n"
HOLIDAYS = "# Vacaciones\n\nCada persona dispone de 23 días de vacaciones.\n"
ASKED = "¿De cuánto es la dieta completa?"


def file(name: str, start: int, end: int, sha256: str = "") -> KbFile:
    return KbFile(name, start, end, end - start, False, "utf-8", sha256 or name)


def chunk(start: int, end: int) -> Chunk:
    return Chunk(f"c{start}", "kb", "Sección", "x" * (end - start), start, end)


CHUNKS = [chunk(0, 100), chunk(80, 180), chunk(200, 300)]
FILES = (file("a.md", 0, 190), file("b.md", 200, 300))


@pytest.mark.parametrize(
    ("span", "counted"),
    [
        ((10, 40), [1, 0, 0]),
        ((85, 95), [1, 1, 0]),  # in the overlap of two
        ((60, 120), [1, 1, 0]),
        ((170, 260), [0, 0, 1]),  # two thirds of it
        ((0, 300), [1, 1, 1]),  # all of the text
        ((185, 195), [0, 0, 0]),
    ],
)
def test_a_span_counts_for_each_chunk_that_it_shares_half_with(span: tuple[int, int], counted: list[int]) -> None:
    assert [use.cited for use in passage_uses(CHUNKS, FILES, Uses(cited=[span]))] == counted


def test_each_passage_is_in_its_document() -> None:
    assert [use.path for use in passage_uses(CHUNKS, FILES, Uses())] == ["a.md", "a.md", "b.md"]


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({"expected": 2, "missed": 2, "cited": 5}, "missed"),
        ({"expected": 2, "missed": 1, "cited": 5}, "cited"),
        ({"expected": 2, "missed": 1, "found": 3}, "expected"),
        ({"found": 1}, "found"),
        ({}, "unseen"),
    ],
)
def test_the_state_is_what_is_most_remarkable(counts: dict[str, int], state: str) -> None:
    assert PassageUse("a.md", "", 0, 1, **counts).state == state


def test_spans_move_with_their_document_also_to_another_path_and_go_with_its_old_text() -> None:
    then = (file("a.md", 0, 50), file("b.md", 60, 100), file("c.md", 110, 150), file("d.md", 160, 200))
    now = (file("b.md", 10, 50), file("c.md", 60, 100, "other"), file("new/d.md", 110, 150, "d.md"))
    assert moved([(5, 9), (65, 70), (120, 130), (165, 170)], then, now) == [(15, 20), (115, 120)]


@pytest.fixture
def kb_id(app: App) -> str:
    return app.kbs.add("dietas.md", DIET.encode()).kb_id


def ask(app: App, kb_id: str) -> str:
    session = app.chat.new_session()
    talk = app.chat.start(session, kb_id, "kb")
    assert app.chat.begin(session, talk, ASKED, UserContext()).join(30)
    return session


def test_a_map_has_what_the_own_conversations_cite_and_what_the_sets_expect(app: App, kb_id: str) -> None:
    [passage] = app.kb_maps.of_session(kb_id, app.chat.new_session()).passages
    assert passage.state == "unseen"
    session = ask(app, kb_id)
    assert app.kb_maps.of_session(kb_id, session).passages[0].cited == 1
    assert app.kb_maps.of_session(kb_id, app.chat.new_session()).passages[0].cited == 0
    assert app.kb_maps.of_session(kb_id, "../*").citations == 0
    assert app.kb_maps.of_all(kb_id).passages[0].cited == 1
    empty = app.question_sets.empty_set(kb_id, "mías")
    question = KbQuestion("a", ASKED, "answerable", "La dieta completa es de 48 euros.")
    made = app.question_sets.save(replace(empty, questions=(SetQuestion(question),)))
    app.kb_evaluation.start(kb_id, made.set_id)
    wait_until(lambda: bool(app.kb_evaluation.results(kb_id)), 60, "the result")
    found = app.kb_maps.of_session(kb_id, session)
    assert (found.sets, found.passages[0].expected, found.passages[0].found, found.passages[0].state) == (
        1,
        1,
        1,
        "cited",
    )


def test_citations_follow_their_document_into_the_next_version_until_it_changes(app: App, kb_id: str) -> None:
    app.kb_changes.change(kb_id, new=[document("b.md", HOLIDAYS)])
    session = ask(app, kb_id)
    app.kb_changes.change(kb_id, [Move("dietas.md", "z/dietas.md")], [document("a.md", HOLIDAYS * 2)])
    cited = {one.path: one.cited for one in app.kb_maps.of_session(kb_id, session).passages}
    assert cited["z/dietas.md"] == 1
    assert sum(cited.values()) == 1
    app.kb_changes.change(kb_id, new=[document("z/dietas.md", DIET.replace("48", "52"))])
    assert app.kb_maps.of_session(kb_id, session).citations == 0


def test_only_who_may_review_sees_what_all_conversations_cite() -> None:
    assert who_may(KbMaps.of_all) is Who.ADMIN
    assert who_may(KbMaps.of_session) is Who.EVERYONE
