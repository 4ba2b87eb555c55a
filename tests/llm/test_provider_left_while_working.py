"""A job that is at work when another provider is chosen sends the one that was left no further request."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from chatbot_mvp.api import Upload
from chatbot_mvp.app import App
from chatbot_mvp.errors import ChatbotError, RunProviderLeft
from chatbot_mvp.llm.base import ChatRequest, Message
from chatbot_mvp.settings.model import Settings
from tests.datasets.test_files import judged, write_beir
from tests.llm.conftest import between
from tests.llm.http_stub import Fault, Response
from tests.llm.openai_stub import OpenAiStub
from tests.waiting import wait_until

SECTIONS = "\n\n".join(
    f"# Sala {n}\n\nLa sala {n} guarda {n + 3} cuadros del pintor número {n}. " + "Se abre por la mañana. " * 40
    for n in range(60)
)
AT_ONCE = 8
"""Requests that may be under way when the choice is made."""
app_between = partial(between, retrieval_strategy="CONTEXTUAL_HYBRID")


@pytest.fixture
def left() -> Iterator[OpenAiStub]:
    with OpenAiStub(seconds=0.1) as stub:
        yield stub


def upload_left_for(app: App, provider: str, left: OpenAiStub) -> Upload:
    """An upload during which another provider is chosen, once it has ended."""
    job_id = app.uploads.take([("museo.md", SECTIONS.encode())])
    wait_until(lambda: left.calls >= 10, 30)
    app.providers.choose(provider)
    heard = left.calls
    wait_until(lambda: (upload := app.uploads.upload(job_id)) is not None and not upload.job.active, 60)
    assert left.calls <= heard + AT_ONCE
    upload = app.uploads.upload(job_id)
    assert upload is not None
    return upload


@pytest.mark.slow
def test_an_upload_goes_on_with_the_provider_that_is_chosen_now_and_says_so(
    settings: Settings, left: OpenAiStub, chosen: OpenAiStub
) -> None:
    upload = upload_left_for(app_between(settings, left, chosen), "ollama", left)
    assert (upload.job.state, upload.job.provider) == ("done", "ollama")
    assert chosen.calls >= 60


def test_an_upload_whose_new_provider_has_no_model_fails_with_the_reason(
    settings: Settings, left: OpenAiStub, chosen: OpenAiStub
) -> None:
    app = app_between(settings, left, chosen)
    upload = upload_left_for(app, "demo", left)
    assert (upload.job.state, upload.job.error_code) == ("failed", "needs_language_model")
    assert not app.kbs.records()


def test_a_request_that_is_to_be_repeated_is_repeated_at_the_provider_that_is_chosen_now(
    settings: Settings, left: OpenAiStub, chosen: OpenAiStub
) -> None:
    app = app_between(settings, left, chosen)
    left.faults.extend([Fault(response=Response.json({"error": {"message": "busy"}}, 503))] * 50)
    heard: list[str] = []
    model = app.providers.current()

    def ask() -> None:
        heard.append(model.complete(ChatRequest((Message("user", "¿Qué hay?"),))).model)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: left.calls >= 1, 10)
    app.providers.choose("ollama")
    before = left.calls
    thread.join(60)
    assert heard == ["ollama/m"]
    assert left.calls <= before + 1


RUNS: dict[str, dict[str, Any]] = {
    "answers": {"retrieval_strategy": "LEXICAL", "generation_enabled": True, "judge_metrics": ""},
    "judges": {"retrieval_strategy": "LEXICAL", "generation_enabled": True, "judge_metrics": "faithfulness"},
    "contexts": {"generation_enabled": False},
    "expansion": {"retrieval_strategy": "LEXICAL", "query_expansion_llm": True, "generation_enabled": False},
    "reranker": {"retrieval_strategy": "LEXICAL", "reranker_enabled": True, "generation_enabled": False},
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind == "reranker" else ()) for kind in RUNS]
)
def test_a_run_on_behalf_of_the_chosen_provider_ends_when_it_is_left_and_can_be_resumed(
    settings: Settings, left: OpenAiStub, chosen: OpenAiStub, tmp_path: Any, kind: str
) -> None:
    app = app_between(settings, left, chosen)
    run = app.runs.prepare({"mteb_dataset_name": str(_dataset(tmp_path)), "eval_max_queries": 0, **RUNS[kind]})
    ended: list[BaseException] = []

    def work() -> None:
        try:
            app.runs.execute(run, lambda _: None)
        except ChatbotError as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: left.calls >= 10, 30)
    app.providers.choose("ollama")
    heard = left.calls
    thread.join(60)
    assert left.calls <= heard + AT_ONCE
    assert not chosen.calls
    assert [type(error) for error in ended] == [RunProviderLeft]
    result = app.runs.resume_now(run.folder.run_id)
    assert left.calls > heard
    assert not chosen.calls
    assert all(row.status != "failed" for row in result.per_query)


@pytest.mark.slow
def test_a_run_whose_provider_was_named_for_it_goes_on(
    settings: Settings, left: OpenAiStub, chosen: OpenAiStub, tmp_path: Any
) -> None:
    app = app_between(settings, left, chosen)
    app.providers.choose("demo")
    run = app.runs.prepare(
        {"mteb_dataset_name": str(_dataset(tmp_path)), "eval_max_queries": 0, "provider": "openai", **RUNS["answers"]}
    )
    thread = threading.Thread(target=lambda: app.runs.execute(run, lambda _: None))
    thread.start()
    wait_until(lambda: left.calls >= 10, 30)
    app.providers.choose("ollama")
    thread.join(60)
    assert left.calls == 60
    assert not chosen.calls


def test_proposals_of_questions_go_on_with_the_provider_that_is_chosen_now_and_say_so(
    settings: Settings, left: OpenAiStub, chosen: OpenAiStub
) -> None:
    app = app_between(settings, left, chosen, retrieval_strategy="LEXICAL")
    kb_id = app.kbs.add("museo.md", SECTIONS.encode()).kb_id
    job_id = app.kb_evaluation.propose(kb_id, "preguntas", 60)
    wait_until(lambda: left.calls >= 3, 30)
    app.providers.choose("ollama")
    heard = left.calls
    wait_until(lambda: not next(job for job in app.kb_evaluation.jobs(kb_id)).status.active, 60)
    assert left.calls <= heard + 1
    assert chosen.calls
    assert next(job for job in app.kb_evaluation.jobs(kb_id) if job.status.job_id == job_id).status.provider == "ollama"


def _dataset(folder: Any) -> Any:
    """A data set of 60 documents and as many questions."""
    rooms = range(60)
    return write_beir(
        folder / "salas",
        [{"doc_id": f"d{n}", "title": f"Sala {n}", "text": f"La sala {n} guarda {n} cuadros."} for n in rooms],
        [{"query_id": f"q{n}", "text": f"¿Sala {n}?", "answer": f"{n} cuadros"} for n in rooms],
        [judged(f"q{n}", f"d{n}") for n in rooms],
    )
