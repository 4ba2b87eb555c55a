"""Many users beside runs: nothing fails and memory stays; the figures of the script are right."""

from __future__ import annotations

import pytest

from benchmarks.soak import TOKEN as SOAK_TOKEN
from benchmarks.soak import Soaked, ask_all, fifths, growth_of, percentile, soak
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from tests.cases import draws
from tests.chat.conftest import INSIDE, OUTSIDE, SOURCE
from tests.fakes import FakeEmbedder, fake_app
from tests.server import serving
from tests.server.serving import running


def soaked(**changes: object) -> Soaked:
    usual = {"minutes": 1.0, "users": 2, "questions": 5, "errors": 0, "first_error": "", "p50_ms": 1.0, "p95_ms": 2.0}
    return Soaked(**{**usual, "p99_ms": 3.0, "runs": 1, "failed_runs": 0, "rss_mb": (), "growth": 0.0, **changes})  # type: ignore[arg-type]


def test_the_figures_are_those_of_the_values() -> None:
    assert percentile(list(range(100)), 0.95) == 95
    assert (percentile([7.0], 0.95), percentile([], 0.5)) == (7.0, 0.0)
    assert fifths([1, 1, 2, 2, 3, 3, 4, 4, 5, 5]) == (1, 2, 3, 4, 5)
    assert growth_of((100, 200, 210, 215, 220)) == pytest.approx(0.1)
    assert growth_of((5,)) == 0.0


@pytest.mark.parametrize(
    "change", [{"p95_ms": 300.1}, {"errors": 1}, {"failed_runs": 1}, {"growth": 0.051}, {"questions": 0}]
)
def test_each_figure_alone_fails_the_soak(change: dict[str, float]) -> None:
    assert soaked().passed
    assert not soaked(**change).passed


@pytest.mark.slow
def test_users_at_random_moments_all_get_answers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "TOKEN", SOAK_TOKEN)
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), lambda _: FakeEmbedder(), DemoModel)
    kb_id = app.kbs.add("manual.md", SOURCE.encode()).kb_id
    with running(app) as url:
        base = url.removesuffix("/v1")
        asked = ask_all(base, f"{kb_id}:strict", [INSIDE, OUTSIDE], users=5, every=0.1, seconds=0.7)
        assert asked.errors == []
        assert 5 <= len(asked.seconds) < 60, "each of them at least once"
        missing = ask_all(base, "no-hay:strict", [INSIDE], users=2, every=0.1, seconds=0.2)
        assert missing.errors
        assert not missing.seconds


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_fifty_users_beside_runs_meet_no_error_and_memory_stays() -> None:
    """How long they wait depends on what else the machine does, so the script judges that on an idle one."""
    # By words alone: with vectors fifty users leave a busy machine no time for a run.
    result = soak(draws(6, 1) / 2, 50, 10.0, "LEXICAL", print)
    print(result)
    assert (result.errors, result.failed_runs) == (0, 0), result
    assert result.questions > 50, "each user was answered"
    assert result.runs > 0
    assert growth_of(result.rss_mb[2:]) <= 0.05, "the first three of five parts warm up beside other work"
