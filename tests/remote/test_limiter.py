"""The limiter: a cap that holds, a pause that is kept, a rate that follows unusual refusals. Short waits."""

from __future__ import annotations

import random
import threading
import time
from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from chatbot_mvp.remote.limiter import Limiter, Limiters
from tests.waiting import SOON_S


class Clock:
    """Stands still, except while somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The limiter's clock."""
    found = Clock()
    monkeypatch.setattr("chatbot_mvp.remote.limiter.time", found)
    return found


def test_no_more_requests_run_at_a_time_than_the_cap() -> None:
    limiter = Limiter(3)
    lock, now, most = threading.Lock(), 0, 0

    def work(_: int) -> None:
        nonlocal now, most
        with limiter.slot():
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.01)
            with lock:
                now -= 1

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(work, range(24)))
    assert most == 3
    assert limiter.running == 0


def test_without_a_429_the_rate_is_not_limited(clock: Clock) -> None:
    limiter = Limiter(1)
    for _ in range(200):
        with limiter.slot() as slot:
            pass
        limiter.succeeded(slot)
    assert clock.now == 0.0, "nobody waited"
    assert limiter.interval == 0


def test_nobody_starts_before_the_pause_that_a_429_asks_for_is_over() -> None:
    limiter = Limiter(4)
    with limiter.slot() as slot:
        limiter.throttled(slot, 0.2)
    started = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        starts = list(pool.map(lambda _: limiter.acquire().started, range(4)))
    assert min(starts) - started >= 0.19


def refused(limiter: Limiter, times: int) -> None:
    for _ in range(times):
        with limiter.slot() as slot:
            time.sleep(0.002)
        limiter.throttled(slot)


@pytest.mark.slow
def test_429s_in_a_row_lower_the_rate_more_and_more_and_it_recovers_with_success() -> None:
    limiter = Limiter(4)
    refused(limiter, 3)
    slow = limiter.interval
    refused(limiter, 3)
    assert limiter.interval > 1.5 * slow > 0
    for _ in range(200):
        with limiter.slot() as slot:
            pass
        limiter.succeeded(slot)
    assert limiter.interval == 0


def test_starts_keep_the_distance_of_the_rate() -> None:
    limiter = Limiter(4)
    refused(limiter, 3)
    with ThreadPoolExecutor(4) as pool:
        starts = sorted(pool.map(lambda _: limiter.acquire().started, range(4)))
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert min(gaps) >= limiter.interval * 0.99 > 0


def test_several_429s_of_one_burst_lower_the_rate_once() -> None:
    limiter = Limiter(8)
    burst = [limiter.acquire() for _ in range(8)]
    for slot in burst[:3]:
        limiter.throttled(slot)
    once = limiter.interval
    assert once > 0
    for slot in burst[3:]:
        limiter.throttled(slot)
    assert limiter.interval == once


def test_a_slot_can_be_given_back_twice() -> None:
    limiter = Limiter(1)
    slot = limiter.acquire()
    slot.release()
    slot.release()
    assert limiter.running == 0


def test_a_wider_cap_lets_those_in_who_wait() -> None:
    limiter = Limiter(1)
    limiter.acquire()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(limiter.acquire)
        time.sleep(0.05)
        assert not waiting.done()
        limiter.set_concurrency(2)
        assert waiting.result(SOON_S)


def test_there_is_one_limiter_per_provider_and_address() -> None:
    limiters = Limiters()
    one = limiters.of("nim", "http://a")
    assert limiters.of("nim", "http://a") is one
    assert limiters.of("nim", "http://b") is not one
    assert limiters.of("groq", "http://a") is not one


def test_the_cap_holds_for_every_address_and_an_address_that_serves_fewer_keeps_its_own() -> None:
    limiters = Limiters()
    early, small = limiters.of("nim", "http://a"), limiters.of("local", "model.gguf", served=2)
    limiters.set_cap(8)
    assert [early.concurrency, small.concurrency, limiters.of("nim", "http://b").concurrency] == [8, 2, 8]
    limiters.set_cap(1)
    assert [early.concurrency, small.concurrency] == [1, 1]


def test_callers_with_the_same_bound_share_it_and_take_no_place_while_they_wait() -> None:
    limiter = Limiter(3)
    first = limiter.acquire(at_once=1)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(limiter.acquire, 1)
        time.sleep(0.05)
        assert not second.done()
        assert limiter.running == 1
        others = [limiter.acquire() for _ in range(2)]
        for slot in (*others, first):
            slot.release()
        second.result(SOON_S).release()
    assert limiter.running == 0


@pytest.mark.parametrize(("rate", "most", "span"), [(40, 40, 1.0), (1.5, 3, 2.0), (0.5, 1, 2.0), (7, 7, 1.0)])
def test_a_configured_rate_holds_in_any_span_also_where_requests_arrive_late(
    clock: Clock, rate: float, most: int, span: float
) -> None:
    limiter, source = Limiter(1_000), random.Random(1)
    limiter.set_rate(rate)
    starts = [limiter.reserve()[0].started for _ in range(400)]
    arrivals = sorted(start + source.choice([0.0, 0.1499]) for start in starts)
    assert max(bisect_left(arrivals, at + span) - place for place, at in enumerate(arrivals)) <= most
    assert 400 / (starts[-1] - starts[0]) > 0.8 * rate


def test_a_rate_below_one_request_in_two_minutes_spreads_the_starts(clock: Clock) -> None:
    limiter = Limiter(10)
    limiter.set_rate(0.001)
    assert limiter.reserve()[1] == 0
    assert limiter.reserve()[1] == pytest.approx(1_052.6, abs=0.1)


def test_without_a_configured_rate_many_requests_start_at_once() -> None:
    limiter = Limiter(100)
    for rate in (40, 0):
        limiter.set_rate(rate)
    assert [limiter.reserve()[1] for _ in range(100)] == [0.0] * 100
