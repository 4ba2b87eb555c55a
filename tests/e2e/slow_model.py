"""``streamlit`` with a stand-in for a real model: it writes slowly, invents a sentence, and fails when told to."""

from __future__ import annotations

import chatbot_mvp.app
from chatbot_mvp.app import App
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.llm.base import ChatRequest, ChatStream
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from tests.fakes import FailingChatModel, FakeProviders, SlowChatModel

WORDS = "Cada lector puede llevarse hasta cuatro libros [1]. El director regala un viaje a Canarias [1]. Nada más [7]."
OPEN = "La torre Eiffel mide 330 metros."
SECONDS_PER_WORD = 0.15


class StandIn(SlowChatModel):
    name = "stand-in/model"

    def __init__(self) -> None:
        super().__init__(self._reply, SECONDS_PER_WORD)

    def _reply(self, request: ChatRequest) -> str:
        return WORDS if request.grounding and request.grounding.passages else OPEN

    def stream(self, request: ChatRequest) -> ChatStream:
        if "avería" in request.messages[-1].content.rpartition("Pregunta:")[2]:
            return FailingChatModel(pieces=2).stream(request)
        return super().stream(request)


def build_app(settings: Settings) -> App:
    """The App as it is, but for the model."""
    live = LiveSettings(settings)
    return App(live, FakeProviders(live, StandIn), Embedders(live))


if __name__ == "__main__":
    from streamlit.web import cli

    chatbot_mvp.app.build_app = build_app
    cli.main()
