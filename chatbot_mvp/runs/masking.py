"""Mask a configuration for display and export: no secrets, no credentials, no local folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.settings.model import CT2_PREFIX, HUGGINGFACE_PREFIX, MASK, ONNX_PREFIX, SECRETS

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
