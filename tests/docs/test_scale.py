"""The page about scale multiplies with the prices that the application has."""

from __future__ import annotations

from chatbot_mvp.llm.base import Usage
from chatbot_mvp.llm.prices import load_prices
from tests.docs.pages import ROOT


def test_a_million_answers_a_day_cost_what_the_page_says() -> None:
    """1,500 tokens of prompt and 150 of answer each."""
    one = load_prices().cost("gemini", "gemini-2.5-flash", Usage(1_500, 150))
    assert one is not None
    page = " ".join((ROOT / "docs" / "operate" / "scale.md").read_text("utf-8").split())
    assert "Answers by `gemini-2.5-flash`, 1,500 tokens of prompt and 150 of answer each" in page
    assert f"cost {1_000_000 * one:.0f} US dollars a day" in page
