"""A clock that is set back or forward, and servers whose clocks differ, change no result and lose nothing."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import QuestionSetChanged
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from chatbot_mvp.remote.limiter import Limiters
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings, load_settings
from chatbot_mvp.types import Progress
from tests.clock import Set
from tests.waiting import SOON_S

TEXT = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"
DIET, DAYS = "¿De cuánto es la dieta completa?", "¿De cuántos días dispone cada persona?"
SESSION = "0123456789abcdef"
BACK, FORWARD, BESIDE = timedelta(hours=-1), timedelta(days=1), timedelta(minutes=10)


@pytest.fixture
def app(settings: Settings) -> App:
    return again(settings.data_dir)


def again(data: Path) -> App:
    """A server that starts on a data folder."""
    return build_app(load_settings(data_dir=data, retrieval_strategy="LEXICAL", provider="demo"))


@pytest.mark.parametrize("jump", [BACK, FORWARD])
def test_a_run_whose_clock_jumps_has_the_result_of_another_and_no_negative_time(
    settings: Settings, set_clock: Set, jump: timedelta
) -> None:
    own = load_settings(
        data_dir=settings.data_dir,
        retrieval_strategy="LEXICAL",
        provider="demo",
        mteb_dataset_name="valle_multihop",
        eval_max_queries=6,
        generation_enabled=True,
    )
    app = build_app(own)
    plain = app.runs.run_now()

    def jumps(_: Progress) -> None:
        set_clock(jump)

    jumped = app.runs.run_now(jumps)
    assert jumped.metrics == plain.metrics
    assert all(0 <= seconds < 100 for seconds in jumped.seconds.values()), jumped.seconds
    assert {line.run_id for line in app.archive.runs()[0]} == {plain.run_id, jumped.run_id}


@pytest.mark.parametrize("jump", [BACK, FORWARD])
def test_a_limiter_and_a_background_job_go_on(app: App, set_clock: Set, jump: timedelta) -> None:
    limiters = Limiters()
    limiters.set_cap(2, 20.0)
    limiter = limiters.of("p", "http://127.0.0.1", 1)
    began = time.monotonic()
    for step in range(4):
        set_clock(jump * (step % 2))
        limiter.acquire().release()
    assert time.monotonic() - began < SOON_S
    kb = app.kbs.add("normas.md", TEXT.encode())
    job = app.kb_evaluation.propose(kb.kb_id, "reglas", 4, use_model=False)
    set_clock(jump)
    deadline = time.monotonic() + 30
    while app.kb_evaluation.jobs(kb.kb_id)[0].status.active and time.monotonic() < deadline:
        time.sleep(0.02)
    [ended] = app.kb_evaluation.jobs(kb.kb_id)
    assert (ended.status.job_id, ended.status.state) == (job, "done")
    assert len(again(app.settings.data_dir).question_sets.sets(kb.kb_id)) == 1


@pytest.mark.parametrize("ahead", [BESIDE, -BESIDE])
def test_two_servers_with_ten_minutes_between_their_clocks_keep_each_others_work(
    app: App, set_clock: Set, ahead: timedelta
) -> None:
    other = again(app.settings.data_dir)
    kb = app.kbs.add("normas.md", TEXT.encode())
    mine = app.question_sets.empty_set(kb.kb_id, "mías")
    set_clock(ahead)
    asked = tuple(SetQuestion(KbQuestion(str(n), question, "far")) for n, question in enumerate((DIET, DAYS)))
    saved = other.question_sets.save(replace(mine, questions=asked))
    other.live.change("kb_top_k", 7)
    set_clock(timedelta(0))
    with pytest.raises(QuestionSetChanged):
        app.question_sets.save(replace(mine, name="otras"))
    again_saved = app.question_sets.save(replace(saved, name="otras"))
    assert again_saved.changed_at > saved.changed_at
    set_clock(ahead)
    assert other.question_sets.question_set(kb.kb_id, mine.set_id).name == "otras"
    assert again(app.settings.data_dir).settings.kb_top_k == 7


MEETS_OTHERS = {
    "chatbot_mvp/wings/ray/limits.py": "when a request may leave, for a worker on another node",
    "chatbot_mvp/knowledge_base/knowledge_bases.py": "the age of a deletion, which is undone for a day, likewise",
    "chatbot_mvp/knowledge_base/parsed_files.py": "the age of a file, which is a time of the file system",
    "chatbot_mvp/knowledge_base/version_files.py": "the age of a file, likewise",
    "chatbot_mvp/server/replies.py": "the field `created` of the interface",
    "chatbot_mvp/storage/aside.py": "the age of a deletion, likewise",
    "chatbot_mvp/storage/bounded_folder.py": "the age of a file, likewise",
    "chatbot_mvp/storage/files.py": "the age of files that other processes left",
    "chatbot_mvp/wings/sharing": "when the last exchange ended, for people",
}
"""Files that read the wall clock, and why: none measures a duration of its own with it."""


def test_durations_are_measured_by_a_clock_that_nobody_sets() -> None:
    found = set()
    for folder in ("chatbot_mvp", "streamlit_app"):
        for path in (PROJECT_ROOT / folder).rglob("*.py"):
            name = path.relative_to(PROJECT_ROOT).as_posix()
            if re.search(r"\btime\.time(_ns)?\(", path.read_text("utf-8")):
                found.add("chatbot_mvp/wings/sharing" if name.startswith("chatbot_mvp/wings/sharing/") else name)
    assert found <= set(MEETS_OTHERS), "use time.monotonic() or perf_counter() for durations"
