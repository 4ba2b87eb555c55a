"""The setting of the links to answers."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from chatbot_mvp.plugins.rows import SettingsSection


class LinkSettings(BaseSettings):
    """How long a link to an answer opens it."""

    answer_link_days: int = Field(
        30, ge=0, le=365, description="Days that a link to an answer of the chat opens it for others; 0: no links."
    )


SECTION = SettingsSection(LinkSettings, group="general")
