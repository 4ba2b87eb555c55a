"""What can end a run early, and what a resume or a retry then does: exactly what is missing."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.datasets import Dataset
from chatbot_mvp.errors import ChatbotError, RunStopped
from chatbot_mvp.jobs.manager import JobManager
from chatbot_mvp.runs import task_loop
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.files import is_held
from chatbot_mvp.storage.jsonl import read_lines
from chatbot_mvp.types import Progress, ignore_progress
from tests.cases import draws
from tests.evaluation.benchmark.judge_stub import EMBED, GENERATE, JUDGE, OTHER, Asked, ModelStub
from tests.fakes import FakeEmbedder, fake_app
from tests.file_sizes import files_of_at_most
from tests.raising import raises
from tests.stopping import at, stop_when
from tests.test_benchmarks import script
from tests.waiting import wait_until

resource = pytest.importorskip("resource")

QUERIES = 16


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with ModelStub() as server:
        yield server


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_loop, "_REST_S", 0.05)


@pytest.fixture
def asking(settings: Settings, stub: ModelStub) -> Settings:
    """Answers and judgements by the stub, eight at a time, nothing remembered."""
    return settings.with_changes(
        provider="openai",
        openai_base_url=stub.base_url,
        openai_api_key="stub-key-of-nobody",
        openai_model_name="stub",
        llm_cache_enabled=False,
        nim_max_concurrent_requests=8,
        generation_enabled=True,
        retrieval_strategy="LEXICAL",
        eval_max_queries=QUERIES,
    )


def app_of(settings: Settings, embedder: FakeEmbedder | None = None) -> App:
    """As after a restart, with the real providers."""
    model = embedder or FakeEmbedder()
    return fake_app(settings, lambda _: model)


def ends_with(
    code: str, settings: Settings, progress: Callable[[Progress], None] = ignore_progress, **kw: Any
) -> tuple[str, ChatbotError]:
    """(the id of a run that ends with an error, the error)."""
    with raises(code) as raised:
        app_of(settings).runs.run_now(progress, **kw)
    [run] = app_of(settings).archive.unfinished()
    return run.run_id, raised.value


def lines(settings: Settings, run_id: str) -> Counter[tuple[str, str, str]]:
    """(phase, query, status) -> lines of records.jsonl."""
    rows, _ = read_lines(settings.results_dir / run_id / "records.jsonl")
    return Counter((row["phase"], row["query_id"], row["status"]) for row in rows)


def unbroken(settings: Settings, tmp_path: Path) -> RunResult:
    """The result of the same run elsewhere."""
    return app_of(settings.with_changes(data_dir=tmp_path / "elsewhere")).runs.run_now()


def same(one: RunResult, other: RunResult) -> bool:
    names = ("metrics", "readings", "scored", "per_query", "abstentions")
    return all(getattr(one, name) == getattr(other, name) for name in names)


# --- kill -9


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_killed_many_times_at_random_moments_runs_are_what_an_unbroken_one_is(tmp_path: Path) -> None:
    kills = draws(50, 6)
    report = script("chaos").chaos(tmp_path, kills=kills)
    assert report.differences == []
    assert sum(report.kills.values()) == kills
    assert len(report.kills) >= draws(5, 2), "they fall into all kinds of phases"


# --- stopped in between


@pytest.mark.sampled(2)
@pytest.mark.parametrize("phase", ["generate", "judge", "similarity"])
def test_a_run_stopped_while_it_asks_is_resumed_without_asking_twice(
    asking: Settings, stub: ModelStub, tmp_path: Path, phase: str
) -> None:
    stub.latency = 0.01
    run_id, _ = ends_with("run_stopped", asking, stop_when(at(phase, 4)))
    stub.latency = 0.0
    resumed = app_of(asking).runs.resume_now(run_id)
    assert set(stub.answered.values()) == {1}, "what ended soon after the stop was recorded"
    assert set(lines(asking, run_id).values()) == {1}
    assert same(resumed, unbroken(asking, tmp_path))


def with_passage_questions(settings: Settings, **changes: Any) -> Settings:
    """40 documents, each with 3 questions; no answers."""
    own = {"retrieval_strategy": "CONTEXTUAL_HYBRID", "retrieval_context_questions": 3, "eval_max_corpus": 40}
    return settings.with_changes(**{**own, "generation_enabled": False, **changes})


@pytest.mark.parametrize(("phase", "done", "asked"), [("enrich", 24, range(24, 40)), ("questions", 16, range(56, 80))])
def test_contexts_and_questions_of_passages_go_on_where_they_were_stopped(
    asking: Settings, stub: ModelStub, phase: str, done: int, asked: range
) -> None:
    settings = with_passage_questions(asking)
    run_id, _ = ends_with("run_stopped", settings, stop_when(at(phase, done)))
    assert stub.asked(OTHER) in asked
    result = app_of(settings).runs.resume_now(run_id)
    assert stub.asked(OTHER) == 80
    assert set(stub.answered.values()) == {1}
    counts = result.passage_questions
    assert (counts["passages"], counts["without"], counts["written"]) == (40, 0, 120)
    assert 0 < counts["kept"] <= 120
    again = app_of(settings).runs.run_now()
    assert stub.asked(OTHER) == 80, "a second build sends no request"
    assert (again.passage_questions, again.metrics) == (counts, result.metrics)


def test_no_text_is_embedded_twice(asking: Settings, stub: ModelStub) -> None:
    """The batch in flight at a kill is the most that is lost; after a stop, nothing is."""
    embedder = FakeEmbedder()
    vectors = asking.with_changes(retrieval_strategy="SIMPLE_VECTOR", generation_enabled=False)
    for stopped_in in ("embed_corpus", "embed_queries"):
        with pytest.raises(RunStopped):
            app_of(vectors, embedder).runs.run_now(stop_when(at(stopped_in, 1)))
    for run in app_of(vectors).archive.unfinished():
        app_of(vectors, embedder).runs.resume_now(run.run_id)
    passages = Counter(text for kind, texts in embedder.batches if kind == "passage" for text in texts)
    questions = Counter(text for kind, texts in embedder.batches if kind == "query" for text in texts)
    assert (len(passages), set(passages.values())) == (80, {1})
    assert (len(questions), set(questions.values())) == (QUERIES, {1})


@pytest.mark.slow
def test_a_run_killed_while_it_embeds_at_an_endpoint_loses_at_most_a_batch(tmp_path: Path, stub: ModelStub) -> None:
    stub.latency = 0.1
    changes = {
        "EMBEDDING_BASE_URL": stub.base_url,
        "EMBEDDING_MODEL_NAME": "stub",
        "EMBEDDING_BATCH_SIZE": "8",
        "RETRIEVAL_STRATEGY": "SIMPLE_VECTOR",
    }
    line = script("chaos").CommandLine(tmp_path, stub, "SIMPLE_VECTOR", QUERIES, 4)
    line.environment |= changes
    process = line.start("run", "--no-generation")
    wait_until(lambda: sum(stub.embedded.values()) >= 30)
    process.kill()
    process.wait(10)
    [run_id] = [path.parent.name for path in (line.data / "results").glob("*/manifest.json")]
    stub.latency = 0.0
    assert line.start("resume", run_id).wait(60) == 0
    again = sum(count - 1 for text, count in stub.embedded.items() if text != "?")
    assert again <= 8
    assert stub.asked(EMBED) > 0


@pytest.mark.parametrize("name", ["prompts", "fingerprint", "code_version"])
def test_a_run_of_other_prompts_pipeline_or_version_is_not_resumed(asking: Settings, name: str) -> None:
    run_id, _ = ends_with("run_stopped", asking, stop_when(at("generate")))
    path = asking.results_dir / run_id / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), name: "older"}), "utf-8")
    with raises("run_mismatch", match=f"{name} was 'older' and is now '"):
        app_of(asking).runs.resume_now(run_id)


def test_two_runs_that_begin_in_one_second_have_folders_of_their_own(asking: Settings) -> None:
    retrieval = asking.with_changes(generation_enabled=False)
    found: list[str] = []
    gate = threading.Barrier(4)

    def begin() -> None:
        app = app_of(retrieval)
        gate.wait()
        found.append(app.runs.run_now().run_id)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 4


# --- a provider that fails


def failing(stub: ModelStub, word: str, status: int, times: int | None = None, kind: str = GENERATE) -> None:
    """Prompts with a word fail, so often; None: always."""
    met: Counter[str] = Counter()

    def rule(asked: Asked) -> tuple[int, dict[str, Any]] | None:
        if asked.kind != kind or word not in asked.prompt.partition("Pregunta:")[2]:
            return None
        met[asked.prompt] += 1
        if times is not None and met[asked.prompt] > times:
            return None
        return status, {"error": {"message": "not this one", "code": "stub"}}

    stub.rule = rule


def questions(settings: Settings) -> Dataset:
    return app_of(settings).datasets.load("valle_multihop")


def test_a_query_that_a_passing_failure_cost_is_tried_again_after_the_others(asking: Settings, stub: ModelStub) -> None:
    word = questions(asking).queries[3].text.split()[-1]
    failing(stub, word, 503, times=2)
    result = app_of(asking.with_changes(nim_max_retries=0)).runs.run_now()
    assert result.failures == {}
    assert {key[2] for key in lines(asking, result.run_id)} == {"ok"}
    assert set(lines(asking, result.run_id).values()) == {1}
    assert {count for (kind, _), count in stub.attempts.items() if kind == GENERATE} == {1, 3}


def test_what_fails_for_good_is_recorded_and_only_that_is_retried(
    asking: Settings, stub: ModelStub, tmp_path: Path
) -> None:
    words = next(query.text for query in questions(asking).queries[:QUERIES] if "?" in query.text)
    failing(stub, words, 400)
    first = app_of(asking).runs.run_now()
    run_id = first.run_id
    assert first.failures == {"generate": 1}
    assert first.scored["generation_score"] == (QUERIES - 1, QUERIES)
    left_out, zeros = first.readings["generation_score"]
    assert zeros == pytest.approx(left_out * (QUERIES - 1) / QUERIES)
    before = sum(stub.attempts.values())

    stub.rule = lambda asked: None
    # A retry that dies before its result is there is found and finished, though nothing is failed any more.
    with pytest.raises(RunStopped):
        app_of(asking).runs.resume_now(run_id, stop_when(at("aggregate")), retry_failed=True)
    new = sum(stub.attempts.values()) - before
    assert 1 <= new <= 3, "one answer and its judgements"
    assert app_of(asking).archive.run(run_id).failures == {"generate": 1}, "the old result can still be read"
    assert [run.run_id for run in app_of(asking).archive.unfinished()] == [run_id]
    second = app_of(asking).runs.resume_now(run_id)
    assert sum(stub.attempts.values()) - before == new
    assert second.failures == {}
    assert second.scored["generation_score"] == (QUERIES, QUERIES)
    assert same(second, unbroken(asking, tmp_path))
    [listed] = app_of(asking).archive.runs()[0]
    assert (listed.run_id, listed.metrics) == (run_id, second.metrics)
    assert app_of(asking).archive.unfinished() == []


@pytest.mark.slow
def test_a_provider_that_stays_away_is_given_up_and_tried_again_by_a_retry(
    asking: Settings, stub: ModelStub, tmp_path: Path
) -> None:
    failing(stub, "", 500)
    away = asking.with_changes(nim_max_retries=0)
    run_id, error = ends_with("run_gave_up", away)
    assert "benchmark retry" in str(error)
    assert stub.asked(GENERATE) <= 3 * QUERIES
    stub.rule = lambda asked: None
    assert same(app_of(away).runs.resume_now(run_id, retry_failed=True), unbroken(away, tmp_path))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [GENERATE, JUDGE, OTHER])
def test_a_quota_that_is_used_up_ends_the_run_and_the_resume_does_the_rest(
    asking: Settings, stub: ModelStub, tmp_path: Path, kind: str
) -> None:
    strategy = "CONTEXTUAL_HYBRID" if kind == OTHER else "LEXICAL"
    # One request a query: of a query whose second was refused, the first would be asked again.
    settings = asking.with_changes(
        retrieval_strategy=strategy, nim_max_concurrent_requests=2, judge_metrics="faithfulness"
    )
    left = threading.Semaphore(7)

    def rule(asked: Asked) -> tuple[int, dict[str, Any]] | None:
        if asked.kind != kind or left.acquire(blocking=False):
            return None
        return 429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}

    stub.rule = rule
    run_id, error = ends_with("run_out_of_quota", settings)
    assert error.exit_code == 1
    assert "benchmark resume" in str(error)
    assert all(status == "ok" for _, _, status in lines(settings, run_id))
    stub.rule = lambda asked: None
    resumed = app_of(settings).runs.resume_now(run_id)
    assert set(stub.answered.values()) == {1}
    assert same(resumed, unbroken(settings, tmp_path))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("own_address", [False, True])
def test_a_slow_judge_does_not_hold_the_generator(asking: Settings, stub: ModelStub, own_address: bool) -> None:
    """Sixteen answers, four at a time, take four rounds of 0.05 s; a judgement takes ten times that."""
    stub.latency, stub.judge_latency = 0.05, 0.5
    settings = asking.with_changes(nim_max_concurrent_requests=4, judge_metrics="faithfulness")
    with ModelStub(0.5) as other:
        if own_address:
            settings = settings.with_changes(judge_provider="nim", llm_base_url=other.base_url)
        began: list[float] = []

        def progress(now: Progress) -> None:
            if now.phase == "generate" and not began:
                began.append(time.monotonic())

        result = app_of(settings).runs.run_now(progress)
        ended = stub.last[GENERATE] - began[0]
        judge = other if own_address else stub
        assert judge.asked(JUDGE) == QUERIES - result.abstentions
        assert ended < 1.0
        assert judge.last[JUDGE] - began[0] > 1.4
        assert stub.most_at_once <= 4


def test_the_threads_of_a_run_end_with_it(asking: Settings) -> None:
    app_of(asking).runs.run_now()
    names = ("generate-", "judge-")
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith(names)])


# --- pressure


@pytest.mark.slow
def test_under_pressure_every_query_is_answered_in_bounded_attempts(tmp_path: Path) -> None:
    pressure = script("pressure")
    faults = pressure.Faults(0.20, 0.05, 0.02, seed=5)
    pressed = pressure.press(tmp_path, queries=80, calls=8, latency=0.05, faults=faults)
    assert pressed.failed == 0
    assert pressed.most_attempts <= pressure.REQUESTS_PER_TRY * pressure.TRIES
    assert pressed.most_at_once <= 8
    assert pressed.share >= 0.3, "a loaded machine; the slow test and the script ask for 80 %"


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.0, 15.0])
def test_under_pressure_the_throughput_is_what_the_limit_allows(tmp_path: Path, limit: float) -> None:
    pressure = script("pressure")
    faults = pressure.Faults(seed=1) if limit else pressure.Faults(0.20, 0.05, 0.02, seed=1)
    pressed = pressure.press(tmp_path, queries=200, calls=8, latency=0.4, faults=faults, limit=limit)
    assert pressed.fine, pressed
    if limit:  # eight calls of 0.4 s are 20 a second; of them 10 % are refused on an idle machine, 20 % on a busy one
        assert pressed.refused < 1 - limit / 20, pressed


# --- a budget

PRICES = """
[[price]]
provider = "openai"
model = "stub"
input = 1000.0
output = 1000.0
date = 2026-11-01
source = "made up"
"""


def priced(settings: Settings) -> Settings:
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    (settings.data_dir / "prices.toml").write_text(PRICES, "utf-8")
    return settings


def test_a_budget_is_not_exceeded_and_a_larger_one_goes_on(asking: Settings, stub: ModelStub, tmp_path: Path) -> None:
    """A thousand tokens are a dollar; prompts are of different lengths."""
    settings = priced(asking)
    run_id, error = ends_with("run_over_budget", settings, budget_usd=6.0)
    assert "--budget" in str(error)
    spent = float(error.params["spent"])
    assert 3.0 < spent <= 6.0
    assert 0 < int(error.params["done"]) <= QUERIES
    with raises("run_over_budget") as raised:
        app_of(settings).runs.resume_now(run_id, budget_usd=spent)
    assert float(raised.value.params["spent"]) == spent, "nothing was asked"
    result = app_of(settings).runs.resume_now(run_id, budget_usd=1_000.0)
    assert set(stub.answered.values()) == {1}
    assert result.usage.calls == sum(stub.answered.values())
    alone = unbroken(priced(settings.with_changes(data_dir=tmp_path / "elsewhere")), tmp_path)
    assert result.usage.cost_usd == pytest.approx(alone.usage.cost_usd, abs=1e-5)
    assert same(result, alone)


def test_enrichment_keeps_the_budget_too(asking: Settings, stub: ModelStub) -> None:
    settings = priced(asking.with_changes(retrieval_strategy="CONTEXTUAL_HYBRID", generation_enabled=False))
    _, error = ends_with("run_over_budget", settings, budget_usd=4.0)
    assert 1.0 < float(error.params["spent"]) <= 4.0
    assert 0 < stub.asked(OTHER) < 80


def test_questions_of_passages_keep_the_budget_too(asking: Settings, stub: ModelStub) -> None:
    contexts = priced(with_passage_questions(asking, retrieval_context_questions=0))
    app_of(contexts).runs.run_now()
    settings = with_passage_questions(contexts)
    run_id, error = ends_with("run_over_budget", settings, budget_usd=3.0)
    assert 1.0 < float(error.params["spent"]) <= 3.0
    assert 40 < stub.asked(OTHER) < 80
    app_of(settings).runs.resume_now(run_id, budget_usd=1_000.0)
    assert stub.asked(OTHER) == 80
    assert set(stub.answered.values()) == {1}


def test_a_budget_without_prices_is_an_error_after_the_first_answer(asking: Settings, stub: ModelStub) -> None:
    ends_with("budget_without_price", asking, budget_usd=6.0)
    assert stub.asked(GENERATE) <= 2


# --- a full disk


@pytest.mark.parametrize(
    "size", [9_000, 20_000, *(pytest.param(n, marks=pytest.mark.slow) for n in (6_000, 14_000, 26_000))]
)
def test_a_disk_that_is_full_ends_a_run_that_goes_on_when_there_is_room(
    asking: Settings, tmp_path: Path, size: int
) -> None:
    """Records, events, the cache of vectors, tables and result: whichever does not fit."""
    expected = unbroken(asking, tmp_path)
    app_of(asking.with_changes(generation_enabled=False)).runs.run_now()  # the index is there
    with files_of_at_most(size):
        run_id, error = ends_with("run_not_written", asking)
    assert error.exit_code == 1
    assert f"benchmark resume {run_id}" in str(error)
    assert same(app_of(asking).runs.resume_now(run_id), expected)


def test_a_disk_that_is_full_from_the_start_lets_no_run_begin(asking: Settings) -> None:
    with files_of_at_most(200), raises("run_not_begun"):
        app_of(asking).runs.run_now()
    assert list(asking.results_dir.iterdir()) == []


@pytest.mark.parametrize("strategy", ["LEXICAL", "SIMPLE_VECTOR", "CONTEXTUAL_HYBRID"])
def test_an_index_or_cache_that_does_not_fit_is_told_as_a_full_disk(asking: Settings, strategy: str) -> None:
    settings = asking.with_changes(retrieval_strategy=strategy, generation_enabled=False)
    with files_of_at_most(5_000):
        run_id, error = ends_with("run_not_written", settings)
    assert str(settings.cache_dir) in str(error.params["path"])
    assert app_of(settings).runs.resume_now(run_id).queries == QUERIES


def test_a_cache_that_is_no_database_is_told_with_what_to_do(asking: Settings) -> None:
    settings = asking.with_changes(retrieval_strategy="SIMPLE_VECTOR", generation_enabled=False)
    settings.cache_dir.mkdir(parents=True)
    (settings.cache_dir / "vectors.sqlite").write_bytes(b"no database at all, but long enough" * 100)
    with raises("run_not_written", "cache_unusable", match=r"vectors\.sqlite"):
        app_of(settings).runs.run_now()


def test_jobs_go_on_after_one_whose_end_could_not_be_written(tmp_path: Path) -> None:
    manager = JobManager(tmp_path)
    gate = threading.Event()

    def work(progress: object) -> None:
        gate.wait(10)

    manager.submit("uno", "uno", work)
    manager.submit("dos", "dos", lambda progress: None)
    wait_until(lambda: (status := manager.status("uno")) and status.state == "running")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with files_of_at_most(10):
        gate.set()
        wait_until(lambda: not is_held(tmp_path / "uno.lock"))
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
    manager.submit("tres", "tres", lambda progress: None)
    wait_until(lambda: (status := manager.status("tres")) and status.state == "done")


# --- processes of the command line


def test_a_full_disk_is_exit_code_1_and_one_line(tmp_path: Path, stub: ModelStub) -> None:
    line = script("chaos").CommandLine(tmp_path, stub, "LEXICAL", QUERIES, 4)
    assert line.start("run", "--no-generation").wait(60) == 0
    line.environment["PYTHONDONTWRITEBYTECODE"] = "1"  # a compiled module that was cut would stay
    process = line.start("run", before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000)))
    assert process.wait(60) == 1
    said = line.stderr.read_text("utf-8").splitlines()
    assert said[-1].startswith("chatbot-mvp: The run ")
    assert "benchmark resume" in said[-1]
    assert "Traceback" not in "\n".join(said)


@pytest.mark.slow
def test_runs_of_two_processes_work_one_after_the_other_and_a_waiting_one_can_be_stopped(
    tmp_path: Path, stub: ModelStub
) -> None:
    gate = threading.Event()

    def held(asked: Asked) -> None:
        gate.wait(60)

    stub.rule = held
    lines_of = [script("chaos").CommandLine(tmp_path / str(n), stub, "LEXICAL", 6, 1) for n in range(3)]
    for line in lines_of[1:]:
        line.share(lines_of[0])
    processes = [line.start("run") for line in lines_of[:2]]
    results = lines_of[0].data / "results"
    wait_until(lambda: sum(1 for line in lines_of[:2] if "queued" in line.stderr.read_text("utf-8")) == 1)
    third = lines_of[2].start("run")
    wait_until(lambda: "queued" in lines_of[2].stderr.read_text("utf-8"))
    third.send_signal(signal.SIGINT)
    assert third.wait(10) == 130
    assert "benchmark resume" in lines_of[2].stderr.read_text("utf-8")
    gate.set()
    assert [process.wait(60) for process in processes] == [0, 0]
    spans = []
    for path in results.glob("*/events.jsonl"):
        rows, _ = read_lines(path)
        times = {row["event"]: row["time"] for row in rows}
        spans.append((times["run_start"], times["run_complete"]))
    spans.sort()
    assert len(spans) == 2, "the stopped one never began"
    assert spans[0][1] <= spans[1][0]
