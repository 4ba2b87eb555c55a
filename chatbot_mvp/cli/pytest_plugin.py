"""Gives pytest the plugins that wings add. It imports nothing else of the program.

Installed as an entry point ``pytest11``, so that a project that tests its knowledge base needs no configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatbot_mvp.plugins.finding import added

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True, slots=True)
class PytestPlugin:
    """Fixtures and hooks for the tests of other projects."""

    module: str
    """Module that has them; imported when pytest starts, so it should import the App only in a fixture."""


def pytest_configure(config: pytest.Config) -> None:
    for plugin in added("pytest", PytestPlugin).values():
        config.pluginmanager.import_plugin(plugin.module)
