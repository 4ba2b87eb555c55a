"""The options of ``kb ask`` that limit a question to some documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command

QUESTION = "¿Cuántos días de vacaciones hay?"


@pytest.fixture
def manual(clean_env: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    (clean_env / "manual.md").write_text(
        "# Vacaciones\n\nCada persona tiene 23 días laborables de vacaciones.", "utf-8"
    )
    return "manual.md"


def test_a_document_that_is_chosen_answers(command: Command, manual: str) -> None:
    code, out, _ = command("kb", "ask", manual, QUESTION, "--document", manual, "--since", "2020-01-01", "--json")
    told = json.loads(out)
    assert (code, told["outcome"]) == (0, "answered")
    assert told["filter"] == {"documents": [manual], "since": "2020-01-01", "dated": "updated"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--tag", "norma"), "No document"),
        (("--folder", "rrhh"), "No document"),
        (("--until", "2001-01-01"), "No document"),
        (("--since", "ayer"), "since"),
        (("--dated", "leído"), "updated, created"),
    ],
)
def test_a_filter_that_finds_nothing_or_is_none_is_said(
    command: Command, manual: str, options: tuple[str, ...], said: str
) -> None:
    code, _, err = command("kb", "ask", manual, QUESTION, *options)
    assert code == 2
    assert said in err
