"""The setting of the review."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from chatbot_mvp.plugins.rows import SettingsSection


class ReviewSettings(BaseSettings):
    """How the chat's answers are shared out among reviewers."""

    kb_review_twice_share: float = Field(
        0.2,
        ge=0.0,
        le=1.0,
        description="Share of the chat's answers that a second reviewer is shown, to measure agreement (0-1).",
    )


SECTION = SettingsSection(ReviewSettings, group="kb")
