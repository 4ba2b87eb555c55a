"""The models that answer and judge in a run."""

from __future__ import annotations

from dataclasses import dataclass

from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.chosen import ModelSource
from chatbot_mvp.llm.registry import address_of, find_provider, requests_at_once
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.settings.model import Settings


def asks_model(settings: Settings) -> bool:
    """Return whether a run sends requests to the language model of its provider."""
    strategy = get_strategy(settings.retrieval_strategy)
    reranks = settings.reranker_kind == "llm"
    searches = strategy.needs_language_model or settings.query_expansion_llm or reranks
    return find_provider(settings.chosen_provider).has_model and (searches or settings.generation_enabled)


@dataclass(frozen=True)
class RunModels:
    """The models that answer and judge in a run."""

    generator: ChatModel
    generator_calls: int
    """Maximum number of concurrent requests, at least 1."""
    judge: ChatModel | None
    """None if answers are not judged."""
    judge_calls: int = 1
    share_calls: bool = False
    """True if generator and judge use the same address and therefore share its limit of concurrent requests."""


def run_models(settings: Settings, providers: ModelSource) -> RunModels:
    """Return the models that a run's settings name, with the maximum number of concurrent requests for each.

    Raises:
        UnknownChoice, ProviderNotConfigured, MissingPackage, InvalidSetting: the generator or the judge cannot be used.
    """
    judging = settings.of_judge if settings.judge else None
    return RunModels(
        providers.model(settings),
        requests_at_once(settings),
        providers.model(judging) if judging else None,
        requests_at_once(judging) if judging else 1,
        share_calls=judging is not None and address_of(judging) == address_of(settings),
    )
