"""The server as a part of the configuration that ``doctor`` and *Inicio* check."""

from __future__ import annotations

from chatbot_mvp.app import App
from chatbot_mvp.health import Part
from chatbot_mvp.wings.milvus.client import milvus_server, try_server
from chatbot_mvp.wings.milvus.engine import ENGINE
from chatbot_mvp.wings.milvus.settings import MilvusSettings


def _identity(app: App) -> str:
    """What *Inicio* shows: the address, or the engine's name if there is none."""
    if app.settings.index_engine != ENGINE.name:
        return ""
    return app.settings.of(MilvusSettings).milvus_address or ENGINE.name


PART = Part("index", _identity, lambda app: try_server(milvus_server(app.settings)))
