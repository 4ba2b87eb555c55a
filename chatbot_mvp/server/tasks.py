"""Recognises the prompts that chat clients send by themselves, without a question of their user.

Open WebUI, LibreChat, NextChat and others ask the model of a conversation for its title, tags, follow-up questions or a
summary. Answered from the documents, such a prompt would give a wrong answer that looks like a right one.
"""

from __future__ import annotations

import re

_MARKERS = re.compile(r"<chat_history>|\{\{\s*MESSAGES(:\w+)*\s*\}\}|^#+ *task:", re.I | re.M)
"""What Open WebUI and its derivatives put around the conversation."""
_VERB = (
    r"(?:please |now |por favor,? )*"
    r"(?:your task is to |tu tarea es |you are tasked with |you will )?"
    r"(?:generat\w+|creat\w+|writ\w+|provid\w+|produc\w+|suggest\w*|propos\w+|giv\w+|come up with|detect\b.{0,60}|"
    r"mak\w+|nam\w+|summari[sz]\w+|analy[sz]\w+|reflect|reply with|respond with|return|output|"
    r"gener[ae]\w*|cre[ae]\w*|escrib\w+|redact\w+|propon\w*|propón|sugier\w+|dame|da|pon|pón|haz|resum\w+)"
)
_THING = (
    r"(?:titles?|tags?|follow.?up (?:questions?|prompts?|suggestions?)|search quer(?:y|ies)|emojis?|"
    r"títulos?|titulos?|etiquetas|preguntas de seguimiento|summar\w+|resum\w+|resumen)"
)
_TALK = (
    r"(?:conversations?|chats?|chat history|discussion|dialog(?:ue)?|exchange|messages?|"
    r"user(?:'s|’s)? (?:request|query)|conversación|conversacion|historial|diálogo|dialogo|mensajes?)"
)
_ORDER = re.compile(rf"^\W*{_VERB}\b[^?¿]*\b{_THING}\b[^?¿]*$", re.I)
_SUMMARY = re.compile(
    rf"^\W*(?:please |por favor,? )?(?:summari[sz]e|resum[ea]n?)\b[^?¿]{{0,40}}\b{_TALK}\b[^?¿]*$", re.I
)
_ROLE = re.compile(
    r"^\W*(?:you are|act as|eres|actúa como)\b[^.?]*\b"
    r"(?:title|tag|conversation|chat|topic|autocompletion|summari[sz]ation)s?[\s-]*(?:\w+[\s-]+)?"
    r"(?:generator|summari[sz]er|namer|titler|system|ai|assistant that (?:creates|writes|generates) titles)\b",
    re.I,
)
_ENDS_READ = 4_000
"""Characters that are read at each end of a long message."""
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")


def is_client_task(text: str) -> bool:
    """Return whether a message asks for a title, tags, follow-up questions, queries or a summary of a conversation."""
    if len(text) > 2 * _ENDS_READ:  # the order is at one end; between them is the conversation
        text = f"{text[:_ENDS_READ]}\n{text[-_ENDS_READ:]}"
    if len(_MARKERS.findall(text)) >= 2:
        return True
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
    if any(_ROLE.search(sentence) or _SUMMARY.search(sentence) for sentence in sentences):
        return True
    about_talk = re.search(rf"\b{_TALK}\b", text, re.I) is not None
    return about_talk and any(_ORDER.search(sentence) for sentence in sentences)
