"""Mask a configuration for display and export: no secrets, no credentials, no local folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.settings.fields import ROWS
from chatbot_mvp.settings.kinds import RUN_GROUPS
from chatbot_mvp.settings.model import CT2_PREFIX, HUGGINGFACE_PREFIX, MASK, ONNX_PREFIX, SECRETS, Settings

_FOLDER_PREFIXES = (ONNX_PREFIX, CT2_PREFIX, HUGGINGFACE_PREFIX)
_SECRET_NAME = re.compile(r"(?:^|_)(?:api_?key|access_?key|secret\w*|token|password|credential\w*)$", re.IGNORECASE)


def masked_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Mask the settings of a manifest again, because an older or edited file may contain secrets."""
    return {name: _masked(name, value) for name, value in settings.items()}


def configuration(manifest: RunManifest) -> dict[str, Any]:
    """Return a masked manifest without ``dataset_ref``, which may be a local folder. The data set's hash stays."""
    values = asdict(manifest)
    del values["dataset_ref"]
    evaluation = dict(manifest.evaluation)
    if isinstance(evaluation.get("config"), Mapping):
        evaluation["config"] = _masked_parts(evaluation["config"])
    return {**values, "settings_masked": masked_settings(manifest.settings_masked), "evaluation": evaluation}


def _masked_parts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Mask the values of a configuration with parts, which names the folders of an evaluation."""
    return {
        name: _masked_parts(value) if isinstance(value, Mapping) else _masked(name, value)
        for name, value in values.items()
    }


def _masked(name: str, value: Any) -> Any:
    if not isinstance(value, str) or not value:
        return value
    if name in SECRETS or _SECRET_NAME.search(name):
        return MASK
    if value.startswith("kb:"):
        kb_id, _, questions = value.partition("/")
        return f"{kb_id}/{PureWindowsPath(questions).name}"  # Windows' rules split at both kinds of slash
    if "://" in value:
        return _address(value)
    prefix, _, folder = value.partition(":")
    if f"{prefix}:" in _FOLDER_PREFIXES:
        return f"{prefix}:{_masked(name, folder)}"
    if value.startswith(("/", "~")):
        return PurePosixPath(value).name
    return PureWindowsPath(value).name if re.match(r"[A-Za-z]:\\", value) else value


def _address(value: str) -> str:
    """Keep scheme, host, port and path of an address; user, password and query may be credentials."""
    parts = urlsplit(value)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


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
