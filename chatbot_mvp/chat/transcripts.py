"""Write answers as text and conversations as Markdown for people, or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.conversation import Conversation, Turn
from chatbot_mvp.chat.inert import inert, inert_line
from chatbot_mvp.chat.nearest import Nearest
from chatbot_mvp.chat.quality import Quality, rephrase
from chatbot_mvp.chat.records import AnswerRecord
from chatbot_mvp.knowledge_base.places import purged_on

UNSUPPORTED_MARK = "(!)"
"""Follows an unsupported sentence in plain text. ASCII, so that every terminal can print it."""

_WORDS = {
    "es": {
        "title": "Conversación con «{name}»",
        "mode": "modo",
        "strict": "estricto",
        "general": "general",
        "sources": "Fuentes",
        "outcomes": "{answered} con respuesta · {asks} con varias lecturas · {nearest} con pasajes cercanos · "
        "{refused} sobre otro asunto",
        "answered": "con respuesta",
        "asks": "con varias lecturas",
        "nearest": "con pasajes cercanos",
        "refused": "sobre otro asunto",
        "near": "Lo más cercano en el documento (no es una respuesta):",
        "missing": "La pregunta tiene, y estos pasajes no: {words}",
        "meant": "¿Quizá quiso decir…? {questions}",
        "quality": "Calidad",
        "average": "relevancia media {value}",
        "evidence": "evidencia {value}",
        "relevance": "relevancia según el modelo {value}/10",
        "expanded_yes": "pregunta ampliada: sí",
        "expanded_no": "pregunta ampliada: no",
        "reranked_yes": "pasajes reordenados: sí",
        "reranked_no": "pasajes reordenados: no",
        "model": "modelo {value}",
        "page": "página {page}",
        "version": "versión {number}",
        "updated": "actualizado el {day}",
        "why_unsupported": "El modelo respondió, pero los pasajes no respaldan ninguna de sus frases.",
        "why_declined": "El modelo no encontró la respuesta en los pasajes.",
        "unsupported": "Sin respaldo en la fuente citada",
        "not_kb": "No procede de la base de conocimiento.",
        "fallback": "El proveedor no respondió; contestó «demo».",
        "none": "(sin respuesta)",
        "place": "caracteres {start} a {end}",
        "damaged": "Líneas del archivo que no se pueden leer y se han omitido: {count}.",
        "good": "Valoración: útil",
        "bad": "Valoración: no útil",
        "off_question": "no responde a la pregunta",
        "wrong": "es incorrecta",
        "incomplete": "falta algo",
        "not_in_source": "la fuente no dice eso",
        "outdated": "está desactualizada",
        "other": "otra respuesta, o una pregunta editada",
        "chosen": "según el pasaje elegido",
        "outline": "un esquema",
    },
    "en": {
        "title": "Conversation with “{name}”",
        "mode": "mode",
        "strict": "strict",
        "general": "general",
        "sources": "Sources",
        "outcomes": "{answered} answered · {asks} with several readings · {nearest} with near passages · {refused} "
        "about something else",
        "answered": "answered",
        "asks": "several readings",
        "nearest": "near passages",
        "refused": "about something else",
        "near": "Nearest in the document (not an answer):",
        "missing": "Words of the question that these passages lack: {words}",
        "meant": "Did you mean…? {questions}",
        "quality": "Quality",
        "average": "average relevance {value}",
        "evidence": "evidence {value}",
        "relevance": "relevance according to the model {value}/10",
        "expanded_yes": "question expanded: yes",
        "expanded_no": "question expanded: no",
        "reranked_yes": "passages reranked: yes",
        "reranked_no": "passages reranked: no",
        "model": "model {value}",
        "page": "page {page}",
        "version": "version {number}",
        "updated": "updated on {day}",
        "why_unsupported": "The model answered, but the passages support none of its sentences.",
        "why_declined": "The model found no answer in the passages.",
        "unsupported": "Not supported by the cited source",
        "not_kb": "Not from the knowledge base.",
        "fallback": "The provider did not answer; “demo” did.",
        "none": "(no answer)",
        "place": "characters {start} to {end}",
        "damaged": "Lines of the file that cannot be read and were left out: {count}.",
        "good": "Rating: helpful",
        "bad": "Rating: not helpful",
        "off_question": "does not answer the question",
        "wrong": "is wrong",
        "incomplete": "something is missing",
        "not_in_source": "the source does not say so",
        "outdated": "is out of date",
        "other": "another answer, or an edited question",
        "chosen": "from the chosen passage",
        "outline": "an outline",
    },
}


def answer_text(answer: AnswerRecord, language: str) -> str:
    """Format an answer as plain text: unsupported sentences marked, then its sources or the nearest passages.

    A hint to rephrase follows every fixed reply, and the quality is the last line.
    """
    words = _WORDS.get(language, _WORDS["en"])
    parts = [_marked(answer)]
    if answer.unsupported:
        parts.append(f"{UNSUPPORTED_MARK} {words['unsupported']}")
    if answer.fell_back:
        parts.append(words["fallback"])
    if not answer.from_kb and not answer.abstained:
        parts.append(words["not_kb"])
    parts.extend(f"[{s.number}] {s.chunk.section} ({_place(s, words, '{start}-{end}')})" for s in answer.sources)
    if answer.nearest is not None:
        parts.extend(["", *_nearest_lines(answer, answer.nearest, words, _one_line)])
    if answer.hint and answer.outcome != "asks":
        parts.append(rephrase(language))
    parts.append(quality_line(answer.quality, language))
    return "\n".join(parts)


def quality_line(quality: Quality, language: str) -> str:
    """Format the quality of an answer as one line; what was not measured is left out."""
    words = _WORDS.get(language, _WORDS["en"])

    def said(template: str, value: float | None, digits: int) -> list[str]:
        if value is None:
            return []
        text = f"{value:.{digits}f}" if digits else f"{value:g}"
        return [template.format(value=text.replace(".", ",") if language == "es" else text)]

    parts = [
        *said(words["average"], quality.average_relevance, 2),
        *said(words["evidence"], quality.evidence, 2),
        *said(words["relevance"], quality.relevance, 0),
        words["expanded_yes" if quality.query_expanded else "expanded_no"],
        words["reranked_yes" if quality.reranked else "reranked_no"],
        *([words["model"].format(value=quality.model)] if quality.model else []),
        *said("{value} s", quality.seconds, 2),
    ]
    return f"{words['quality']}: {' · '.join(parts)}"


def as_markdown(conversation: Conversation, language: str) -> str:
    """Format a conversation as Markdown under its title, with headings in ``language`` and times of this machine."""
    words = _WORDS.get(language, _WORDS["en"])
    about = words["title"].format(name=inert_line(", ".join(conversation.kb_names.values())))
    parts = [f"# {inert_line(conversation.title)}"] if conversation.title else []
    parts.append(f"{about} · {_moment(conversation.started_at, language)}")
    parts.append(words["outcomes"].format(**conversation.outcomes))
    if conversation.damaged:
        parts.append(f"> {words['damaged'].format(count=conversation.damaged)}")
    for turn in conversation.turns:
        parts.extend(_turn_lines(conversation, turn, words, language))
    return "\n\n".join(parts) + "\n"


def turn_markdown(turn: Turn, language: str, question: bool) -> str:
    """Format an answer as Markdown to paste elsewhere: its text, then its sources or the nearest passages.

    Args:
        question: whether its question stands above it.
    """
    words, answer = _WORDS.get(language, _WORDS["en"]), turn.answer
    parts = [f"**{inert_line(turn.question)}**"] if question else []
    if answer is None or answer.outcome == "asks" or answer.nearest is None or not answer.nearest.passages:
        parts.append(inert(turn.text))
    if answer is not None and answer.sources:
        parts.append("\n".join([f"{words['sources']}:", "", *_source_lines(answer, words)]))
    if answer is not None and answer.nearest is not None:
        parts.append("\n".join(_nearest_lines(answer, answer.nearest, words, inert_line)))
    return "\n\n".join(parts)


def as_json(conversation: Conversation) -> str:
    """Format a conversation as JSON: questions, answers, sources with offsets, statements, feedback."""
    value = {
        "conversation_id": conversation.conversation_id,
        "kb_id": conversation.kb_id,
        "kb_name": conversation.kb_name,
        "kb_names": conversation.kb_names,
        "title": conversation.title,
        "started_at": conversation.started_at,
        "outcomes": conversation.outcomes,
        "damaged_lines": conversation.damaged,
        "turns": [_turn_json(turn) for turn in conversation.turns],
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _turn_lines(conversation: Conversation, turn: Turn, words: dict[str, str], language: str) -> list[str]:
    answer = turn.answer
    about = [_moment(turn.asked_at, language), f"{words['mode']} {words[turn.mode]}"]
    if answer is not None:
        special = "outline" if answer.is_outline else "chosen" if answer.chosen and answer.outcome == "answered" else ""
        about.append(words[special or answer.outcome])
    if conversation.alternatives(turn)[0] is not turn:
        about.append(words["other"])
    parts = [f"## {inert_line(turn.question)}", f"*{' · '.join(about)}*"]
    parts.append(inert(turn.text) or words["none"])
    if answer is not None:
        if answer.failure:
            parts.append(f"> {words['fallback']}")
        if not answer.from_kb and not answer.abstained:
            parts.append(f"> {words['not_kb']}")
        unsupported = [answer.text[s.start : s.end] for s in answer.statements if not s.supported]
        parts.extend(f"> {words['unsupported']}: {inert_line(text)}" for text in unsupported)
        if answer.sources:
            parts.append("\n".join([f"**{words['sources']}**", "", *_source_lines(answer, words)]))
        if answer.nearest is not None:
            parts.extend(_nearest_lines(answer, answer.nearest, words, inert_line))
        if answer.hint and answer.outcome != "asks":
            parts.append(rephrase(language))
        parts.append(f"*{quality_line(answer.quality, language)}*")
    if turn.feedback is not None:
        said = [words["good" if turn.feedback.good else "bad"], *(words[name] for name in turn.feedback.reasons)]
        parts.append(f"*{' · '.join([*said, inert_line(turn.feedback.note)] if turn.feedback.note else said)}*")
    return parts


def _moment(iso: str, language: str) -> str:
    """Format an ISO 8601 time as people of this machine read it; any other text stays."""
    try:
        local = datetime.fromisoformat(iso).astimezone()
    except (ValueError, OverflowError):
        return iso
    return local.strftime("%d/%m/%Y %H:%M" if language == "es" else "%Y-%m-%d %H:%M")


def _turn_json(turn: Turn) -> dict[str, Any]:
    answer = turn.answer
    value: dict[str, Any] = {
        "turn_id": turn.turn_id,
        "after": turn.after,
        "question": turn.question,
        "asked_at": turn.asked_at,
        "mode": turn.mode,
        "state": turn.state,
        "answer": turn.text,
        "feedback": asdict(turn.feedback) if turn.feedback else None,
    }
    if answer is not None:
        value |= answer.as_reply() | {"model": answer.model, "searched": answer.search_query or turn.question}
    return value


def _marked(answer: AnswerRecord) -> str:
    parts, position = [], 0
    for statement in answer.statements:
        if not statement.supported:
            parts += [answer.text[position : statement.end], f" {UNSUPPORTED_MARK}"]
            position = statement.end
    return "".join([*parts, answer.text[position:]])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _source_lines(answer: AnswerRecord, words: dict[str, str]) -> list[str]:
    return [
        f"- [{s.number}] {inert_line(s.chunk.section)}"
        + ("" if purged_on(s.chunk.text) else f" ({inert_line(_place(s, words))})")
        for s in answer.sources
    ]


def _nearest_lines(
    answer: AnswerRecord, nearest: Nearest, words: dict[str, str], form: Callable[[str], str]
) -> list[str]:
    """
    Args:
        form: makes one line of a text of others.
    """
    if answer.outcome == "asks":
        pairs = zip(nearest.did_you_mean, nearest.passages, strict=True)
        return [f"- {form(reading.question)} {form(source.chunk.text)}" for reading, source in pairs]
    lines = [words[f"why_{answer.why}"]] if f"why_{answer.why}" in words else []
    lines.append(words["near"])
    for source in nearest.passages:
        lines.append(f"- {form(source.chunk.section)} ({form(_place(source, words))}): {form(source.chunk.text)}")
    if nearest.missing:
        lines.append(words["missing"].format(words=", ".join(f"«{form(word)}»" for word in nearest.missing)))
    if nearest.did_you_mean:
        lines.append(words["meant"].format(questions=" ".join(form(each.question) for each in nearest.did_you_mean)))
    return lines


def _place(source: Source, words: dict[str, str], span: str = "") -> str:
    """Return file, page, version, day of its last change and characters of a source; without what is not known."""
    place = source.place
    parts = [place.title] if place else []
    if place and place.page:
        parts.append(words["page"].format(page=place.page))
    if place and place.version:
        parts.append(words["version"].format(number=place.version))
    if place and place.updated_at:
        # A date, because a file is read long after it was written.
        parts.append(words["updated"].format(day=place.updated_at[:10]))
    return ", ".join([*parts, (span or words["place"]).format(start=source.chunk.start, end=source.chunk.end)])
