"""The provider that is always available. It has no language model: it quotes the best sentences of the evidence."""

from __future__ import annotations

import time

from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion, Grounding, Quote, Usage
from chatbot_mvp.llm.extractive import Unit, choose
from chatbot_mvp.llm.streams import FinishedStream


class DemoModel:
    """Extractive: every sentence of its answer is copied literally from the evidence."""

    name = "demo"
    needs_evidence = True

    def complete(self, request: ChatRequest) -> Completion:
        started = time.perf_counter()
        text, quotes = _answer(request.grounding) if request.grounding else ("", ())
        usage = Usage(cost_usd=0.0)
        return Completion(text, self.name, time.perf_counter() - started, usage=usage, quotes=quotes)

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


def _answer(grounding: Grounding) -> tuple[str, tuple[Quote, ...]]:
    """Return (the quotes with their citations, where they are in the passages).

    Units with the same introduction, such as rows of one table, are quoted together, below that introduction.
    """
    pieces: list[list[Unit]] = []
    for unit in choose(grounding):
        intro = unit.spans[:-1]
        if intro and pieces and (pieces[-1][0].passage, pieces[-1][0].spans[:-1]) == (unit.passage, intro):
            pieces[-1].append(unit)
        else:
            pieces.append([unit])
    texts: list[str] = []
    quotes: list[Quote] = []
    for units in pieces:
        passage, number = grounding.passages[units[0].passage].text, units[0].passage + 1
        spans = [*units[0].spans, *(unit.spans[-1] for unit in units[1:])]
        # Behind the last cell of a row, Markdown would not show the citation.
        gap = "\n\n" if units[0].is_row else " "
        texts.append("\n".join(passage[start:end] for start, end in spans) + f"{gap}[{number}]")
        quotes += [Quote(number, start, end) for start, end in spans]
    return "\n\n".join(texts), tuple(quotes)
