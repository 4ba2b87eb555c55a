"""Follow-up questions: what is searched when a question leans on the one before it. Nothing here knows a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.chat.prompting import PastTurn, rewrite_messages
from chatbot_mvp.errors import ConfigurationError, ProviderError
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.evidence import covered_share
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.text import fold

_FEW_TERMS = 3
_CLEARLY_MORE = 0.1
"""Evidence (0-1) that the question before must add to one that only is short; one that points back may lose as much."""
_OWN_SHARE = 0.5
"""This idf-weighted share of the question's own terms must be found with it: it is about the same thing."""
_MAX_CHARS = 400
_REPLY_TOKENS = 80

_CONNECTORS = frozenset("y e o pero entonces ademas tambien and or but so then also".split())
_POINTERS = frozenset(
    """ella ello ellos ellas eso esos esas ese esto aquello aquel aquella alli ahi it they them those these its their
    there ones he she him her""".split()
)

Cue = Literal["pointing", "short", ""]


@dataclass(frozen=True, slots=True)
class Search:
    """What was searched for a question, and what that found."""

    query: str
    """The question itself, or more where it leans on the one before."""
    trace: RetrievalTrace
    how: str = ""
    """"previous": the question before was added; "rewritten": a model wrote it anew; "" for the question as it is."""


def find(pipeline: Pipeline, question: str, history: Sequence[PastTurn], rewriter: ChatModel | None = None) -> Search:
    """Search for a question, with the one before it where that brings clearly more evidence.

    Args:
        history: the conversation so far, oldest first.
        rewriter: a model that may write a follow-up anew; None to add the question before as it is.
    """
    [own] = pipeline.retrieve([question])
    cue = leaning(question, pipeline) if history else ""
    if not cue:
        return Search(question, own)
    candidates = []
    if rewriter is not None and (rewritten := _rewritten(question, history, rewriter, pipeline)):
        candidates.append((rewritten, "rewritten"))
    before = (history[-1].search_query or history[-1].question)[-_MAX_CHARS:]
    candidates.append((f"{before} {question}", "previous"))
    # The evidence of one or two words is high as soon as they stand anywhere, so it cannot be held against the rest.
    wanted = (own.evidence or 0.0) + (_CLEARLY_MORE if cue == "short" else -_CLEARLY_MORE)
    for query, how in candidates:
        [trace] = pipeline.retrieve([query])
        if trace.chunks_final and (trace.evidence or 0.0) >= wanted and _about_it(question, cue, trace, pipeline):
            return Search(query, trace, how)
    return Search(question, own)


def leaning(question: str, pipeline: Pipeline) -> Cue:
    """How a question may lean on the one before: "pointing" if a connector stands first, a word points back or all but
    one of its words are stop words; "short" if it just has few terms; "" if it stands alone."""
    words = [fold(word.text) for word in pipeline.index.analyzer.words(question)]
    terms = set(pipeline.index.analyzer.terms(question))
    if len(terms) > 2 * _FEW_TERMS:
        return ""
    if len(terms) <= 1 or words[0] in _CONNECTORS or (len(terms) <= _FEW_TERMS and _POINTERS & set(words[1:])):
        return "pointing"
    return "short" if len(terms) <= _FEW_TERMS else ""


def _about_it(question: str, cue: Cue, trace: RetrievalTrace, pipeline: Pipeline) -> bool:
    """Else whatever is short would be answered with what the last question was about."""
    terms = set(pipeline.index.analyzer.terms(question))
    share, _ = covered_share(question, trace.chunks_final, pipeline.index)
    known = all(pipeline.index.lexical.document_frequency(term) for term in terms)
    return share >= _OWN_SHARE or (cue == "pointing" and known)


def _rewritten(question: str, history: Sequence[PastTurn], model: ChatModel, pipeline: Pipeline) -> str:
    """One line from the model; "" when there is none or it fails."""
    messages = rewrite_messages(question, pipeline.index.analyzer.language, history)
    try:
        reply = model.complete(ChatRequest(messages, ChatOptions(max_tokens=_REPLY_TOKENS))).text
    except (ProviderError, ConfigurationError):
        return ""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    return lines[0][:_MAX_CHARS] if lines else ""
