"""The rows of the kinds that belong to no single part of the program."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

from pydantic_settings import BaseSettings

Page = Literal["home", "evaluation", "chat", "admin", "mykb", "mykb-results", "admin-kb", "chat-share", "chat-opened"]
"""A page, or a place on one. "mykb-results" is below the figures of a result in *Evaluar mi base*,
"admin-kb" above the knowledge bases of Admin, "chat-share" among the ways to share a message, "chat-opened" at the top
of the chat, where it may read the address and end the page."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page: a tab of Admin, a step of *Evaluar mi base*, or a part below its results."""

    page: Page
    title: str
    """Key of its title among the texts; "" for a section without a title."""
    draw: str
    """"module:function" that draws it; imported when the section is shown. For "mykb" it is given the
    ``KbRecord`` of the knowledge base, for "mykb-results" the record and the ``KbResult`` that is shown,
    for "chat-share" the ``Conversation`` and the ``Turn``."""
    order: int = 100
    """Its place among the sections of the page; the page's own have 10, 20, 30, …"""


@dataclass(frozen=True, slots=True)
class RunPage:
    """How the page draws a finished run."""

    draw: str
    """"module:function" that draws a ``RunResult``; imported when such a run is shown."""


@dataclass(frozen=True, slots=True)
class SettingsSection:
    """Settings, declared as fields of a class."""

    fields: type[BaseSettings]
    """A subclass of ``pydantic_settings.BaseSettings``. A field's name in capitals is its environment variable."""
    group: str = "general"
    """The group in which Admin and the reference show them, one of ``settings.kinds.GROUPS``."""
    run_group: str = "other"
    """The group in which a run shows them, one of ``settings.kinds.RUN_GROUPS``."""

    def __post_init__(self) -> None:
        if not issubclass(self.fields, BaseSettings):
            raise TypeError(f"{self.fields.__name__} is not a subclass of pydantic_settings.BaseSettings")


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of the pages: key -> text, with the same keys in both languages.

    ``error.<code>`` and ``admin.setting.<name>`` may be in Spanish only: their English is that of the error's class and
    of the setting's description.
    """

    package: str = ""
    """Package whose folder has them in ``es.json`` and, if there are any, ``en.json``; "" if they are given here."""
    es: Mapping[str, str] = field(default_factory=dict, hash=False)
    en: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        spanish, english = (self.of(language) for language in ("es", "en"))
        if not all(isinstance(text, str) for text in (*spanish.values(), *english.values())):
            raise TypeError("a value among the texts is not a text")
        derived = {key for key in spanish if key.startswith(("error.", "admin.setting."))}
        if lacking := sorted((spanish.keys() - derived) ^ (english.keys() - derived)):
            raise ValueError(f"{lacking[0]!r} is not among the texts of both languages")

    def of(self, language: str) -> Mapping[str, str]:
        """Return the texts of a language, "es" or "en"."""
        if self.package:
            file = files(self.package) / f"{language}.json"
            texts: dict[str, str] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
            return texts
        return self.es if language == "es" else self.en


@dataclass(frozen=True, slots=True)
class Start:
    """Work that begins when a server of pages or of ``serve`` starts."""

    run: Callable[[Any], None]
    """Called once with the App, in a thread of its own; it must return at once. A server waits for it 10 s at most, and
    goes on without one that fails."""
