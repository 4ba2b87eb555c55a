"""What a command needs before it reads the settings. Imports no validation library, so that help pages open at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

MASK = "***"
"""Replaces the value of a secret wherever settings are logged, saved or shown."""

SECRETS_FILE = Path(".streamlit") / "secrets.toml"


def log_format(env_file: Path | None = None) -> str:
    """Return LOG_FORMAT, which is needed to report errors in the other settings; "text" if it cannot be read."""
    try:
        given = [value for place in _places(env_file or Path(".env")) if (value := _value_in(place))]
    except (OSError, ValueError):  # a file that is not text, or not TOML
        return "text"
    return "jsonl" if given and given[0] == "jsonl" else "text"


def _places(env_file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the sources of settings in the order of precedence of ``settings.model``."""
    yield os.environ
    if env_file.is_file():
        yield dotenv_values(env_file)
    if SECRETS_FILE.is_file():
        yield tomllib.loads(SECRETS_FILE.read_text("utf-8"))


def _value_in(place: Mapping[str, Any]) -> Any:
    return next((value for name, value in place.items() if name.upper() == "LOG_FORMAT"), "")
