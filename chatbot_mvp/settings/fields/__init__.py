"""Defines every setting, a module for each subject: type, default, range and a one-line description."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from chatbot_mvp.plugins.finding import added, names_added
from chatbot_mvp.plugins.rows import SettingsSection
from chatbot_mvp.settings.fields.application import ApplicationFields
from chatbot_mvp.settings.fields.providers import ProviderFields
from chatbot_mvp.settings.fields.retrieval import RetrievalFields
from chatbot_mvp.settings.fields.runs import RunFields
from chatbot_mvp.settings.kinds import (
    GROUPS,
    IS_ADDRESS,
    RUN_GROUPS,
    Decides,
    Group,
    OfProvider,
    Row,
    RunGroup,
    marked,
)

_OWN = (
    SettingsSection(ApplicationFields),
    SettingsSection(ProviderFields, "provider", "answers"),
    SettingsSection(RetrievalFields, "retrieval", "search"),
    SettingsSection(RunFields, "data", "data"),
)


def _refusals() -> Callable[[SettingsSection], str]:
    """Return what says why a section cannot be used; "" if it can. Each name belongs to the first who has it."""
    taken = {name for section in _OWN for name in section.fields.model_fields}

    def refused(section: SettingsSection) -> str:
        names = section.fields.model_fields.keys()
        if both := sorted(taken & names):
            return f"there is already a setting {both[0].upper()}"
        if required := [name for name, field in section.fields.model_fields.items() if field.is_required()]:
            return f"the setting {required[0].upper()} has no default, so nothing would start without it"
        taken.update(names)
        return ""

    return refused


_ADDED = tuple(added("settings", SettingsSection, refused=_refusals()).values())

if TYPE_CHECKING:

    class _AddedFields(BaseSettings):
        """The fields of all sections that are added."""

else:
    _AddedFields = type("_AddedFields", (*(section.fields for section in _ADDED), BaseSettings), {})


# Pydantic lists the fields of the last base first.
class SettingFields(_AddedFields, RunFields, RetrievalFields, ProviderFields, ApplicationFields):
    """The settings; a field's name in capitals is its environment variable (``retrieval_k``: ``RETRIEVAL_K``)."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True)


def _rows() -> dict[str, Row]:
    found = {}
    for section in (*_OWN, *_ADDED):
        group: Group = next((one for one in GROUPS if one == section.group), "general")
        run_group: RunGroup = next((one for one in RUN_GROUPS if one == section.run_group), "other")
        for name, field in section.fields.model_fields.items():
            row = next((mark for mark in field.metadata if isinstance(mark, Row)), Row())
            found[name] = replace(row, group=row.group or group, run_group=row.run_group or run_group)
    return {name: found[name] for name in SettingFields.model_fields}


ROWS = _rows()
"""Setting -> what the program does with it, in the order of the fields, with its groups filled in."""


def deciding(*what: Decides) -> tuple[str, ...]:
    """Return the settings that decide something of ``what``, in the order of the fields."""
    return tuple(name for name, row in ROWS.items() if row.decides in what)


SAID_EMPTY = frozenset(
    name
    for name, field in SettingFields.model_fields.items()
    if field.default and isinstance(field.default, str) and "empty: none" in str(field.description)
)
"""Settings that are not empty by default and mean nothing when they are: a variable that is set to nothing counts."""

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
