"""Large knowledge bases on the pages: what is refused for lack of memory, and lists that stay short."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.knowledge_base import memory
from chatbot_mvp.knowledge_base.pipelines import GrowingPipeline
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.types import Progress, ProgressCallback
from streamlit_app.mykb import one_question
from streamlit_app.shared.state import get_app
from tests.ui.test_pages import open_page

MIME = "application/octet-stream"

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


@pytest.mark.parametrize(
    ("place", "language", "said"),
    [
        ("admin", "es", "400 MB de memoria y hay 90 MB disponibles"),
        ("chat", "en", "400 MB of memory, and 90 MB are available"),
    ],
)
def test_an_upload_that_needs_more_memory_is_refused_with_both_figures(
    monkeypatch: pytest.MonkeyPatch, place: str, language: str, said: str
) -> None:
    monkeypatch.setenv("KB_MAX_CHARS", "2000000")
    monkeypatch.setattr(memory, "available_mb", lambda: 90)
    page = open_page(place, language)
    page.file_uploader[0].set_value([("libro.txt", b"palabra " * 300_000, MIME)]).run()
    assert not page.exception
    assert [error for error in page.error if said in error.value]
    assert get_app().uploads.uploads() == []
    assert get_app().kbs.records() == []


def test_admin_offers_200_million_characters_and_says_how_much_memory_they_need() -> None:
    page = open_page("admin")
    page.selectbox(key="settings_one").set_value("kb_max_chars").run()
    assert any("270 MB de memoria" in text.value for text in page.markdown)
    assert page.number_input(key="setting-kb_max_chars").max == 200_000_000


def test_of_many_chunks_a_question_offers_those_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_question, "_MOST_CHUNKS", 5)
    text = "".join(f"# Asunto {n}\n\nTexto sobre el asunto {n}.\n\n" for n in range(20)) + "# Ñandú\n\nUn ave."
    kb = get_app().kbs.add("asuntos.md", text.encode())
    service = get_app().question_sets
    set_id = service.save(replace(service.empty_set(kb.kb_id, "mías"))).set_id
    page = open_page("mykb")

    def offered() -> list[str]:
        [box] = [box for box in page.selectbox if str(box.key).startswith(f"mykb-c-{set_id}")]
        return list(box.options)[1:]

    assert [label.split(" · ")[1] for label in offered()] == [f"Asunto {n}" for n in range(5)]
    page.text_input(key=f"mykb-search-{set_id}").set_value("ÑANDU").run()
    assert not page.exception
    assert [label.split(" · ")[:2] for label in offered()] == [["21", "Ñandú"]]


def test_the_line_below_the_chat_says_that_questions_of_chunks_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    kbs = get_app().kbs
    ready = kbs.pipeline(kbs.add_sample().kb_id)
    by_words = Pipeline(ready.index, ready.config.with_changes(retrieval_strategy="HYBRID"))
    reported, looked = threading.Event(), threading.Event()

    def grow(report: ProgressCallback) -> Iterator[Pipeline]:
        yield by_words
        report(Progress("check_questions", 64, 338))
        reported.set()
        looked.wait(10)

    under_way = GrowingPipeline("kb", grow)
    assert reported.wait(10)
    monkeypatch.setattr(kbs, "vectors_under_way", lambda *_: under_way)

    def script() -> None:
        from streamlit_app.knowledge_bases.vectors import vectors_status

        vectors_status("kb", ())

    page = AppTest.from_function(script).run()
    looked.set()
    assert not page.exception
    assert "Comprobando las preguntas de los fragmentos: 64 de 338" in page.caption[0].value
