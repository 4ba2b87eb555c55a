"""A provider that an administrator leaves while it judges."""

from __future__ import annotations

import pytest

from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.ragas.rows import rows_from
from chatbot_mvp.wings.ragas.service import RagasService
from tests.llm.test_provider_left_while_working import AT_ONCE, OpenAiStub, app_between, chosen, left  # noqa: F401
from tests.waiting import wait_until


@pytest.mark.slow
def test_an_evaluation_of_answers_ends_when_its_judge_is_left(
    settings: Settings,
    left: OpenAiStub,  # noqa: F811
    chosen: OpenAiStub,  # noqa: F811
) -> None:
    app = app_between(settings, left, chosen, retrieval_strategy="LEXICAL")
    rows = rows_from(
        [
            {"id": f"r{n}", "user_input": f"¿Qué guarda la sala {n}?", "response": f"Guarda {n} cuadros.",
             "retrieved_contexts": [f"La sala {n} guarda {n} cuadros."]}
            for n in range(60)
        ],
        "filas",
    )  # fmt: skip
    run_id = app.get(RagasService).start("filas", rows)
    wait_until(lambda: left.calls >= 10, 30)
    app.providers.choose("ollama")
    heard = left.calls
    wait_until(lambda: not next(job for job in app.runs.jobs() if job.job_id == run_id).active, 60)
    assert left.calls <= heard + AT_ONCE
    assert not chosen.calls
    job = next(job for job in app.runs.jobs() if job.job_id == run_id)
    assert (job.state, job.error_code) == ("failed", "run_provider_left")
