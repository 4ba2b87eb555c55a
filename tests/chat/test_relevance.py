"""In doubt a model is asked once; what it says decides, and what it cannot say leaves the evidence to decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.prompting import no_evidence
from chatbot_mvp.chat.relevance import outcome_of
from chatbot_mvp.llm.base import ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk
from tests.chat.conftest import INSIDE, OUTSIDE, SOURCE, ChatService
from tests.fakes import FailingChatModel, FakeChatModel
from tests.models import gguf

REPLY = "Cada persona dispone de 23 días laborables de vacaciones. La dieta de jornada completa es de 48 euros."


def judge(score: str) -> FakeChatModel:
    """Gives ``score`` when asked for relevance, else an answer."""

    def reply(request: ChatRequest) -> str:
        return score if "0" in request.messages[0].content and "10" in request.messages[0].content else REPLY

    return FakeChatModel(reply)


def context(evidence: float, above: float, doubt: float = 0.0) -> UserContext:
    """A threshold that lies ``above`` the evidence by so much."""
    return UserContext(kb_min_evidence=min(1.0, evidence + above), kb_doubt_evidence=doubt)


@pytest.mark.parametrize(
    ("score", "above", "accepted", "reason"),
    [
        # In doubt, under the threshold: the model decides.
        ("9", 1e-6, True, "relevance"),
        ("4", 1e-6, True, "relevance"),
        ("3.9", 1e-6, False, "relevance"),
        ("0", 1e-6, False, "relevance"),
        # In doubt, over the threshold: it may also reject.
        ("2", -1e-6, False, "relevance"),
        ("10", -1e-6, True, "relevance"),
        # Not readable: the evidence decides, on both sides.
        ("No sabría decir", -1e-6, True, "undecided"),
        ("No sabría decir", 1e-6, False, "undecided"),
        ("7 de 5, o quizá 3", 1e-6, False, "undecided"),
    ],
)
def test_in_doubt(
    pipeline: Pipeline, settings: Settings, score: str, above: float, accepted: bool, reason: str
) -> None:
    [trace] = pipeline.retrieve(["¿Cuánto cuesta la solicitud de dieta?"])
    assert trace.evidence is not None
    assert 0 < trace.evidence < 0.99
    model = judge(score)
    service = ChatService(model, settings, DemoModel())
    answer = service.ask(pipeline, trace.query, context(trace.evidence, above))
    assert (not answer.abstained, answer.decision.reason) == (accepted, reason)
    assert len(model.requests) == 1 + accepted
    assert model.requests[0].options.max_tokens


def test_no_doubt_no_question(pipeline: Pipeline, settings: Settings) -> None:
    """Neither sure evidence nor none at all costs a call; nor is an extractive model ever asked."""
    sure, none = judge("0"), judge("10")
    assert not ChatService(sure, settings, DemoModel()).ask(pipeline, INSIDE).abstained
    assert len(sure.requests) == 1
    answer = ChatService(none, settings, DemoModel()).ask(pipeline, OUTSIDE)
    assert (answer.text, none.requests) == (no_evidence("es"), [])
    extractive = FakeChatModel(REPLY, needs_evidence=True)
    [trace] = pipeline.retrieve([INSIDE])
    doubtful = context(trace.evidence or 0.0, 0.0)
    ChatService(extractive, settings, DemoModel()).ask(pipeline, INSIDE, doubtful)
    assert len(extractive.requests) == 1


def test_a_check_that_fails_leaves_the_evidence_to_decide(pipeline: Pipeline, settings: Settings) -> None:
    answer = ChatService(FailingChatModel(), settings, DemoModel()).ask(
        pipeline, "¿Cuánto cuesta la solicitud de dieta?", UserContext(kb_min_evidence=1.0, kb_doubt_evidence=0.0)
    )
    assert (answer.abstained, answer.decision.reason) == (True, "undecided")


def test_general_mode_never_asks_for_relevance(pipeline: Pipeline, settings: Settings) -> None:
    model = judge("0")
    knobs = UserContext("general", kb_min_evidence=1.0, kb_doubt_evidence=0.0)
    answer = ChatService(model, settings, DemoModel()).ask(pipeline, INSIDE, knobs)
    assert (len(model.requests), answer.from_kb, answer.decision.reason) == (1, False, "evidence")


@pytest.mark.parametrize(("small", "reasons"), [(True, ["evidence"]), (False, ["relevance", "undecided"])])
def test_a_small_model_is_not_asked_if_passages_answer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, small: bool, reasons: list[str]
) -> None:
    """The real model of 135 M parameters. It is small by the size of its file, unless the limit is put there."""
    path = gguf()
    if not small:
        monkeypatch.setattr("chatbot_mvp.llm.registry.SMALL_MODEL_BYTES", path.stat().st_size)
    changes = {"provider": "local", "local_model_path": str(path), "retrieval_strategy": "LEXICAL", "llm_max_tokens": 8}
    app = build_app(settings.with_changes(**changes))
    kb_id = app.kbs.add("manual.md", SOURCE.encode()).kb_id
    answer = app.answering.ask(kb_id, INSIDE, UserContext(kb_min_evidence=1.0, kb_doubt_evidence=0.0))
    assert answer.decision.reason in reasons
    assert not small or answer.outcome == "nearest"


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("What time does the swimming pool open on Sundays?", "nearest"),
        ("¿A qué hora abre la piscina los domingos?", "refused"),
        ("piscina domingos", "refused"),  # no words that tell a language
    ],
)
def test_a_question_in_another_language_than_its_passages_is_not_taken_for_another_subject(
    question: str, outcome: str
) -> None:
    passage = Chunk("c", "d", "Vacaciones", "La solicitud de las vacaciones se envía al portal de personal.", 0, 62)
    trace = RetrievalTrace(question, chunks_final=(Hit(passage, 1.0),), topic=0.1, evidence=0.1)
    assert outcome_of(False, trace) == outcome
    assert outcome_of(False, replace(trace, topic=0.9)) == "nearest"
