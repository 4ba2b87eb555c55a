"""The setting of the shared folder."""

from __future__ import annotations

import re

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from chatbot_mvp.plugins.rows import SettingsSection


class SharingFields(BaseSettings):
    """Where knowledge bases and finished runs are shared."""

    data_root: str = Field(
        "",
        description="Address s3://bucket/prefix through which several servers share knowledge bases and finished runs, "
        "on the S3 server of MINIO_ENDPOINT; empty: nothing is shared.",
    )

    @field_validator("data_root")
    @classmethod
    def _address_of_a_bucket(cls, value: str) -> str:
        if value and not re.fullmatch(r"s3://[^/\s]+(/\S*)?", value):
            raise ValueError("it must have the form s3://bucket/prefix")
        return value.rstrip("/")


SETTINGS = SettingsSection(SharingFields)
