"""A plugin that fails or hangs costs what it adds, and leaves servers, changes and purges whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import Event
from typing import Any

import pytest

from chatbot_mvp import app as app_module
from chatbot_mvp.app import App, build_app
from chatbot_mvp.documents.kb_files import text_hash
from chatbot_mvp.errors import KbPurgeUnfinished
from chatbot_mvp.evaluation.keeping import KbKeeper
from chatbot_mvp.knowledge_base.gathering import given_contents
from chatbot_mvp.knowledge_base.purged_text import Purged
from chatbot_mvp.plugins.rows import Start
from chatbot_mvp.settings.model import Settings

Adds = Callable[[str, Mapping[str, Any]], None]


@pytest.fixture
def adds(monkeypatch: pytest.MonkeyPatch) -> Adds:
    """Adds rows of a kind, as an installed package does."""

    def add(kind: str, rows: Mapping[str, Any]) -> None:
        monkeypatch.setattr(app_module, "added", lambda asked, _: rows if asked == kind else {})

    return add


def _raise(*_: Any) -> Any:
    raise RuntimeError("upside down")


def _raise_late(*_: Any) -> Iterator[str]:
    yield text_hash("otra cosa")
    raise RuntimeError("upside down")


def test_what_fails_or_hangs_at_the_start_does_not_stop_the_server(
    settings: Settings, adds: Adds, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun, end = Event(), Event()

    def hang(_: App) -> None:
        begun.set()
        end.wait()

    adds("start", {"bad": Start(_raise), "slow": Start(hang), "good": Start(print)})
    monkeypatch.setattr(app_module, "START_S", 0.01)
    try:
        build_app(settings).start()
    finally:
        end.set()
    assert begun.wait(10)
    told = [record.getMessage() for record in caplog.records]
    assert "start 'bad' failed; the server goes on without it" in told
    assert [line for line in told if line.startswith("start 'slow' has not returned within")]


@pytest.mark.parametrize("references", [_raise, _raise_late])
def test_a_keeper_that_does_not_say_what_it_refers_to_leaves_changes_whole_and_every_version(
    settings: Settings, adds: Adds, monkeypatch: pytest.MonkeyPatch, references: Any
) -> None:
    monkeypatch.setattr("chatbot_mvp.knowledge_base.versioning.KEPT", 1)
    adds("kb_keeper", {"bad": KbKeeper(references=references)})
    app, kb_id = made(settings)
    for number in range(2, 5):
        text = f"# A\n\nEl plazo es de {number} meses.\n"
        outcome = app.kb_filing.add(kb_id, given_contents([("a.md", text.encode())]))
        assert outcome.record.number == number
    assert [step.kept for step in app.kb_changes.history(kb_id)] == [True] * 4


def test_a_keeper_that_does_not_purge_is_named_when_the_others_are_done(settings: Settings, adds: Adds) -> None:
    done: list[Purged] = []

    def purge(_: App, purged: Purged) -> int:
        done.append(purged)
        return 1

    adds("kb_keeper", {"bad": KbKeeper(purge=_raise), "good": KbKeeper(purge=purge)})
    app, kb_id = made(settings)
    with pytest.raises(KbPurgeUnfinished, match="kb_keeper 'bad': RuntimeError: upside down"):
        app.kb_changes.purge(kb_id, ["a.md"])
    assert len(done) == 1
    adds("kb_keeper", {})
    assert app.kb_changes.purge(kb_id, ["a.md"]).paths == ("a.md",)


def made(settings: Settings) -> tuple[App, str]:
    app = build_app(settings)
    files = [("a.md", b"# A\n\nEl plazo es de 1 mes.\n"), ("b.md", b"# B\n\nLa cuota es de 15 euros.\n")]
    return app, app.kb_filing.create("Manual", given_contents(files)).record.kb_id
