"""A session sees and stops its own uploads; those of others only as an administrator."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.knowledge_base import intake
from streamlit_app.shared.state import get_app, kb_names
from tests.ui.test_admin_guard import PASSWORD, enter
from tests.ui.test_pages import open_page, texts
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("data_dir")
SECRET = "despido-de-Marta.txt"


@pytest.fixture
def slow_reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    gate, parse = threading.Event(), intake.parse_upload

    def parsed(name: str, *rest: object) -> ParsedText:
        gate.wait(60)
        return parse(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(intake, "parse_upload", parsed)
    yield gate
    gate.set()


def dropped(page: AppTest, name: str) -> AppTest:
    page.file_uploader[0].set_value([(name, b"Un texto cualquiera.", "text/plain")]).run()
    assert not page.exception, page.exception
    return page


def stops(page: AppTest) -> list[str]:
    return [button.key for button in page.button if (button.key or "").startswith("kb_stop")]


def test_a_stranger_sees_no_name_of_an_upload_and_cannot_stop_it_and_an_administrator_can(
    slow_reader: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", PASSWORD)
    own = dropped(open_page("chat"), SECRET)
    assert SECRET in texts(own)
    assert stops(own) == ["kb_stop"]
    reloaded = open_page("chat", visitor=own.session_state["chat_session"])
    assert SECRET in texts(reloaded)
    stranger = open_page("chat")
    assert SECRET not in texts(stranger)
    assert stops(stranger) == []
    dropped(stranger, "mio.txt")
    assert SECRET not in texts(stranger)
    assert "mio.txt" in texts(stranger)
    assert "Otras sesiones tienen cargas en marcha o en cola (1)" in texts(stranger)
    admin = enter(open_page("admin"), PASSWORD)
    assert SECRET in texts(admin)
    assert len(stops(admin)) == 2
    [running] = [upload.job.job_id for upload in get_app().uploads.uploads() if upload.files[0].name == SECRET]
    next(button for button in admin.button if running in (button.key or "") or button.key == "kb_stop").click().run()
    slow_reader.set()
    wait_until(lambda: not get_app().uploads.uploads(), 60, "the end of all uploads")


def test_too_many_files_are_refused_with_a_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatbot_mvp.knowledge_base.uploads.MOST_FILES", 0)
    page = dropped(open_page("chat"), "uno.txt")
    assert "una sesión puede tener 0 archivos" in page.error[0].value


def test_no_two_knowledge_bases_have_the_same_name_in_a_list() -> None:
    """Streamlit sends the text of a choice: a stranger's equal text would be chosen in place of one's own."""
    records = [get_app().kbs.add("manual.md", text.encode()) for text in ("uno", "dos", "tres", "cuatro")]
    for _ in range(2):
        labels = kb_names(get_app().kbs.records())
        assert len(set(labels.values())) == 4
        copied = labels[records[0].kb_id]
        get_app().kbs.rename(records[2].kb_id, copied)
        get_app().kbs.rename(records[3].kb_id, f"{copied} · {records[0].kb_id}")
    assert len(set(kb_names(get_app().kbs.records()).values())) == 4


def test_after_a_reload_a_session_can_still_stop_its_upload(
    slow_reader: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", PASSWORD)
    own = dropped(open_page("chat"), SECRET)
    reloaded = open_page("chat", visitor=own.session_state["chat_session"])
    reloaded.button(key="kb_stop").click().run()
    assert not reloaded.error, [error.value for error in reloaded.error]
    assert get_app().uploads.uploads()[0].job.state == "stopping"
    slow_reader.set()
    wait_until(lambda: not get_app().uploads.uploads(), 60, "the end of all uploads")
