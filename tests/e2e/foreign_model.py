"""``streamlit`` with a stand-in for a hostile model: its name, its answers and the words of its errors are not ours."""

from __future__ import annotations

import os

import chatbot_mvp.app
from chatbot_mvp.app import App
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.llm.base import ChatRequest, ChatStream
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from tests.fakes import FailingChatModel, FakeChatModel, FakeProviders

FOREIGN = os.environ.get("FOREIGN_TEXT", "")


class Hostile(FakeChatModel):
    name = f"stand-in/{FOREIGN}"

    def __init__(self) -> None:
        super().__init__(
            f"La dieta {FOREIGN} es de 48 euros [1].\n\nAdemás {FOREIGN} hay un viaje [1].\n\n"
            f"```mermaid\n{FOREIGN}\n```"
        )

    def stream(self, request: ChatRequest) -> ChatStream:
        if "avería" in request.messages[-1].content.rpartition("Pregunta:")[2]:
            failing = FailingChatModel(f"A medias {FOREIGN} y nada más", pieces=12)
            failing.name = self.name
            return failing.stream(request)
        return super().stream(request)


def build_app(settings: Settings) -> App:
    """The App as it is, but for the model."""
    live = LiveSettings(settings)
    return App(live, FakeProviders(live, Hostile), Embedders(live))


if __name__ == "__main__":
    from streamlit.web import cli

    chatbot_mvp.app.build_app = build_app
    cli.main()
