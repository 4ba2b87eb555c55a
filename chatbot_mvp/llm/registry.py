"""The registry of providers."""

from __future__ import annotations

from collections.abc import Callable

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.llm.base import ChatModel


def _demo() -> ChatModel:
    from chatbot_mvp.llm.demo import DemoModel

    return DemoModel()


PROVIDERS: dict[str, Callable[[], ChatModel]] = {"demo": _demo}
"""Name of the setting ``PROVIDER`` -> factory. A factory imports its SDK when it is called."""


def create_chat_model(provider: str) -> ChatModel:
    """
    Raises:
        UnknownChoice: no such provider.
    """
    if provider not in PROVIDERS:
        raise UnknownChoice(kind="provider", found=provider, legal=", ".join(PROVIDERS))
    return PROVIDERS[provider]()
