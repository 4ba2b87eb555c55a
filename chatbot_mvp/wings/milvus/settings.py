"""The settings of the Milvus server."""

from __future__ import annotations

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from chatbot_mvp.plugins.rows import SettingsSection
from chatbot_mvp.settings.kinds import Key, ServerAddress


class MilvusSettings(BaseSettings):
    """The server that INDEX_ENGINE=milvus uses."""

    milvus_address: ServerAddress = Field("", description="Address of the Milvus server, e.g. http://localhost:19530.")
    milvus_token: Key = Field(
        SecretStr(""), description="user:password or API key for the Milvus server; empty: without sign-in."
    )
    milvus_database: str = Field("", description="Database on the Milvus server; empty: its default one.")


SECTION = SettingsSection(MilvusSettings, group="vectors", run_group="search")
