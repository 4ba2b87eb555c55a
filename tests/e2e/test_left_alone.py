"""An answer outlives a reload, and ends some seconds after the last page of its reader."""

from __future__ import annotations

import time
from typing import Any

import pytest

from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.settings.model import load_settings
from tests.e2e.conftest import Server
from tests.e2e.test_chat import QUESTION, records, written
from tests.e2e.test_tour import DOCUMENT, ask, visit
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e]


@pytest.mark.slow
def test_an_answer_outlives_a_reload_and_ends_after_the_last_page_is_closed(browser: Any, tmp_path: Any) -> None:
    settings = load_settings(data_dir=tmp_path)
    KbStore(settings.kb_dir).add("biblioteca.md", DOCUMENT.encode(), settings.kb_max_chars, settings.kb_max_upload_mb)
    server = Server(tmp_path, "-m", "tests.e2e.left_alone_model", RETRIEVAL_STRATEGY="LEXICAL")
    server.start()
    context = browser.new_context()
    try:
        page = context.new_page()
        visit(page, server, "Chat")
        ask(page, QUESTION)
        written(page).wait_for()
        page.reload()
        written(page).wait_for()
        time.sleep(5)  # longer than the server waits for who has left
        assert records(server)[-1]["type"] == "text", "somebody reads"
        page.close()
        last = wait_until(lambda: (found := records(server)[-1])["type"] == "answer" and found, 15, "the end")
        assert last["answer"]["finish_reason"] == "cancelled"
    finally:
        context.close()
        server.kill()
