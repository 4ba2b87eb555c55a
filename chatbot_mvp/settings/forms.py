"""Describes how a form asks for a setting: its kind, range and choices, derived from the field."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr

from chatbot_mvp.settings.fields import ADDRESSES, MODEL_SETTINGS, ROWS
from chatbot_mvp.settings.hints import bounds_of
from chatbot_mvp.settings.kinds import IN_ADMIN
from chatbot_mvp.settings.model import SECRETS, Settings

Kind = Literal["switch", "whole", "number", "choice", "text", "secret"]

CHANGEABLE = frozenset(
    name
    for name, field in Settings.model_fields.items()
    if (IN_ADMIN in field.metadata or name in MODEL_SETTINGS.values()) and name not in (*SECRETS, *ADDRESSES)
)
"""Settings that Admin may change while the App is running: those that are marked, and the models of providers.

Folders are in use; addresses decide where keys and texts are sent; secrets are never written down.
"""


@dataclass(frozen=True, slots=True)
class SettingForm:
    """Form field for a setting."""

    name: str
    kind: Kind
    choices: tuple[str, ...]
    """Legal values, if the kind is "choice"; otherwise empty."""
    low: float | None
    """Smallest legal value of a number; None if unbounded."""
    high: float | None
    default: Any

    @property
    def variable(self) -> str:
        """The name of the environment variable."""
        return self.name.upper()

    @property
    def group(self) -> str:
        """The group of the setting, one of ``kinds.GROUPS``."""
        return ROWS[self.name].group


def form_of(name: str) -> SettingForm:
    """Return the form of the setting ``name``, which must exist."""
    field = Settings.model_fields[name]
    bounds = bounds_of(field.metadata)
    choices = tuple(str(choice) for choice in get_args(field.annotation)) if _kind(name) == "choice" else ()
    default = str(field.default) if isinstance(field.default, Path) else field.default
    return SettingForm(name, _kind(name), choices, bounds.get("ge", bounds.get("gt")), bounds.get("le"), default)


def _kind(name: str) -> Kind:
    annotation = Settings.model_fields[name].annotation
    if name in SECRETS or annotation is SecretStr:
        return "secret"
    if get_origin(annotation) is Literal:
        return "choice"
    kinds: dict[Any, Kind] = {bool: "switch", int: "whole", float: "number"}
    return kinds.get(annotation, "text")
