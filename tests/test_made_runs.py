"""The made-up runs that pages are timed with are runs to everything that reads runs."""

from __future__ import annotations

from pathlib import Path

from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import load_settings
from tests.fakes import FakeEmbedder, fake_app
from tests.test_benchmarks import script

script("synthetic")
made_runs = script("made_runs")


def test_made_up_runs_are_listed_opened_compared_and_resumed_like_any_other(clean_env: Path, tmp_path: Path) -> None:
    ids = made_runs.make_runs(tmp_path, 6, 8, unfinished=1, documents=80)
    assert made_runs.make_runs(tmp_path, 6, 8) == ids, "a folder that is filled is kept"
    app = fake_app(load_settings(data_dir=tmp_path), lambda _: FakeEmbedder(), DemoModel)
    past = app.archive
    assert [run.run_id for run in past.runs()[0]] == ids[::-1]
    copied = past.run(ids[5])
    assert copied.metrics == past.runs()[0][0].metrics
    assert len(copied.per_query) == 8
    assert past.compare(ids[4:]).queries == 8
    assert len(past.files(ids[5])) == 3
    [field] = past.fields()
    assert len(past.leaderboard(field, "recall@5")) == 6
    [unfinished] = past.unfinished()
    assert (unfinished.queries, unfinished.recorded) == (8, 7)
    row = copied.per_query[0]
    assert set(past.documents(ids[5], row.retrieved)) == set(row.retrieved)
