"""Defines every setting, a module for each subject: type, default, range and a one-line description."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from chatbot_mvp.plugins.finding import added, names_added
from chatbot_mvp.plugins.rows import SettingsSection
from chatbot_mvp.settings.fields.application import ApplicationFields
from chatbot_mvp.settings.fields.providers import ProviderFields
from chatbot_mvp.settings.fields.retrieval import RetrievalFields
from chatbot_mvp.settings.fields.runs import RunFields
from chatbot_mvp.settings.kinds import IS_ADDRESS, OfProvider, marked

_OWN = (RunFields, RetrievalFields, ProviderFields, ApplicationFields)


def _refusals() -> Callable[[SettingsSection], str]:
    """Return what says why a section cannot be used; "" if it can. Each name belongs to the first who has it."""
    taken = {name for fields in _OWN for name in fields.model_fields}

    def refused(section: SettingsSection) -> str:
        names = section.fields.model_fields.keys()
        if both := sorted(taken & names):
            return f"there is already a setting {both[0].upper()}"
        taken.update(names)
        return ""

    return refused


if TYPE_CHECKING:

    class _AddedFields(BaseSettings):
        """The fields of all sections that are added."""

else:
    _sections = added("settings", SettingsSection, refused=_refusals()).values()
    _AddedFields = type("_AddedFields", (*(section.fields for section in _sections), BaseSettings), {})


# Pydantic lists the fields of the last base first.
class SettingFields(_AddedFields, RunFields, RetrievalFields, ProviderFields, ApplicationFields):
    """The settings; a field's name in capitals is its environment variable (``retrieval_k``: ``RETRIEVAL_K``)."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True)


SECRETS = tuple(name for name, field in SettingFields.model_fields.items() if field.annotation is SecretStr)
"""Settings that are never written down."""
ADDRESSES = tuple(name for name, field in SettingFields.model_fields.items() if IS_ADDRESS in field.metadata)
"""Settings that say where requests go to."""

PROVIDER_SETTINGS: dict[str, OfProvider] = {
    name: mark for name, field in SettingFields.model_fields.items() if (mark := marked(field))
}
"""Setting -> whose it is and what it holds; only the settings of one provider are here."""
MODEL_SETTINGS = {mark.provider: name for name, mark in PROVIDER_SETTINGS.items() if mark.role == "model"}
"""Provider -> the setting that names its model."""
ADDRESS_SETTINGS = {mark.provider: name for name, mark in PROVIDER_SETTINGS.items() if mark.role == "address"}
"""Provider -> the setting that says where it is."""
PROVIDER_NAMES = tuple(
    dict.fromkeys((*(mark.provider for mark in PROVIDER_SETTINGS.values()), "demo", *names_added("provider")))
)
"""Every provider; "demo" has no language model and no settings."""
