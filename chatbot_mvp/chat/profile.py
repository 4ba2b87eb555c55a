"""Apply a run's configuration to the chat: which settings are taken over, and which are not, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chatbot_mvp.embedding.registry import is_configured
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.plugins.finding import names_added
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.retrieval.systems import get_system
from chatbot_mvp.settings.fields import ROWS
from chatbot_mvp.settings.kinds import RUN_GROUPS
from chatbot_mvp.settings.model import MODEL_SETTINGS, SECRETS, Settings

_BY_GROUP = sorted(ROWS, key=lambda name: RUN_GROUPS.index(ROWS[name].run_group))
_SEARCH, _RERANKER, _EXPANSION, _EMBEDDER = (
    tuple(name for name in _BY_GROUP if ROWS[name].chat == part)
    for part in ("search", "reranker", "expansion", "embedder")
)
_OF_SYSTEMS = tuple(name for name, row in ROWS.items() if row.chat == "system")
"""Settings that are taken over from a system and not from a run: thresholds and temperature are no search, and places
belong to the machine that the run was on."""

TAKEN_OVER = (*_SEARCH, *_RERANKER, *_EXPANSION, *_EMBEDDER)
"""All settings that can be taken over from a run."""

Reason = Literal[
    "strategy", "needs_model", "links", "embedder", "reranker", "expansion", "language", "model", "illegal", "runs"
]
"""Why a setting is not taken over.

strategy: the strategy does not exist here. needs_model: the strategy needs a language model, and the current provider
has none. links: a knowledge base has no mention graph. embedder, reranker: the address differs, or a key is missing.
expansion: there is no language model for query expansion. language: the chat uses the knowledge base's language.
model: the answering model is set for all users in Admin. illegal: the value is no longer legal. runs: only a run reads
the setting."""
REFUSALS: tuple[Reason, ...] = ("strategy", "needs_model")


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A setting of a run that the chat does not take over."""

    name: str
    """Name of the setting."""
    run: str
    """The run's value."""
    chat: str
    """The chat's value; "" if it has none."""
    reason: Reason


@dataclass(frozen=True, slots=True)
class ChatProfile:
    """The search configuration of a run or of a system, for the chat of one session."""

    run_id: str
    """"" for a system."""
    strategy: str
    retrieval: tuple[tuple[str, Any], ...]
    """All (setting, value) pairs that are taken over, by name, for ``UserContext``. Values equal to the chat's settings
    are included, because those settings may change later."""
    changes: tuple[tuple[str, Any], ...]
    """The pairs of ``retrieval`` that differ from the chat's settings."""
    not_taken: tuple[NotTaken, ...] = ()
    system: str = ""
    """Name of the system (``retrieval.systems.SYSTEMS``); "" for a run."""

    @property
    def refused(self) -> NotTaken | None:
        """Why nothing of the run can be taken over; None if the profile is usable."""
        return next((item for item in self.not_taken if item.reason in REFUSALS), None)


def chat_profile(
    run_id: str, recorded: Mapping[str, Any], settings: Settings, has_model: bool, generator: str = ""
) -> ChatProfile:
    """Derive the chat profile of a run.

    Args:
        recorded: the settings in the run's manifest. It may come from another machine, so no address or key is taken
            from it: passages and keys could otherwise be sent to a foreign server.
        settings: the chat's settings.
        has_model: whether a language model is available for retrieval.
        generator: provider and model of the run's answers; "" for a run without generation.
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


def system_profile(
    name: str, settings: Settings, has_model: bool, is_set: Callable[[str], bool] = lambda _: False
) -> ChatProfile:
    """Derive the chat profile of a system: what it changes of the chat's settings, as far as the chat can take it over.

    Args:
        settings, has_model: as in ``chat_profile``.
        is_set: as in ``System.over``.

    Raises:
        UnknownChoice: there is no such system.
    """
    changes = get_system(name).over(is_set)
    # The address of a reranker is this machine's own, or none.
    here = settings.with_changes(reranker_base_url=changes.get("reranker_base_url", settings.reranker_base_url))
    made = _Making({**settings.model_dump(), **changes}, here, has_model)
    made.search()
    made.reranker()
    made.expansion()
    made.of_system()
    made.only_of_runs(changes)
    # A knowledge base without links is no news: the settings in effect say nothing on it, either.
    left = tuple(item for item in made.left if item.reason != "links")
    taken = tuple(sorted((setting, value) for setting, value in made.taken.items() if setting in changes))
    differ = tuple((setting, value) for setting, value in taken if value != getattr(settings, setting))
    return ChatProfile("", made.strategy, taken, differ, left, name)


class _Making:
    """Builds one profile."""

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
        named = str(self._recorded.get("reranker_model_name", "")).partition(":")[0]
        here = address == self._settings.reranker_base_url and (address or self._has_model)
        if here or named in names_added("reranker"):
            for name in _RERANKER:
                self._take(name)
        else:
            self.taken["reranker_enabled"] = False
            # Do not show the address, which may belong to a private network.
            model = str(self._recorded.get("reranker_model_name", "")) if address else ""
            self.left.append(NotTaken("reranker_enabled", model, "", "reranker"))

    def expansion(self) -> None:
        if self._recorded.get("query_expansion_llm") and not self._has_model:
            self.taken["query_expansion_llm"] = False
            self._leave("query_expansion_llm", "expansion", "")
        else:
            self._take("query_expansion_llm")

    def told(self, generator: str) -> None:
        """Record what the chat always decides itself: the answering model and the language."""
        if generator and generator != self._settings.language_model:
            self.left.append(NotTaken("provider", generator, self._settings.language_model, "model"))
        if language := self._recorded.get("retrieval_bm25_language"):
            self.left.append(NotTaken("retrieval_bm25_language", str(language), "", "language"))

    def of_system(self) -> None:
        for name in _OF_SYSTEMS:
            self._take(name)

    def only_of_runs(self, changes: Mapping[str, Any]) -> None:
        for name, value in changes.items():
            if name in MODEL_SETTINGS.values():  # the answering model is the one that is chosen for all
                self.left.append(NotTaken(name, str(value), self._settings.language_model, "model"))
            elif not ROWS[name].chat:
                self.left.append(NotTaken(name, f"{name.upper()}={value}", "", "runs"))

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
