"""The provider that is always available. It has no language model: it quotes the best sentences of the evidence."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass

from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion, Grounding, Quote, Usage
from chatbot_mvp.llm.streams import FinishedStream
from chatbot_mvp.text import Analyzer, sentences

_MAX_SENTENCES = 3
_KEEP_FROM = 0.85
"""Further sentences are quoted if they score at least this share of the best one."""
_CONTEXT_WEIGHT = 0.4
"""Weight of a question term in the heading or the previous sentence; in the sentence itself it counts 1."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    passage: int
    position: int
    text: str
    terms: frozenset[str]
    context: frozenset[str]
    """Terms of the heading and of the previous sentence."""


class DemoModel:
    """Extractive: every sentence of its answer is copied literally from the evidence."""

    name = "demo"
    needs_evidence = True

    def complete(self, request: ChatRequest) -> Completion:
        started = time.perf_counter()
        chosen = _best_sentences(request.grounding) if request.grounding else []
        text = "\n\n".join(f"{sentence.text} [{sentence.passage + 1}]" for sentence in chosen)
        quotes = tuple(Quote(s.passage + 1, s.position, s.position + len(s.text)) for s in chosen)
        usage = Usage(cost_usd=0.0)
        return Completion(text, self.name, time.perf_counter() - started, usage=usage, quotes=quotes)

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


def _best_sentences(grounding: Grounding) -> list[_Sentence]:
    """Return the best sentences, in reading order; empty if none shares a term with the question."""
    analyzer = Analyzer(grounding.language)
    wanted = dict.fromkeys(analyzer.terms(grounding.question))
    pool = _sentences(grounding, analyzer)
    seen = Counter(term for sentence in pool for term in sentence.terms)
    weight = {term: math.log(1 + len(pool) / (1 + seen[term])) for term in wanted}

    def score(sentence: _Sentence) -> float:
        own = sum(value for term, value in weight.items() if term in sentence.terms)
        around = sum(value for term, value in weight.items() if term in sentence.context - sentence.terms)
        # Passages are ranked: of two equal sentences, prefer the one in the better passage.
        return (own + _CONTEXT_WEIGHT * around) / (1 + 0.05 * sentence.passage) if own else 0.0

    scored = sorted(((score(sentence), sentence) for sentence in pool), key=lambda item: -item[0])
    if not scored or scored[0][0] <= 0:
        return []
    chosen: list[_Sentence] = []
    for value, sentence in scored:
        if value < _KEEP_FROM * scored[0][0] or len(chosen) == _MAX_SENTENCES:
            break
        if all(sentence.text != other.text for other in chosen):
            chosen.append(sentence)
    return sorted(chosen, key=lambda sentence: (sentence.passage, sentence.position))


def _sentences(grounding: Grounding, analyzer: Analyzer) -> list[_Sentence]:
    pool = []
    for number, chunk in enumerate(grounding.passages):
        heading = frozenset(analyzer.terms(chunk.section))
        before: frozenset[str] = frozenset()
        for start, end in sentences(chunk.text):
            text = chunk.text[start:end]
            terms = frozenset(analyzer.terms(text))
            # Skip headings and lines without terms: they are not answers.
            if terms and not text.startswith("#"):
                pool.append(_Sentence(number, start, text, terms, heading | before))
            before = terms
    return pool
