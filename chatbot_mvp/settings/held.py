"""Keys, and addresses kept with them, that are in effect and not among the choices of Admin."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from chatbot_mvp.settings.fields import ADDRESS_SETTINGS, PROVIDER_SETTINGS
from chatbot_mvp.settings.keys import KeyPlace, in_keyring
from chatbot_mvp.settings.model import Settings


class HeldValues:
    """Setting -> its value and the place where it is kept. Changed only under the lock of ``LiveSettings``."""

    def __init__(self, given: Settings, outside: Collection[str]) -> None:
        """
        Args:
            given: the settings read at start-up.
            outside: settings that have a value there.
        """
        self._given = given
        self._outside = outside
        self._held: dict[str, tuple[Any, KeyPlace]] = {}

    @property
    def values(self) -> dict[str, Any]:
        return {name: value for name, (value, _) in self._held.items()}

    def place_of(self, name: str) -> KeyPlace | None:
        """Return where a setting's value is kept; None if the setting is not held, or is empty."""
        value, place = self._held.get(name, (None, None))
        return place if value else None

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def with_values(self, values: Mapping[str, Any], place: KeyPlace) -> HeldValues:
        """Return a copy with these values; None removes one."""
        copy = HeldValues(self._given, self._outside)
        held = {**self._held, **{name: (value, place) for name, value in values.items()}}
        copy._held = {name: one for name, one in held.items() if one[0] is not None}
        return copy

    def with_keyring(self, names: Collection[str], chosen: Mapping[str, Any]) -> HeldValues:
        """Return a copy with the keys that the keyring has for these settings.

        Args:
            chosen: the choices of Admin, which may have another address of a provider.
        """
        copy = HeldValues(self._given, self._outside)
        copy._held = {name: held for name, held in self._held.items() if held[1] != "keyring"}
        for name in names:
            mark = PROVIDER_SETTINGS.get(name)
            if mark is None or mark.role != "key" or name in self._outside or name in copy:
                continue
            of = ADDRESS_SETTINGS.get(mark.provider, "")
            address = chosen.get(of, getattr(self._given, of)) if of else ""
            if key := in_keyring(name.upper(), str(address)):
                copy._held[name] = (key, "keyring")
        return copy


def binds_key(name: str, outside: Collection[str]) -> bool:
    """Return whether a setting is the address of a provider whose key is among the settings ``outside``."""
    mark = PROVIDER_SETTINGS.get(name)
    if mark is None or mark.role != "address":
        return False
    keys = (key for key, other in PROVIDER_SETTINGS.items() if (other.provider, other.role) == (mark.provider, "key"))
    return any(key in outside for key in keys)
