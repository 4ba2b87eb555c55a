"""Answers of the chat: outcome, evidence, citations and the support of each statement, of four models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from benchmarks.recorder.facts import JSON, Fact, Place
from benchmarks.recorder.sources import MODELS, Asked, Base, bases, kb_of, open_app, short_hash, some
from chatbot_mvp.app import App
from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.context import MODES, UserContext
from chatbot_mvp.knowledge_base.filters import DocumentFilter
from chatbot_mvp.types import PastTurn

ASKED = {"handbook": 70, "english": 21, "everyday": 130, "xquad": 50, "manual": 30}
SAMPLED = {"handbook": 24}
_PRESET = (("retrieval_strategy", "KB_CHAT"),)


_SWAYING = ("preguntas k08",)
"""Of two bases at once: whether links lead on is decided at the very threshold, by the processor's last digits."""


def facts(place: Place) -> Iterator[Fact]:
    app = open_app(place.work / "data")
    for base in bases(place):
        if place.sample and base.name not in SAMPLED:
            continue
        kb_id = kb_of(app, base)
        asked = some(base.questions, ASKED[base.name])
        if place.sample:
            asked = some(asked, SAMPLED[base.name])
        for question in asked:
            yield from _of_question(base, question, app, kb_id)
        if not base.shared:
            yield from _around(base, app, kb_id, asked[0])
    if not place.sample:
        yield from _over_several(place, app)


def _of_question(base: Base, question: Asked, app: App, kb_id: str) -> Iterator[Fact]:
    """Ask the built-in model, and one of the others, in strict or in general mode."""
    turn = int(short_hash(question.id), 16)
    other = [*MODELS][turn % len(MODELS)]
    for name, mode in (("", MODES[0]), (other, MODES[turn // 3 % 4 == 0])):
        history: tuple[PastTurn, ...] = ()
        if question.before:
            first = app.answering.ask(kb_id, question.before)
            history = (PastTurn(question.before, first.text, first.search.query if first.search.how else ""),)
        answer = app.answering.ask(kb_id, question.text, UserContext(mode=mode, provider=name), history)
        value = _named(told(answer, base.shared), kb_id, base.name)
        yield Fact(f"answers/{base.name}/{question.id}/{name or 'demo'} {mode}", value, "late", base.shared)


def _around(base: Base, app: App, kb_id: str, question: Asked) -> Iterator[Fact]:
    """Questions that are suggested, and one question under other options."""
    context = UserContext()
    yield Fact(f"answers/{base.name}/first questions", list(app.answering.first_questions([kb_id], context)))
    options = {
        "in English": UserContext(answer_in="en"),
        "one document": UserContext(documents=DocumentFilter(documents=(base.files[-1].name,))),
        "KB_CHAT": UserContext(retrieval=_PRESET),
        "no threshold": UserContext(kb_min_evidence=0.0, kb_top_k=2),
        "high threshold": UserContext(kb_min_evidence=0.99, kb_doubt_evidence=0.98),
    }
    for name, options_of in options.items():
        value = told(app.answering.ask(kb_id, question.text, options_of))
        yield Fact(f"answers/{base.name}/options/{name}", _named(value, kb_id, base.name), "late")
    session = app.chat.new_session()
    conversation = app.chat.start(session, kb_id, base.name)
    app.chat.begin(session, conversation, question.text, context).join(120)
    turns = app.chat.conversation(session, conversation).turns
    yield Fact(f"answers/{base.name}/next questions", list(app.answering.follow_ups([kb_id], turns, context)))


def _over_several(place: Place, app: App) -> Iterator[Fact]:
    """Questions to two knowledge bases at once."""
    two = [base for base in bases(place) if not base.shared][:2]
    ids = [kb_of(app, base) for base in two]
    for base in two:
        for question in (one for one in some(base.questions, 4) if one.id not in _SWAYING):
            value = told(app.answering.ask_over(ids, question.text))
            for kb_id, one in zip(ids, two, strict=True):
                value = _named(value, kb_id, one.name)
            yield Fact(f"answers/several/{question.id}", value, "late")


def _named(value: JSON, kb_id: str, name: str) -> JSON:
    return json.loads(json.dumps(value).replace(kb_id, name))


def told(answer: Answer, shared: bool = False) -> JSON:
    """Return what an answer says and rests on; of shared texts only hashes."""
    decision, search, nearest = answer.decision, answer.search, answer.nearest

    def text(value: str) -> str:
        return short_hash(value) if shared and value else value

    return {
        "outcome": [answer.outcome, answer.why, decision.outcome, decision.reason],
        "numbers": [decision.evidence, decision.min_evidence, decision.relevance, answer.trace.topic],
        "text": text(answer.text),
        "flags": [answer.from_kb, answer.fell_back, len(answer.messages), answer.vectors_share],
        "hint": text(answer.hint),
        "search": [search.how, text(search.query) if search.how else ""],
        "sources": _sources(answer.sources),
        "statements": [
            [one.start, one.end, list(one.numbers), one.score, one.supported, one.cited]
            + [[d.kind, text(d.said), text(d.source)] for d in one.differences]
            for one in answer.statements
        ],
        "nearest": nearest
        and {
            "passages": _sources(nearest.passages),
            "missing": [text(word) for word in nearest.missing],
            "meant": [[one.kind, text(one.text), text(one.question)] for one in nearest.did_you_mean],
        },
        "final": [[hit.chunk.chunk_id, hit.score] for hit in answer.trace.chunks_final],
    }


def _sources(sources: Sequence[Source]) -> JSON:
    return [
        [
            *(one.number, one.place.file if one.place else "", one.place.page if one.place else None),
            *(one.chunk.start, one.chunk.end, [list(span) for span in one.highlights], short_hash(one.cited)),
        ]
        for one in sources
    ]
