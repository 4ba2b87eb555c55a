"""Finds and loads what was added."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from typing import TypeVar

from chatbot_mvp.plugins.kinds import KINDS, VERSION

_PROJECT = Path(__file__).resolve().parent.parent.parent
_WINGS = ("chatbot_mvp/wings", "streamlit_app/wings")
_PREFIX = "chatbot_mvp."

_log = logging.getLogger(__name__)
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Addition:
    """One thing that a wing or a package adds."""

    entry: EntryPoint
    source: str
    """Name of the wing, or name and version of the package."""
    is_wing: bool

    @property
    def kind(self) -> str:
        """Name of its kind; the whole group if there is no such kind in this version."""
        name = self.entry.group.removeprefix(f"{_PREFIX}v{VERSION}.")
        return name if name in KINDS else self.entry.group

    @property
    def name(self) -> str:
        return self.entry.name


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an addition is left out."""

    addition: Addition
    reason: str

    def __str__(self) -> str:
        one = self.addition
        return f"{one.kind} {one.name!r} of {one.source} is left out: {self.reason}"


_problems: dict[Addition, Problem] = {}


@cache
def additions() -> tuple[Addition, ...]:
    """Return everything that is added, without loading it: wings first, then packages.

    Wings and packages are sorted by name. What each of them adds keeps its order, which is that of metrics in lists.
    """
    wings = sorted(_of_wings(), key=lambda one: one.source)
    packages = sorted(_of_packages(), key=lambda one: one.source)
    return (*wings, *packages)


def added(
    kind: str, row_type: type[Row], taken: Collection[str] = (), refused: Callable[[Row], str] = lambda row: ""
) -> dict[str, Row]:
    """Load the rows of a kind.

    Args:
        row_type: the type of its rows, as in ``KINDS``. If rows have a ``name``, it is that of the entry point.
        taken: names that rows of the program itself have.
        refused: returns why a row cannot be used; "" if it can.

    Returns:
        Name of the entry point -> row. What cannot be loaded, has another type or a name that is taken is left out, and
        is among the ``problems``.
    """
    rows: dict[str, Row] = {}
    for one in additions():
        if one.kind != kind:
            continue
        if one.name in taken or one.name in rows:
            _leave_out(one, f"there is already a {kind} {one.name!r}")
            continue
        try:
            row = one.entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001
            # Whatever a stranger's module raises while it is imported must not stop the program.
            _leave_out(one, f"{one.entry.value} cannot be loaded: {type(error).__name__}: {error}")
            continue
        if not isinstance(row, row_type):
            _leave_out(one, f"{one.entry.value} is a {type(row).__name__}, not a {row_type.__name__}")
        elif getattr(row, "name", one.name) != one.name:
            _leave_out(one, f"its name is {getattr(row, 'name', '')!r}, which the entry point must have, too")
        elif reason := refused(row):
            _leave_out(one, reason)
        else:
            rows[one.name] = row
    return rows


def names_added(kind: str) -> tuple[str, ...]:
    """Return the names of what is added of a kind, without loading it. Some of it may have to be left out."""
    return tuple(dict.fromkeys(one.name for one in additions() if one.kind == kind))


def problems() -> list[Problem]:
    """Load everything that was not loaded yet, and return what had to be left out."""
    for kind in KINDS.values():
        registry = kind.rows()
        if registry is None:
            added(kind.name, kind.type())
        else:
            len(registry)  # loads it; it knows the names that the program itself has
    for one in additions():
        if one.kind not in KINDS:
            _leave_out(one, f"there is no such kind; version {VERSION} has: {', '.join(KINDS)}")
    return [_problems[one] for one in additions() if one in _problems]


def _leave_out(one: Addition, reason: str) -> None:
    if one not in _problems:
        _problems[one] = Problem(one, reason)
        _log.warning("%s", _problems[one])


def _of_wings() -> Iterator[Addition]:
    for folder in _WINGS:
        for path in (_PROJECT / folder).glob("*/entry_points.txt"):
            groups = ConfigParser(delimiters="=", interpolation=None)
            groups.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
            try:
                groups.read_string(path.read_text("utf-8"))
            except (OSError, ValueError, ConfigParserError) as error:
                yield _unreadable(path.parent.name, True, error)
                continue
            for group in groups.sections():
                for name, value in groups[group].items():
                    yield Addition(EntryPoint(name, value, group), path.parent.name, True)


def _of_packages() -> Iterator[Addition]:
    found = [(package, _entry_points(package)) for package in distributions()]
    if not any(isinstance(text, Exception) or f"[{_PREFIX}" in text for _, text in found):
        return  # reading the names of 200 packages would take 0.2 s of every command
    seen: set[str] = set()
    for package, text in found:
        called = package.metadata["Name"] or "a package without a name"
        name = re.sub(r"[-_.]+", "-", called).lower()  # as installers compare names
        if name in seen:  # of two with one name, Python imports the first
            continue
        seen.add(name)
        try:
            if isinstance(text, Exception):
                raise text
            every = package.entry_points if _PREFIX in text else ()
        except Exception as error:  # noqa: BLE001 - whatever a stranger's file makes its reader raise
            yield _unreadable(called, False, error)
            continue
        for entry in every:
            if entry.group.startswith(_PREFIX):
                yield Addition(entry, f"{called} {package.version}", False)


def _entry_points(package: Distribution) -> str | Exception:
    """Return the text of a package's file, or why it has none."""
    try:
        return package.read_text("entry_points.txt") or ""
    except (OSError, ValueError) as error:
        return error


def _unreadable(source: str, is_wing: bool, error: Exception) -> Addition:
    """Return what stands for a file that cannot be read. Only who asks for the problems is told."""
    one = Addition(EntryPoint("entry_points.txt", "", "file"), source, is_wing)
    _problems[one] = Problem(one, f"it cannot be read: {type(error).__name__}: {' '.join(str(error).split())}")
    return one
