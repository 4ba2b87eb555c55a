"""Reads and writes ``app_settings.json``: choices made in Admin that survive a restart. Contains no keys.

Several servers may use one file: each change reads the file again inside a lock and replaces only its own entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatbot_mvp.storage.formats import APP_SETTINGS
from chatbot_mvp.storage.json_object import change_object, read_object

Stamp = tuple[int, int, int] | None
"""Inode, time of the last change in ns and size of the file; None if there is no file."""


_MOST_APPLIED = 20  # configurations that can be undone, one after the other


@dataclass(frozen=True, slots=True)
class Applied:
    """A configuration that was applied as a whole."""

    label: str
    """Names its origin."""
    values: Mapping[str, Any]
    """Setting -> its value since then."""
    before: Mapping[str, Any]
    """Setting -> the value saved before; a setting without one is absent."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen in Admin, not validated."""

    provider: str = ""
    """"" if none was chosen."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Name -> value of the changed settings."""
    applied: tuple[Applied, ...] = ()
    """Configurations that were applied as a whole and not undone, the latest last."""
    in_keyring: tuple[str, ...] = ()
    """Settings whose keys are in the system's keyring."""


def stamp_of(path: Path) -> Stamp:
    """Return what changes whenever the file is written."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)


def read_choices(path: Path) -> Choices:
    """Read the file; without a file nothing was chosen.

    Raises:
        FileOfLaterVersion, InvalidJson, OSError
    """
    found = read_object(path, APP_SETTINGS)
    provider, settings = found.get("provider"), found.get("settings")
    return Choices(
        provider if isinstance(provider, str) else "",
        settings if isinstance(settings, dict) else {},
        tuple(Applied(entry["label"], entry["values"], entry["before"]) for entry in _applied(found)),
        tuple(_in_keyring(found)),
    )


def save_provider(path: Path, provider: str) -> None:
    """Save the chosen provider; other entries of the file are kept.

    Raises:
        ConfigurationError (choice_not_kept): the file cannot be written.
        FileOfLaterVersion
    """
    change_object(path, lambda found: found.update(provider=provider), APP_SETTINGS)


def save_settings(path: Path, values: Mapping[str, Any], in_keyring: Mapping[str, bool] | None = None) -> None:
    """Save settings in one step; other entries of the file are kept.

    Args:
        values: setting -> its value; None removes it.
        in_keyring: setting -> whether its key is in the keyring now.

    Raises:
        ConfigurationError (choice_not_kept): the file cannot be written; nothing changes.
        FileOfLaterVersion
    """

    def change(found: dict[str, Any]) -> None:
        settings = {**_settings(found), **values}
        found["settings"] = {name: value for name, value in settings.items() if value is not None}
        if in_keyring:
            kept = {**dict.fromkeys(_in_keyring(found), True), **in_keyring}
            found["in_keyring"] = [name for name, there in kept.items() if there]

    change_object(path, change, APP_SETTINGS)


def save_applied(path: Path, label: str, values: Mapping[str, Any]) -> None:
    """Save several settings in one step, and remember what was saved before, for ``undo_applied``.

    Raises:
        ConfigurationError (choice_not_kept): the file cannot be written; nothing changes.
        FileOfLaterVersion
    """

    def change(found: dict[str, Any]) -> None:
        before = {name: value for name, value in _settings(found).items() if name in values}
        entry = {"label": label, "values": dict(values), "before": before}
        found["settings"] = {**_settings(found), **values}
        found["applied"] = [*_applied(found), entry][-_MOST_APPLIED:]

    change_object(path, change, APP_SETTINGS)


def undo_applied(path: Path) -> tuple[Applied, tuple[str, ...]] | None:
    """Restore what was saved before the latest ``save_applied``; None if there is nothing to undo.

    Returns:
        (what is undone, settings that were changed since, which stay as they are).

    Raises:
        ConfigurationError (choice_not_kept): the file cannot be written; nothing changes.
        FileOfLaterVersion
    """
    undone: list[tuple[Applied, tuple[str, ...]]] = []

    def change(found: dict[str, Any]) -> None:
        entries, saved = _applied(found), dict(_settings(found))
        if not entries:
            return
        last = entries.pop()
        values, before = last["values"], last["before"]
        kept = tuple(name for name, value in values.items() if name not in saved or saved[name] != value)
        for name in values:
            if name not in kept:
                saved.pop(name)
                if name in before:
                    saved[name] = before[name]
        found["settings"], found["applied"] = saved, entries
        undone.append((Applied(last["label"], values, before), kept))

    change_object(path, change, APP_SETTINGS)
    return undone[0] if undone else None


def _applied(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    entries = found.get("applied")
    return [
        entry
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
        and isinstance(entry.get("label"), str)
        and isinstance(entry.get("values"), dict)
        and isinstance(entry.get("before"), dict)
    ]


def _settings(found: Mapping[str, Any]) -> Mapping[str, Any]:
    settings = found.get("settings")
    return settings if isinstance(settings, dict) else {}


def _in_keyring(found: Mapping[str, Any]) -> list[str]:
    names = found.get("in_keyring")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
