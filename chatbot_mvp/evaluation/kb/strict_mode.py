"""What strict mode makes of each question of a result, and whether that is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.chat.grounding import grounding_of
from chatbot_mvp.chat.relevance import decide
from chatbot_mvp.llm.base import ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.runs.payloads import Span
from chatbot_mvp.settings.model import Settings

Outcome = Literal["right", "declined", "elsewhere", "missed", "made_up"]
"""right: answered with a sentence of the confirmed passage. declined: rightly not answered. elsewhere: answered, but
with another passage. missed: not answered, although the answer is there. made_up: answered, although it is not."""
GOOD: tuple[Outcome, ...] = ("right", "declined")


@dataclass(frozen=True, slots=True)
class StrictMode:
    """What strict mode makes of questions that people labelled."""

    outcomes: Mapping[str, Outcome]
    """Question id -> outcome. A question without a kind, or whose passage is not in the text, is left out."""

    @property
    def right(self) -> Share:
        """The questions of which strict mode makes the right thing."""
        counts = self.counts
        return Share(sum(counts[name] for name in GOOD), len(self.outcomes))

    @property
    def counts(self) -> Counter[Outcome]:
        """Outcome -> number of questions."""
        return Counter(self.outcomes.values())


def strict_answer(trace: RetrievalTrace, index: CorpusIndex, settings: Settings) -> list[Span]:
    """Return what strict mode quotes for a question without a model, as the chat with ``demo`` does.

    Returns:
        (start, end) in the text of the knowledge base; empty if no quote of the passages is proven to answer.
    """
    model = DemoModel()
    decision = decide(trace, trace.query, settings.kb_min_evidence, settings.kb_doubt_evidence, model, "")
    if not decision.enough:
        return []
    passages = [hit.chunk for hit in trace.chunks_final]
    quotes = model.complete(ChatRequest((), grounding=grounding_of(trace, index, passages, True))).quotes or ()
    return [(passages[one.number - 1].start + one.start, passages[one.number - 1].start + one.end) for one in quotes]
