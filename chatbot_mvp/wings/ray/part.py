"""The cluster as a part of the configuration that ``doctor`` checks."""

from __future__ import annotations

from chatbot_mvp.app import App
from chatbot_mvp.health import Part
from chatbot_mvp.wings.ray.connection import LOCAL, describe
from chatbot_mvp.wings.ray.engine import ENGINE
from chatbot_mvp.wings.ray.settings import RaySettings


def _identity(app: App) -> str:
    """The address if EVAL_ENGINE=ray; "" if not."""
    if app.settings.eval_engine != ENGINE.name:
        return ""
    return app.settings.of(RaySettings).ray_address or LOCAL


# Not on Inicio: without an address, the check would start Ray in the process of the pages.
PART = Part("engine", _identity, lambda app: describe(app.settings), on_home=False)
