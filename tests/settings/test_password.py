"""The password of Admin: what may be configured, what matches, and how fast one may guess."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.settings.password import PasswordGate, hash_password, reason_against
from tests.conftest import Command
from tests.raising import raises

PASSWORD = "contraseña con ñ"


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("configured", [PASSWORD, hash_password(PASSWORD)], ids=["plain", "hash"])
def test_the_password_opens_and_another_does_not(configured: str) -> None:
    gate = PasswordGate(configured, pause=0)
    assert gate.configured
    gate.check(PASSWORD, "a")
    for wrong in ("", PASSWORD + " ", hash_password(PASSWORD), "\udc80"):
        with raises("password_wrong"):
            gate.check(wrong, "b")


def test_the_hash_itself_is_no_password() -> None:
    configured = hash_password(PASSWORD)
    with raises("password_wrong"):
        PasswordGate(configured, pause=0).check(configured, "a")


def test_without_a_password_nothing_opens() -> None:
    gate = PasswordGate("", pause=0)
    assert not gate.configured
    with raises("password_wrong"):
        gate.check("", "a")


def test_two_hashes_of_a_password_differ_and_hold_nothing_of_it() -> None:
    first, second = hash_password(PASSWORD), hash_password(PASSWORD)
    assert first != second
    assert PASSWORD not in first


def test_guessing_is_slowed_for_who_guesses_and_for_nobody_else() -> None:
    clock = Clock()
    gate = PasswordGate(PASSWORD, clock, pause=0)
    for _ in range(5):
        with raises("password_wrong"):
            gate.check("no", "guesser")
    with raises("password_tries_exhausted", match="1 s"):
        gate.check(PASSWORD, "guesser")  # the right one is not even compared
    gate.check(PASSWORD, "someone else")
    clock.now = 1.0
    with raises("password_wrong"):
        gate.check("no", "guesser")
    clock.now = 2.5
    with raises("password_tries_exhausted"):
        gate.check("no", "guesser")
    clock.now = 3.1
    gate.check(PASSWORD, "guesser")
    with raises("password_wrong"):  # the count begins anew
        gate.check("no", "guesser")


def tries(gate: PasswordGate, askers: list[str]) -> list[threading.Thread]:
    """Wrong tries at the same time, one by each asker of the list."""

    def wrong(asker: str) -> None:
        with raises("password_wrong", "password_tries_exhausted"):
            gate.check("no", asker)

    started = [threading.Thread(target=wrong, args=(asker,)) for asker in askers]
    for thread in started:
        thread.start()
    time.sleep(0.05)
    return started


@pytest.mark.parametrize("guessers", [1, 2])
def test_forty_wrong_tries_of_one_client_hold_up_no_other(guessers: int) -> None:
    """Nor do those of two, and the guessers' threads are not kept waiting for each other."""
    gate = PasswordGate(PASSWORD)
    begun = time.monotonic()
    started = tries(gate, [f"203.0.113.{number % guessers}" for number in range(40)])
    gate.check(PASSWORD, "someone else")
    assert time.monotonic() - begun < 40 * 0.5 / 2, "half of what their pauses one after the other take"
    for thread in started:
        thread.join(30)
    assert time.monotonic() - begun < 0.75 * 40 * 0.5


def test_many_clients_together_guess_no_faster_than_a_few() -> None:
    """Twelve addresses, four places, a pause in each: three pauses one after the other."""
    gate = PasswordGate(PASSWORD, pause=0.4)
    begun = time.monotonic()
    for thread in tries(gate, [f"203.0.113.{number}" for number in range(12)]):
        thread.join(30)
    assert time.monotonic() - begun >= 3 * 0.4


def test_addresses_that_one_client_has_at_will_count_as_one() -> None:
    gate = PasswordGate(PASSWORD, Clock(), pause=0)
    for number in range(5):
        with raises("password_wrong"):
            gate.check("no", f"2001:db8:1:2::{number:x}")
    with raises("password_tries_exhausted"):
        gate.check("no", "2001:db8:1:2:ffff::1")
    gate.check(PASSWORD, "2001:db8:1:3::1")


@pytest.mark.parametrize(
    "value",
    ["corta", "scrypt:", "scrypt:16384:8:1:AAAA", "scrypt:3:8:1:AAAA:AAAA", f"scrypt:{2**40}:8:1:AAAA:{'A' * 43}="],
)
def test_what_cannot_be_a_password_is_refused_at_the_start_unseen(
    clean_env: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    assert reason_against(value)
    monkeypatch.setenv("ADMIN_PASSWORD", value)
    with pytest.raises(InvalidSetting) as raised:
        load_settings()
    assert "ADMIN_PASSWORD" in str(raised.value)
    assert value not in str(raised.value)


def test_the_password_is_never_written_down(clean_env: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", PASSWORD)
    assert PASSWORD not in load_settings().model_dump_json() + repr(load_settings())


def test_the_command_prints_the_line_with_a_hash_that_opens(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.prompt", lambda *_, **__: PASSWORD)
    code, out, _ = command("hash-password")
    variable, _, value = out.strip().partition("=")
    assert (code, variable) == (0, "ADMIN_PASSWORD")
    PasswordGate(value, pause=0).check(PASSWORD, "a")
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "corta")
    code, out, err = command("hash-password")
    assert (code, out) == (2, "")
    assert "8 characters" in err
