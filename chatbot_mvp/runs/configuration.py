"""Group a run's settings for display, with their defaults. Secrets are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatbot_mvp.runs.masking import masked_settings
from chatbot_mvp.settings.fields import ROWS
from chatbot_mvp.settings.kinds import RUN_GROUPS
from chatbot_mvp.settings.model import MASK, SECRETS, Settings


@dataclass(frozen=True, slots=True)
class RunSetting:
    """One setting of a run."""

    name: str
    value: Any
    default: Any
    """The default in this version; None if this version does not have the setting."""
    changed: bool
    """True if the value differs from the default."""


def configuration_groups(recorded: Mapping[str, Any]) -> dict[str, list[RunSetting]]:
    """Return group -> its settings, changed ones first, then by name. Empty groups are left out."""
    defaults = _defaults()
    found: dict[str, list[RunSetting]] = {group: [] for group in RUN_GROUPS}
    for name, value in masked_settings(recorded).items():
        if name in SECRETS or value == MASK:
            continue
        default = defaults.get(name)
        found[_group(name)].append(RunSetting(name, value, default, name not in defaults or value != default))
    return {group: sorted(rows, key=lambda row: (not row.changed, row.name)) for group, rows in found.items() if rows}


def changed_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the settings that two runs do not share -> (value before, value after); "-" where one has none."""
    return {
        name: (str(before.get(name, "-")), str(after.get(name, "-")))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
        and name not in SECRETS
        and MASK not in (before.get(name), after.get(name))
    }


def _group(name: str) -> str:
    """Return the group of a setting; one of another version is where those are that begin with the same word."""
    found = ROWS.get(name) or next((row for own, row in ROWS.items() if own.split("_")[0] == name.split("_")[0]), None)
    return found.run_group if found else "other"


def _defaults() -> dict[str, Any]:
    """Return the defaults in the form of a manifest, so that they can be compared with recorded values."""
    made = Settings.model_construct()
    return masked_settings(made.model_dump(mode="json", exclude={"data_dir", *SECRETS}))
