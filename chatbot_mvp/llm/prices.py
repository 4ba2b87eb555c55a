"""What tokens cost, from a dated table that the user can correct."""

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
"""How providers name one version of a model, as in gpt-4o-mini-2024-07-18."""


class PriceRow(BaseModel):
    """One row of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    model: str
    """"*": every model of the provider that has no row of its own."""
    input: float = Field(ge=0)
    """US dollars per million tokens of prompt."""
    output: float = Field(ge=0)
    """US dollars per million tokens of reply."""
    date: date
    """When the price was looked up."""
    source: str
    """Where it can be checked."""


@dataclass(frozen=True)
class Prices:
    """(provider, model) -> row."""

    rows: dict[tuple[str, str], PriceRow]

    def row(self, provider: str, model: str) -> PriceRow | None:
        """The price of a model, of its unversioned name, or of the provider's "*"."""
        names = (model, _VERSIONED.sub("", model), "*")
        return next((self.rows[provider, name] for name in names if (provider, name) in self.rows), None)

    def cost(self, provider: str, model: str, usage: Usage) -> float | None:
        """US dollars; None where the price or the tokens are not known. Free models cost 0 whatever they used."""
        row = self.row(provider, model)
        if row is None:
            return None
        if row.input == row.output == 0:
            return 0.0
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        return (usage.prompt_tokens * row.input + usage.completion_tokens * row.output) / 1_000_000


def load_prices(override: Path | None = None) -> Prices:
    """The table that comes with the project, with the rows of ``override`` over it if that file is there.

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
