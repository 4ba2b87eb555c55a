"""What the tools say of ids and passages, without a protocol."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import KbNotFound, KbPassageChanged
from chatbot_mvp.knowledge_base.gathering import given_contents
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.mcp.tools import Tools
from tests.fakes import fake_app

HOLIDAYS = b"# Vacaciones\n\nCada persona dispone de 23 dias de vacaciones.\n"
OTHER = b"# Dietas\n\nLa dieta completa es de 48 euros por dia y persona.\n"


@pytest.fixture
def app(settings: Settings) -> App:
    return fake_app(settings.with_changes(retrieval_strategy="LEXICAL"))


def test_an_id_of_before_a_change_gives_no_other_passage(app: App) -> None:
    record = app.kbs.add("vacaciones.md", HOLIDAYS)
    tools = Tools(app)
    [first] = tools.search("¿Cuántos días de vacaciones hay?")["results"]
    assert "23 dias" in tools.fetch(first["id"])["metadata"]["passage"]
    app.kb_filing.add(record.kb_id, given_contents([("aaa.md", OTHER)]))  # before it in the order of paths
    with pytest.raises(KbPassageChanged, match="Search again"):
        tools.fetch(first["id"])
    again = next(
        one for one in tools.search("¿Cuántos días de vacaciones hay?")["results"] if "Vacaciones" in one["title"]
    )
    assert "23 dias" in tools.fetch(again["id"])["metadata"]["passage"]


@pytest.mark.parametrize(
    "span", ["", "0-5", "9" * 5_000 + "-" + "9" * 5_000, "²-³", "0-5-" + "0" * 13, "٠-٥-000000000000"]
)
def test_what_is_no_id_is_refused_in_words(app: App, span: str) -> None:
    record = app.kbs.add("vacaciones.md", HOLIDAYS)
    with pytest.raises(KbNotFound, match="an id that search returned"):
        Tools(app).fetch(f"{record.kb_id}/{span}")
