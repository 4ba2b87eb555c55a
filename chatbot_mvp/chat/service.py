"""Answers a question from a pipeline's evidence, or says plainly that the evidence does not suffice."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.chat.citations import Source, find_sources, quoted_sources
from chatbot_mvp.llm.base import ChatModel, ChatRequest, Completion, Grounding, Message
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.trace import RetrievalTrace

Mode = Literal["strict", "general"]

NO_EVIDENCE = {
    "es": "No encuentro en la base de conocimiento información suficiente para responder a esa pregunta.",
    "en": "I cannot find enough information in the knowledge base to answer that question.",
}
"""The fixed reply of strict mode, by language."""

NO_MODEL = {
    "es": (
        "La base de conocimiento no responde a esa pregunta, y el proveedor «demo» solo sabe citarla: no hay ningún "
        "modelo que pueda contestar por su cuenta."
    ),
    "en": (
        "The knowledge base does not answer that question, and the provider “demo” can only quote it: there is no "
        "model to answer on its own."
    ),
}
"""The reply of general mode when neither the evidence nor a model can answer."""


@dataclass(frozen=True)
class Answer:
    """An answer with everything it rests on."""

    text: str
    sources: tuple[Source, ...]
    """The cited passages; empty for an answer that is not from the knowledge base."""
    trace: RetrievalTrace
    completion: Completion | None
    """None when no provider was called."""
    abstained: bool
    """True when ``text`` is a fixed reply."""
    seconds: float


class ChatService:
    """One model, any pipeline. Keeps no state between questions."""

    def __init__(self, model: ChatModel, min_evidence: float) -> None:
        self._model = model
        self._min_evidence = min_evidence

    @property
    def model_name(self) -> str:
        """The provider's model, as shown beside an answer."""
        return self._model.name

    def ask(self, pipeline: Pipeline, question: str, mode: Mode, language: str) -> Answer:
        """Retrieve, judge the evidence, and answer.

        Args:
            language: of the fixed replies, "es" or "en".
        """
        started = time.perf_counter()
        trace = pipeline.retrieve([question])[0]
        enough = bool(trace.chunks_final) and (trace.evidence or 0.0) >= self._min_evidence
        completion: Completion | None = None
        if enough or (mode == "general" and not self._model.needs_evidence):
            passages = tuple(hit.chunk for hit in trace.chunks_final) if enough else ()
            evidence_language = pipeline.index.analyzer.language
            completion = self._model.complete(
                ChatRequest((Message("user", question),), grounding=Grounding(question, passages, evidence_language))
            )
            if completion.text:
                sources = (
                    find_sources(completion.text, passages, evidence_language)
                    if completion.quotes is None
                    else quoted_sources(completion.quotes, passages)
                )
                return Answer(completion.text, sources, trace, completion, False, time.perf_counter() - started)
        replies = NO_EVIDENCE if mode == "strict" or enough else NO_MODEL
        return Answer(replies[language], (), trace, completion, True, time.perf_counter() - started)
