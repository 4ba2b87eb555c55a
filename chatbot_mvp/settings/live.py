"""The settings in effect: where each comes from, and those that Admin changes while the App is open."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.settings.forms import CHANGEABLE, SettingForm, form_of
from chatbot_mvp.settings.model import Settings, where_set
from chatbot_mvp.settings.saved import save_settings, saved_settings

Source = Literal["environment", "dotenv", "secrets", "given", "admin", "default"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting as it is in effect."""

    form: SettingForm
    value: Any
    """None for a secret."""
    is_set: bool
    """Of a secret, whether it has a value."""
    source: Source
    """"given" for one that the program was started with in another way."""
    changeable: bool
    """Admin may change it."""


class LiveSettings:
    """Safe to share between threads."""

    def __init__(self, given: Settings) -> None:
        """
        Args:
            given: as they were read; what is set there wins over what was chosen in Admin.
        """
        self._given = given
        self._path = given.app_settings_path
        self._outside = frozenset(given.model_fields_set)
        self._lock = threading.Lock()
        self._chosen: dict[str, Any] = {}
        self._listeners: list[Callable[[Settings], None]] = []
        for name, value in saved_settings(self._path).items():
            if name not in CHANGEABLE or name in self._outside:
                continue
            try:
                self._given.with_changes(**self._chosen, **{name: value})
            except InvalidSetting as error:
                _log.warning("%s: %s", self._path, error)
                continue
            self._chosen[name] = value

    @property
    def current(self) -> Settings:
        """With what was chosen in Admin; the provider, which has a choice of its own, as it was given."""
        return self._given.with_changes(**self._chosen) if self._chosen else self._given

    def on_change(self, listener: Callable[[Settings], None]) -> None:
        """Have ``listener`` told of the settings after each change."""
        self._listeners.append(listener)

    def rows(self) -> list[SettingRow]:
        """Every setting, in the order of their fields."""
        current = self.current
        places = where_set()
        rows = []
        for name in Settings.model_fields:
            form = form_of(name)
            value = getattr(current, name)
            secret = form.kind == "secret"
            source: Source = "default"
            if name in self._outside:
                source = places.get(name, "given")
            elif name in self._chosen:
                source = "admin"
            rows.append(
                SettingRow(
                    form,
                    None if secret else value,
                    bool(value.get_secret_value()) if secret else True,
                    source,
                    self.changeable(name),
                )
            )
        return rows

    def changeable(self, name: str) -> bool:
        """Whether Admin may change it: it is one of those, and is not set outside of Admin."""
        return name in CHANGEABLE and name not in self._outside

    def change(self, name: str, value: Any) -> None:
        """Have a setting from now on, and after a restart.

        Raises:
            InvalidSetting: the value is not legal, or the setting cannot be changed here.
            ChoiceNotKept
        """
        self._require_changeable(name, value)
        with self._lock:
            self._keep({**self._chosen, name: value})

    def reset(self, name: str) -> None:
        """Go back to the default.

        Raises:
            InvalidSetting: the setting cannot be changed here.
            ChoiceNotKept
        """
        self._require_changeable(name, "")
        with self._lock:
            self._keep({other: value for other, value in self._chosen.items() if other != name})

    def _keep(self, chosen: dict[str, Any]) -> None:
        changed = self._given.with_changes(**chosen) if chosen else self._given
        save_settings(self._path, chosen)
        self._chosen = chosen
        for listener in self._listeners:
            listener(changed)

    def _require_changeable(self, name: str, value: Any) -> None:
        if name not in CHANGEABLE:
            reason = "it is read at the start only; set it in the environment or in .env, and start again"
            raise InvalidSetting(name=name.upper(), found=value, reason=reason)
        if name in self._outside:
            reason = "it is set outside of Admin, which wins; remove it there first"
            raise InvalidSetting(name=name.upper(), found=value, reason=reason)
