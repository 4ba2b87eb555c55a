"""Reads the prompts of a package from its folder: one TOML file per language."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from chatbot_mvp.prompting.fence import as_data, fence_name
from chatbot_mvp.text import LANGUAGES


class PromptFolder:
    """The files ``<folder>/<language>.toml``, each read once; there is one for every language of ``LANGUAGES``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, Mapping[str, Any]] = {}

    def texts(self, language: str) -> Mapping[str, Any]:
        """Name -> template, as the file has them; English for a language without a file."""
        chosen = language if language in LANGUAGES else "en"
        if chosen not in self._texts:
            self._texts[chosen] = tomllib.loads(self._path(chosen).read_text("utf-8"))
        return self._texts[chosen]

    def filled(self, name: str, language: str, **texts: str) -> str:
        """Return the prompt ``name`` with texts that a model must not take for instructions.

        Args:
            texts: placeholder -> text. The first one names the fence, so that prompts that begin with the same document
                have a common beginning, which some servers cache.
        """
        data = {placeholder: as_data(text) for placeholder, text in texts.items()}
        return str(self.texts(language)[name].format(fence=fence_name(next(iter(data.values()))), **data))

    @cached_property
    def key(self) -> str:
        """Names the prompts of all languages for a fingerprint, by ``version`` and a hash ("es1-en1-5b2c9f")."""
        digest = hashlib.sha256(b"".join(self._path(name).read_bytes() for name in LANGUAGES)).hexdigest()
        return "-".join([*(f"{name}{self.texts(name)['version']}" for name in LANGUAGES), digest[:6]])

    def _path(self, language: str) -> Path:
        return self._folder / f"{language}.toml"
