"""Build the prompts of the chat from ``prompts/<language>.toml``, with passages fenced as data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.llm.base import Message
from chatbot_mvp.prompting.fence import as_data, fence_name
from chatbot_mvp.prompting.loader import PromptFolder
from chatbot_mvp.retrieval.pipeline import fingerprint
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
_TURNS_SHOWN = 2
_TURN_CHARS = 600
"""Characters of an earlier question or answer in a prompt. They only serve to resolve references ("and that one?")."""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A question of the conversation and its answer."""

    question: str
    answer: str
    search_query: str = ""
    """The query that was searched; "" if it was the question itself."""


def chat_fingerprint(config: Settings, model_name: str) -> str:
    """Return the fingerprint of the retrieval, as a run has it, "-", and 12 hex digits of prompts and model."""
    generator = hashlib.sha256(f"{PROMPTS.key} {model_name}".encode()).hexdigest()[:12]
    return f"{fingerprint(config)}-{generator}"


def no_evidence(language: str) -> str:
    """Return the fixed reply of strict mode."""
    return str(PROMPTS.texts(language)["no_evidence"])


def no_model(language: str) -> str:
    """Return the fixed reply of general mode, if neither the evidence nor a model can answer."""
    return str(PROMPTS.texts(language)["no_model"])


def distinct_texts(passages: Sequence[Chunk]) -> list[str]:
    """Return each passage's text without the parts that earlier passages contain, since chunks of a section overlap.

    A passage that adds nothing gives "" and keeps its number.
    """
    sent: dict[str, list[tuple[int, int]]] = {}
    texts = []
    for chunk in passages:
        pieces = [(chunk.start, chunk.end)]
        for start, end in sent.get(chunk.doc_id, []):
            pieces = [
                part for left, right in pieces for part in ((left, min(right, start)), (max(left, end), right))
                if part[0] < part[1]
            ]  # fmt: skip
        kept = [chunk.text[left - chunk.start : right - chunk.start].strip() for left, right in pieces]
        texts.append("\n[…]\n".join(text for text in kept if text))
        sent.setdefault(chunk.doc_id, []).append((chunk.start, chunk.end))
    return texts


def grounded_messages(
    question: str, passages: Sequence[Chunk], language: str, history: Sequence[PastTurn] = ()
) -> tuple[Message, ...]:
    """Build the prompt for an answer from ``passages``, which are cited by their numbers from 1."""
    texts = PROMPTS.texts(language)
    data = numbered_passages(passages)
    fence = fence_name(data, question)
    user = texts["grounded_user"].format(
        fence=fence, passages=data, conversation=_conversation(history, texts, fence), question=as_data(question)
    )
    system = texts["grounded_system"].format(fence=fence, no_evidence=texts["no_evidence"])
    return Message("system", system.strip()), Message("user", user.strip())


def open_messages(question: str, language: str, history: Sequence[PastTurn] = ()) -> tuple[Message, ...]:
    """Build the prompt for an answer without the knowledge base."""
    texts = PROMPTS.texts(language)
    fence = fence_name(question, *(turn.answer for turn in history))
    conversation = _conversation(history, texts, fence)
    user = texts["open_user"].format(fence=fence, conversation=conversation, question=as_data(question))
    return Message("system", texts["open_system"].format(fence=fence).strip()), Message("user", user.strip())


def relevance_messages(question: str, passages: Sequence[Chunk], language: str) -> tuple[Message, ...]:
    """Build the prompt that asks how well ``passages`` answer a question, from 0 to 10."""
    texts = PROMPTS.texts(language)
    data = numbered_passages(passages)
    fence = fence_name(data, question, "relevance")
    user = texts["grounded_user"].format(fence=fence, passages=data, conversation="", question=as_data(question))
    return Message("system", texts["relevance_system"].format(fence=fence).strip()), Message("user", user.strip())


def rewrite_messages(question: str, language: str, history: Sequence[PastTurn]) -> tuple[Message, ...]:
    """Build the prompt that asks to rewrite a follow-up question so that it stands alone."""
    texts = PROMPTS.texts(language)
    fence = fence_name(question, *(turn.answer for turn in history), "rewrite")
    conversation = _conversation(history, texts, fence)
    user = texts["open_user"].format(fence=fence, conversation=conversation, question=as_data(question))
    return Message("system", texts["rewrite_system"].format(fence=fence).strip()), Message("user", user.strip())


def numbered_passages(passages: Sequence[Chunk]) -> str:
    """Format passages for a prompt as "[1] heading" and text, escaped so that they contain no marker or citation."""
    parts = []
    for number, (chunk, text) in enumerate(zip(passages, distinct_texts(passages), strict=True), 1):
        if text:
            # The number is not escaped, because answers cite by it.
            parts.append(f"[{number}] {_one_line(chunk.section)}\n{as_data(text)}")
    return "\n\n".join(parts)


def _one_line(heading: str) -> str:
    return as_data(" ".join(heading.replace(" > ", " / ").split()))


def _conversation(history: Sequence[PastTurn], texts: Mapping[str, Any], fence: str) -> str:
    # Fence the conversation too, since an earlier answer may repeat text of the knowledge base.
    turns = [
        texts["turn"]
        .format(question=as_data(turn.question[:_TURN_CHARS]), answer=as_data(turn.answer[:_TURN_CHARS]))
        .strip()
        for turn in history[-_TURNS_SHOWN:]
    ]
    return str(texts["conversation"].format(fence=fence, turns="\n\n".join(turns))) if turns else ""
