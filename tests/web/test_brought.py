"""Values that a browser brings and that could name somebody else: the id of a session, addresses, links."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.ui.test_start_of_pages import Pages, elements, is_of_the_form, pages
from tests.web.test_guard import reply

PASSWORD = "correcta-y-larga"


def opened(started: Pages, cookie: str, session_id: str = "") -> ClientConnection:
    """A browser's connection; with the id of a session that was cut, it asks to continue that one."""
    return connect(
        f"ws://127.0.0.1:{started.port}/_stcore/stream",
        additional_headers={"Cookie": cookie} if cookie else None,
        subprotocols=["streamlit", "PLACEHOLDER_AUTH_TOKEN", session_id] if session_id else ["streamlit"],  # type: ignore[list-item]
        max_size=None,
    )


def signed_in(session: ClientConnection) -> str:
    """Sign in to Admin; return Streamlit's id of the session."""
    widgets = {e.WhichOneof("type"): e for e in elements(session, BackMsg()) if is_of_the_form(e)}
    message = BackMsg()
    message.rerun_script.page_name = "Admin"
    states = message.rerun_script.widget_states.widgets
    text, button = states.add(), states.add()
    text.id, text.string_value = widgets["text_input"].text_input.id, PASSWORD
    button.id, button.trigger_value = widgets["button"].button.id, True
    session.send(message.SerializeToString())
    session_id = ""
    while True:
        received = ForwardMsg()
        received.ParseFromString(session.recv(30))  # type: ignore[arg-type]
        if received.WhichOneof("type") == "new_session":
            session_id = received.new_session.initialize.session_id
        if received.WhichOneof("type") == "script_finished":
            break
    assert not asks_for_the_password(session)
    return session_id


def asks_for_the_password(session: ClientConnection) -> bool:
    elements(session, BackMsg())  # what an earlier run has left
    drawn = elements(session, BackMsg())
    return any(e.WhichOneof("type") == "button" and e.button.label == "Entrar" for e in drawn)


@pytest.mark.slow
@pytest.mark.parametrize("thief", ["another visitor", pytest.param("without a cookie", marks=pytest.mark.slow)])
def test_a_session_continues_only_in_its_own_browser(tmp_path: Path, thief: str) -> None:
    """Streamlit continues a cut session for whoever names its id, with all that it knows: who has signed in, too."""
    with pages(tmp_path, "/", ADMIN_PASSWORD=PASSWORD, RETRIEVAL_STRATEGY="LEXICAL") as started:
        own, other = (str(reply(started, "/").getheader("Set-Cookie")).partition(";")[0] for _ in range(2))
        with opened(started, own) as session:
            session_id = signed_in(session)
        with opened(started, own, session_id) as session:
            assert not asks_for_the_password(session), "one's own connection was lost"
        with opened(started, other if thief == "another visitor" else "", session_id) as session:
            assert asks_for_the_password(session)
        with opened(started, own, session_id) as session:
            assert asks_for_the_password(session), "what the other saw is over"
        with opened(started, own, str(uuid.uuid4())) as session:
            assert asks_for_the_password(session)
