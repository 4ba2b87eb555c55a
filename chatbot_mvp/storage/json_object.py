"""Parse JSON from files and requests, and change a small JSON object on disk. Readers never see a partial file."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import ConfigurationError
from chatbot_mvp.storage.files import lock_beside, make_folder, write_json
from chatbot_mvp.storage.formats import VERSION, IncompleteFile, known_version

MOST_LEVELS = 100
"""How deep lists and objects may be nested. Deeper values parse, but copying or writing them exceeds Python's stack."""
_MOST_DIGITS = 300
"""Longest integer. A longer one cannot be converted to a float."""
_LONE = re.compile("[\ud800-\udfff]")


_log = logging.getLogger(__name__)


class InvalidJson(ValueError):
    """A text is not JSON, or holds a value that the application cannot work with."""


def parse_json(content: bytes | str) -> Any:
    """Parse JSON that may come from anyone.

    Lone surrogates become U+FFFD, because no file in UTF-8 can hold them, and one odd character is no reason to lose a
    whole line. Offsets stay valid: one character replaces one.

    Raises:
        InvalidJson: the content is not UTF-8 or not JSON, has NaN, Infinity or a number that is too large, or is
            nested more than ``MOST_LEVELS`` levels deep.
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        value = _DECODER.decode(text)
    except InvalidJson:
        raise
    except RecursionError as error:
        raise InvalidJson(_TOO_DEEP) from error
    except ValueError as error:
        raise InvalidJson(str(error)) from error
    # Fewer brackets cannot be nested too deeply; counting them is much faster than walking through the value.
    if text.count("[") + text.count("{") > MOST_LEVELS:
        _require_levels(value)
    # A plain search is ten times as fast as a pattern, and only texts with such an escape need the walk.
    if "\\ud" in text or "\\uD" in text or (text is content and _LONE.search(text)):
        value = _encodable(value)
    return value


def read_object(path: Path, known: int) -> dict[str, Any]:
    """Return the object without its format version; an empty one if the file does not exist.

    Args:
        known: the latest format of its kind, as in ``formats``.

    Raises:
        FileOfLaterVersion
        InvalidJson: the file is damaged, or has no format version.
        OSError: the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    found = parse_json(content)
    if not isinstance(found, dict):
        raise InvalidJson("it is not a JSON object")
    try:
        return known_version(found, path, known)
    except IncompleteFile as error:
        raise InvalidJson(str(error)) from error


def change_object(path: Path, change: Callable[[dict[str, Any]], None], known: int) -> None:
    """Read the object, change it in place and write it in the format ``known``. Safe for threads and processes.

    A damaged file is kept beside the new one, with ``.damaged`` after its name.

    Raises:
        ConfigurationError (choice_not_kept): the file cannot be written; its content stays as it was.
        FileOfLaterVersion
    """
    try:
        make_folder(path.parent)
        # Read inside the lock: another process may have changed the file since this one read it.
        with lock_beside(path):
            try:
                found = read_object(path, known)
            except InvalidJson as error:
                aside = path.with_name(f"{path.name}.damaged")
                _log.warning("%s is damaged and was moved to %s: %s", path, aside, error)
                path.replace(aside)
                found = {}
            change(found)
            write_json(path, {VERSION: known, **found})
    except OSError as error:
        raise ConfigurationError("choice_not_kept", path=str(path), reason=error.strerror or str(error)) from error


_TOO_DEEP = f"it is nested more than {MOST_LEVELS} levels deep"


def _constant(name: str) -> float:
    raise InvalidJson(f"{name} is not a number of JSON")


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise InvalidJson(f"the number {digits[:20]} is too large")
    return value


def _int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise InvalidJson(f"an integer has {len(digits)} digits; at most {_MOST_DIGITS} are read")
    return int(digits)


_DECODER = json.JSONDecoder(parse_constant=_constant, parse_float=_float, parse_int=_int)


def _require_levels(value: object) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MOST_LEVELS):
        level = [
            part
            for whole in level
            for part in (whole.values() if isinstance(whole, dict) else whole)
            if isinstance(part, dict | list)
        ]
        if not level:
            return
    raise InvalidJson(_TOO_DEEP)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_encodable(part) for part in value]
    if isinstance(value, dict):
        return {_encodable(name): _encodable(part) for name, part in value.items()}
    return value
