"""Any text can be uploaded, cut into chunks, indexed and asked. HYPOTHESIS_EXAMPLES sets how many texts are tried."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chatbot_mvp.app import App
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.documents.chunking import LIMIT_CHARS
from chatbot_mvp.errors import UploadError
from tests.knowledge_base.uploading import words_app

EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "15"))
PIECES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "# ",
            "## Plazos\n\n",
            "\n\n",
            "| a | b |\n",
            "- uno\n",
            "1. dos\n",
            "```\n",
            "El plazo es de 3 días. ",
            "> ",
            "¿Qué es?",
            "\r\n",
            "[1]",
            "`",
            "**",
            "Artículo 1\n\n",
            "\ufeff",
            "ﷺ",
            "\u202e",
            "x" * 2000,
            "a. b. " * 300,
        ]
    ),
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    folder = tmp_path_factory.mktemp("any")
    return words_app(folder)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=TEXTS, name=st.text(max_size=20), question=st.text(min_size=1, max_size=80))
@example(text="# Uno\n\nEl plazo es de 3 días.", name="a", question="\ud800")
@example(text="\ufeff", name="\x00", question="?")
def test_any_text_is_an_error_or_a_kb_that_can_be_asked(app: App, text: str, name: str, question: str) -> None:
    try:
        record = app.kbs.add(f"{name}.md", text.encode("utf-8", "surrogatepass"))
    except UploadError:
        return
    source = app.kbs.document(record.kb_id).text
    chunks = app.kbs.chunks(record.kb_id)
    assert record.chunks == len(chunks)
    for chunk in chunks:
        assert source[chunk.start : chunk.end] == chunk.text
        assert len(chunk.text) <= LIMIT_CHARS or len(chunk.text.split()) == 1
    assert {char for char in source if char.isalnum()} <= {
        char for chunk in chunks for char in chunk.text + chunk.section
    }
    answer = app.answering.ask(record.kb_id, question, UserContext("strict", record.language))
    for hit in answer.trace.chunks_final:
        assert source[hit.chunk.start : hit.chunk.end] == hit.chunk.text
    app.kbs.delete(record.kb_id)
