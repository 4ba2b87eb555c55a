"""Build the prompts of the chat from ``prompts/<language>.toml``, with passages fenced as data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chatbot_mvp.llm.base import Message
from chatbot_mvp.prompting.fence import as_data, fence_name
from chatbot_mvp.prompting.loader import PromptFolder
from chatbot_mvp.retrieval.pipeline import fingerprint
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, PastTurn

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
_TURNS_SHOWN = 2
_TURN_CHARS = 600
"""Characters of an earlier question or answer in a prompt. They only serve to resolve references ("and that one?")."""


def chat_fingerprint(config: Settings, model_name: str) -> str:
    """Return the fingerprint of the retrieval, as a run has it, "-", and 12 hex digits of prompts and model."""
    generator = hashlib.sha256(f"{PROMPTS.key} {model_name}".encode()).hexdigest()[:12]
    return f"{fingerprint(config)}-{generator}"


def no_evidence(language: str) -> str:
    """Return the fixed reply of strict mode."""
    return str(PROMPTS.texts(language)["no_evidence"])


def which_one(language: str) -> str:
    """Return the fixed reply to a question that could mean several things."""
    return str(PROMPTS.texts(language)["which_one"])


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
    question: str, passages: Sequence[Chunk], language: str, history: Sequence[PastTurn] = (), answer_in: str = ""
) -> tuple[Message, ...]:
    """Build the prompt for an answer from ``passages``, which are cited by their numbers from 1.

    ``answer_in`` is the language of the answer, "es" or "en"; "" for the question's.
    """
    data = numbered_passages(passages)
    found = _messages("grounded_system", "grounded_user", language, question, [data, question], history, data)
    return _in_language(found, answer_in)


def open_messages(
    question: str, language: str, history: Sequence[PastTurn] = (), answer_in: str = ""
) -> tuple[Message, ...]:
    """Build the prompt for an answer without the knowledge base; ``answer_in`` is as in ``grounded_messages``."""
    seeds = [question, *(turn.answer for turn in history)]
    return _in_language(_messages("open_system", "open_user", language, question, seeds, history), answer_in)


def relevance_messages(question: str, passages: Sequence[Chunk], language: str) -> tuple[Message, ...]:
    """Build the prompt that asks how well ``passages`` answer a question, from 0 to 10."""
    data = numbered_passages(passages)
    seeds = [data, question, "relevance"]
    return _messages("relevance_system", "grounded_user", language, question, seeds, passages=data)


def rewrite_messages(question: str, language: str, history: Sequence[PastTurn]) -> tuple[Message, ...]:
    """Build the prompt that asks to rewrite a follow-up question so that it stands alone."""
    seeds = [question, *(turn.answer for turn in history), "rewrite"]
    return _messages("rewrite_system", "open_user", language, question, seeds, history)


def _messages(
    system: str,
    user: str,
    language: str,
    question: str,
    seeds: Sequence[str],
    history: Sequence[PastTurn] = (),
    passages: str = "",
) -> tuple[Message, ...]:
    """Fill in the templates called ``system`` and ``user``; ``seeds`` are the texts that the fence is named after."""
    texts = PROMPTS.texts(language)
    fence = fence_name(*seeds)
    conversation = _conversation(history, texts, fence)
    rules = texts[system].format(fence=fence, no_evidence=texts["no_evidence"])
    asked = texts[user].format(fence=fence, passages=passages, conversation=conversation, question=as_data(question))
    return Message("system", rules.strip()), Message("user", asked.strip())


def _in_language(messages: tuple[Message, ...], answer_in: str) -> tuple[Message, ...]:
    """Append the request for a language to the rules, whose last one asks for the question's."""
    if not answer_in:
        return messages
    rules, *others = messages
    return (replace(rules, content=f"{rules.content}\n{PROMPTS.texts(answer_in)['answer_in'].strip()}"), *others)


def numbered_passages(passages: Sequence[Chunk]) -> str:
    """Format passages for a prompt as "[1] heading" and text, escaped so that they contain no marker or citation."""
    parts = []
    for number, (chunk, text) in enumerate(zip(passages, distinct_texts(passages), strict=True), 1):
        if text:
            heading = " ".join(chunk.section.replace(" > ", " / ").split())
            # The number is not escaped, because answers cite by it.
            parts.append(f"[{number}] {as_data(heading)}\n{as_data(text)}")
    return "\n\n".join(parts)


def _conversation(history: Sequence[PastTurn], texts: Mapping[str, Any], fence: str) -> str:
    # Fence the conversation too, since an earlier answer may repeat text of the knowledge base.
    turns = [
        texts["turn"]
        .format(question=as_data(turn.question[:_TURN_CHARS]), answer=as_data(turn.answer[:_TURN_CHARS]))
        .strip()
        for turn in history[-_TURNS_SHOWN:]
    ]
    return str(texts["conversation"].format(fence=fence, turns="\n\n".join(turns))) if turns else ""
