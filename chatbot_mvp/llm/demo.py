"""The provider that is always available. It has no language model: it quotes the best sentences of the evidence."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion, FinishedStream, FinishReason, Quote, Usage
from chatbot_mvp.llm.extractive import Choice, Unit, choose
from chatbot_mvp.types import Chunk

CHARS_PER_TOKEN = 4
"""Quotes have no tokens: four characters count as one, about what models make of Spanish and English."""


class DemoModel:
    """Extractive: every sentence of its answer is copied literally from the evidence.

    An answer that would have more than ``max_tokens`` is cut behind a word; the citation of what is left stays.
    """

    name = "demo"
    needs_evidence = True

    def complete(self, request: ChatRequest) -> Completion:
        started = time.perf_counter()
        most = request.options.max_tokens
        limit = None if most is None else CHARS_PER_TOKEN * most
        units, proof, said = choose(request.grounding) if request.grounding else Choice([], None)
        text, quotes, cut = _answer(units, request.grounding.quotable, limit) if request.grounding else ("", (), False)
        if said and quotes:  # nothing is computed from rows that are not shown
            text = f"{said} [{quotes[0].number}]\n\n{text}"
        reason: FinishReason = "length" if cut else "stop"
        seconds = time.perf_counter() - started
        return Completion(text, self.name, seconds, reason, Usage(cost_usd=0.0), quotes=quotes, proof=proof)

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


def _answer(
    chosen: Sequence[Unit], passages: Sequence[Chunk], limit: int | None
) -> tuple[str, tuple[Quote, ...], bool]:
    """Return (the quotes with their citations, where they are in the passages, whether they were cut).

    Args:
        limit: most characters of the passages that are quoted; None for no limit.

    Units with the same introduction, such as rows of one table, are quoted together, below that introduction.
    """
    pieces: list[list[Unit]] = []
    for unit in chosen:
        intro = unit.spans[:-1]
        if intro and pieces and (pieces[-1][0].passage, pieces[-1][0].spans[:-1]) == (unit.passage, intro):
            pieces[-1].append(unit)
        else:
            pieces.append([unit])
    texts: list[str] = []
    quotes: list[Quote] = []
    left, cut = limit or 0, False
    for units in pieces:
        passage, number = passages[units[0].passage].text, units[0].passage + 1
        whole = [*units[0].spans, *(unit.spans[-1] for unit in units[1:])]
        spans = list(_within(whole, passage, left)) if limit is not None else whole
        cut = cut or spans != whole
        left -= sum(end - start for start, end in spans)
        if not spans:
            break
        # Behind the last cell of a row, Markdown would not show the citation.
        gap = "\n\n" if units[0].is_row else " "
        texts.append("\n".join(passage[start:end] for start, end in spans) + f"{gap}[{number}]")
        quotes += [Quote(number, start, end) for start, end in spans]
        if cut:
            break
    return "\n\n".join(texts), tuple(quotes), cut


def _within(spans: Sequence[tuple[int, int]], text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of ``text`` up to ``limit`` characters, the last one cut behind a word."""
    for start, end in spans:
        if end - start > limit:
            words = text[start : start + limit + 1].rsplit(None, 1)
            if limit and len(words) > 1 and words[0]:
                yield start, start + len(words[0])
            return
        yield start, end
        limit -= end - start
