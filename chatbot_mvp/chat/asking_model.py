"""Ask a model once what a question could mean, where no rule finds readings and its shape leaves that open.

A reading of the model counts only as far as the documents bear it out: it names a passage that the model was shown,
with a word of that passage, and searched as a question of its own it leads elsewhere than the others.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from chatbot_mvp.chat.asking_back import FEWEST, MOST, ask_back, searched
from chatbot_mvp.chat.followup import Search
from chatbot_mvp.chat.nearest import Nearest
from chatbot_mvp.chat.prompting import readings_messages, which_one
from chatbot_mvp.chat.relevance import outcome_of
from chatbot_mvp.errors import ConfigurationError, ProviderError
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, Usage
from chatbot_mvp.prompting.fence import from_data
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.text import LANGUAGES, Analyzer, fold
from chatbot_mvp.types import Chunk, PastTurn

_NEAR = 0.9
"""Least share (0-1) of the best hit's score that the best hit of another place has, for the question to fit both."""
_LOOKED_AT = 10
_FEW_TERMS = 3
"""A question with more terms says which thing it is about."""
_PASSAGE_CHARS = 500
"""Characters of a passage in the request: enough to see what it is about."""
_REPLY_TOKENS = 400
_ABOUT_CHARS, _QUESTION_CHARS = 80, 300
_LINE = re.compile(r"(?:[-*•] )?\[?(?P<number>\d{1,2})\]?\s*\|(?P<about>[^|]+)\|(?P<question>[^|]+)")
_MARKUP = re.compile(r"[<>\[\]{}*`|\\]|~~|://|(?<!\w)_|_(?!\w)|^\s*(?:#|[-+] |\d+[.)] )")
_CLEAR = frozenset(("clara", "clear"))

Said = Literal["readings", "clear", "unreadable", "failed"]


@dataclass(frozen=True, slots=True)
class ReadingsRequest:
    """The request for readings: what came of it, and what it took."""

    said: Said
    """"readings": at least two lead to different passages; "clear": the model found the question clear, or its readings
    lead to one passage; "unreadable": it said neither; "failed": the provider did not answer, or was stopped."""
    usage: Usage
    seconds: float
    """Time from the request to the reply or the failure."""
    cached: bool = False
    """True if the reply came from the cache and cost nothing."""

    def as_json(self) -> dict[str, Any]:
        """Return ``said``, ``prompt_tokens``, ``completion_tokens``, ``cost_usd``, ``seconds`` and ``cached``."""
        return {"said": self.said, **asdict(self.usage), "seconds": round(self.seconds, 4), "cached": self.cached}


@dataclass(frozen=True, slots=True)
class AskedBack:
    """What a question could mean, and what it took to find out."""

    readings: Nearest | None = None
    """As ``ask_back`` returns them; None if the question is clear."""
    request: ReadingsRequest | None = None
    """None if no model was asked."""


NOT_ASKED = AskedBack()


def ask_back_once(
    pipeline: Pipeline, question: str, history: Sequence[PastTurn], search: Search, model: ChatModel | None
) -> AskedBack:
    """Return the readings of a question that is not clear: by the rules, else by the model.

    Args:
        history: the conversation so far, oldest first.
        model: is asked at most once, and only if ``rivals`` finds passages; None to leave it at the rules.
    """
    by_rules = ask_back(pipeline, question, history, search)
    if by_rules is not None or model is None or model.needs_evidence:
        return AskedBack(by_rules)
    return ask_model(pipeline, question, history, search, model)


def ask_model(
    pipeline: Pipeline, question: str, history: Sequence[PastTurn], search: Search, model: ChatModel
) -> AskedBack:
    """Return the readings of a question that is not clear by the model alone, which is asked at most once."""
    passages = [] if _just_asked(history) else rivals(pipeline, question, search)
    if not passages:
        return NOT_ASKED
    messages = readings_messages(question, passages, pipeline.index.analyzer.language_of(question), history)
    started = time.perf_counter()
    try:
        reply = model.complete(ChatRequest(messages, ChatOptions(max_tokens=_REPLY_TOKENS)))
    except (ProviderError, ConfigurationError):
        return AskedBack(None, ReadingsRequest("failed", Usage(), time.perf_counter() - started))
    text = reply.text if reply.finish_reason != "length" else reply.text.rpartition("\n")[0]
    found = readings_of(text, question, passages, pipeline.index.analyzer)
    readings = searched(pipeline, found)
    said: Said = "readings" if readings else "clear" if found or says_clear(text) else "unreadable"
    return AskedBack(readings, ReadingsRequest(said, reply.usage, reply.seconds, reply.cached))


def rivals(pipeline: Pipeline, question: str, search: Search) -> list[Chunk]:
    """Return the beginnings of the passages that a question may be about, the best one of each place, at most six.

    Returns:
        None of them, so that no request is made, if the question says much, if it or the question before it names one
        of their headings, if only one place comes near the best score, or if the question is about something else.
    """
    analyzer, hits = pipeline.index.analyzer, search.trace.hits[:_LOOKED_AT]
    if outcome_of(False, search.trace) == "refused" or len(set(analyzer.terms(question))) > _FEW_TERMS:
        return []
    places: dict[tuple[str, str], Chunk] = {}
    for hit in hits:
        if hit.score >= _NEAR * hits[0].score:
            places.setdefault((hit.chunk.doc_id, hit.chunk.section), hit.chunk)
    if len(places) < FEWEST:
        return []
    terms = set(analyzer.terms(search.query))
    names = [set(analyzer.terms(section)) for _, section in places]
    if any(terms & name for name in (name - names[0].intersection(*names) for name in names)):
        return []
    return [
        replace(one, text=one.text[:_PASSAGE_CHARS], end=one.start + len(one.text[:_PASSAGE_CHARS]))
        for one in list(places.values())[:MOST]
    ]


def says_clear(reply: str) -> bool:
    """Return whether a reply is the word that a question is clear."""
    return fold(reply).strip(" \n\t.!\"'«»“”*") in _CLEAR


def readings_of(reply: str, question: str, passages: Sequence[Chunk], analyzer: Analyzer) -> list[tuple[str, str]]:
    """Return (what tells a reading from the others, the clear question) of each usable line of a reply, at most six.

    A line is dropped if it has another form or markup, if its passage does not exist, has an earlier reading, or none
    of the words that are said to be its, or if its question is the one that was asked or an earlier line's.
    """
    found: list[tuple[str, str]] = []
    taken, asked = set[int](), {"", _plain(question)}
    for line in from_data(reply).splitlines():
        match = _LINE.fullmatch(line.strip().strip("|").strip())
        if match is None or not 1 <= int(match["number"]) <= len(passages):
            continue
        number = int(match["number"])
        about, clear = (match[name].strip().strip("\"'«»“”").strip() for name in ("about", "question"))
        own = set(analyzer.terms(passages[number - 1].index_text))
        if (
            number in taken
            or _plain(clear) in asked
            or len(clear) > _QUESTION_CHARS
            or len(about) > _ABOUT_CHARS
            or not own & set(analyzer.terms(about))
            or any(_MARKUP.search(text) or _has_controls(text) for text in (about, clear))
        ):
            continue
        taken.add(number)
        asked.add(_plain(clear))
        found.append((about, clear))
    return found[:MOST]


def _plain(text: str) -> str:
    """Return the words of a text alone, so that spelling and signs make no other question."""
    return " ".join(re.findall(r"\w+", fold(text)))


def _has_controls(text: str) -> bool:
    return any(unicodedata.category(char).startswith("C") for char in text)


def _just_asked(history: Sequence[PastTurn]) -> bool:
    """Return whether the last turn was asked back: its answer is no reason to pay for asking again."""
    return bool(history) and any(history[-1].answer.startswith(which_one(language)) for language in LANGUAGES)
