"""What strict mode makes of each question of a result, and whether that is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from chatbot_mvp.chat.nearest import corrected
from chatbot_mvp.llm.base import ChatRequest, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.kb_cosines import sentence_closeness
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


def strict_answer(trace: RetrievalTrace, index: CorpusIndex, settings: Settings, language: str) -> list[Span]:
    """Return what strict mode quotes for a question without a model, as the chat with ``demo`` does.

    Returns:
        (start, end) in the text of the knowledge base; empty if the evidence does not suffice, or no sentence of the
        passages answers plainly.
    """
    evidence, least = trace.evidence or 0.0, settings.kb_min_evidence
    if not trace.chunks_final or evidence < min(least, settings.kb_doubt_evidence):
        return []
    # The scale of quotes has its middle at 0.5, that of the evidence at the threshold.
    grounding = replace(grounding_of(trace, index, language), evidence=evidence - least + 0.5)
    quotes = DemoModel().complete(ChatRequest((), grounding=grounding)).quotes or ()
    starts = [chunk.start for chunk in grounding.passages]
    return [(starts[one.number - 1] + one.start, starts[one.number - 1] + one.end) for one in quotes]


def grounding_of(trace: RetrievalTrace, index: CorpusIndex, language: str) -> Grounding:
    """Return the passages of a trace as an extractive model reads them."""
    passages = tuple(hit.chunk for hit in trace.chunks_final)
    closeness = sentence_closeness(trace, index)
    asked, _ = corrected(trace.query, trace, index)
    return Grounding(asked, passages, language, closeness, index.analyzer)
