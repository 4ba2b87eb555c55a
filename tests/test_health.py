"""Nobody who asks how the parts are waits for one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from chatbot_mvp.app import App
from chatbot_mvp.errors import ProviderNotConfigured
from chatbot_mvp.health import Health, HealthChecks, Probe
from tests.waiting import wait_until


class Given:
    """Parts that a test makes up."""

    def __init__(self, probes: Callable[[], Sequence[Probe]]) -> None:
        self.probes = probes


def settled(desk: HealthChecks) -> list[Health]:
    wait_until(lambda: all(health.state != "checking" for health in desk.states()), 5, "every check", 0.005)
    return desk.states()


def test_a_part_that_hangs_is_checking_and_is_tried_once() -> None:
    tries, gate = [], threading.Event()

    def hang() -> None:
        tries.append(1)
        gate.wait(60)

    desk = HealthChecks(Given(lambda: [Probe("provider", "far", hang), Probe("embedder", "near", lambda: 0.25)]))
    for _ in range(20):
        desk.states()
    assert desk.states()[0].state == "checking"
    gate.set()
    assert [(health.state, health.seconds) for health in settled(desk)] == [("ok", None), ("ok", 0.25)]
    assert len(tries) == 1


def test_what_fails_says_why_where_that_is_known() -> None:
    def refuse() -> None:
        raise ProviderNotConfigured(provider="groq", missing="GROQ_API_KEY")

    def crash() -> None:
        raise ZeroDivisionError

    desk = HealthChecks(Given(lambda: [Probe("provider", "groq", refuse), Probe("storage", "bucket", crash)]))
    provider, storage = settled(desk)
    assert (provider.state, storage.state) == ("failed", "failed")
    assert isinstance(provider.error, ProviderNotConfigured)
    assert storage.error is None


def test_another_choice_is_tried_anew_and_an_old_answer_stays_until_the_new_one() -> None:
    chosen, tries = ["one"], []
    desk = HealthChecks(Given(lambda: [Probe("provider", chosen[0], lambda: tries.append(chosen[0]))]))
    settled(desk)
    chosen[0] = "two"
    assert desk.states()[0].state == "checking"
    assert settled(desk)[0].identity == "two"
    assert desk.states(max_age_s=0.0)[0].state == "ok"  # tried again, and known meanwhile
    assert tries[:2] == ["one", "two"]
    desk.forget()
    assert desk.states()[0].state == "checking"


def test_the_app_tries_its_provider_and_its_embedder(app: App) -> None:
    provider, embedder = settled(app.health)
    assert (provider.name, provider.identity, provider.state, provider.seconds) == ("provider", "demo", "ok", None)
    assert embedder.state == "ok"
    assert embedder.seconds is not None
