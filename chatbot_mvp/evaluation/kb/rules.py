"""Make questions about a knowledge base without a model, from headings, definitions, figures and lists.

Each answerable question is based on a sentence or list item of the text. Unanswerable questions ask about the text's
topics in ways that it does not cover, or about unrelated subjects.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from chatbot_mvp.documents.chunking import Section, chunk_document, split_sections
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import SetQuestion, new_question_id
from chatbot_mvp.knowledge_base.suggestions import ABOUT, heading_topic, is_title, section_question, small, spread
from chatbot_mvp.text import LANGUAGES, Analyzer, fold, sentences
from chatbot_mvp.types import Chunk, Document

_GENERAL = Path(__file__).parent / "general_questions.toml"

_SHORTEST, _LONGEST = 30, 500
"""Length in characters of a sentence that can serve as evidence."""
_MOST_WORDS = 9
"""Maximum number of words in a question's topic. A longer match contains a clause by mistake."""

_ES_NAME = r"(?P<name>(?:El|La|Los|Las|Un|Una) [^,;:()\n]{3,60}?)"
_EN_NAME = r"(?P<name>(?:The|A|An) [^,;:()\n]{3,60}?)"
_VERBS = r"(?!que\b|quien|cuando)[a-záéíóúñ]+"
# Tried in this order. {name} includes its article; {verb} and {rest} are copied from the sentence.
_PATTERNS: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    "es": (
        (re.compile(_ES_NAME + r" (?P<verb>es|son) (?:como máximo |hasta )?de (?:un máximo de |hasta )?[\d.,]+\b"),
         "¿De cuánto {verb} {name}?"),
        (re.compile(_ES_NAME + r" se (?P<verb>[a-záéíóúñ]+n?) cada "), "¿Cada cuánto se {verb} {name}?"),
        (re.compile(_ES_NAME + r" es (?:el|la|un|una) \w+"), "¿Qué es {name}?"),
        (re.compile(_ES_NAME + r" son (?:los|las|unos|unas) \w+"), "¿Qué son {name}?"),
        (re.compile(_ES_NAME + r" (?P<verb>son) \w+[oae]s\b"), "¿Cómo son {name}?"),
        (re.compile(r"(?:No está permitido|Está prohibido|Queda prohibido|No se permite|Se prohíbe) "
                    r"(?P<name>[^,;:.()\n]{5,70})"), "¿Está permitido {name}?"),
        (re.compile(_ES_NAME + r" (?P<verb>cuesta|vale)n? "), "¿Cuánto {verb} {name}?"),
        (re.compile(_ES_NAME + r" (?P<verb>abren?|cierran?|empiezan?|terminan?) "), "¿Cuándo {verb} {name}?"),
        (re.compile(_ES_NAME + r" se (?P<verb>" + _VERBS + r") (?:en|con|por|mediante|a|dentro|antes) "),
         "¿Cómo se {verb} {name}?"),
    ),
    "en": (
        (re.compile(_EN_NAME + r" (?P<verb>is|are) (?:up to |at most )?[$€£]?[\d.,]+\b"), "What {verb} {name}?"),
        (re.compile(_EN_NAME + r" (?P<verb>is|are) \w+ every "), "How often {verb} {name} due?"),
        (re.compile(_EN_NAME + r" (?P<verb>is|are) (?:a|an|the) \w+"), "What {verb} {name}?"),
        (re.compile(r"(?:It is forbidden to|It is not allowed to|It is prohibited to|You may not|Do not) "
                    r"(?P<name>[^,;:.()\n]{5,70})"), "Is it allowed to {name}?"),
        (re.compile(_EN_NAME + r" costs? "), "How much does {name} cost?"),
        (re.compile(_EN_NAME + r" (?P<verb>opens?|closes?|begins?|starts?|ends?) "), "When does {name} {verb}?"),
        (re.compile(_EN_NAME + r" (?P<verb>must|can|may|should) "), "What {verb} {name} do?"),
    ),
}  # fmt: skip
_ITEM = re.compile(r"^\s*[-*+•]\s+\**(?P<name>[^:\n*]{4,60})\**:\**\s+\S", re.M)
# Matches that are no topic: they refer to something else, hold a second clause, or include a word of the verb.
_NO_NAME = re.compile(
    r"\b(?:est[aeo]s?|es[ae]s?|mism[ao]s?|this|that|these|such|se|no|ya|solo|nunca|siempre|también|not|never|only)\b"
    r"|\bcada\b|\bevery\b|\d| (?:y|o|and|or)$"
    r"|\b(?!(?:de|a|en|por|para|con|sobre|y|o|entre|sin|desde|hasta)\b)\w+ (?:el|la|los|las)\b"
)
_TABLE = re.compile(r"\s*[|`]")
# What begins like this is no subject that somebody asks about: "mediante Thunderbird", "por correo", "paso 3".
_NO_SUBJECT = re.compile(
    r"\s*(?:mediante|por|con|sin|seg[uú]n|desde|hasta|para|tras|ante|bajo|entre|contra|durante|en|de|del|a|al|si|cuando|"
    r"paso|nota|by|with|without|from|to|for|via|through|until|during|in|on|at|of|if|when|step|note|\w+ndo|\w+ing)\b"
    r"(?! qué\b| cuál| quién)",
    re.I,
)
_BEST = 0


@dataclass(frozen=True, slots=True)
class _Candidate:
    question: str
    start: int
    """Offset of the evidence's first character in the document."""
    end: int
    """Offset after the evidence's last character."""
    rank: int
    """Reliability of the kind of question, 0 (best) to 2."""


def split_count(count: int) -> tuple[int, int, int]:
    """Split ``count`` into answerable, near and far questions: one half, one quarter, one quarter."""
    return count - 2 * (count // 4), count // 4, count // 4


def answerable_by_rules(document: Document, language: str, count: int) -> list[SetQuestion]:
    """Make up to ``count`` questions spread over the document, each with the sentence or item that answers it."""
    language = language if language in LANGUAGES else "en"
    chunks = chunk_document(document)
    candidates: dict[str, _Candidate] = {}
    for candidate in _candidates(document, language):
        known = candidates.get(key := fold(candidate.question))
        if known is None or candidate.rank < known.rank:
            candidates[key] = candidate
    chosen = _spread_out(list(candidates.values()), chunks, count)
    return [_kept(document.text, candidate, chunks) for candidate in chosen]


def near_by_rules(document: Document, language: str, count: int) -> list[SetQuestion]:
    """Make up to ``count`` questions about the document's topics, with templates whose subject the section lacks."""
    language = language if language in LANGUAGES else "en"
    frames = _general()[language]["near"]
    topics = list(_topics(document.text, language))
    found: dict[str, SetQuestion] = {}
    # Every topic gets one question before any gets a second one.
    for turn in range(len(frames)):
        for row in spread(range(len(topics)), count):
            topic, section = topics[row]
            frame = frames[(row + turn) % len(frames)]
            about = fold(document.text[section.start : section.end])
            if len(found) < count and not any(stem in about for stem in frame["unless"]):
                text = _joined(frame["text"].format(topic=topic))
                found.setdefault(fold(text), _unanswerable(text, "near", section.path))
    return list(found.values())


def far_by_rules(document: Document, language: str, count: int, elsewhere: Sequence[str] = ()) -> list[SetQuestion]:
    """Make up to ``count`` questions about other subjects: from other knowledge bases, then general ones.

    Args:
        elsewhere: questions that other knowledge bases answer; they make up at most half of the result.
    """
    language = language if language in LANGUAGES else "en"
    analyzer = Analyzer(language)
    own = set(analyzer.terms(document.text))

    def strange(question: str) -> bool:
        terms = set(analyzer.terms(question))
        return bool(terms) and 2 * len(terms & own) < len(terms)

    taken = [question for question in elsewhere if strange(question)]
    first = [taken[row] for row in spread(range(len(taken)), count // 2)]
    rest = [question for question in _general()[language]["far"] if strange(question)]
    return [_unanswerable(text, "far") for text in dict.fromkeys([*first, *rest])][:count]


def _topics(text: str, language: str) -> Iterator[tuple[str, Section]]:
    """Yield (topic, section): for each section the topic of its heading and then the subject of one of its sentences.

    Questions about a sentence's subject share more words with the text, so they are harder to refuse.
    """
    for section in split_sections(text):
        topic = heading_topic(section.path.rsplit(" > ", 1)[-1], language)
        if topic and not topic.endswith("?") and not _NO_SUBJECT.match(topic) and not is_title(text, section.start):
            yield small(topic), section
        body = text[section.body_start : section.end]
        asked = (_of_sentence(body[start:end], language) for start, end in sentences(body))
        if name := next((name for _, name in filter(None, asked)), ""):
            yield name, section


def _joined(text: str) -> str:
    """Contract "de el" and "a el" to "del" and "al" in Spanish."""
    return re.sub(r"\ba el\b", "al", re.sub(r"\bde el\b", "del", text))


def _candidates(document: Document, language: str) -> Iterator[_Candidate]:
    text = document.text
    sections = split_sections(text)
    for section in sections:
        body = text[section.body_start : section.end]
        spans = [(section.body_start + start, section.body_start + end) for start, end in sentences(body)]
        spans = [
            (start, end)
            for start, end in spans
            if _SHORTEST <= end - start <= _LONGEST and not _TABLE.match(text, start)
        ]
        for start, end in spans:
            sentence = text[start:end]
            if made := _of_sentence(sentence, language):
                yield _Candidate(made[0], start, end, _BEST)
            elif (item := _ITEM.match(sentence)) and not _NO_SUBJECT.match(item["name"]):
                yield _Candidate(ABOUT[language].format(topic=small(_bare(item["name"]))), start, end, 1)
        titled = len(sections) > 2 and is_title(text, section.start)
        subject = section.path.rsplit(" > ", 1)[-1]
        if (
            spans
            and not titled
            and not _NO_SUBJECT.match(subject)
            and (question := section_question(text, section, language))
        ):
            yield _Candidate(question, *spans[0], 2)


def _of_sentence(sentence: str, language: str) -> tuple[str, str] | None:
    """Return (question, topic) if a sentence matches a pattern, else None. The topic of an action is ""."""
    for pattern, form in _PATTERNS[language]:
        if (found := pattern.match(sentence)) and len(found["name"].split()) <= _MOST_WORDS:
            values = {name: value.strip() for name, value in found.groupdict().items()}
            values["name"] = _bare(small(values["name"]))
            if form.startswith("When does") and values["verb"].endswith("s"):
                values["verb"] = values["verb"][:-1]
            if not _NO_NAME.search(values["name"]):
                action = form.startswith(("¿Está permitido", "Is it allowed"))
                return form.format(**values), "" if action else values["name"]
    return None


def _spread_out(candidates: list[_Candidate], chunks: Sequence[Chunk], count: int) -> list[_Candidate]:
    """Pick candidates in rounds over the chunks, so that every chunk gets a question before any gets two.

    Within a chunk the most reliable kind comes first. A sentence is the evidence of one question only.
    """
    waiting: list[list[_Candidate]] = []
    in_order = sorted(candidates, key=lambda one: one.start)
    starts = [one.start for one in in_order]
    for chunk in chunks:
        mine = in_order[bisect_left(starts, chunk.start) : bisect_left(starts, chunk.end)]
        waiting.append(sorted(mine, key=lambda one: (one.rank, one.start)))
    chosen: dict[int, _Candidate] = {}
    while len(chosen) < count and any(waiting):
        fresh: dict[int, _Candidate] = {}
        for mine in waiting:
            while mine:
                candidate = mine.pop(0)
                if candidate.start not in chosen and candidate.start not in fresh:
                    fresh[candidate.start] = candidate
                    break
        found = list(fresh.values())
        for row in spread(range(len(found)), count - len(chosen)):
            chosen[found[row].start] = found[row]
    return sorted(chosen.values(), key=lambda one: one.start)


def _kept(text: str, candidate: _Candidate, chunks: Sequence[Chunk]) -> SetQuestion:
    evidence = text[candidate.start : candidate.end]
    section = next((chunk.section for chunk in chunks if chunk.start <= candidate.start < chunk.end), "")
    return SetQuestion(
        KbQuestion(new_question_id(), candidate.question, "answerable", evidence, section or None), origin="rules"
    )


def _unanswerable(text: str, kind: str, heading: str = "") -> SetQuestion:
    return SetQuestion(KbQuestion(new_question_id(), text, kind, None, heading or None), origin="rules")


def renumbered(questions: Sequence[SetQuestion]) -> list[SetQuestion]:
    """Number the questions by kind: ids a001, n001 and f001 for answerable, near and far."""
    counts: dict[str, int] = {}
    found = []
    for each in questions:
        letter = (each.question.kind or "q")[0]
        counts[letter] = counts.get(letter, 0) + 1
        question = replace(each.question, question_id=f"{letter}{counts[letter]:03d}")
        found.append(replace(each, question=question))
    return found


def _bare(text: str) -> str:
    """Remove Markdown markup and put the text on one line."""
    return " ".join(re.sub(r"[*_`\[\]]", "", text).split()).strip(" .,;:")


@cache
def _general() -> dict[str, Any]:
    return tomllib.loads(_GENERAL.read_text("utf-8"))
