"""What a person may set for one question, above the settings (``user_context``)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from chatbot_mvp.settings import Settings

Mode = Literal["strict", "general"]
MODES: tuple[Mode, ...] = ("strict", "general")


@dataclass(frozen=True, slots=True)
class UserContext:
    """The knobs of one question; None leaves the setting of the same name as it is."""

    mode: Mode = "strict"
    language: str = "es"
    """Of the fixed replies, "es" or "en"."""
    kb_top_k: int | None = None
    """Chunks that may reach the answer, 1-50."""
    kb_min_score: float | None = None
    """0-1, relative to the best chunk's."""
    kb_max_context_chars: int | None = None
    """Budget of the context in characters, from 500; holds for large sources too."""
    kb_min_evidence: float | None = None
    """0-1."""
    kb_doubt_evidence: float | None = None
    """0-1."""
    chat_max_tokens: int | None = None
    """Longest answer; 0 leaves it open."""

    def over(self, settings: Settings) -> Settings:
        """``settings`` with these knobs in place of theirs.

        Raises:
            InvalidSetting: a knob is out of its range.
        """
        given: dict[str, Any] = {
            field.name: value
            for field in fields(self)
            if field.name not in ("mode", "language") and (value := getattr(self, field.name)) is not None
        }
        changed = {name: value for name, value in given.items() if value != getattr(settings, name)}
        # Equal to a setting it changes nothing, not even the larger budget of a large source.
        return settings.with_changes(**changed) if changed else settings
