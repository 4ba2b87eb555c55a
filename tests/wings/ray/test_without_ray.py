"""What the cluster's parts promise that can be shown without a cluster."""

from __future__ import annotations

import copy
import pickle
import socket
import threading
from importlib import util
from itertools import pairwise

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.errors import InvalidSetting, MissingPackage
from chatbot_mvp.remote.limiter import Limiter
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.ray.errors import RayWorkersLost
from chatbot_mvp.wings.ray.limits import Granted, Limits, seconds_left
from tests.raising import raises

OPENAI = ("openai", "http://127.0.0.1:1/v1", 4)


def test_without_the_extra_a_run_is_refused_with_the_command_before_anything_is_written(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = util.find_spec
    monkeypatch.setattr(
        "chatbot_mvp.wings.ray.connection.find_spec",
        lambda name: None if name == "ray" else found(name),
    )
    with pytest.raises(MissingPackage, match=r'pip install "chatbot-mvp\[ray\]"'):
        build_app(settings.with_changes(eval_engine="ray")).runs.run_now()
    assert not settings.results_dir.exists()


def test_an_address_where_nobody_listens_is_refused_before_anything_is_written(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbot_mvp.wings.ray.connection.find_spec", lambda _: object())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with raises("ray_unreachable", match=r"Connection refused.*RAY_ADDRESS.*EVAL_ENGINE=local"):
            build_app(settings.with_changes(eval_engine="ray", ray_address=address)).runs.run_now()
    assert not settings.results_dir.exists()


@pytest.mark.parametrize("address", ["ray://10.0.0.5:10001", "10.0.0.5", "http://10.0.0.5:6379", "a b:1"])
def test_an_address_that_is_no_head_is_refused(settings: Settings, address: str) -> None:
    with pytest.raises(InvalidSetting, match=r"host:port of the head|no spaces"):
        settings.with_changes(ray_address=address)


def test_engine_and_address_belong_to_the_machine_so_a_resume_may_use_another_engine(settings: Settings) -> None:
    recorded = settings.with_changes(eval_engine="ray", ray_address="10.0.0.5:6379").model_dump(mode="json")
    assert settings.with_recorded(recorded).eval_engine == "local"
    assert settings.with_recorded(recorded).ray_address == ""


def test_an_error_of_a_worker_arrives_whole_in_another_process() -> None:
    error = RayWorkersLost(run_id="r", reason="the node is away")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), again.params, again.hint) == (
            type(error),
            str(error),
            error.params,
            error.hint,
        )


def test_the_slots_of_a_worker_that_died_are_given_back() -> None:
    limits = Limits(cap=2, rate=0)
    for _ in range(2):
        limits.acquire("worker-1", *OPENAI, None)
    waiting = threading.Thread(target=limits.acquire, args=("worker-2", *OPENAI, None), daemon=True)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    limits.forget("worker-1")
    waiting.join(5)
    assert not waiting.is_alive()


def test_a_slot_that_a_dead_worker_still_waited_for_is_given_back() -> None:
    limits = Limits(cap=1, rate=0)
    limits.forget("worker-1")
    limits.acquire("worker-1", *OPENAI, None)
    limits.acquire("worker-2", *OPENAI, None)  # would wait for ever


def test_a_429_slows_down_every_worker() -> None:
    limits = Limits(cap=8, rate=0)
    slot = limits.acquire("worker-1", *OPENAI, None)
    limits.replied(*OPENAI, slot.started, 0.2)
    limits.release(slot.ticket)
    limits.release(slot.ticket)  # giving back twice is harmless
    assert limits.acquire("worker-2", *OPENAI, None).wait > 0.15


def test_successes_that_are_reported_after_the_slot_was_given_back_speed_up_again() -> None:
    limits = Limits(cap=8, rate=0)
    for _ in range(4):
        slot = limits.acquire("worker-1", *OPENAI, None)
        limits.release(slot.ticket)
        limits.replied(*OPENAI, slot.started, 0.0)
    limiter = limits._limiters.of(*OPENAI)
    slowest = limiter.interval
    assert slowest > 0
    for _ in range(45):
        slot = limits.acquire("worker-1", *OPENAI, None)
        limits.release(slot.ticket)  # ``Calls`` gives the slot back first
        limits.replied(*OPENAI, slot.started, None)
    assert limiter.interval < slowest


def test_the_starts_of_all_workers_together_keep_the_distance_of_a_configured_rate() -> None:
    limits = Limits(cap=32, rate=200)
    starts: list[float] = []

    def work(worker: str) -> None:
        for _ in range(5):
            slot = limits.acquire(worker, *OPENAI[:2], 32, None)
            starts.append(slot.started)
            limits.release(slot.ticket)

    threads = [threading.Thread(target=work, args=(f"worker-{number % 4}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ordered = sorted(starts)
    assert len(ordered) == 40
    assert min(late - early for early, late in pairwise(ordered)) >= 1 / 200


@pytest.mark.parametrize(
    ("asked_for", "now", "left"),
    [(0.3, 1_000.2, 0.3), (0.8, 1_000.7, 0), (0.1, 400.0, 0.5), (0.1, 9_000.0, 0.4)],
    ids=["on its way", "late", "slow clock", "fast clock"],
)
def test_a_slot_is_waited_for_without_its_time_on_the_way_and_no_longer_than_it_says(
    asked_for: float, now: float, left: float
) -> None:
    granted = Granted("t", started=5.0, wait=0.5, clock=1_000.5, interval=0.025)
    assert seconds_left(granted, asked_for=asked_for, now=now) == pytest.approx(left)


def test_a_configured_rate_spreads_the_starts() -> None:
    limiter = Limiter(8)
    limiter.set_rate(100)
    starts = [limiter.acquire().started for _ in range(6)]
    assert min(late - early for early, late in pairwise(starts)) >= 0.01
