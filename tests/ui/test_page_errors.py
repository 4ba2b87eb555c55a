"""Nobody reads a stack trace or a key on a page: an id there, the same id with the traceback in the log."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp import logs
from chatbot_mvp.errors import KbNotFound
from streamlit_app.home import tiles as home_state
from streamlit_app.shared.errors import watch_errors
from tests.ui.conftest import Told
from tests.ui.test_pages import ROOT, open_page, texts

SECRET = "sk-nobody-may-read-this"

pytestmark = pytest.mark.page_errors


def in_the_page() -> None:
    raise RuntimeError("no key sk-nobody-may-read-this")


def in_a_fragment() -> None:
    import streamlit as st

    @st.fragment
    def part() -> None:
        if st.button("go"):
            raise RuntimeError("no key sk-nobody-may-read-this")

    part()


def in_a_callback() -> None:
    import streamlit as st

    def fail() -> None:
        raise RuntimeError("no key sk-nobody-may-read-this")

    st.button("go", on_click=fail)


def in_a_dialog() -> None:
    import streamlit as st

    @st.dialog("really?")
    def ask() -> None:
        raise RuntimeError("no key sk-nobody-may-read-this")

    if st.button("go"):
        ask()


@pytest.mark.parametrize("script", [in_the_page, in_a_fragment, in_a_callback, in_a_dialog])
def test_the_reader_gets_an_id_and_the_log_the_traceback(
    script: Callable[[], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "logs" / "errors.jsonl"
    logs.configure("text", secrets=[SECRET], errors_path=path)
    watch_errors()
    page = AppTest.from_function(script).run()
    if page.button:
        page.button[0].click().run()
    assert not page.exception
    # After a callback nothing is drawn anew: the page stays, and the message lies over it.
    [shown] = page.toast if script is in_a_callback else page.error
    [line] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert line["error_id"] in shown.value
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("RuntimeError: no key ***")
    for leaked in (SECRET, "Traceback", "RuntimeError"):
        assert leaked not in texts(page)
    printed = capsys.readouterr()
    assert SECRET not in path.read_text("utf-8") + printed.out + printed.err


def test_the_rest_of_the_frame_stays_and_the_next_page_works(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(home_state, "show_state", fail)
    home = AppTest.from_file(str(ROOT / "streamlit_app" / "Inicio.py"), default_timeout=120).run()
    assert "identificador" in home.error[0].value
    assert home.sidebar.selectbox
    [record] = told.records
    assert record.event["error_id"] in (data_dir / "logs" / "errors.jsonl").read_text("utf-8")  # type: ignore[attr-defined]
    chat = home.switch_page("views/2_Chat.py").run()
    assert not chat.error


def test_an_error_of_our_own_keeps_its_words(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KbNotFound(kb_id="gone", legal="none")

    monkeypatch.setattr(home_state, "show_state", fail)
    home = AppTest.from_file(str(ROOT / "streamlit_app" / "Inicio.py"), default_timeout=120).run()
    assert "gone" in home.error[0].value


def test_stopping_and_going_to_another_page_are_no_errors(data_dir: Path, told: Told) -> None:
    chat = open_page("chat")  # ends with st.stop(), as there is no knowledge base
    chat.button(key="kb_sample").click().run()  # ends with st.rerun()
    assert not told.records
    assert not chat.error


def test_the_file_of_errors_stays_small_and_a_folder_that_refuses_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_LARGEST_FILE", 300)
    path = tmp_path / "errors.jsonl"
    logs.configure("text", errors_path=path)
    for number in range(9):
        logging.getLogger("anywhere").error("line %s", number)
    assert path.stat().st_size + path.with_suffix(".1.jsonl").stat().st_size < 1_000
    assert json.loads(path.read_text("utf-8").splitlines()[-1])["message"] == "line 8"
    (tmp_path / "file").touch()
    logs.configure("text", errors_path=tmp_path / "file" / "errors.jsonl")
    logging.getLogger("anywhere").error("goes to stderr")
