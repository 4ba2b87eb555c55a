"""Suggest questions that a knowledge base should answer, by rules from its sentences, definitions and headings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from chatbot_mvp.documents.chunking import Section, split_sections
from chatbot_mvp.documents.languages import PARAGRAPH_WORDS, clear_language, tally
from chatbot_mvp.knowledge_base.question_forms import heading_as_question, questions_in
from chatbot_mvp.text import STOP_WORDS, Analyzer, fold
from chatbot_mvp.types import Document

_MIN_BODY = 60
"""Sections with fewer characters get no question."""
_MAX_HEADING = 70
_LOOKED_AT = 2_000
"""Characters of a section from which questions are made."""
_OF_SECTION = 2
"""Questions that the sentences of one section give at most."""

# The templates use only stop words: retrieval would search any other word, and strict mode might refuse the question.
# Headings come without their articles, which a sentence needs in Spanish: "la derrama".
ABOUT = {"es": "¿Qué hay sobre «{topic}»?", "en": "What is there about {topic}?"}
WHAT_IS = {"es": "¿Qué es {topic}?", "en": "What is {topic}?"}
_LIST = {"es": "¿Cuáles son {topic}?", "en": "What are {topic}?"}

_DEFINITION = {
    "es": re.compile(
        r"\b((?:El|La|Un|Una)\s+[\wáéíóúñü]+(?:\s+(?:de|del|de la)\s+[\wáéíóúñü]+|\s+[\wáéíóúñü]+)?)"
        r"\s+es\s+(?:un|una|el|la)\s+\w+"
    ),
    "en": re.compile(r"\b((?:The|A|An)\s+\w+(?:\s+\w+)?)\s+is\s+(?:a|an|the)\s+\w+"),
}
# A plural heading ("Requirements") becomes a question for the list ("What are the requirements?").
_PLURAL = {
    "es": (re.compile(r"^(requisitos|pasos|plazos|tipos|ventajas|funciones|obligaciones|derechos|horarios|tarifas|"
                      r"condiciones|normas|objetivos|causas|síntomas|sanciones|multas)\b", re.I),
           {"requisitos": "los", "pasos": "los", "plazos": "los", "tipos": "los", "horarios": "los", "derechos": "los",
            "objetivos": "los", "síntomas": "los"}),
    "en": (re.compile(r"^(requirements|steps|deadlines|types|benefits|duties|rights|rules|fees|conditions|goals|"
                      r"causes|symptoms|penalties|opening hours)\b", re.I), {}),
}  # fmt: skip
_NUMBER = re.compile(r"^(?:(?:art[íi]culo|article|cap[íi]tulo|chapter|secci[óo]n|section|anexo|annex|t[íi]tulo)\s+)?"
                     r"(?:(?:\d+(?:\.\d+)*|[IVXLC]+)[.):ª-]*\s+|(?:primer|segund|tercer|cuart|quint|sext|séptim|octav|noven|"
                     r"décim)[oa][.:]\s+)[-–—]?\s*", re.I)  # fmt: skip
# What begins like this is only a part of a sentence, of which a question would make no sense.
_PART = re.compile(r"(?:a|al|con|de|del|en|entre|hacia|mediante|para|por|según|sin|sobre|tras|y|o|at|by|for|from|in|of|"
                   r"on|per|through|to|via|with|and|or)\s", re.I)  # fmt: skip
GENERIC = frozenset(
    fold(word)
    for word in """introducción índice contenido resumen conclusión conclusiones anexo anexos general generalidades
    otros varios notas referencias bibliografía prólogo portada introduction contents summary conclusion conclusions
    appendix overview general other others miscellaneous notes references bibliography foreword abstract
    index faq preguntas frecuentes hacen dudas questions frequently asked""".split()
)
"""Words of headings that say nothing of what is below them."""


def suggest_questions(document: Document, language: str, limit: int, languages: Sequence[str] = ()) -> tuple[str, ...]:
    """Return up to ``limit`` questions about different sections, spread over the text and in its order.

    Those that people would ask come first, then others with two or more topic words, which are likely to be answered.

    Args:
        language: "es" or "en"; any other value is treated as "en".
        languages: all languages of the document, if it has several: each section is asked about in its own.
    """
    language = language if language in ABOUT else "en"
    sections = split_sections(document.text)
    asked: dict[str, tuple[str, int]] = {}  # folded question -> (question, rank), so that none is repeated
    for section in sections:
        # Skip the introduction below the document's title: the title is too general for a question.
        title = len(sections) > 2 and is_title(document.text, section.start)
        own = _language_of(document.text[section.start : section.end], languages) or language
        body = document.text[section.body_start : min(section.end, section.body_start + _LOOKED_AT)]
        natural = list(islice(dict.fromkeys(questions_in(body, own)), _OF_SECTION))
        for question in natural:
            asked.setdefault(fold(question), (question, 0 if _sure(question, own) else 2))
        if not title and not natural and (question := section_question(document.text, section, own)):
            asked.setdefault(fold(question), (question, 2 - _sure(question, own) - (not is_about(question))))
    questions = list(asked.values())
    chosen: list[int] = []
    for rank in range(3):
        chosen += spread([row for row, (_, own_rank) in enumerate(questions) if own_rank == rank], limit - len(chosen))
    return tuple(questions[row][0] for row in sorted(chosen))


def _sure(question: str, language: str) -> bool:
    return len(Analyzer(language).terms(question)) > 1


def _language_of(text: str, languages: Sequence[str]) -> str | None:
    """Return the language of a section, if it is clear and one of several ``languages``."""
    found = clear_language(tally(text), PARAGRAPH_WORDS) if len(languages) > 1 else None
    return found if found in languages else None


def is_title(text: str, start: int) -> bool:
    """Return whether a heading that begins at ``start`` is the first one of a document."""
    # Look at the line before it only: copying all text before each heading would take quadratic time.
    while start > 0 and text[start - 1].isspace():
        start -= 1
    begin = text.rfind("\n", 0, start) + 1
    return begin == start or text.startswith("# ", begin, start)


def spread(rows: Sequence[int], limit: int) -> list[int]:
    if limit <= 0:
        return []
    if len(rows) <= limit:
        return list(rows)
    return [rows[round(at * (len(rows) - 1) / max(1, limit - 1))] for at in range(limit)]


def heading_topic(heading: str, language: str) -> str:
    """Return a heading without its number; "" if it is too general ("Introduction") or too long."""
    topic = _NUMBER.sub("", heading).strip(" .:;-–—\"'«»*_`")
    return topic if len(topic) <= _MAX_HEADING and any(word not in GENERIC for word in _words(topic, language)) else ""


def _words(topic: str, language: str) -> list[str]:
    return [word for word in re.findall(r"[^\W\d_]+", fold(topic)) if word not in STOP_WORDS[language]]


def asked_by(heading: str, language: str) -> str:
    """Return a heading that is a question, with the sign that it may lack; "" if it is none or too long."""
    if not heading.endswith("?") or len(heading) > 2 * _MAX_HEADING:
        return ""
    return heading if language == "en" or heading.startswith("¿") else f"¿{heading}"


def is_about(question: str) -> bool:
    """Return whether a question was made by ``ABOUT``: it is answered, but nobody asks like that."""
    return question.startswith(tuple(form.partition("{")[0] for form in ABOUT.values()))


def section_question(text: str, section: Section, language: str) -> str:
    """Return a question about a section; "" if its heading or text gives none."""
    body = text[section.body_start : section.end]
    if not section.path or len(body.strip()) < _MIN_BODY:
        return ""
    heading = section.path.rsplit(" > ", 1)[-1].strip()
    if asked := asked_by(heading, language):
        return asked
    topic = heading_topic(heading, language)
    if not topic:
        return ""
    words = _words(topic, language)
    pattern, articles = _PLURAL[language]
    if found := pattern.match(topic):
        article = articles.get(found.group(1).lower(), "las") if language == "es" else "the"
        return _LIST[language].format(topic=f"{article} {small(topic)}")
    if question := heading_as_question(topic, language):
        return question
    if _PART.match(topic):
        return ""
    name = _defined(body, language)
    # Use a definition only if it defines the topic of the heading.
    if name and set(re.findall(r"[^\W\d_]{4,}", fold(name))) & set(words):
        return WHAT_IS[language].format(topic=small(name))
    return ABOUT[language].format(topic=small(topic))


def _defined(body: str, language: str) -> str:
    """Return what the first definition at the start of a sentence or line defines; "" if there is none."""
    found = _DEFINITION[language].search(body)
    while found is not None:
        before = found.start()
        while before > 0 and body[before - 1].isspace() and body[before - 1] != "\n":
            before -= 1
        if before == 0 or body[before - 1] in ".\n":
            return found.group(1)
        found = _DEFINITION[language].search(body, found.start() + 1)
    return ""


def small(text: str) -> str:
    """Return ``text`` with a lower-case first letter, unless it begins with two capitals (an acronym)."""
    second = text[1:2]
    return text if second.isupper() else text[0].lower() + text[1:]
