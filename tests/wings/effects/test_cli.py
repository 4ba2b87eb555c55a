"""``kb effects``: exit codes as of a gate, one JSON object, and a draft that is published if it passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import load_settings
from tests.conftest import Command
from tests.wings.effects.kb import made, questions_of_towns, staged, towns, without, written


@pytest.fixture
def own(command: Command, monkeypatch: pytest.MonkeyPatch) -> App:
    """An App over the data folder of the command line; both retrieve by words and have no model."""
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    monkeypatch.setenv("PROVIDER", "demo")
    return build_app(load_settings())


@pytest.fixture
def labelled(clean_env: Path) -> str:
    return str(written(clean_env / "talleres.jsonl", questions_of_towns()))


def only_json(text: str) -> dict[str, Any]:
    [line] = text.splitlines()
    value: dict[str, Any] = json.loads(line)
    return value


@pytest.mark.parametrize(
    ("gone", "options", "code", "verdict"),
    [
        (0, (), 0, "not_worse"),
        (1, (), 4, "unclear"),
        (6, (), 3, "worse"),
        (1, ("--max-lost", "0"), 3, "worse"),
        (6, ("--max-lost", "6"), 0, "not_worse"),
    ],
)
def test_the_exit_code_is_that_of_a_gate(
    command: Command, own: App, labelled: str, gone: int, options: tuple[str, ...], code: int, verdict: str
) -> None:
    kb_id = towns(own)
    without(own, kb_id, gone)
    ended, out, _ = command("kb", "effects", kb_id, "--questions", labelled, *options, "--json")
    told = only_json(out)
    assert (ended, told["exit_code"], told["verdict"]) == (code, code, verdict)
    assert (told["counts"]["lost"], told["lost"], told["gone"], told["published"]) == (gone, gone, gone, None)


def test_too_few_questions_cannot_tell(command: Command, own: App, asked: Path) -> None:
    kb_id = made(own)
    staged(own, kb_id)
    code, out, _ = command("kb", "effects", kb_id, "--questions", str(asked))
    assert code == 4
    assert "normas: version 1 -> draft, 5 questions of preguntas.jsonl" in out
    assert "1 change their answer, 1 lose it, 1 gain one; 1 are answered alike from another place" in out
    assert "lost, its paragraph is gone: ¿Cuántos uniformes" in out
    assert "verdict: cannot tell" in out


def test_a_draft_that_passes_is_published_and_another_stays(command: Command, own: App, labelled: str) -> None:
    kb_id = towns(own)
    without(own, kb_id, 2)
    arguments = ("kb", "effects", kb_id, "--questions", labelled, "--publish")
    code, out, _ = command(*arguments, "--max-lost", "1")
    assert (code, "not published: the draft stays" in out) == (3, True)
    assert own.kb_changes.staged(kb_id) is not None
    code, out, _ = command(*arguments, "--max-lost", "2", "--json")
    assert (code, only_json(out)["published"]) == (0, 2)
    assert own.kb_changes.staged(kb_id) is None


def test_an_estimate_asks_nothing(command: Command, own: App, labelled: str) -> None:
    kb_id = towns(own)
    without(own, kb_id, 1)
    arguments = ("kb", "effects", kb_id, "--questions", labelled, "--estimate")
    assert "24 answers are missing; no model is asked" in command(*arguments)[1]
    assert only_json(command(*arguments, "--json")[1])["answers"] == 24
    assert not (own.settings.kb_dir / kb_id / "evaluation").exists()


def test_a_model_with_a_price_is_named_with_the_most_that_it_costs(
    command: Command, own: App, labelled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb_id = towns(own)
    without(own, kb_id, 1)
    for name, value in {"PROVIDER": "groq", "GROQ_API_KEY": "k", "GROQ_MODEL_NAME": "llama-3.3-70b-versatile"}.items():
        monkeypatch.setenv(name, value)
    told = only_json(command("kb", "effects", kb_id, "--questions", labelled, "--estimate", "--json")[1])
    assert (told["answers"], told["requests"]) == (24, 48)
    assert told["model"].startswith("groq/")
    assert 0 < told["cost_usd"] < 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--last", "3", "--questions", "x.jsonl"), "give one of --questions and --last"),
        (("--publish", "--to", "1"), "only the draft can be published"),
        (("--to", "9"), "kb_version_not_found"),
        (("--to", "1"), "effects_same_version"),
        (("--last", "3"), "effects_no_chat"),
        ((), "effects_no_questions"),
    ],
)
def test_what_cannot_be_asked_is_bad_usage(command: Command, own: App, options: tuple[str, ...], said: str) -> None:
    kb_id = made(own)
    staged(own, kb_id)
    code, out, err = command("kb", "effects", kb_id, *options, "--json")
    assert code == 2
    assert said in out + err
