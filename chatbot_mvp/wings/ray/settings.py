"""The setting of the Ray cluster."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from chatbot_mvp.plugins.rows import SettingsSection
from chatbot_mvp.settings.kinds import OF_THE_MACHINE, ServerAddress


class RaySettings(BaseSettings):
    """The cluster that EVAL_ENGINE=ray uses."""

    ray_address: Annotated[ServerAddress, OF_THE_MACHINE] = Field(
        "",
        description="Address of the Ray cluster, host:port of its head, or `auto` for the one that this machine "
        "belongs to; empty: Ray is started on this machine for each run.",
    )

    @field_validator("ray_address")
    @classmethod
    def _address_of_a_head(cls, value: str) -> str:
        if value not in ("", "auto") and not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:/\s]+):\d{1,5}", value):
            raise ValueError("it must be host:port of the head, as in 10.0.0.5:6379, or auto, or empty")
        return value


SECTION = SettingsSection(RaySettings, group="data")
