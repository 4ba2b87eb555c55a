"""What a comparison can need at most, before it asks a model."""

from __future__ import annotations

from chatbot_mvp.evaluation.benchmark.estimate import CHARS_PER_TOKEN, cost_of
from chatbot_mvp.llm.registry import find_provider
from chatbot_mvp.retrieval.stages.context import context_budget
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.effects.types import Estimate

_PROMPT_TOKENS = 700
"""Tokens of the prompt and the question around the passages."""
_REQUESTS = 2
"""Requests of one answer at most: whether the passages are relevant, where that is in doubt, and the answer."""


def estimate_of(settings: Settings, model: str, answers: int, chars: int) -> Estimate:
    """Return what so many answers need at most. Requests of the search itself, such as reranking, are not counted.

    Args:
        model: provider and model.
        chars: characters of the larger version.
    """
    if not find_provider(settings.chosen_provider).has_model:
        return Estimate(answers, 0, model, 0, 0, 0.0)
    context = min(chars, context_budget(chars, settings.kb_max_context_chars, settings.kb_large_context_chars))
    requests = _REQUESTS * answers
    prompt = round(requests * (context / CHARS_PER_TOKEN + _PROMPT_TOKENS))
    reply = answers * (settings.chat_max_tokens or settings.llm_max_tokens)
    cost, _ = cost_of(settings, prompt, reply)
    return Estimate(answers, requests, model, prompt, reply, cost)
