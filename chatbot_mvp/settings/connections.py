"""Keys and addresses of providers that Admin sets: which may be set there, and keeping them in the chosen place."""

from __future__ import annotations

from dataclasses import dataclass

from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.settings.fields import ADDRESS_SETTINGS, PROVIDER_SETTINGS
from chatbot_mvp.settings.keys import KEY_PLACES, KeyPlace, put_in_keyring, usable_places, write_env
from chatbot_mvp.settings.live import LiveSettings, Source
from chatbot_mvp.settings.model import MASK, Settings


def key_setting(provider: str) -> str:
    """Return the setting that a key typed for a provider goes to; "" if the provider has no key."""
    return next(iter(_keys(provider)), "")


def _keys(provider: str) -> list[str]:
    return [name for name, mark in PROVIDER_SETTINGS.items() if (mark.provider, mark.role) == (provider, "key")]


@dataclass(frozen=True, slots=True)
class KeyState:
    """The key of a provider, without the key."""

    source: Source
    """Where it is; "default" if there is none."""
    places: tuple[KeyPlace, ...]
    """Where Admin can keep a key now; empty where the key is set outside Admin."""


class ProviderAccess:
    """Keys and addresses of providers as Admin sets them. Safe to share between threads."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live

    def key_state(self, provider: str) -> KeyState:
        """Describe the key of a provider, which has one."""
        source: Source = "default"
        for name in reversed(_keys(provider)):
            if getattr(self._live.current, name).get_secret_value():
                source = self._live.source_of(name)
        at = self._live.source_of(key_setting(provider)) if self._live.is_outside(key_setting(provider)) else "default"
        if at == "dotenv":
            return KeyState(source, tuple(place for place in usable_places() if place == "dotenv"))
        return KeyState(source, () if at != "default" else usable_places())

    def address_changeable(self, provider: str) -> bool:
        """Return whether Admin may change a provider's address.

        Not where the address, or a key, is set outside Admin: that key must not be sent anywhere else.
        """
        name = ADDRESS_SETTINGS.get(provider, "")
        return bool(name) and not any(self._live.is_outside(one) for one in (name, *_keys(provider)))

    def connect(self, provider: str, key: str = "", address: str | None = None, place: KeyPlace = "memory") -> None:
        """Put a key, an address or both into effect from the next request on, and keep them.

        Args:
            key: "" keeps the present one, unless the address changes: a key belongs to the address that it was typed
                for, and is forgotten with it.
            address: None keeps the present one, "" stands for the usual one.
            place: where to keep the key, and its address with it. An address without a key is kept with the other
                choices of Admin.

        Raises:
            InvalidSetting: a value is not legal, or is set outside Admin.
            ConfigurationError (choice_not_kept): it could not be kept.
            FileOfLaterVersion
        """
        live, of_key, of_address = self._live, key_setting(provider), ADDRESS_SETTINGS.get(provider, "")
        usual = Settings.model_fields[of_address].default if of_address else ""
        now = str(getattr(live.current, of_address)) if of_address else ""
        where = now if address is None else address.strip() or usual
        if where != now and not self.address_changeable(provider):
            raise InvalidSetting(name=of_address.upper(), found=where, reason=_OUTSIDE)
        if key and place not in self.key_state(provider).places:
            raise InvalidSetting(name=of_key.upper(), found=place, reason=_OUTSIDE)
        if not key and where == now:
            return
        # Of no use are values that the settings refuse, so they are tried before anything is kept.
        checked = live.current.with_changes(
            **({of_address: where} if of_address else {}), **({of_key: key} if of_key else {})
        )
        if of_key:
            key = getattr(checked, of_key).get_secret_value()
        before = live.source_of(of_key) if of_key else "default"
        own = {of_address: where} if self.address_changeable(provider) else {}
        other = {name: None if value == usual else value for name, value in own.items()}
        gone = dict.fromkeys((*own, *([of_key] if of_key else ())))
        if not key:
            live.hold(gone)
            live.save(other)
        elif place == "keyring":
            put_in_keyring(of_key.upper(), where, key)
            live.hold(gone)
            live.save(other, {of_key: True})
        else:
            if place == "dotenv":
                # Beside a key of ``.env``, an address that only the choices of Admin have would be ignored.
                write_env({**{name.upper(): value or "" for name, value in other.items()}, of_key.upper(): key})
            live.hold({**own, of_key: key}, place)
        if (before, now) != (place if key else "", where):
            self._remove(provider, before, now, replaced=bool(key) and place == before)

    def forget_key(self, provider: str) -> None:
        """Remove a key that was typed in Admin, or that ``.env`` has, from where it is kept.

        Raises:
            InvalidSetting: it is set outside Admin and ``.env``.
            ConfigurationError (choice_not_kept): it could not be removed; nothing changes.
        """
        name, of_address = key_setting(provider), ADDRESS_SETTINGS.get(provider, "")
        source = self._live.source_of(name)
        if source not in ("default", *KEY_PLACES):
            raise InvalidSetting(name=name.upper(), found=MASK, reason=_OUTSIDE)
        self._remove(provider, source, str(getattr(self._live.current, of_address)) if of_address else "")
        # A key of ``.env`` was read at start-up: an empty one hides it until the next start.
        self._live.hold({name: "" if self._live.is_outside(name) else None}, "dotenv")

    def _remove(self, provider: str, source: Source, address: str, replaced: bool = False) -> None:
        """Remove a key, which belongs to an address, from a place; what is in effect stays.

        Args:
            replaced: whether the same place has another key of this provider now.
        """
        name, of_address = key_setting(provider), ADDRESS_SETTINGS.get(provider, "")
        if source == "keyring":
            put_in_keyring(name.upper(), address, "")
            if not replaced:
                self._live.save({}, {name: False})
        elif source == "dotenv" and not replaced:
            with_it = [of_address] if of_address and not self._live.is_outside(of_address) else []
            write_env(dict.fromkeys((one.upper() for one in (name, *with_it)), ""))


_OUTSIDE = "it is set outside Admin, which takes precedence; change it there"
