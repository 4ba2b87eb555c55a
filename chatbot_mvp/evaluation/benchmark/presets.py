"""Presets of run settings: built-in ones, and ones that users save."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.retrieval.systems import DEFAULT, SYSTEMS
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.fields import ROWS
from chatbot_mvp.settings.fields.runs import DEFAULT_JUDGE_METRICS
from chatbot_mvp.storage.formats import RUN_PRESETS, VERSION
from chatbot_mvp.storage.json_object import InvalidJson, change_object, read_object

_log = logging.getLogger(__name__)

_OF_FORM = {
    "data": ("data",),
    "retrieval": ("search", "context"),
    "reranking": ("reranking",),
    "answers": ("answers",),
    "judge": ("judge",),
    "limits": ("requests",),
}
"""Group of the form of a run -> the groups whose settings it has, as a run's configuration shows them."""
_IN_FORM = sorted((name for name, row in ROWS.items() if row.form), key=lambda name: ROWS[name].form)

RUN_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    group: tuple(name for name in _IN_FORM if ROWS[name].run_group in parts) for group, parts in _OF_FORM.items()
}
"""Group -> settings in the form of a run. The data set and the budget have fields of their own."""

_NAMES = frozenset(name for names in RUN_PARAMETERS.values() for name in names).union(
    *(system.changes for system in SYSTEMS.values())
)
"""Settings that a preset may have: those of the form, and those that only a system changes."""

_RETRIEVAL_ONLY = {"generation_enabled": False, "dev_mode": False, "eval_max_corpus": 0}

BUILT_IN: Mapping[str, Mapping[str, Any]] = {
    "quick": {**_RETRIEVAL_ONLY, "retrieval_strategy": "LEXICAL", "eval_max_queries": 50, "reranker_enabled": False},
    "standard": {**_RETRIEVAL_ONLY, "eval_max_queries": 300},
    "full": {**_RETRIEVAL_ONLY, "eval_max_queries": 0},
    "judged": {
        "generation_enabled": True,
        "dev_mode": False,
        "eval_max_corpus": 0,
        "eval_max_queries": 100,
        "judge_metrics": DEFAULT_JUDGE_METRICS,
    },
    **{name: system.changes for name, system in SYSTEMS.items() if name != DEFAULT},
}
"""Name -> the settings that the preset changes. All other settings keep their current values."""

LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Preset:
    """Named settings of a run."""

    name: str
    changes: Mapping[str, Any]
    own: bool
    """True if a user saved the preset and can delete it; False if it is built in."""


class Presets:
    """The built-in and saved presets. All users share the saved ones. Safe to share between sessions."""

    def __init__(self, path: Path, is_set: Callable[[str], bool] = lambda _: False) -> None:
        """``is_set`` as in ``System.over``."""
        self._path, self._is_set = path, is_set

    @performs(Action.READ)
    def all(self) -> list[Preset]:
        """Return the built-in presets, then the saved ones by name. Of a damaged file, none is returned.

        Raises:
            FileOfLaterVersion
        """
        try:
            saved = read_object(self._path, RUN_PRESETS)
        except (InvalidJson, OSError) as error:
            _log.warning("%s cannot be read, so no saved preset is listed: %s", self._path, error)
            saved = {}
        own = [
            Preset(name, {key: value for key, value in changes.items() if key in _NAMES}, True)
            for name, changes in sorted(saved.items())
            if isinstance(changes, dict)
        ]
        built_in = {name: SYSTEMS[name].over(self._is_set) if name in SYSTEMS else BUILT_IN[name] for name in BUILT_IN}
        return [*(Preset(name, changes, False) for name, changes in built_in.items()), *own]

    @performs(Action.CHANGE_PRESETS)
    def save(self, name: str, changes: Mapping[str, Any]) -> str:
        """Save settings of a run as a preset, replacing one with that name. Return the name as saved.

        Raises:
            UnknownChoice: a setting is not a parameter of a run, or the name is blank or that of the file's version.
            ConfigurationError (choice_not_kept), FileOfLaterVersion
        """
        name = " ".join(name.split())[:LONGEST_NAME]
        if not name or name == VERSION:  # the file has the key of its version beside the names
            legal = f"1 to {LONGEST_NAME} characters, but not {VERSION}"
            raise UnknownChoice(kind="preset's name", found=name, legal=legal)
        if unknown := sorted(changes.keys() - _NAMES):
            raise UnknownChoice(kind="parameter of a run", found=unknown[0], legal=", ".join(sorted(_NAMES)))
        change_object(self._path, lambda found: found.update({name: dict(changes)}), RUN_PRESETS)
        return name

    @performs(Action.CHANGE_PRESETS)
    def delete(self, name: str) -> None:
        """Delete a saved preset. Has no effect if there is no saved preset with this name.

        Raises:
            ConfigurationError (choice_not_kept), FileOfLaterVersion
        """
        change_object(self._path, lambda found: found.pop(name, None), RUN_PRESETS)
