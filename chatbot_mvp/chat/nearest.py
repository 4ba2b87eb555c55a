"""Describe what stands nearest to a question without an answer: passages, the words they lack, what was meant.

Nothing here is an answer: the passages are shown apart from the sources of answers, and no model is asked.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from rapidfuzz.distance import OSA

from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.dated import held_first
from chatbot_mvp.chat.quality import was_reranked
from chatbot_mvp.knowledge_base.suggestions import ABOUT, asked_by, heading_topic, small
from chatbot_mvp.llm.extractive.kinds import asked, last_clause, plain_of
from chatbot_mvp.llm.extractive.proof import KINDS, offer_of
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.units import titles
from chatbot_mvp.llm.extractive.values import value_asked
from chatbot_mvp.retrieval.arrays import Doubles
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.kb.spelling import sound_key
from chatbot_mvp.retrieval.stages.expansion import CORRECTIONS, expansion_weights
from chatbot_mvp.retrieval.stages.kb_cosines import sentence_closeness
from chatbot_mvp.retrieval.stages.kb_score import scaled
from chatbot_mvp.retrieval.stages.late_interaction import nearness
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.text import fold, sentences
from chatbot_mvp.types import Chunk

MAX_PASSAGES = 3
_MIN_SHARE = 0.1
"""Passages below this share (0-1) of the best passage's score are not near."""
MAX_CHARS = 500
"""A longer paragraph is cut to its best sentence and the sentences around it, at most this many characters."""
_VALUE = 0.2
"""What a sentence gains that has the kind of value or thing that the question asks for."""
_LATE = 0.5
"""Weight of late interaction beside the cosine; of 0.25, 0.5 and 0.75 the one with most first passages right."""
_MAX_HEADINGS = 2
_PLURAL = re.compile(r"(?:es|s|n)\b")
"""What another number of a word ends with, which is no misspelling."""
_MIN_HEADING = 0.5
"""A heading is near if the question has at least this share (0-1) of its terms, weighted by idf."""
_EDITS, _EDITS_SHARE = 2, 1 / 3  # a correction differs from the typed word by two letters, or by a third of its letters


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question that the user may have meant."""

    kind: Literal["spelling", "heading", "reading"]
    """"spelling": a word was corrected; "heading": a heading is near the question; "reading": the question could mean
    this, among others."""
    text: str
    """The corrected words, separated by spaces, or the heading, or what tells a reading from the others."""
    question: str
    """The question to ask instead."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """What stands nearest to a question that has no answer, and how it was searched."""

    passages: tuple[Source, ...]
    """Up to three distinct paragraphs, nearest first, numbered from 1. ``chunk.text`` is the paragraph, or a part of a
    long one, and the highlight is its closest sentence."""
    missing: tuple[str, ...]
    """The question's content words, as typed, that none of the passages or their headings has."""
    did_you_mean: tuple[Suggestion, ...]
    expanded: bool
    """Whether words were added to the question for the search."""
    reranked: bool
    relevance: float | None
    """The relevance of the passages according to a model, 0-10; None if no model scored it."""


def find_nearest(question: str, trace: RetrievalTrace, index: CorpusIndex, relevance: float | None) -> Nearest:
    """Describe what stands nearest to a question.

    Args:
        question: as the user typed it. ``trace.query`` may differ, for example for a follow-up question.
        relevance: the model's score of the passages, 0-10; None if there is none.
    """
    analyzer = index.analyzer
    found = dict.fromkeys(analyzer.terms(trace.query), 1.0) if index.kb is None else expansion_weights(trace, index.kb)
    weights = {term: weight * index.idf(term) for term, weight in found.items()}
    passages = tuple(
        Source(number, piece, (marked,)) for number, (piece, marked) in enumerate(_pieces(trace, index, weights), 1)
    )
    present = {term for source in passages for term in analyzer.terms(source.chunk.index_text)}
    missing: dict[str, str] = {}
    for word, term in analyzer.content_words(question):
        if term not in present:
            missing.setdefault(term, word)
    return Nearest(
        passages,
        tuple(missing.values()),
        tuple(_suggestions(question, trace, index)),
        bool(trace.query_expanded),
        was_reranked(trace),
        relevance,
    )


def _pieces(
    trace: RetrievalTrace, index: CorpusIndex, weights: Mapping[str, float]
) -> list[tuple[Chunk, tuple[int, int]]]:
    """Return the paragraphs nearest to the question, best first, each with (start, end) of its closest sentence in the
    source document; one chunk may have several of them. Of those whose sentence says as much of the question, the one
    comes first that held at the time which it asks about.

    A paragraph counts by its share of the question's weight, 0-1, by its chunk's score relative to the best chunk's,
    0-1, and, with vectors, by its closest sentence among all of these chunks, 0 to 1 + _LATE.
    """
    stitched = set(trace.chunks_added_by_stitching)
    best = max((hit.score for hit in trace.chunks_final), default=0.0)
    near = [hit for hit in trace.chunks_final if hit.chunk.chunk_id not in stitched and hit.score >= _MIN_SHARE * best]
    found = [(hit, spans) for hit in near for spans in _paragraphs(hit.chunk.text)]
    texts = [[hit.chunk.text[start:end] for start, end in spans] for hit, spans in found]
    close = _closeness(trace, index, [text for own in texts for text in own])
    total = sum(weights.values()) or 1.0
    offers = _offers(trace.query, index)

    def share(text: str) -> float:
        return math.fsum(weights.get(term, 0.0) for term in set(index.analyzer.terms(text))) / total

    ranked: list[tuple[float, Chunk, tuple[int, int], float]] = []
    at = 0
    for (hit, spans), own in zip(found, texts, strict=True):
        of_own = close[at : at + len(own)]
        at += len(own)
        whole = hit.chunk.text[spans[0][0] : spans[-1][1]]
        offered = _VALUE * np.array([offers(text) for text in own])
        value = share(whole) + float(of_own.max()) + (hit.score / best if best else 0.0) + float(offered.max())
        sentence = int(np.argmax(np.array([share(text) for text in own]) + of_own + offered))
        start, end = _row(hit.chunk.text, spans[sentence], share)
        marked = (hit.chunk.start + start, hit.chunk.start + end)
        ranked.append((value, _cut(hit.chunk, spans, sentence), marked, share(own[sentence])))
    pieces: list[tuple[Chunk, tuple[int, int], float]] = []
    above = {hit.chunk.chunk_id: (hit.chunk.start, titles(hit.chunk.text)) for hit in near}
    for _, piece, marked, said in sorted(ranked, key=lambda one: -one[0]):
        if not any(_overlap(piece, other) for other, *_ in pieces):
            pieces.append((piece, marked, said))
    headings = [
        "\n".join([chunk.doc_id, chunk.section, *(line for at, line in lines.items() if start + at < chunk.start)])
        for chunk, *_ in pieces
        for start, lines in [above[chunk.chunk_id]]
    ]
    alike = [said >= pieces[0][2] > 0 for *_, said in pieces]
    return [(chunk, marked) for chunk, marked, _ in held_first(trace.query, pieces, headings, alike)][:MAX_PASSAGES]


def _closeness(trace: RetrievalTrace, index: CorpusIndex, texts: Sequence[str]) -> Doubles:
    """Return (texts,) how close each is to the question: by cosine, and by late interaction with the weight _LATE, each
    scaled to 0-1 among the texts; zeros without vectors.
    """
    close = np.zeros(len(texts))
    if texts and (measure := sentence_closeness(trace, index)):
        close = scaled(np.array(measure(texts)))
    if texts and (near := nearness(index, trace.query)):
        close = close + _LATE * scaled(np.array([of_text for of_text, _ in near(texts)]))
    return close


def _row(text: str, span: tuple[int, int], share: Callable[[str], float]) -> tuple[int, int]:
    """Return (start, end) of the row of a table that says most of the question; the whole of it if several do, and of
    what is no table.
    """
    if not text.startswith("|", span[0]):
        return span
    rows = [row.span() for row in re.finditer(r"[^\n]+", text) if span[0] <= row.start() < span[1]]
    has_heads = len(rows) > 1 and set(text[slice(*rows[1])]) <= set(" \t|:-")
    said = [share(text[slice(*row)]) for row in rows[2 * has_heads :]] or [0.0]
    return rows[2 * has_heads + said.index(max(said))] if said.count(max(said)) == 1 < len(said) else span


def _offers(question: str, index: CorpusIndex) -> Callable[[str], bool]:
    """Return what tells whether a sentence has the kind of value or thing that a question asks for."""
    reader, clause = Reader(index.analyzer.language_of(question), index.analyzer), last_clause(question)
    value, _ = value_asked(plain_of(clause))
    wanted = asked(clause, reader)
    if not value and wanted.kind not in KINDS:
        return lambda text: False
    return offer_of(clause, value, wanted, reader)


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end


def _cut(chunk: Chunk, spans: Sequence[tuple[int, int]], row: int) -> Chunk:
    """Return the paragraph of a chunk, or if it is long, its sentence ``row`` and the sentences around it."""
    first = last = row
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= MAX_CHARS:
        last += 1
    while first > 0 and spans[last][1] - spans[first - 1][0] <= MAX_CHARS:
        first -= 1
    start, end = spans[first][0], spans[last][1]
    return replace(chunk, text=chunk.text[start:end], start=chunk.start + start, end=chunk.start + end)


def _paragraphs(text: str) -> list[list[tuple[int, int]]]:
    """Return (start, end) of the sentences of each paragraph, without headings; a list with what introduces it."""
    paragraphs: list[list[tuple[int, int]]] = []
    before: int | None = None
    named = titles(text)
    for start, end in sentences(text):
        if text.startswith("#", start) or start in named:
            before = None
        elif before is None or (text[before - 1] != ":" and re.search(r"\n[ \t]*\n", text[before:start])):
            paragraphs.append([(start, end)])
            before = end
        else:
            paragraphs[-1].append((start, end))
            before = end
    return paragraphs


def corrected(question: str, trace: RetrievalTrace, index: CorpusIndex, surely: bool = False) -> tuple[str, list[str]]:
    """Return (the question with the words that the search took in place of misspelt ones, those words).

    Args:
        surely: only those that sound like what was typed, or have its letters and others: another letter than meant
            mostly makes another word ("coger" is no misspelt "comer").
    """
    if index.kb is None:
        return question, []
    analyzer = index.analyzer
    right = _corrections(trace)
    typed = [word for word, term in analyzer.content_words(question) if term not in index.kb.matcher.terms]
    text, used = question, []
    for word in right:
        wrong = min(typed, key=lambda typed: OSA.distance(fold(typed), fold(word)), default="")
        near = OSA.distance(fold(wrong), fold(word)) <= max(_EDITS, _EDITS_SHARE * len(word))
        if wrong and near and not (surely and _is_another(fold(wrong), fold(word), analyzer.language_of(question))):
            word = _cased(word, wrong)
            text = re.sub(rf"(?<!\w){re.escape(wrong)}(?!\w)", word, text)
            used.append(word)
    return text, used


def _is_another(typed: str, known: str, language: str) -> bool:
    key = partial(sound_key, language="es" if language == "es" else "en")
    return not Counter(typed) <= Counter(known) and key(typed) != key(known)


def _corrections(trace: RetrievalTrace) -> list[str]:
    notes = [note.partition(": ") for note in trace.expansion_notes]
    return [word for source, _, word in notes if source in CORRECTIONS]


def _suggestions(question: str, trace: RetrievalTrace, index: CorpusIndex) -> Iterator[Suggestion]:
    if index.kb is None:
        return
    analyzer, language = index.analyzer, index.analyzer.language_of(question)
    meant, used = corrected(question, trace, index)
    if used and _PLURAL.sub("", fold(meant)) != _PLURAL.sub("", fold(question)):
        yield Suggestion("spelling", " ".join(used), meant)
    terms = {term for text in (question, *_corrections(trace)) for term in analyzer.terms(text)}
    asked = {_unquoted(question), _unquoted(meant)}
    for heading in _near_headings(terms, index):
        topic = heading_topic(heading, language)
        about = ABOUT[language].format(topic=small(topic)) if topic else ""
        about = asked_by(heading, language) or about
        if about and _unquoted(about) not in asked:
            yield Suggestion("heading", heading, about)


def _unquoted(question: str) -> str:
    return fold(question).translate({ord(mark): None for mark in '«»“”"'})


def _near_headings(terms: set[str], index: CorpusIndex) -> list[str]:
    """Return the headings of which ``terms`` cover most, best first."""
    assert index.kb is not None, "only knowledge bases have headings"

    def share(heading: str) -> float:
        weights = {term: index.idf(term) for term in index.analyzer.terms(heading)}
        return sum(weight for term, weight in weights.items() if term in terms) / sum(weights.values())

    titles = _document_titles({chunk.section for chunk in index.chunks})
    shares = {heading: share(heading) for heading in index.kb.titles_with(terms) if fold(heading) not in titles}
    near = [heading for heading, value in shares.items() if value >= _MIN_HEADING]
    return sorted(near, key=lambda heading: -shares[heading])[:_MAX_HEADINGS]


def _document_titles(sections: Collection[str]) -> set[str]:
    """Return what all the sections of a document begin with, folded: a question about it would ask for everything.

    Among several documents that is the name of the file and the title below it. One heading alone may be a chapter.
    """
    documents: dict[str, list[list[str]]] = {}
    for section in sections:
        path = fold(section).split(" > ")
        documents.setdefault(path[0], []).append(path)
    several = [paths for paths in documents.values() if max(map(len, paths)) > 1]
    shared = [[parts[0] for parts in zip(*paths, strict=False) if len(set(parts)) == 1] for paths in several]
    return {part for parts in shared if len(parts) > 1 or len(documents) == 1 for part in parts}


def _cased(word: str, like: str) -> str:
    """Return ``word`` with the case of the first letter of ``like``."""
    return (word[0].upper() if like[0].isupper() else word[0].lower()) + word[1:]
