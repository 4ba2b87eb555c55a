"""The prompts of the chat: texts from ``prompts/<language>.toml``, the knowledge base's passages fenced as data."""

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
from chatbot_mvp.retrieval.stages.base import RetrievalConfig
from chatbot_mvp.types import Chunk

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
_TURNS_SHOWN = 2
_TURN_CHARS = 600
"""Of an earlier answer, what a prompt repeats; it is there to resolve "and that one?", not to be quoted."""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A question of the conversation and its answer."""

    question: str
    answer: str
    search_query: str = ""
    """What was searched for it; "" for the question itself."""


def chat_fingerprint(config: RetrievalConfig, model_name: str) -> str:
    """12 hex digits that are equal exactly when two chats answer with one pipeline, the same prompts and one model."""
    identity = f"{fingerprint(config)} {PROMPTS.key} {model_name}"
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def no_evidence(language: str) -> str:
    """The fixed reply of strict mode."""
    return str(PROMPTS.texts(language)["no_evidence"])


def no_model(language: str) -> str:
    """The reply of general mode when neither the evidence nor a model can answer."""
    return str(PROMPTS.texts(language)["no_model"])


def distinct_texts(passages: Sequence[Chunk]) -> list[str]:
    """What each passage adds to those before it: its source text without what they have sent already.

    Chunks of a section overlap by a paragraph. "" for a passage that adds nothing; its number stays taken.
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
    """The prompt of an answer from ``passages``, which it cites by their numbers from 1."""
    texts = PROMPTS.texts(language)
    data = numbered_passages(passages)
    fence = fence_name(data, question)
    user = texts["grounded_user"].format(
        fence=fence, passages=data, conversation=_conversation(history, texts, fence), question=question
    )
    system = texts["grounded_system"].format(fence=fence, no_evidence=texts["no_evidence"])
    return Message("system", system.strip()), Message("user", user.strip())


def open_messages(question: str, language: str, history: Sequence[PastTurn] = ()) -> tuple[Message, ...]:
    """The prompt of an answer that does not come from the knowledge base."""
    texts = PROMPTS.texts(language)
    fence = fence_name(question, *(turn.answer for turn in history))
    user = texts["open_user"].format(conversation=_conversation(history, texts, fence), question=question)
    return Message("system", texts["open_system"].format(fence=fence).strip()), Message("user", user.strip())


def relevance_messages(question: str, passages: Sequence[Chunk], language: str) -> tuple[Message, ...]:
    """The prompt that asks how far ``passages`` answer a question, from 0 to 10."""
    texts = PROMPTS.texts(language)
    data = numbered_passages(passages)
    fence = fence_name(data, question, "relevance")
    user = texts["grounded_user"].format(fence=fence, passages=data, conversation="", question=question)
    return Message("system", texts["relevance_system"].format(fence=fence).strip()), Message("user", user.strip())


def rewrite_messages(question: str, language: str, history: Sequence[PastTurn]) -> tuple[Message, ...]:
    """The prompt that asks for a follow-up question in a form that stands alone."""
    texts = PROMPTS.texts(language)
    fence = fence_name(question, *(turn.answer for turn in history), "rewrite")
    user = texts["open_user"].format(conversation=_conversation(history, texts, fence), question=question)
    return Message("system", texts["rewrite_system"].format(fence=fence).strip()), Message("user", user.strip())


def numbered_passages(passages: Sequence[Chunk]) -> str:
    """The passages as they stand in a prompt, "[1] heading" and the text; nothing in them can pass for a marker."""
    parts = []
    for number, (chunk, text) in enumerate(zip(passages, distinct_texts(passages), strict=True), 1):
        if text:
            # The number is ours and so stands outside of what is escaped.
            parts.append(f"[{number}] {_one_line(chunk.section)}\n{as_data(text)}")
    return "\n\n".join(parts)


def _one_line(heading: str) -> str:
    return as_data(" ".join(heading.replace(" > ", " / ").split()))


def _conversation(history: Sequence[PastTurn], texts: Mapping[str, Any], fence: str) -> str:
    # Fenced as well: an earlier answer may repeat what the knowledge base says.
    turns = [
        texts["turn"]
        .format(question=as_data(turn.question[:_TURN_CHARS]), answer=as_data(turn.answer[:_TURN_CHARS]))
        .strip()
        for turn in history[-_TURNS_SHOWN:]
    ]
    return str(texts["conversation"].format(fence=fence, turns="\n\n".join(turns))) if turns else ""
