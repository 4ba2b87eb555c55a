"""One person under several spellings of a name is one reviewer, and a name that nobody sees is none."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.wings.review.service import Reviews
from chatbot_mvp.wings.review.verdicts import reviewer_key, visible_name
from tests.raising import raises


@pytest.fixture
def app(settings: Settings) -> App:
    return build_app(load_settings(data_dir=settings.data_dir, retrieval_strategy="LEXICAL", provider="demo"))


@pytest.mark.parametrize(
    "name",
    [
        "ANA RUIZ",
        " ana  ruiz ",
        "AnaRuiz",
        "Ana\u200b Ruiz",
        "Ａｎａ Ruiz",
        "Ana\u00a0Ruiz",
        "a\u00adna\u2060ruiz",
        "Ana Ruiz\u3164",
    ],
)
def test_another_spelling_of_a_name_is_no_other_person(name: str) -> None:
    assert reviewer_key(name) == reviewer_key("Ana Ruiz")


def test_a_name_whose_accent_stands_apart_is_the_same_person_as_it_is_shown() -> None:
    apart = "Jose\u200b\u0301"
    assert reviewer_key(visible_name(apart)) == reviewer_key(apart) == reviewer_key("José")


@pytest.mark.parametrize(
    "name", ["", " ", "\u200b", "\u00ad\u2060", "\u3164", "\u2800", "\u115f\u1160", "\U000e0041", "\ufe0f"]
)
def test_a_name_that_nobody_sees_is_nobody(app: App, name: str) -> None:
    kb_id = app.kbs.add("normas.md", b"# Vacaciones\n").kb_id
    assert reviewer_key(name) == ""
    with raises("no_reviewer"):
        app.get(Reviews).undo(kb_id, name)
