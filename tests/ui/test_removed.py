"""No page shows anything of a document that was removed.

Two places name it all the same, because they are for what was there before: the history, and the box of the purge.
"""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from streamlit_app.shared.state import get_app
from tests.removed import planted_kb, questions, remove, shown
from tests.ui.test_living_kb import opened
from tests.ui.test_pages import open_page

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")
ASKED = questions(8, 5)


def everything(page: AppTest) -> str:
    """All that a page draws but the choices of the purge: texts, labels, choices, names of files."""
    return re.sub(r"Multiselect\(key='purge-paths-[^\]]*\]", "", f"{page.main}{page.sidebar}{page.get('html')}")


def pages(kb_id: str) -> dict[str, str]:
    """Everything on the pages that show a knowledge base."""
    record = get_app().kbs.store.record(kb_id)
    found = {name: everything(open_page(name)) for name in ("home", "chat", "admin", "mykb")}
    for view in ("documents", "chunks"):
        found[view] = everything(opened(record, view))
    return found


def test_no_page_shows_anything_of_a_removed_document() -> None:
    app = get_app()
    kb_id = planted_kb(app)
    before = {name for name, said in pages(kb_id).items() if shown(said)}
    assert before >= {"chat", "documents", "chunks"}
    remove(app, kb_id)
    assert {name: shown(said) for name, said in pages(kb_id).items() if shown(said)} == {}


def test_no_answer_on_the_page_shows_anything_of_a_removed_document() -> None:
    app = get_app()
    remove(app, planted_kb(app))
    page = open_page("chat")
    for question in ASKED:
        page.chat_input[0].set_value(question).run()
        said = everything(page.run())
        assert not page.exception
        assert shown(said, " ".join(ASKED)) == [], question
