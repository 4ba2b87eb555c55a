"""What a completion costs, from a table that can be corrected."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.llm.base import Usage
from chatbot_mvp.llm.prices import Prices, load_prices
from chatbot_mvp.llm.registry import PROVIDERS
from chatbot_mvp.settings.model import MODEL_SETTINGS, Settings


@pytest.fixture
def prices() -> Prices:
    return load_prices()


def test_a_million_tokens_cost_what_the_row_says(prices: Prices) -> None:
    row = prices.row("openai", "gpt-4.1-mini")
    assert row
    assert prices.cost("openai", "gpt-4.1-mini", Usage(1_000_000, 0)) == row.input
    assert prices.cost("openai", "gpt-4.1-mini", Usage(0, 500_000)) == row.output / 2


def test_a_versioned_name_has_the_price_of_its_model(prices: Prices) -> None:
    assert prices.row("openai", "gpt-4o-mini-2024-07-18") == prices.row("openai", "gpt-4o-mini")
    assert prices.row("gemini", "gemini-2.5-flash-001") == prices.row("gemini", "gemini-2.5-flash")
    assert prices.row("gemini", "gemini-2.5-flash-lite") is None


@pytest.mark.parametrize(
    ("provider", "model", "usage"),
    [
        ("openai", "gpt-99", Usage(10, 10)),
        ("nim", "nvidia/nemotron-3-nano", Usage(10, 10)),
        ("openai", "gpt-4.1-mini", Usage(None, 10)),
        ("openai", "gpt-4.1-mini", Usage(10, None)),
    ],
    ids=["unknown model", "one's own NIM", "prompt not counted", "reply not counted"],
)
def test_what_is_not_known_is_not_0(prices: Prices, provider: str, model: str, usage: Usage) -> None:
    assert prices.cost(provider, model, usage) is None


@pytest.mark.parametrize("provider", ["ollama", "local"])
def test_what_runs_on_ones_own_machine_costs_nothing(prices: Prices, provider: str) -> None:
    assert prices.cost(provider, "anything", Usage()) == 0.0


def test_every_row_has_a_date_and_a_source_and_a_provider_of_the_registry(prices: Prices) -> None:
    for (provider, _), row in prices.rows.items():
        assert provider in PROVIDERS
        assert date(2024, 1, 1) < row.date <= date(2026, 11, 21)
        assert row.source


@pytest.mark.parametrize("provider", ["gemini", "groq", "openai"])
def test_the_default_model_of_a_hosted_provider_has_a_price(prices: Prices, settings: Settings, provider: str) -> None:
    assert prices.row(provider, getattr(settings, MODEL_SETTINGS[provider]))


def test_the_users_rows_win_and_the_others_stay(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(
        '[[price]]\nprovider = "nim"\nmodel = "*"\ninput = 1.0\noutput = 2.0\ndate = 2026-11-21\nsource = "us"\n',
        "utf-8",
    )
    prices = load_prices(own)
    assert prices.cost("nim", "nvidia/anything", Usage(1_000_000, 1_000_000)) == 3.0
    assert prices.row("openai", "gpt-4.1-mini")


@pytest.mark.parametrize(
    "content", ["not toml", '[[price]]\nprovider = "nim"\n', "[[price]]\nprovider = 1\nprize = 2\n"]
)
def test_a_table_that_cannot_be_read_is_named(tmp_path: Path, content: str) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(content, "utf-8")
    with pytest.raises(InvalidSetting, match=r"prices\.toml"):
        load_prices(own)
