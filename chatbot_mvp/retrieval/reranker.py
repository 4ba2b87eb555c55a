"""What a reranker does, and how one is chosen: a row of ``stages.rerankers``.

A plugin's module may have a reranker and settings of its own, so this module imports no settings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from chatbot_mvp.llm.language_model import LanguageModel
    from chatbot_mvp.retrieval.trace import Hit
    from chatbot_mvp.settings.model import Settings


class RerankFailed(Exception):
    """A reranker could score no candidate of a query; the message gives the reason.

    The stage counts the failure and keeps the order of the candidates.
    """


class Reranker(Protocol):
    """Scores texts against a question. Safe to share between threads."""

    @property
    def original_weight(self) -> float:
        """Weight of the retrieval score in the final score, 0-1. Must be 0 if the reranker's scale is not fixed."""

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[float | None]:
        """Score each hit; higher is better, None for a hit that could not be scored. No hit has an empty text.

        Scores are in 0-1 if ``original_weight`` is above 0.

        Raises:
            RerankFailed: no hit could be scored.
        """


@dataclass(frozen=True, slots=True)
class RerankerKind:
    """A kind of reranker.

    ``nim`` is used if RERANKER_BASE_URL is set, else ``llm``. An added one is used if RERANKER_MODEL_NAME is its name,
    or its name, a colon and the name of a model.
    """

    name: str
    make: Callable[[Settings, str, LanguageModel | None], Reranker]
    """Makes the reranker of some settings. Called with the language of the corpus, "es" or "en", and the provider's
    language model; None if the provider has none."""
