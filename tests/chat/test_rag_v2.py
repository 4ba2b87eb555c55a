"""The whole of RAG_V2 with a model over HTTP: expansion, fifteen ratings, the two levels of the check, the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.relevance import decide
from chatbot_mvp.errors import NeedsLanguageModel
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.retrieval.systems import SYSTEMS
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from tests.fakes import FakeChatModel, chunks_of, fake_app
from tests.llm.http_stub import Request, Response, StubServer
from tests.llm.openai_stub import MODEL

RAG_V2 = SYSTEMS["rag_v2"].changes
SECTIONS = [
    f"## Máquina {n}\n\nLa máquina virtual número {n} se apaga con la orden stop{n}. Su disco es de {n} gigas."
    for n in range(1, 31)
]
DOCUMENT = "# Guía de máquinas\n\n" + "\n\n".join(SECTIONS)
SHORT, EXACT, ELSEWHERE = "apago máquina 7", "¿Qué disco es de 7 gigas?", "¿Cuál es la capital de Mongolia?"
ONE_OF_NINE = "¿Qué disco prefieren pilotos, cocineros, astronautas, médicos, jueces, poetas y actores?"


class ModelStub(StubServer):
    """Speaks OpenAI's protocol: words for a short question, ratings, and an answer from the first passage."""

    check = "8"
    """The rating of the whole context."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, Any]] = []
        """What each request was for, and its body."""

    def answer(self, request: Request) -> Response:
        if request.method == "GET":
            return Response.json({"data": [{"id": MODEL}]})
        said = "\n".join(message["content"] for message in request.json["messages"])
        if "Consulta de búsqueda" in said:
            kind, reply = "expand", "detener, shutdown"
        elif "¿En qué medida ayuda este texto" in said:
            kind, reply = "rate", "9" if "número 7 " in said else "2"
        elif "Valoras si unos pasajes" in said:
            kind, reply = "check", self.check
        else:
            kind, reply = "answer", "La máquina virtual número 7 se apaga con la orden stop7. [1]"
        self.asked.append((kind, request.json))
        choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        return Response.json({"id": "1", "object": "chat.completion", "choices": [choice], "usage": {}})

    def kinds(self) -> dict[str, int]:
        found = [kind for kind, _ in self.asked]
        return {kind: found.count(kind) for kind in dict.fromkeys(found)}


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with ModelStub() as server:
        yield server


@pytest.fixture
def app(settings: Settings, stub: ModelStub) -> App:
    provider = {
        "provider": "openai",
        "openai_base_url": stub.url,
        "openai_model_name": MODEL,
        "openai_api_key": "k",
        "llm_cache_enabled": False,
    }
    return fake_app(settings.with_changes(**provider, **RAG_V2))


def ask(app: App, question: str) -> Answer:
    kb_id = app.kbs.add("guia.md", DOCUMENT.encode()).kb_id
    app.kbs.pipeline(kb_id)
    return app.answering.ask(kb_id, question)


def test_a_short_question_is_expanded_rated_fifteen_times_checked_and_answered(app: App, stub: ModelStub) -> None:
    answer = ask(app, SHORT)
    assert stub.kinds() == {"expand": 1, "rate": 15, "check": 1, "answer": 1}
    assert answer.outcome == "answered"
    assert answer.trace.query_expanded == f"{SHORT} detener shutdown"
    assert len(answer.trace.chunks_final) == 5
    assert answer.trace.chunks_final[0].chunk.section.endswith("Máquina 7")
    [body] = [body for kind, body in stub.asked if kind == "answer"]
    assert body["temperature"] == 0.1
    assert (answer.decision.evidence, answer.decision.reason, answer.decision.relevance) == (1.0, "relevance", 8.0)


def test_level_one_refuses_without_asking_the_model_to_check_or_to_answer(app: App, stub: ModelStub) -> None:
    answer = ask(app, ELSEWHERE)
    assert (answer.decision.evidence, answer.outcome, answer.why) == (0.0, "refused", "topic")
    assert answer.hint == "Reformule su pregunta con otras palabras."
    assert stub.kinds() == {"rate": 15}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("check", "outcome"), [("3", "nearest"), ("3.9", "nearest"), ("4", "answered")])
def test_level_two_asks_even_where_every_keyword_is_there_and_rejects_under_four(
    app: App, stub: ModelStub, check: str, outcome: str
) -> None:
    stub.check = check
    answer = ask(app, EXACT)
    assert answer.decision.evidence == 1.0
    assert stub.kinds()["check"] == 1
    assert answer.outcome == outcome
    assert bool(answer.hint) is (outcome != "answered")


@pytest.mark.parametrize(("check", "outcome"), [("4", "answered"), ("3", "nearest"), ("no lo sé", "nearest")])
def test_between_the_two_marks_the_model_decides_and_without_its_rating_there_is_no_answer(
    app: App, stub: ModelStub, check: str, outcome: str
) -> None:
    stub.check = check
    answer = ask(app, ONE_OF_NINE)
    assert answer.decision.evidence == pytest.approx(1 / 9)
    assert stub.kinds()["check"] == 1
    assert answer.decision.outcome == outcome


def test_a_run_over_a_data_set_searches_and_rates_as_the_chat_does(app: App, stub: ModelStub) -> None:
    result = app.runs.run_now(mteb_dataset_name="valle_multihop", eval_max_queries=2, generation_enabled=False)
    assert (result.strategy, result.queries) == ("RAG_V2", 2)
    assert stub.kinds()["rate"] == 2 * 15
    folder = app.settings.results_dir / result.run_id
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text("utf-8").splitlines()]
    found = [record["payload"] for record in records if record["phase"] == "retrieve"]
    assert [len(payload["generation_doc_ids"]) for payload in found] == [5, 5]
    assert all(0 < payload["evidence"] <= 1 and payload["topic"] == 1.0 for payload in found)


def test_without_a_language_model_the_error_names_the_setting_and_the_provider(settings: Settings) -> None:
    app = fake_app(settings.with_changes(provider="demo", **RAG_V2))
    with pytest.raises(NeedsLanguageModel, match="demo") as raised:
        ask(app, SHORT)
    assert raised.value.code == "needs_language_model"


def test_without_expansion_and_reranker_a_proven_quote_answers_for_a_provider_without_a_model(
    settings: Settings,
) -> None:
    off = {"provider": "demo", "query_expansion_llm": False, "reranker_enabled": False}
    app = fake_app(settings.with_changes(**{**RAG_V2, **off}))
    assert ask(app, "¿De cuántos gigas es el disco de la guía?").outcome == "nearest"  # of thirty machines
    assert ask(app, ELSEWHERE).outcome == "refused"


# --- KB_SURE_EVIDENCE


@pytest.mark.parametrize(
    ("sure", "evidence", "asked"),
    [
        # 0: from halfway between the threshold (0.2) and 1 on, no model is asked.
        (0.0, 0.59, True),
        (0.0, 0.61, False),
        (0.8, 0.79, True),
        (0.8, 0.8, False),
        (1.0, 1.0, True),
        (1.0, 0.04, False),
    ],
)
def test_the_model_is_asked_from_the_doubt_up_to_the_sure_evidence(sure: float, evidence: float, asked: bool) -> None:
    model: FakeChatModel = FakeChatModel("9")
    given: ChatModel = model
    trace = RetrievalTrace("¿?", chunks_final=(Hit(chunks_of("Un texto.")[0], 1.0),), evidence=evidence)
    decision = decide(trace, "¿?", 0.2, 0.05, given, "es", sure)
    assert bool(model.requests) is asked
    assert decision.reason == ("relevance" if asked else "evidence")
