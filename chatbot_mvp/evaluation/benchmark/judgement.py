"""Have a judge score an answer for faithfulness and context use, each 0-1, or not scored with the reason.

The judge reads all passages that the generator read, unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from chatbot_mvp.chat.prompting import numbered_passages
from chatbot_mvp.evaluation.benchmark.generation import PROMPTS
from chatbot_mvp.judges.asking import ask
from chatbot_mvp.judges.reading import score_from_text
from chatbot_mvp.llm.base import ChatModel, Completion, Message
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.prompting.fence import as_data, fence_name
from chatbot_mvp.types import Chunk

_REPLY_TOKENS = 256
"""Token limit of a reply: enough for a score and a sentence. A reply that was cut off, for example by the thinking of a
reasoning model, is requested again with four times this limit."""
_SHORT_WORDS = 3
"""An answer of at most this many words makes no statement by itself, so it is judged together with its question."""
_REASON_CHARS = 300
_RAW_CHARS = 2_000


class _Reply(BaseModel):
    """What a judge answers with."""

    reason: str = ""
    score: float = Field(ge=0.0, le=1.0)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One metric's score of one answer."""

    score: float | None
    """0-1; None: not scored."""
    reason: str
    """The judge's reason for the score, or why there is no score."""
    raw: str
    """The judge's last reply if there is no score; else ""."""
    completions: tuple[Completion, ...]
    passing: bool = False
    """True if there is no score because of a temporary failure of the provider."""
    of_provider: bool = False
    """True if there is no score because a request failed, not because a reply could not be read."""


def judge(
    model: ChatModel, metric: str, question: str, answer: str, passages: Sequence[Chunk], language: str
) -> Judgement:
    """Ask the judge to score an answer by one of the metrics in ``metrics.registry.JUDGE_METRICS``.

    A reply that is no valid JSON still counts if its text states the score unambiguously.

    Raises:
        ProviderError: every request would fail, for example because of a refused key.
    """
    messages = judge_messages(metric, question, answer, passages, language)
    asked = ask(model, messages, _Reply, max_tokens=_REPLY_TOKENS, language=language)
    if asked.value is not None:
        return Judgement(asked.value.score, asked.value.reason[:_REASON_CHARS], "", asked.completions)
    score = score_from_text(asked.raw)
    if score is not None:
        return Judgement(score, asked.raw.strip()[:_REASON_CHARS], "", asked.completions)
    raw, of_provider = asked.raw[:_RAW_CHARS], asked.reason == "provider"
    return Judgement(None, asked.detail or asked.reason, raw, asked.completions, asked.passing, of_provider)


def judge_messages(
    metric: str, question: str, answer: str, passages: Sequence[Chunk], language: str
) -> tuple[Message, ...]:
    """Return the messages that ask a judge to score an answer."""
    texts = PROMPTS.texts(language)
    # Only some metrics have separate instructions for short answers.
    short = f"judge_{metric}_short"
    prompt = short if short in texts and len(answer.split()) <= _SHORT_WORDS else f"judge_{metric}"
    added = METRICS[metric].instructions
    instructions = added.get(language, added["en"]) if added else texts[prompt]
    data = numbered_passages(passages)
    fence = fence_name(data, question, answer, metric)
    user = texts["judge_user"].format(fence=fence, passages=data, question=as_data(question), answer=as_data(answer))
    return Message("system", instructions.format(fence=fence).strip()), Message("user", user.strip())
