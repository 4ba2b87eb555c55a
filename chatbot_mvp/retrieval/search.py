"""A search with other settings than those in effect, as a person takes it from a run into the chat."""

from __future__ import annotations

from typing import Any

from chatbot_mvp.settings.fields import ROWS, deciding
from chatbot_mvp.settings.model import Settings

OtherSearch = tuple[tuple[str, Any], ...]
"""(name, value) of settings of retrieval."""

OF_PIPELINE = deciding("index", "ranking", "pipeline")
"""Settings that the pipeline of a knowledge base is built from."""


def other_search(settings: Settings, search: OtherSearch) -> OtherSearch:
    """The part of ``search`` that needs a pipeline of its own, sorted by name.

    Left out are values that ``settings`` have already, the knobs of the selection, which may differ from question to
    question over one pipeline (``Pipeline.with_selection``), and settings of answers and runs.
    """
    return tuple(
        sorted(
            (name, value)
            for name, value in search
            if (name in OF_PIPELINE or name not in ROWS) and value != getattr(settings, name, None)
        )
    )


def with_search(settings: Settings, search: OtherSearch) -> Settings:
    """``settings`` with the settings of another search in their place.

    Raises:
        InvalidSetting: there is no such setting, or its value is not legal.
    """
    return settings.with_changes(**dict(search)) if search else settings
