"""A reader whose fence does not hold is told: once in the log for what is missing, and to whoever asks."""

from __future__ import annotations

import sys

import pytest

from chatbot_mvp.documents.reading import fences
from chatbot_mvp.documents.reading.sandbox import read_apart
from chatbot_mvp.errors import ReaderUnfenced

HELD = {"landlock": 7, "limits": True}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fences, "_told", [])
    monkeypatch.setattr(sys, "platform", "linux")


def test_a_missing_fence_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        fences.tell({**HELD, "landlock": 0})
        fences.tell(HELD)
    assert [record.getMessage() for record in caplog.records] == [str(fences._unfenced(fences.Fences(0, limits=True)))]
    assert str(fences.require_fences()) == "Landlock 7, limits of memory and time, Python's audit hook"


@pytest.mark.parametrize(("held", "name"), [({"landlock": 0}, "Landlock"), ({"limits": False}, "limits of memory")])
def test_what_is_missing_is_named(held: dict[str, int], name: str) -> None:
    fences.tell({**HELD, **held})
    with pytest.raises(ReaderUnfenced, match=f"read without {name}"):
        fences.require_fences()


def test_a_reader_says_what_holds_around_it() -> None:
    read_apart(".html", "a.html", b"<p>1</p>", 1)
    assert fences._told[-1].limits
