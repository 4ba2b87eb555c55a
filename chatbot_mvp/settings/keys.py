"""Where keys that were typed in Admin are kept: in memory, in the system's keyring or in ``.env``."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from dotenv import dotenv_values
from dotenv.parser import parse_stream

from chatbot_mvp.errors import ConfigurationError
from chatbot_mvp.storage.files import write_atomically

_log = logging.getLogger(__name__)

KeyPlace = Literal["memory", "keyring", "dotenv"]
"""memory: until the server ends. keyring: the system's store of passwords. dotenv: the file ``.env``."""
KEY_PLACES: tuple[KeyPlace, ...] = get_args(KeyPlace)

ENV_FILE = Path(".env")
_SERVICE = "chatbot-mvp"


def usable_places() -> tuple[KeyPlace, ...]:
    """Return the places where this process can keep a key."""
    folder = ENV_FILE.resolve().parent
    usable = {"memory": True, "keyring": _has_keyring(), "dotenv": os.access(folder, os.W_OK)}
    return tuple(place for place in KEY_PLACES if usable[place])


def in_keyring(variable: str, address: str) -> str:
    """Return the key that the keyring has for a variable and an address; "" if it has none or cannot be read.

    A key belongs to the address that it was typed for: it is never sent to another one.
    """
    if not _has_keyring():
        return ""
    import keyring

    try:
        return keyring.get_password(_SERVICE, _entry(variable, address)) or ""
    except Exception as error:  # noqa: BLE001 - each system's backend has exceptions of its own
        _log.warning("the keyring cannot be read: %s", type(error).__name__)
        return ""


def put_in_keyring(variable: str, address: str, key: str) -> None:
    """Keep a key in the keyring; "" removes it.

    Raises:
        ConfigurationError (choice_not_kept): the keyring refused.
    """
    import keyring

    entry = _entry(variable, address)
    try:
        if key:
            keyring.set_password(_SERVICE, entry, key)
        elif keyring.get_password(_SERVICE, entry) is not None:
            keyring.delete_password(_SERVICE, entry)
    except Exception as error:  # noqa: BLE001 - as above
        # The message of a backend may hold what it was given.
        raise ConfigurationError("choice_not_kept", path="keyring", reason=type(error).__name__) from None


def write_env(values: Mapping[str, str]) -> None:
    """Set variables in ``.env``, which only its owner may read then; "" removes a variable. Other lines stay.

    Raises:
        ConfigurationError (choice_not_kept): the file cannot be read or written, or cannot hold a value; nothing
            changes.
    """
    path = ENV_FILE.resolve()  # a link stays a link
    try:
        new = _with(path.read_text("utf-8") if path.is_file() else "", values)
        read = dotenv_values(stream=io.StringIO(new))
        if any((read.get(name) or "") != value for name, value in values.items()):
            raise ConfigurationError("choice_not_kept", path=str(path), reason="it cannot hold this value")
        write_atomically(path, new, tidy=False)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "") or type(error).__name__
        raise ConfigurationError("choice_not_kept", path=str(path), reason=reason) from None


def _with(text: str, values: Mapping[str, str]) -> str:
    kept = [line.original.string for line in parse_stream(io.StringIO(text)) if line.key not in values]
    whole = "".join(kept)
    if whole and not whole.endswith("\n"):
        whole += "\n"
    quoted = {name: value.replace("\\", "\\\\").replace("'", "\\'") for name, value in values.items() if value}
    return whole + "".join(f"{name}='{value}'\n" for name, value in quoted.items())


def _entry(variable: str, address: str) -> str:
    return f"{variable} {address}".rstrip()


@cache
def _has_keyring() -> bool:
    try:
        import keyring
        from keyring.backends.fail import Keyring as Nothing
    except ImportError:
        return False
    try:
        backend = keyring.get_keyring()
    except Exception:  # noqa: BLE001 - as above
        return False
    return not isinstance(backend, Nothing) and backend.priority > 0
