"""What the chat says to each question of a result, and whether that is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatbot_mvp.chat.answering import finished, rates
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.followup import Search
from chatbot_mvp.chat.records import AnswerRecord, record_of
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.metrics.decisions import ANSWERABLE, GOOD, Outcome
from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.runs.payloads import Said, Span
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import PastTurn


@dataclass(frozen=True, slots=True)
class StrictMode:
    """What the chat makes of questions that people labelled."""

    outcomes: Mapping[str, Outcome]
    """Question id -> outcome. A question without a kind, or whose passage is not in the text, is left out."""

    @property
    def right(self) -> Share:
        """The questions of which the chat makes the right thing."""
        counts = self.counts
        return Share(sum(counts[name] for name in GOOD), len(self.outcomes))

    @property
    def counts(self) -> Counter[Outcome]:
        """Outcome -> number of questions."""
        return Counter(self.outcomes.values())


def chat_answer(
    pipeline: Pipeline,
    question: str,
    model: ChatModel,
    settings: Settings,
    history: Sequence[PastTurn] = (),
    search: Search | None = None,
) -> AnswerRecord:
    """Return the answer of the chat in strict mode to a question, as its record.

    Args:
        search: what the chat would find, if that is known.

    Raises:
        ProviderError, ConfigurationError: the model gives no answer. The chat would quote passages instead, but what it
            says then is not to be counted.
    """
    stream = AnswerStream(
        pipeline,
        question,
        UserContext(),
        history,
        model=model,
        fallback=model,
        settings=settings,
        rates=rates(settings),
        search=search,
    )
    return record_of(finished(stream))


def said_in(answer: AnswerRecord) -> Said:
    """Return what is recorded of an answer."""
    shown = answer.sources or (answer.nearest.passages[:1] if answer.nearest else ())
    # What is shown is a whole paragraph with a sentence marked; what is cited is the marked words.
    spans: list[Span] = []
    for source in shown:
        whole = (source.chunk.start, source.chunk.end)
        spans += source.highlights or [whole] if answer.sources else [whole]
    shown_text = answer.text if answer.outcome == "answered" and answer.model not in ("", "demo") else ""
    wrote = answer.debug["withheld"] or shown_text
    return Said(answer.outcome, answer.tick, tuple(spans), answer.debug["proof"], wrote, answer.why or "")


def outcome_of(said: Said, kind: str | None, places: Sequence[Span]) -> Outcome | None:
    """Return what an answer is worth; None if nobody says what is right.

    Args:
        kind: of the question, as in ``KbQuestion``.
        places: where the confirmed passage is; none if the question has no answer.
    """
    if kind is None or (kind == ANSWERABLE and not places):
        return None
    there = any(start < last and first < end for first, last in said.places for start, end in places)
    if said.outcome == "answered":
        if not said.tick:
            return "unsure"
        return "right" if there else "elsewhere" if kind == ANSWERABLE else "made_up"
    return "declined" if kind != ANSWERABLE else "near" if there else "missed"
