"""Every page with nothing at all, and with 200 runs and 40 knowledge bases."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.knowledge_base.store import KbStore
from streamlit_app.shared.state import get_app
from tests.ui.test_evaluation_page import made_up
from tests.ui.test_pages import PAGES, open_page

pytestmark = pytest.mark.usefixtures("no_keys")

TEXT = "# Manual {n}\n\n## Vacaciones\n\nEn el centro {n} hay {n} días de vacaciones al año.\n"


@pytest.fixture
def a_lot(data_dir: Path) -> None:
    made_up(data_dir, 200)
    settings = get_app().settings
    store = KbStore(settings.kb_dir)
    for n in range(40):
        store.add(f"manual_{n}.md", TEXT.format(n=n).encode(), settings.kb_max_chars, settings.kb_max_upload_mb)


@pytest.mark.parametrize("name", PAGES)
def test_with_nothing(data_dir: Path, name: str) -> None:
    page = open_page(name)
    assert page.title[0].value
    assert not page.error


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PAGES)
def test_with_a_lot(a_lot: None, name: str) -> None:
    page = open_page(name)
    assert page.title[0].value
    assert not page.error
    lists = {box.label: box.options for box in page.selectbox}
    if name in ("chat", "mykb"):
        assert len(lists["Base"]) == 40
    if name == "evaluation":
        assert len(page.dataframe[0].value) == 200
