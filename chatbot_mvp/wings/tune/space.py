"""The space of configurations that a tune tries, as data: a table of knobs, or a file of the user's own."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict

from chatbot_mvp.chat.profile import TAKEN_OVER
from chatbot_mvp.errors import InvalidSetting, UnknownChoice
from chatbot_mvp.evaluation.benchmark.preparation import run_fingerprint
from chatbot_mvp.retrieval.strategies import STRATEGIES, asks_while_searching, get_strategy
from chatbot_mvp.runs.kinds import BENCHMARK, KB
from chatbot_mvp.runs.rows import STORED
from chatbot_mvp.settings.fields import ROWS
from chatbot_mvp.settings.kinds import embeds_in_process
from chatbot_mvp.settings.model import MODEL_SETTINGS, Settings
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.wings.tune.errors import TuneError

MOST = 200
"""Default of the number of configurations that a tune tries."""

TUNABLE = (*TAKEN_OVER, *MODEL_SETTINGS.values())
"""Settings that a space may name: those that the chat can take over from a run, and the providers' models."""

Changes = Mapping[str, Any]
"""Setting -> value."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One row of a space: something to try in several ways."""

    name: str
    options: tuple[Changes, ...]
    """Each option is one setting, or several that only make sense together."""
    kinds: tuple[str, ...] = (BENCHMARK, KB)
    """Kinds of runs whose metrics the knob can change."""


def _knobs(with_model: bool) -> tuple[Knob, ...]:
    tried = [(name, row.tried) for name, row in ROWS.items() if row.tried and row.tried.with_model == with_model]
    return tuple(
        Knob(one.name or name, tuple(_option(name, value) for value in one.values or _STRATEGIES), one.runs)
        for name, one in sorted(tried, key=lambda pair: pair[1].place)
    )


_STRATEGIES = [name for name, found in STRATEGIES.items() if not (found.needs_language_model or found.of_a_system)]


def _option(name: str, value: Any) -> Changes:
    option = {key.lower(): one for key, one in value.items()} if isinstance(value, dict) else {name.lower(): value}
    for key, one in option.items():
        if key not in TUNABLE:
            legal = ", ".join(each.upper() for each in TUNABLE)
            raise InvalidSetting(name=key.upper(), found=one, reason=f"a tune cannot change it; legal: {legal}")
    return option


FREE = _knobs(with_model=False)
"""Knobs of configurations that send no request."""

WITH_MODEL = _knobs(with_model=True)
"""What a model adds. Each option is tried on top of today's configuration and of the best one without a model."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One configuration that a tune measures."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    config_id: str
    """Fingerprint of its retrieval, as in a run's manifest."""
    strategy: str
    changes: dict[str, Any]
    """Setting -> value, for the settings that differ from those in effect when the tune began."""
    sends_requests: bool
    """Whether it asks a model or a server, so that it may cost money."""

    @property
    def label(self) -> str:
        """The changes in one line; "today" without changes."""
        return ", ".join(f"{name}={value}" for name, value in self.changes.items()) or "today"


def sends_requests(settings: Settings) -> bool:
    """Return whether the retrieval of ``settings`` sends requests to a model or a server."""
    strategy = get_strategy(settings.retrieval_strategy)
    remote = strategy.needs_vectors and not embeds_in_process(settings.embedding_model_name)
    return strategy.writes_contexts or asks_while_searching(settings) or remote


OfRun = Callable[[Settings], Settings]
"""Return the settings of a run that is started with some settings."""


def configuration_of(today: Settings, changes: Changes, of_run: OfRun) -> Configuration:
    """Return the configuration that ``changes`` make of today's settings.

    Raises:
        InvalidSetting: a value is not legal.
        UnknownChoice: there is no such strategy.
        NeedsLanguageModel: the configuration needs a model, and there is none.
    """
    settings = of_run(today.with_changes(**changes))
    changed = {name: getattr(settings, name) for name in TUNABLE if getattr(settings, name) != getattr(today, name)}
    return Configuration(run_fingerprint(settings), settings.retrieval_strategy, changed, sends_requests(settings))


def configurations(today: Settings, knobs: Sequence[Knob], most: int, seed: int, of_run: OfRun) -> list[Configuration]:
    """Return the distinct configurations of a space that send no request, without today's.

    First those that differ from today's in one knob, then random combinations. Of configurations with one fingerprint,
    which rank alike, the one with the fewest changes is kept.

    Args:
        most: largest number to return, 1 or more.
        seed: decides the combinations, if there are more than ``most``.
        of_run: returns the settings of a run.

    Raises:
        InvalidSetting, UnknownChoice: a value is not legal.
    """
    known = {run_fingerprint(today)}
    found: list[Configuration] = []
    for changes in _in_order(knobs, seed):
        if len(found) == most:
            break
        made = configuration_of(today, changes, of_run)
        if made.config_id not in known and not made.sends_requests:
            known.add(made.config_id)
            found.append(made)
    return found


def with_model(today: Settings, bases: Sequence[Changes], knobs: Sequence[Knob], of_run: OfRun) -> list[Configuration]:
    """Return the distinct configurations that send requests: each option of each knob on top of each base.

    Raises:
        InvalidSetting, UnknownChoice: a value is not legal.
    """
    known = {run_fingerprint(today)}
    found = []
    for base, knob in product(bases, knobs):
        for option in knob.options:
            made = configuration_of(today, {**base, **option}, of_run)
            if made.config_id not in known and made.sends_requests:
                known.add(made.config_id)
                found.append(made)
    return found


def _in_order(knobs: Sequence[Knob], seed: int) -> Iterator[Changes]:
    for knob in knobs:
        yield from knob.options
    sizes = [len(knob.options) for knob in knobs]
    total = 1
    for size in sizes:
        total *= size
    # A space may have millions of combinations, so that they are drawn by number and never listed.
    rng = random.Random(seed)
    drawn = rng.sample(range(total), min(total, _DRAWN))
    for number in drawn:
        changes: dict[str, Any] = {}
        for knob, size in zip(knobs, sizes, strict=True):
            number, at = divmod(number, size)
            changes |= knob.options[at]
        yield changes


_DRAWN = 5_000
"""Combinations that are looked at; many of them rank alike."""


def read_space(path: Path) -> tuple[Knob, ...]:
    """Read a space from a TOML or JSON file: setting -> list of values.

    A value may be a table of several settings that belong together; the key is then only a name.

    Raises:
        TuneError (tune_space_unreadable): there is no such file, or it is not a table of lists.
        TuneError (tune_space_empty): it names no value.
        InvalidSetting: a setting that a tune cannot change.
    """
    try:
        content = path.read_text("utf-8-sig")
        found = parse_json(content) if path.suffix.lower() == ".json" else tomllib.loads(content)
    except OSError as error:
        raise TuneError("tune_space_unreadable", path=str(path), reason=error.strerror or str(error)) from error
    except ValueError as error:
        raise TuneError("tune_space_unreadable", path=str(path), reason=str(error)) from error
    except RecursionError as error:
        raise TuneError("tune_space_unreadable", path=str(path), reason="its lists are nested too deep") from error
    if not isinstance(found, dict) or not all(isinstance(values, list) for values in found.values()):
        raise TuneError("tune_space_unreadable", path=str(path), reason="it is not a table of setting = [value, …]")
    knobs = tuple(
        Knob(name.lower(), tuple(_option(name, value) for value in values)) for name, values in found.items() if values
    )
    if not knobs:
        raise TuneError("tune_space_empty", found=f"the file {path} names no value")
    return knobs


def split_knobs(today: Settings, knobs: Sequence[Knob]) -> tuple[tuple[Knob, ...], tuple[Knob, ...]]:
    """Divide the options of a user's space into those without and those with requests to a model.

    Raises:
        InvalidSetting, UnknownChoice: a value is not legal.
    """
    free, asking = [], []
    for knob in knobs:
        sides: tuple[list[Changes], list[Changes]] = ([], [])
        for option in knob.options:
            try:
                sides[sends_requests(today.with_changes(**option))].append(option)
            except UnknownChoice as error:
                raise InvalidSetting(
                    name=knob.name.upper(), found=str(option), reason=f"legal: {error.params['legal']}"
                ) from error
        if sides[0]:
            free.append(Knob(knob.name, tuple(sides[0])))
        if sides[1]:
            asking.append(Knob(knob.name, tuple(sides[1])))
    return tuple(free), tuple(asking)
