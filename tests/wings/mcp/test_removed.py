"""No tool gives anything of a document that was removed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.mcp.tools import Tools
from tests.cases import draws
from tests.fakes import fake_app
from tests.removed import planted_kb, questions, remove, shown

EACH = 20
"""Questions in a case."""


def told(tools: Tools, question: str) -> Iterator[tuple[str, object]]:
    found = tools.search(question)
    yield "search", found
    yield "fetch", [tools.fetch(one["id"]) for one in found["results"]]
    yield "ask", tools.ask(question)
    yield "list_knowledge_bases", tools.list_knowledge_bases()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", range(draws(1_000, 60) // EACH))
def test_no_tool_gives_anything_of_a_removed_document(settings: Settings, case: int) -> None:
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL", provider="demo"))
    kb_id, tools = planted_kb(app), Tools(app)
    asked = questions(1_000)[EACH * case : EACH * (case + 1)]
    before = {name for question in asked for name, value in told(tools, question) if shown(value, question)}
    assert before == {"search", "fetch", "ask", "list_knowledge_bases"}
    remove(app, kb_id)
    for question in asked:
        for name, value in told(tools, question):
            assert not shown(value, question), (name, question)
