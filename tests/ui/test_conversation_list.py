"""The list of conversations and the choice of several knowledge bases, through AppTest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import UserContext
from streamlit_app.shared.state import get_app
from tests.knowledge_base.test_filters import OPEN, SECRET, new
from tests.ui.test_pages import open_page, sources, texts

HOLIDAYS, KILOMETRES = "¿Cuántos días duran las vacaciones de Zurbarán?", "¿A cuánto se paga cada kilómetro?"
ME = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def kbs(data_dir: Path) -> tuple[str, str]:
    store = get_app().kbs.store
    one = store.keep([new(*pair) for pair in OPEN.items()], 100_000, "Personas").kb_id
    return one, store.keep([new("secreto.md", SECRET)], 100_000, "Dirección").kb_id


def begun(kb_ids: Sequence[str], *questions: str, session: str = ME) -> str:
    chat, names = get_app().chat, {record.kb_id: record.kb_name for record in get_app().kbs.records()}
    own = str(chat.start(session, kb_ids[0], names[kb_ids[0]], {kb_id: names[kb_id] for kb_id in kb_ids[1:]}))
    for question in questions:
        assert chat.begin(session, own, question, UserContext()).join(60)
    return own


def listed(page: AppTest) -> list[str]:
    return [button.label for button in page.sidebar.button if (button.key or "").startswith("talk-open-")]


def address(page: AppTest) -> tuple[list[str], list[str]]:
    kb, own = (page.query_params.get(name, []) for name in ("kb", "c"))
    return [kb] if isinstance(kb, str) else kb, [own] if isinstance(own, str) else own


def test_several_are_asked_at_once_suggested_from_and_told_with_each_source(kbs: tuple[str, str]) -> None:
    one, other = kbs
    page = open_page("chat")
    assert address(page) == ([other], [])
    page.multiselect(key=f"chat-also-{other}").set_value([one]).run()
    suggested = {button.label for button in page.button if (button.key or "").startswith("suggested-")}
    for kb_id in kbs:
        assert suggested.intersection(get_app().kbs.suggested_questions(kb_id))
    assert "rrhh" in page.multiselect(key=f"filter-folders-{'+'.join(sorted(kbs))}").options
    page.chat_input[0].set_value(KILOMETRES).run()
    page.chat_input[0].set_value(HOLIDAYS).run()
    assert not page.exception
    assert {source.partition(" ")[2].partition(" ·")[0] for source in sources(page)} == {"Personas", "Dirección"}
    assert "2 respondidas" in texts(page)
    kb_ids, [own] = address(page)
    assert kb_ids == [other, one]
    again = open_page("chat", visitor=str(page.session_state["chat_session"]))
    assert address(again) == ([other, one], [own])
    assert again.multiselect(key=f"chat-also-{other}").value == [one]


def test_an_address_opens_its_conversation_or_a_new_one_and_nobody_elses(kbs: tuple[str, str]) -> None:
    one, other = kbs
    mine, later = begun([one], KILOMETRES), begun([other], HOLIDAYS)
    page = open_page("chat", visitor=ME, c=mine)
    assert address(page) == ([one], [mine])
    assert "veintiséis" in texts(page)
    assert listed(page)[0].startswith(HOLIDAYS)
    empty = open_page("chat", visitor=ME, kb=one)
    assert address(empty) == ([one], [])
    assert "veintiséis" not in texts(empty)
    last = open_page("chat", visitor=ME)
    assert address(last) == ([other], [later])
    foreign = open_page("chat", c=mine, kb=one)
    assert "no es suya" in texts(foreign)
    assert not listed(foreign)
    assert KILOMETRES not in texts(foreign)
    foreign.chat_input[0].set_value(HOLIDAYS).run()
    assert "no es suya" not in texts(foreign)
    assert "ya no existe" in texts(open_page("chat", kb="no-hay"))


def test_a_conversation_with_a_knowledge_base_that_is_gone_can_be_read(kbs: tuple[str, str]) -> None:
    one, other = kbs
    own = begun([one, other], KILOMETRES)
    begun([one], HOLIDAYS)
    get_app().kbs.delete(other)
    page = open_page("chat", visitor=ME)
    page.sidebar.button(key=f"talk-open-{own}").click().run()
    assert "ya no existe: Dirección" in texts(page)
    assert "veintiséis" in texts(page)
    assert not page.chat_input
    page.sidebar.button(key="talk-new").click().run()
    assert page.chat_input
    page.sidebar.button(key=f"talk-open-{own}").click().run()
    assert not page.chat_input
    page.session_state["kb_id"] = get_app().kbs.add_sample().kb_id  # chosen on another page
    assert page.run().chat_input
    for record in get_app().kbs.records():
        get_app().kbs.delete(record.kb_id)
    without_any = open_page("chat", visitor=ME)
    assert len(listed(without_any)) == 2
    without_any.sidebar.button(key=f"talk-open-{own}").click().run()
    assert "veintiséis" in texts(without_any)


def test_a_conversation_whose_knowledge_base_came_back_can_be_continued(kbs: tuple[str, str]) -> None:
    _, other = kbs
    own = begun([other], KILOMETRES)
    get_app().kbs.delete(other, undoable=True)
    page = open_page("chat", visitor=ME)
    page.sidebar.button(key=f"talk-open-{own}").click().run()
    assert "ya no existe" in texts(page) and not page.chat_input
    get_app().kbs.undelete(other)
    page.run()
    assert "ya no existe" not in texts(page) and page.chat_input


def test_a_deleted_conversation_is_had_back_from_the_end_of_the_list(
    kbs: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamlit_app.chat.conversation_list.confirm", lambda *asked: (asked[-1](), st.rerun()))
    own = begun([kbs[0]], KILOMETRES)
    page = open_page("chat", visitor=ME)
    assert not page.sidebar.expander
    page.menu_button(key=f"talk-menu-{own}").click("delete").run()
    page.run()
    assert listed(page) == []
    assert [one.label for one in page.sidebar.expander] == ["1 conversación eliminada"]
    page.sidebar.button(key=f"undelete-{own}").click().run()
    assert listed(page) == [KILOMETRES] and not page.sidebar.expander


def test_pinned_and_searched(kbs: tuple[str, str]) -> None:
    """What opens a dialog (title, deletion) is tested in a browser: AppTest does not keep one open."""
    one, _ = kbs
    first = begun([one], KILOMETRES)
    begun([one], HOLIDAYS)
    page = open_page("chat", visitor=ME)
    assert listed(page) == [HOLIDAYS, KILOMETRES]
    assert "**Fijadas**" not in texts(page)
    page.menu_button(key=f"talk-menu-{first}").click("pin").run()
    assert listed(page) == [KILOMETRES, HOLIDAYS]
    assert "**Fijadas**" in texts(page)
    page.text_input(key="talk_search").set_value("KILÓMETRO").run()
    assert listed(page) == [KILOMETRES]
    page.sidebar.button(key=f"talk-open-{first}").click().run()
    page.chat_input[0].set_value(HOLIDAYS).run()
    page.text_input(key="talk_search").set_value(HOLIDAYS[:12]).run()
    second = f"{KILOMETRES}\n\n:small[:gray[…{HOLIDAYS}]]"
    assert sorted(listed(page)) == sorted([HOLIDAYS, second])  # where it is not the title, the question is told
    page.text_input(key="talk_search").set_value("veintiséis").run()
    assert [label.partition("…")[2] for label in listed(page)] == ["kilómetro se paga a veintiséis céntimos. \\[1\\]]]"]
    page.text_input(key="talk_search").set_value("nada").run()
    assert "Ninguna conversación tiene" in texts(page)


def test_a_long_list_is_shown_in_parts(kbs: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit_app.chat.conversation_list._PART", 2)
    for question in ("¿Uno?", "¿Dos?", "¿Tres?"):
        begun([kbs[0]], question)
    page = open_page("chat", visitor=ME)
    assert listed(page) == ["¿Tres?", "¿Dos?"]
    assert page.button(key="talk-more").label == "Mostrar más (quedan 1)"
    page.button(key="talk-more").click().run()
    assert listed(page) == ["¿Tres?", "¿Dos?", "¿Uno?"]
