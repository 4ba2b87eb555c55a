"""Prices of tokens, from a dated table that the user can override."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.llm.base import Usage

_TABLE = Path(__file__).with_name("prices.toml")
_VERSIONED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{3,4}|latest)$")
"""Version suffix of a model name, as in gpt-4o-mini-2024-07-18."""


class PriceRow(BaseModel):
    """One row of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    model: str
    """Name of the model; "*": every model of the provider without its own row."""
    input: float = Field(ge=0)
    """US dollars per million prompt tokens."""
    output: float = Field(ge=0)
    """US dollars per million reply tokens."""
    date: date
    """When the price was looked up."""
    source: str
    """Where the price can be checked."""


_CHARS_PER_TOKEN = 4
QUESTION_TOKENS, ANSWER_TOKENS = 500, 200
"""Of a usual question of the chat: instructions and question, without the passages, and the answer."""


def question_usage(context_chars: int) -> Usage:
    """Return the tokens of a usual question with so many characters of passages."""
    return Usage(QUESTION_TOKENS + context_chars // _CHARS_PER_TOKEN, ANSWER_TOKENS)


@dataclass(frozen=True)
class Prices:
    """Price table: (provider, model) -> row."""

    rows: dict[tuple[str, str], PriceRow]

    def row(self, provider: str, model: str) -> PriceRow | None:
        """Return the row of the model, of its unversioned name, or of the provider's "*"; None if there is none."""
        names = (model, _VERSIONED.sub("", model), "*")
        return next((self.rows[provider, name] for name in names if (provider, name) in self.rows), None)

    def cost(self, provider: str, model: str, usage: Usage) -> float | None:
        """Return the cost in US dollars; None if the price or the tokens are not known. Free models always cost 0."""
        row = self.row(provider, model)
        if row is None:
            return None
        if row.input == row.output == 0:
            return 0.0
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        return (usage.prompt_tokens * row.input + usage.completion_tokens * row.output) / 1_000_000


def load_prices(override: Path | None = None) -> Prices:
    """Load the bundled price table. Rows of the file ``override``, if it exists, replace bundled ones.

    Raises:
        InvalidSetting: ``override`` cannot be read.
    """
    rows = _read(_TABLE)
    if override is not None and override.is_file():
        rows |= _read(override)
    return Prices(rows)


def _read(path: Path) -> dict[tuple[str, str], PriceRow]:
    try:
        table = tomllib.loads(path.read_text("utf-8")).get("price", [])
        rows = [PriceRow.model_validate(row) for row in table]
    except (OSError, ValueError, TypeError, ValidationError) as error:
        raise InvalidSetting(name=path.name, found=str(path), reason=f"it cannot be read: {error}") from error
    return {(row.provider, row.model): row for row in rows}
