"""The settings in effect: where each comes from, what Admin changed, which provider was chosen."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chatbot_mvp.errors import ChatbotError, FileOfLaterVersion, InvalidSetting
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.fields import ADDRESS_SETTINGS, PROVIDER_NAMES
from chatbot_mvp.settings.forms import CHANGEABLE, SettingForm, form_of
from chatbot_mvp.settings.held import HeldValues, binds_key
from chatbot_mvp.settings.keys import KeyPlace
from chatbot_mvp.settings.model import AUTO, Settings, where_set
from chatbot_mvp.settings.saved import (
    Applied,
    Stamp,
    read_choices,
    save_applied,
    save_provider,
    save_settings,
    stamp_of,
    undo_applied,
)

Source = Literal["environment", "dotenv", "secrets", "given", "admin", "memory", "keyring", "default"]

_CONNECTED = frozenset((*ADDRESS_SETTINGS.values(), "local_model_path"))
"""Settings that Admin changes where it connects providers, and nowhere else: a configuration that is applied as a whole
may come from another machine, and must not say where keys and texts are sent."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting with the value in effect."""

    form: SettingForm
    value: Any
    """None for a secret."""
    is_set: bool
    """Whether a secret has a value; always True for other settings."""
    source: Source
    """Where the value comes from; "given" means an argument at start-up, "memory" a key that was typed in Admin and is
    forgotten when the server ends."""
    changeable: bool
    """Whether Admin may change it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The settings at one moment."""

    version: int
    """Increases with each change. Objects built under another version may use other settings."""
    settings: Settings


class LiveSettings:
    """The settings in effect, with the changes made in Admin while the App runs. Safe to share between threads."""

    def __init__(self, given: Settings, preset: Callable[[str], Mapping[str, Any]] = lambda _: {}) -> None:
        """
        Args:
            given: settings read at start-up. Values set there take precedence over choices made in Admin.
            preset: the settings of a name that DEFAULT_PRESET may have. They stand in place of the defaults.
        """
        self._given, self._preset = given, preset
        self._path = given.app_settings_path
        self._outside = frozenset(given.model_fields_set)
        self._lock = threading.RLock()
        self._stamp: Stamp = None
        self._chosen: dict[str, Any] = {}
        self._provider = ""
        self._applied: tuple[Applied, ...] = ()
        self._held = HeldValues(given, self._outside)
        self._snapshot = Snapshot(0, self._effective({}, ""))
        try:
            self._read_again()
        except FileOfLaterVersion:
            raise
        except (ValueError, OSError) as error:
            _log.warning("%s cannot be read, so no choice made in Admin is in effect: %s", self._path, error)

    @property
    def snapshot(self) -> Snapshot:
        """The settings in effect together with their version. Choices saved by another server are in effect, too."""
        self._refresh()
        return self._snapshot

    @property
    def current(self) -> Settings:
        """The settings in effect. ``provider`` is always a name, never "auto"."""
        return self.snapshot.settings

    def _refresh(self) -> None:
        """Put the choices of the file into effect, if it has changed and can be read."""
        if stamp_of(self._path) == self._stamp:
            return
        with self._lock:
            try:
                self._read_again()
            except (ChatbotError, ValueError, OSError) as error:
                _log.warning("%s cannot be read; the settings in effect stay: %s", self._path, error)

    def _read_again(self) -> None:
        """Do the work of ``_refresh``.

        Raises:
            FileOfLaterVersion, InvalidJson, OSError: nothing changes until the file is written again.
        """
        # Before reading, so that a write in between is noticed the next time.
        stamp = stamp_of(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        choices = read_choices(self._path)
        chosen: dict[str, Any] = {}
        for name, value in choices.settings.items():
            if (
                not (name in CHANGEABLE or name in _CONNECTED)
                or name in self._outside
                or binds_key(name, self._outside)
            ):
                continue
            try:
                self._given.with_changes(**chosen, **{name: value})
            except InvalidSetting as error:
                _log.warning("%s: %s", self._path, error)
                continue
            chosen[name] = value
        self._held = self._held.with_keyring(choices.in_keyring, chosen)
        settings = self._effective(chosen, choices.provider)
        self._chosen, self._provider, self._applied = chosen, choices.provider, choices.applied
        self._put(settings)

    def _put(self, settings: Settings) -> None:
        if settings != self._snapshot.settings:
            self._snapshot = Snapshot(self._snapshot.version + 1, settings)

    # --- the provider

    @property
    def provider_fixed(self) -> bool:
        """True if PROVIDER names a provider, so that Admin cannot choose another one."""
        return self._given.provider != AUTO

    @property
    def provider_reason(self) -> str:
        """Why the current provider is this one, as the end of a sentence with "because"."""
        if self.provider_fixed:
            return "PROVIDER names it"
        self._refresh()
        if self._provider in PROVIDER_NAMES:
            return "it was chosen in Admin"
        return self._without_provider(self._chosen).automatic_provider[1]

    def choose_provider(self, name: str) -> None:
        """Use another provider from the next request on, and after a restart.

        Args:
            name: a provider that is known and configured; the caller has checked that.

        Raises:
            InvalidSetting: PROVIDER is set outside Admin, which takes precedence.
            ConfigurationError (choice_not_kept): the choice could not be written; nothing changes.
            FileOfLaterVersion
        """
        if self.provider_fixed:
            reason = f"it is set outside Admin, which wins over the choice of {name!r}; remove it there first"
            raise InvalidSetting(name="PROVIDER", found=self._given.provider, reason=reason)
        with self._lock:
            self._effective(self._chosen, name)
            save_provider(self._path, name)
            self._refresh()

    # --- the other settings

    @performs(Action.READ)
    def rows(self) -> list[SettingRow]:
        """Return a row per setting, in the order of the fields."""
        self._refresh()
        current = self._without_provider(self._chosen)
        places = where_set()
        rows = []
        for name in Settings.model_fields:
            form = form_of(name)
            value = getattr(current, name)
            secret = form.kind == "secret"
            rows.append(
                SettingRow(
                    form,
                    None if secret else value,
                    bool(value.get_secret_value()) if secret else True,
                    self._source(name, places),
                    self.changeable(name),
                )
            )
        return rows

    @performs(Action.READ)
    def changeable(self, name: str) -> bool:
        """Return whether Admin may change a setting: it is in ``CHANGEABLE`` and is not set outside Admin."""
        return name in CHANGEABLE and name not in self._outside

    @performs(Action.CHANGE_SETTINGS)
    def change(self, name: str, value: Any) -> None:
        """Change a setting from now on, also after a restart.

        Raises:
            InvalidSetting: the value is not legal, or the setting cannot be changed here.
            ConfigurationError (choice_not_kept): the file of choices cannot be written.
            FileOfLaterVersion
        """
        self._require_changeable(name, value)
        with self._lock:
            self._effective({**self._chosen, name: value}, self._provider)
            save_settings(self._path, {name: value})
            self._refresh()

    @performs(Action.CHANGE_SETTINGS)
    def reset(self, name: str) -> None:
        """Return a setting to its default.

        Raises:
            InvalidSetting: the setting cannot be changed here.
            ConfigurationError (choice_not_kept): the file of choices cannot be written.
            FileOfLaterVersion
        """
        self._require_changeable(name, "")
        with self._lock:
            save_settings(self._path, {name: None})
            self._refresh()

    # --- keys and addresses of providers: see ``settings.connections``

    def is_outside(self, name: str) -> bool:
        """Return whether a setting is set outside Admin."""
        return name in self._outside

    def source_of(self, name: str) -> Source:
        """Return where the value of a setting comes from."""
        self._refresh()
        return self._source(name, where_set())

    def hold(self, values: Mapping[str, Any], place: KeyPlace = "memory") -> None:
        """Put values into effect that are in no file of choices, in this process alone.

        Args:
            values: setting -> its value; None ends it.
            place: where the values are kept.

        Raises:
            InvalidSetting: a value is not legal; nothing changes.
        """
        with self._lock:
            self._refresh()
            before, self._held = self._held, self._held.with_values(values, place)
            try:
                self._put(self._effective(self._chosen, self._provider))
            except InvalidSetting:
                self._held = before
                raise

    def save(self, values: Mapping[str, Any], in_keyring: Mapping[str, bool] | None = None) -> None:
        """Keep values of connected providers with the other choices, and which keys the keyring has.

        Args:
            values: setting -> its value; None removes it.

        Raises:
            ConfigurationError (choice_not_kept): the file of choices cannot be written; nothing changes.
            FileOfLaterVersion
        """
        with self._lock:
            save_settings(self._path, values, in_keyring)
            self._refresh()

    # --- whole configurations

    def why_not_applicable(self, values: Mapping[str, Any]) -> str:
        """Return why settings cannot be changed here, as the end of a sentence with "because"; "" if they can."""
        for name in values:
            try:
                self._require_changeable(name, values[name])
            except InvalidSetting as error:
                return f"{name.upper()}: {error.params['reason']}"
        return ""

    def apply(self, label: str, values: Mapping[str, Any]) -> None:
        """Change several settings in one step, from now on and after a restart; ``undo`` takes all of them back.

        Args:
            label: names where the values come from.

        Raises:
            InvalidSetting: a value is not legal, or a setting cannot be changed here; nothing changes.
            ConfigurationError (choice_not_kept): the file of choices cannot be written; nothing changes.
            FileOfLaterVersion
        """
        for name, value in values.items():
            self._require_changeable(name, value)
        with self._lock:
            self._effective({**self._chosen, **values}, self._provider)
            save_applied(self._path, label, values)
            self._refresh()

    def undo(self) -> tuple[Applied, tuple[str, ...]] | None:
        """Restore the settings as they were before the latest ``apply``; None if nothing is left to undo.

        Returns:
            (what is undone, settings that were changed since, which stay as they are).

        Raises:
            ConfigurationError (choice_not_kept): the file of choices cannot be written; nothing changes.
            FileOfLaterVersion
        """
        with self._lock:
            undone = undo_applied(self._path)
            self._refresh()
            return undone

    @property
    def applied(self) -> tuple[Applied, ...]:
        """Configurations that were applied as a whole and not undone, the latest last."""
        self._refresh()
        return self._applied

    def _effective(self, chosen: dict[str, Any], provider: str) -> Settings:
        settings = self._without_provider(chosen)
        if self.provider_fixed or provider not in PROVIDER_NAMES:
            # A name that another version has saved is no reason to fail.
            provider = settings.chosen_provider
        return settings.with_changes(provider=provider)

    def _without_provider(self, chosen: Mapping[str, Any]) -> Settings:
        preset = self._preset(chosen.get("default_preset", self._given.default_preset)).items()
        usual = {name: value for name, value in preset if name not in self._outside}
        return self._given.with_changes(**{**usual, **chosen, **self._held.values})

    def _source(self, name: str, places: Mapping[str, Source]) -> Source:
        if name in self._held:
            return self._held.place_of(name) or "default"
        if name in self._outside:
            return places.get(name, "given")
        return "admin" if name in self._chosen else "default"

    def _require_changeable(self, name: str, value: Any) -> None:
        if name not in CHANGEABLE:
            reason = "it is read only at start-up; set it in the environment or in .env, and restart"
            raise InvalidSetting(name=name.upper(), found=value, reason=reason)
        if name in self._outside:
            reason = "it is set outside Admin, which takes precedence; remove it there first"
            raise InvalidSetting(name=name.upper(), found=value, reason=reason)
