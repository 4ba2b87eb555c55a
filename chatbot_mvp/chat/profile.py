"""What a chat can take over of a run's configuration, and what it cannot, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chatbot_mvp.embedding.registry import is_configured
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.settings.model import SECRETS, Settings

_SEARCH = (
    *("retrieval_strategy", "retrieval_k", "retrieval_pre_fusion_k", "retrieval_fusion", "retrieval_rrf_k"),
    *("retrieval_bm25_weight", "retrieval_vector_weight", "retrieval_context_max_tokens"),
    *("kb_top_k", "kb_min_score", "kb_max_context_chars", "kb_large_context_chars"),
)
"""Taken over as they are."""
_RERANKER = ("reranker_enabled", "reranker_model_name", "reranker_top_n")

Reason = Literal[
    "strategy", "needs_model", "links", "embedder", "reranker", "expansion", "language", "model", "illegal"
]
"""strategy: there is no such strategy here. needs_model: the provider in use has no language model, which the strategy
needs. links: a knowledge base has no links to walk. embedder, reranker: another address, or a key that is missing.
expansion: no language model for further words. language: the chat takes that of the knowledge base. model: who answers
is chosen in Admin, for all. illegal: the value is not legal (any more)."""
REFUSALS: tuple[Reason, ...] = ("strategy", "needs_model")


@dataclass(frozen=True, slots=True)
class NotTaken:
    """One thing of a run that its chat does without."""

    name: str
    """Of the setting."""
    run: str
    """The run's value."""
    chat: str
    """What the chat has instead; "" for nothing."""
    reason: Reason


@dataclass(frozen=True, slots=True)
class ChatProfile:
    """The search of a run, for the chat of one session."""

    run_id: str
    strategy: str
    retrieval: tuple[tuple[str, Any], ...]
    """(setting, value) of all that is taken over, by name, for ``UserContext``: the chat's own may change meanwhile."""
    changes: tuple[tuple[str, Any], ...]
    """Those of ``retrieval`` where the chat's own was another."""
    not_taken: tuple[NotTaken, ...] = ()

    @property
    def refused(self) -> NotTaken | None:
        """Why nothing of the run can be taken over; None if something can."""
        return next((item for item in self.not_taken if item.reason in REFUSALS), None)


def chat_profile(
    run_id: str, recorded: Mapping[str, Any], settings: Settings, has_model: bool, generator: str = ""
) -> ChatProfile:
    """
    Args:
        recorded: the settings of the run's manifest, which may have been written elsewhere: no address and no key is
            ever taken from it, since passages and keys would be sent there.
        settings: the chat's own.
        has_model: whether retrieval has a language model to ask.
        generator: provider and model of the run's answers; "" for a run without.
    """
    made = _Making(recorded, settings, has_model)
    made.search()
    made.embedder()
    made.reranker()
    made.expansion()
    made.told(generator)
    taken = tuple(sorted(made.taken.items()))
    changes = tuple((name, value) for name, value in taken if value != getattr(settings, name))
    return ChatProfile(run_id, made.strategy, taken, changes, tuple(made.left))


class _Making:
    """One profile on its way."""

    def __init__(self, recorded: Mapping[str, Any], settings: Settings, has_model: bool) -> None:
        self._recorded, self._settings, self._has_model = recorded, settings, has_model
        self.taken: dict[str, Any] = {}
        self.left: list[NotTaken] = []
        self.strategy = str(recorded.get("retrieval_strategy", ""))

    def search(self) -> None:
        found = STRATEGIES.get(self.strategy)
        if found is None:
            self._leave("retrieval_strategy", "strategy")
            return
        if found.needs_language_model and not self._has_model:
            self._leave("retrieval_strategy", "needs_model", self._settings.chosen_provider)
            return
        for name in _SEARCH:
            self._take(name)
        if found.needs_links:
            self.left.append(NotTaken("retrieval_strategy", self.strategy, "", "links"))

    def embedder(self) -> None:
        found = STRATEGIES.get(self.strategy)
        if found is None or not found.needs_vectors or "embedding_model_name" not in self._recorded:
            return
        name = str(self._recorded["embedding_model_name"])
        address = str(self._recorded.get("embedding_base_url") or "")
        same_place = address == self._settings.embedding_base_url
        if name == self._settings.embedding_model_name and same_place:
            return
        if is_configured(name, self._settings, address):
            self._take("embedding_model_name")
        else:
            self._leave("embedding_model_name", "embedder")

    def reranker(self) -> None:
        if not self._recorded.get("reranker_enabled"):
            self.taken["reranker_enabled"] = False
            return
        address = str(self._recorded.get("reranker_base_url") or "")
        if address == self._settings.reranker_base_url and (address or self._has_model):
            for name in _RERANKER:
                self._take(name)
        else:
            self.taken["reranker_enabled"] = False
            # Its address may be of a house's own network: its name is enough.
            model = str(self._recorded.get("reranker_model_name", "")) if address else ""
            self.left.append(NotTaken("reranker_enabled", model, "", "reranker"))

    def expansion(self) -> None:
        if self._recorded.get("query_expansion_llm") and not self._has_model:
            self.taken["query_expansion_llm"] = False
            self._leave("query_expansion_llm", "expansion", "")
        else:
            self._take("query_expansion_llm")

    def told(self, generator: str) -> None:
        """What the chat has of its own, whatever the run says."""
        if generator and generator != self._settings.language_model:
            self.left.append(NotTaken("provider", generator, self._settings.language_model, "model"))
        if language := self._recorded.get("retrieval_bm25_language"):
            self.left.append(NotTaken("retrieval_bm25_language", str(language), "", "language"))

    def _take(self, name: str) -> None:
        if name not in self._recorded or name in SECRETS:
            return
        value = self._recorded[name]
        try:
            self.taken[name] = getattr(self._settings.with_changes(**{name: value}), name)
        except InvalidSetting:
            self._leave(name, "illegal")

    def _leave(self, name: str, reason: Reason, own: str | None = None) -> None:
        chat = str(getattr(self._settings, name)) if own is None else own
        self.left.append(NotTaken(name, str(self._recorded.get(name, "")), chat, reason))
