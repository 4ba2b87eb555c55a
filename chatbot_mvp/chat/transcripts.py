"""Export a conversation as Markdown for people or JSON for programs."""

from __future__ import annotations

import json
from typing import Any

from chatbot_mvp.chat.conversations import Conversation, Turn
from chatbot_mvp.chat.records import source_json

_WORDS = {
    "es": {
        "title": "Conversación con «{name}»",
        "mode": "modo",
        "strict": "estricto",
        "general": "general",
        "sources": "Fuentes",
        "unsupported": "Sin respaldo en la fuente citada",
        "not_kb": "No procede de la base de conocimiento.",
        "fallback": "El proveedor no respondió; contestó «demo».",
        "none": "(sin respuesta)",
        "place": "caracteres {start} a {end}",
        "good": "Valoración: útil",
        "bad": "Valoración: no útil",
    },
    "en": {
        "title": "Conversation with “{name}”",
        "mode": "mode",
        "strict": "strict",
        "general": "general",
        "sources": "Sources",
        "unsupported": "Not supported by the cited source",
        "not_kb": "Not from the knowledge base.",
        "fallback": "The provider did not answer; “demo” did.",
        "none": "(no answer)",
        "place": "characters {start} to {end}",
        "good": "Rating: helpful",
        "bad": "Rating: not helpful",
    },
}


def as_markdown(conversation: Conversation, language: str) -> str:
    """Format a conversation as Markdown, with headings in ``language``."""
    words = _WORDS.get(language, _WORDS["en"])
    parts = [f"# {words['title'].format(name=conversation.kb_name)}", conversation.started_at]
    for turn in conversation.turns:
        parts.extend(_turn_lines(turn, words))
    return "\n\n".join(parts) + "\n"


def as_json(conversation: Conversation) -> str:
    """Format a conversation as JSON: questions, answers, sources with offsets, statements, feedback."""
    value = {
        "conversation_id": conversation.conversation_id,
        "kb_id": conversation.kb_id,
        "kb_name": conversation.kb_name,
        "started_at": conversation.started_at,
        "turns": [_turn_json(turn) for turn in conversation.turns],
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _turn_lines(turn: Turn, words: dict[str, str]) -> list[str]:
    parts = [f"## {' '.join(turn.question.split())}", f"*{turn.asked_at} · {words['mode']} {words[turn.mode]}*"]
    parts.append(turn.text or words["none"])
    answer = turn.answer
    if answer is not None:
        if answer.failure:
            parts.append(f"> {words['fallback']}")
        if not answer.from_kb and not answer.abstained:
            parts.append(f"> {words['not_kb']}")
        unsupported = [answer.text[s.start : s.end] for s in answer.statements if not s.supported]
        parts.extend(f"> {words['unsupported']}: {' '.join(text.split())}" for text in unsupported)
        if answer.sources:
            lines = [
                f"- [{s.number}] {s.chunk.section} ({words['place'].format(start=s.chunk.start, end=s.chunk.end)})"
                for s in answer.sources
            ]
            parts.append("\n".join([f"**{words['sources']}**", "", *lines]))
    if turn.feedback is not None:
        note = f" · {turn.feedback.note}" if turn.feedback.note else ""
        parts.append(f"*{words['good' if turn.feedback.good else 'bad']}{note}*")
    return parts


def _turn_json(turn: Turn) -> dict[str, Any]:
    answer = turn.answer
    value: dict[str, Any] = {
        "question": turn.question,
        "asked_at": turn.asked_at,
        "mode": turn.mode,
        "state": turn.state,
        "answer": turn.text,
        "feedback": {"good": turn.feedback.good, "note": turn.feedback.note} if turn.feedback else None,
    }
    if answer is not None:
        value |= {
            "from_kb": answer.from_kb,
            "abstained": answer.abstained,
            "fell_back": answer.failure is not None,
            "model": answer.model,
            "evidence": answer.evidence,
            "seconds": answer.seconds,
            "searched": answer.search_query or turn.question,
            "sources": [source_json(source) for source in answer.sources],
            "statements": [
                {"text": answer.text[s.start : s.end], "score": s.score, "supported": s.supported}
                for s in answer.statements
            ],
        }
    return value
