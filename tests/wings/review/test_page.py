"""The review queue on Evaluate my KB: verdicts by buttons, names, other people's words, disagreements."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import KbRecord, UserContext
from chatbot_mvp.wings.review.service import Reviews
from streamlit_app.shared.permissions import SIGNED_IN
from streamlit_app.shared.state import get_app
from tests.ui.test_pages import open_page, texts

KB = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"
DIET, DAYS = "¿De cuánto es la dieta completa?", "¿De cuántos días dispone cada persona?"

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


@pytest.fixture
def kb(data_dir: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch) -> KbRecord:
    monkeypatch.setenv("KB_REVIEW_TWICE_SHARE", "1")
    return get_app().kbs.add("normas.md", KB.encode())


def ask(kb: KbRecord, *questions: str) -> str:
    chat = get_app().chat
    session = chat.new_session()
    conversation = chat.start(session, kb.kb_id, kb.kb_name)
    for question in questions:
        assert chat.begin(session, conversation, question, UserContext()).join(20)
    return session


def review(session: str, reviewer: str = "Ana", language: str = "es", admin: bool = False) -> AppTest:
    page = open_page("mykb", language)
    page.session_state["chat_session"] = session
    page.session_state["mykb_step"] = "review"
    page.session_state["review_reviewer"] = reviewer
    page.session_state[SIGNED_IN] = admin
    page = page.run()
    assert not page.exception, page.exception
    return page


def press(page: AppTest, start: str) -> AppTest:
    [button] = [one for one in page.button if str(one.key).startswith(start)]
    page = button.click().run()
    assert not page.exception, page.exception
    return page


def test_a_name_is_asked_for_until_one_is_given_that_can_be_seen(kb: KbRecord) -> None:
    page = review(ask(kb, DIET), reviewer="")
    for name, taken in (("\u200b \u3164", False), ("  Ana   López ", True)):
        assert DIET not in texts(page)
        page.text_input(key="review-name-text").set_value(name)
        page = next(one for one in page.button if one.label == "Empezar a revisar").click().run()
        assert (DIET in texts(page), "Revisa **Ana López**" in texts(page)) == (taken, taken)


def test_where_people_sign_in_nobody_types_a_name(kb: KbRecord) -> None:
    """An administrator with the password alone could type the address of somebody who signs in."""
    session = ask(kb, DIET)
    page = open_page("mykb", "es")
    page.secrets["auth"] = {"google": {"client_id": "x"}}
    for name, value in (("chat_session", session), ("mykb_step", "review"), ("review_reviewer", "ana@example.org")):
        page.session_state[name] = value
    page.session_state[SIGNED_IN] = True
    page = page.run()
    assert not page.exception, page.exception
    assert "Inicie sesión para revisar" in " ".join(one.value for one in page.info)
    assert DIET not in texts(page)


@pytest.mark.parametrize(
    ("language", "done"), [("es", "No queda ninguna respuesta"), ("en", "No answer is left to review")]
)
def test_a_verdict_shows_the_next_answer_and_undo_brings_it_back(kb: KbRecord, language: str, done: str) -> None:
    page = review(ask(kb, DIET, DAYS), language=language)
    first = DIET if DIET in texts(page) else DAYS
    second = DAYS if first == DIET else DIET
    assert second not in texts(page)
    page = press(page, "review-right-")
    assert second in texts(page) and first not in texts(page)
    page = press(press(page, "review-passage-0-"), "review-wrong-")
    assert done in texts(page)
    page = press(page, "review-undo")
    assert second in texts(page) and done not in texts(page)
    found = get_app().question_sets.sets(kb.kb_id)
    assert [one.question.question for one in found[0].questions] == [first]


def test_a_visitor_of_a_protected_server_sees_no_one_s_words_and_an_administrator_all(
    kb: KbRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ask(kb, DIET)
    assert DIET not in texts(review("0" * 32)) and DIET in texts(review(session))
    monkeypatch.setenv("ADMIN_PASSWORD", "una contraseña larga")
    get_app.clear()
    page = review(session)
    assert DIET not in texts(page) and "Solo pueden revisarlas" in texts(page)
    assert DIET in texts(review("0" * 32, admin=True))


def test_a_disagreement_is_listed_with_who_said_what_and_decided_with_a_click(kb: KbRecord) -> None:
    session = ask(kb, DIET, DAYS)
    for reviewer, verdicts in (("Ana", ("right", "right")), ("Ben", ("right", "should_refuse"))):
        page = review(session, reviewer)
        assert "Ana: " not in texts(page)  # the second person judges without knowing the first verdict
        for verdict in verdicts:
            page = press(page, f"review-{verdict}-")
    told = texts(page)
    assert "Ana: Bien · Ben: No debía contestar" in told
    assert "50" in told and "κ de Cohen" in told
    assert "Ben: No debía" not in texts(review("0" * 32, "Eva"))  # another session of a server without a password
    page = press(page, "review-decide-right-")
    assert "Ben: No debía" not in texts(page)
    assert get_app().get(Reviews).summary(kb.kb_id).labelled == 2


def test_markup_in_a_question_an_answer_and_a_name_appears_literally(kb: KbRecord) -> None:
    page = review(ask(kb, "¿De cuánto es la **dieta** completa?"), reviewer="*Ana*")
    told = texts(page)
    assert r"\*\*dieta\*\*" in told and r"\*Ana\*" in told
