"""Ask back where a question fits several places differently: its readings, each with the passage that would answer it.

Readings come from the conversation ("the plan" after three plans were named), from the headings under which the same
heading stands ("Sales > Opening hours", "Workshop > Opening hours"), or from the headings of the best passages. Each is
searched as a question of its own. If fewer than two lead to different passages, the question is clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.dated import date_of
from chatbot_mvp.chat.followup import Search, leans
from chatbot_mvp.chat.nearest import Nearest, Suggestion, find_nearest
from chatbot_mvp.chat.references import Reference, named_things, open_reference
from chatbot_mvp.chat.relevance import outcome_of
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.trace import Hit
from chatbot_mvp.text import fold
from chatbot_mvp.types import PastTurn

_MOST, _FEWEST = 6, 2
_LOOKED_AT = 10
"""Best hits whose headings may be readings."""
_NEAR = 0.5
"""Least share (0-1) of the best hit's score that such a hit has."""
_ALIKE = 0.8
"""The same where nothing but the scores tells that the question fits several places."""
_BARE_WORDS = 4
_ABOUT_CHARS = 80


def ask_back(pipeline: Pipeline, question: str, history: Sequence[PastTurn], search: Search) -> Nearest | None:
    """Return the readings of a question that is not clear; None if it is.

    Returns:
        A suggestion of the kind "reading" for each, with the words that tell it from the others and the clear question,
        and at the same place the passage that it finds first.
    """
    hits = search.trace.hits[:_LOOKED_AT]
    # What was said before may be what a question is about that is about something else by itself.
    if len(hits) < _FEWEST or (not history and outcome_of(False, search.trace) == "refused"):
        return None
    reference = open_reference(question, history)
    if reference is not None:
        return _of_reference(pipeline, question, history, reference, hits)
    if above := _parents(pipeline, search, hits):
        readings = [(about, _clear(question, about)) for about in above]
    elif not history and _is_bare(question) and leans(question, pipeline):
        readings = [(about, _clear(question, about)) for about in _headings(_above(hits, _ALIKE), question)]
    else:
        return None
    return _searched(pipeline, readings[:_MOST])


def _of_reference(
    pipeline: Pipeline, question: str, history: Sequence[PastTurn], reference: Reference, hits: Sequence[Hit]
) -> Nearest | None:
    """Return what a reference may mean: what the conversation names, headings, else the beginnings of passages."""
    if history:
        [joined] = pipeline.retrieve([f"{history[-1].question} {question}"])
        hits = (*joined.hits[:_LOOKED_AT], *hits)
    texts = [hit.chunk.index_text for hit in hits]
    documents = fold(" ".join(texts))
    kinds = [about for about in reference.variants if fold(about) in documents]
    found = _searched(pipeline, [(about, _clear(question, about, reference.words)) for about in kinds[:_MOST]])
    shown = [*named_things(history, texts, pipeline.index.analyzer), *_headings(_above(hits, _NEAR), question)]
    for more in ((), _beginnings(hits)):
        shown += more
        about_each = list(dict.fromkeys(shown))[:_MOST]
        found = found or _searched(pipeline, [(about, _clear(question, about)) for about in about_each])
    return found


def _searched(pipeline: Pipeline, readings: Sequence[tuple[str, str]]) -> Nearest | None:
    """Search readings, given (what tells each from the others, the clear question); keep those that lead elsewhere.

    Returns:
        As ``ask_back``: None if fewer than two find different passages.
    """
    if len(readings) < _FEWEST:
        return None
    passages: list[Source] = []
    kept: list[Suggestion] = []
    for (about, asked), trace in zip(readings, pipeline.retrieve([asked for _, asked in readings]), strict=True):
        found = find_nearest(asked, trace, pipeline.index, None).passages
        if found and all(_place(found[0]) != _place(other) for other in passages):
            passages.append(replace(found[0], number=len(passages) + 1))
            kept.append(Suggestion("reading", about, asked))
    if len(kept) < _FEWEST:
        return None
    return Nearest(tuple(passages), (), tuple(kept), expanded=False, reranked=False, relevance=None)


def _is_bare(question: str) -> bool:
    """Return whether a question has no more than a verb: "How much is it?", "¿Cuánto cuesta?"."""
    words = fold(question).split()
    return len(words) <= _BARE_WORDS and "there" not in words


def _place(source: Source) -> tuple[str, int]:
    return source.chunk.doc_id, source.chunk.start


def _above(hits: Sequence[Hit], share: float) -> list[Hit]:
    return [hit for hit in hits if hit.score >= share * hits[0].score]


def _headings(hits: Iterable[Hit], question: str) -> Iterator[str]:
    """Yield the different last headings of hits, or titles of documents; none that the question has."""
    seen = set[str]()
    for hit in hits:
        heading = hit.chunk.section.rpartition(" > ")[2].strip()
        if heading and heading.lower() not in seen and heading.lower() not in question.lower():
            seen.add(heading.lower())
            yield heading[:_ABOUT_CHARS]


def _beginnings(hits: Iterable[Hit]) -> Iterator[str]:
    """Yield the first words of passages without a heading."""
    for hit in hits:
        if not hit.chunk.section:
            words = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", hit.chunk.text).split())
            yield words if len(words) <= _ABOUT_CHARS else f"{words[:_ABOUT_CHARS].rpartition(' ')[0]} …"


def _parents(pipeline: Pipeline, search: Search, hits: Sequence[Hit]) -> list[str]:
    """Return what the best hits' common last heading stands under, if the question names none of that; else []."""
    analyzer = pipeline.index.analyzer
    terms = set(analyzer.terms(search.query))
    above, _, last = hits[0].chunk.section.rpartition(" > ")
    if not above or not terms & set(analyzer.terms(last)):
        return []
    found: dict[str, Hit] = {}
    for hit in _above(hits, _ALIKE):
        parent, _, own = hit.chunk.section.rpartition(" > ")
        if own == last and parent:
            found.setdefault(parent.rpartition(" > ")[2], hit)
    names = [set(analyzer.terms(parent)) for parent in found]
    if all(date_of(hit.chunk.section) for hit in found.values()):
        return []  # of several times, the one that held then answers
    return [] if len(found) < _FEWEST or any(terms & name for name in names) else list(found)


def _clear(question: str, about: str, words: str = "") -> str:
    """Return the question with ``about`` in place of ``words``, or behind it if there are none."""
    if words:
        article = re.match(r"(?:the|el|la|los|las)\b", words, re.I)
        return question.replace(words, f"{article[0]} {about}" if article else about, 1)
    body = question.rstrip().rstrip("?").rstrip()
    return f"{body} ({about})?"
