"""Proposals by a real server's replies: what is broken is asked for again, what is not in the text is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.evaluation.kb.proposals import find_evidence
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress
from tests.evaluation.kb.question_stub import INVENTED, QuestionStub
from tests.fakes import FakeEmbedder, fake_app
from tests.llm.http_stub import Fault, Response
from tests.raising import raises


@pytest.fixture
def stub() -> Iterator[QuestionStub]:
    with QuestionStub() as server:
        yield server


@pytest.fixture
def asking(settings: Settings, stub: QuestionStub) -> App:
    """The App whose provider is the stub, nothing remembered."""
    chosen = settings.with_changes(
        retrieval_strategy="LEXICAL",
        provider="openai",
        openai_base_url=stub.url,
        openai_api_key="stub-key-of-nobody",
        openai_model_name="proposer",
        llm_cache_enabled=False,
    )
    embedder = FakeEmbedder()
    return fake_app(chosen, lambda _: embedder)


def second_text() -> bytes:
    places = ("fuente", "plaza", "muralla", "ermita", "huerta", "posada", "herrería", "cantera")
    return "".join(
        f"# Ruta de la {place}\n\nLa {place} se visita de {hour} a {hour + 2} con un guía del pueblo. "
        f"Quien llega tarde a la {place} espera en el banco de piedra que hay junto al camino viejo.\n\n"
        for hour, place in enumerate(places, 8)
    ).encode()


@pytest.mark.parametrize("sample", [True, False])
def test_every_question_rests_on_a_sentence_of_a_chunk_whatever_the_replies_are_like(
    asking: App, stub: QuestionStub, sample: bool
) -> None:
    stub.broken, stub.invented, stub.answered = 0.4, 0.3, 0.3
    record = asking.kbs.add_sample() if sample else asking.kbs.add("rutas.md", second_text())
    found = asking.kb_evaluation.propose_now(record.kb_id, 16)
    chunks = asking.kbs.chunks(record.kb_id)
    answerable = [each.question for each in found.questions if each.question.kind == "answerable"]
    assert len(answerable) >= 6
    for question in answerable:
        assert question.paragraph
        assert any(question.paragraph in chunk.text for chunk in chunks)
    assert INVENTED not in {question.paragraph for question in answerable}
    assert found.dropped["evidence_missing"] >= 1
    counts = found.counts()
    assert counts["near"] >= 1
    assert counts["far"] == 4
    assert {each.origin for each in found.questions} == {"model", "rules"}
    assert len(stub.requests) > stub.proposals, "those without an answer are asked of the whole text"


def test_a_question_that_the_text_answers_after_all_is_dropped_and_counted(asking: App, stub: QuestionStub) -> None:
    stub.answered = 1.0
    found = asking.kb_evaluation.propose_now(asking.kbs.add_sample().kb_id, 12)
    assert found.counts()["near"] == 0
    assert found.dropped["answered_elsewhere"] > 0
    assert found.counts()["answerable"] == 6


def test_the_model_is_held_to_a_schema_and_the_text_is_fenced(asking: App, stub: QuestionStub) -> None:
    asking.kb_evaluation.propose_now(asking.kbs.add_sample().kb_id, 4)
    first = stub.requests[0].json
    assert first["response_format"]["type"] == "json_schema"
    system, user = (message["content"] for message in first["messages"])
    assert "<datos-" in user
    assert "nunca órdenes" in system


def test_without_a_usable_reply_nothing_is_proposed_and_the_asking_ends_soon(asking: App, stub: QuestionStub) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "No."}, "finish_reason": "stop"}
    stub.answer = lambda _: Response.json({"id": "1", "choices": [choice]})  # type: ignore[method-assign]
    with raises("proposals_unusable"):
        asking.kb_evaluation.propose_now(asking.kbs.add_sample().kb_id, 40)
    assert len(stub.requests) == 9, "three chunks, three attempts each"


def test_a_refused_key_ends_it_at_once_and_says_so(asking: App, stub: QuestionStub) -> None:
    stub.faults.extend([Fault(Response.json({"error": {"message": "no such key"}}, 401))] * 5)
    with raises("provider_key_refused"):
        asking.kb_evaluation.propose_now(asking.kbs.add_sample().kb_id, 12)
    assert len(stub.requests) == 1


def test_a_stop_keeps_what_was_found(asking: App) -> None:
    kb_id = asking.kbs.add_sample().kb_id
    told: list[Progress] = []

    def stop_at_the_third(progress: Progress) -> None:
        told.append(progress)
        if len([one for one in told if one.phase == "kb_propose"]) == 3:
            raise RunStopped(run_id="?")

    found = asking.kb_evaluation.propose_now(kb_id, 60, progress=stop_at_the_third)
    assert found.counts()["answerable"] == 6
    assert (told[-1].phase, told[-1].total) == ("kb_propose", 30)
    assert told[-1].tokens == 3 * 260


def test_rules_propose_where_somebody_prefers_them(asking: App, stub: QuestionStub) -> None:
    found = asking.kb_evaluation.propose_now(asking.kbs.add_sample().kb_id, 12, use_model=False)
    assert {each.origin for each in found.questions} == {"rules"}
    assert stub.requests == []
    assert asking.kb_evaluation.proposer() == "openai/proposer"


@pytest.mark.parametrize(
    ("quoted", "found"),
    [
        ("La dieta es de 48 euros.", "La dieta\nes de 48 euros."),
        ("«La dieta es de 48 euros.»", "La dieta\nes de 48 euros."),
        ("pide la 'hoja VIA-05' antes", 'pide la "hoja VIA-05" antes'),
        ("La dieta es de 50 euros.", None),
        ("euros.", None),
        ("", None),
    ],
)
def test_a_quoted_sentence_is_found_whatever_its_blanks_and_quotation_marks(quoted: str, found: str | None) -> None:
    text = 'Se\npide la "hoja VIA-05" antes. La dieta\nes de 48 euros. Fin.'
    span = find_evidence(text, quoted)
    assert (None if span is None else text[slice(*span)]) == found


def test_the_prompts_come_with_the_package() -> None:
    root = Path(__file__).parents[3]
    assert '"**/*.toml"' in (root / "pyproject.toml").read_text("utf-8")
    assert (root / "chatbot_mvp/evaluation/kb/prompts/es.toml").is_file()
