"""The provider that is always available. It has no language model: it quotes the best sentences of the evidence."""

from __future__ import annotations

import time

from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion, Grounding, Quote, Usage
from chatbot_mvp.llm.extractive import choose
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
    """Return (the quotes with their citations, where they are in the passages)."""
    pieces: list[str] = []
    quotes: list[Quote] = []
    for unit in choose(grounding):
        text, number = grounding.passages[unit.passage].text, unit.passage + 1
        fresh = [span for span in unit.spans if Quote(number, *span) not in quotes]
        pieces.append(
            "\n".join(text[start:end] for start, end in fresh) + ("\n\n" if unit.is_row else " ") + f"[{number}]"
        )
        quotes += [Quote(number, *span) for span in fresh]
    return "\n\n".join(pieces), tuple(quotes)
