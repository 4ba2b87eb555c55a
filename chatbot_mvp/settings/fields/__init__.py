"""Defines every setting, a module for each subject: type, default, range and a one-line description."""

from __future__ import annotations

from pydantic import SecretStr
from pydantic_settings import SettingsConfigDict

from chatbot_mvp.settings.fields.application import ApplicationFields
from chatbot_mvp.settings.fields.providers import ProviderFields
from chatbot_mvp.settings.fields.retrieval import RetrievalFields
from chatbot_mvp.settings.fields.runs import RunFields
from chatbot_mvp.settings.kinds import IS_ADDRESS


# Pydantic lists the fields of the last base first.
class SettingFields(RunFields, RetrievalFields, ProviderFields, ApplicationFields):
    """The settings; a field's name in capitals is its environment variable (``retrieval_k``: ``RETRIEVAL_K``)."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True)


SECRETS = tuple(name for name, field in SettingFields.model_fields.items() if field.annotation is SecretStr)
"""Settings that are never written down."""
ADDRESSES = tuple(name for name, field in SettingFields.model_fields.items() if IS_ADDRESS in field.metadata)
"""Settings that say where requests go to."""
