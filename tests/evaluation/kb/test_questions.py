"""Figures of a knowledge base's questions; what cannot be scored is None."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import EmptyDataset
from chatbot_mvp.evaluation.kb.questions import auroc, load_questions
from tests.raising import raises

KB = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{nope", "line 2 is no JSON"),
        ("[1]", "line 2 is no object"),
        ('{"id": "b"}', "line 2 has no text under 'question'"),
        ('{"question": "x", "kind": "maybe"}', "line 2 has the kind 'maybe'; legal: answerable, near, far"),
        ('{"question": "x", "paragraph": 3}', "line 2 has a 'paragraph'"),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "¿?"}\n' + line + "\n", "utf-8")
    with raises("dataset_file_unreadable", match=told[:20]) as raised:
        load_questions(path)
    assert told in str(raised.value)


def test_a_missing_and_an_empty_file_are_told(tmp_path: Path) -> None:
    with raises("dataset_file_missing"):
        load_questions(tmp_path / "q.jsonl")
    (tmp_path / "q.jsonl").write_text("\n", "utf-8")
    with pytest.raises(EmptyDataset):
        load_questions(tmp_path / "q.jsonl")


def test_auroc_by_hand() -> None:
    """3 > 1, 3 > 2, 2 > 1, 2 = 2: 3.5 of 4."""
    assert auroc([3, 2], [1, 2]) == pytest.approx(0.875)
    assert auroc([], [1.0]) is None


def evaluate(app: App, tmp_path: Path, *lines: str) -> dict[str, Any]:
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return app.kb_evaluation.evaluate(app.kbs.add("kb.md", KB.encode()).kb_id, path)


def test_a_questions_paragraph_is_looked_for_in_the_first_chunks(app: App, tmp_path: Path) -> None:
    result = evaluate(
        app,
        tmp_path,
        '{"question": "¿De cuántos euros es la dieta completa?", "kind": "answerable",'
        ' "paragraph": "La dieta completa es de 48 euros."}',
        '{"question": "¿De cuántos días dispone cada persona?", "kind": "answerable", "paragraph": "No está."}',
        '{"question": "¿Qué altura tiene la torre Eiffel?", "kind": "far"}',
    )
    assert result["questions"] == {"answerable": 2, "far": 1}
    assert result["accepted"] == {"answerable": 1.0, "far": 0.0}
    assert (result["hit@1"], result["hit@3"], result["scored"]) == (1.0, 1.0, 1)
    assert result["auroc"] == {"near": None, "far": 1.0}


def test_without_kind_and_paragraph_nothing_is_scored(app: App, tmp_path: Path) -> None:
    result = evaluate(app, tmp_path, '{"question": "¿Dieta?"}')
    assert (result["hit@1"], result["hit@3"], result["accepted"]) == (None, None, {})
    assert result["seconds_per_question_p50"] > 0


def test_progress_is_reported_up_to_the_last_question(app: App, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "¿Dieta?"}\n{"question": "¿Días?"}\n', "utf-8")
    told = []
    app.kb_evaluation.evaluate(app.kbs.add("kb.md", KB.encode()).kb_id, path, told.append)
    assert [(each.done, each.total) for each in told if each.phase == "retrieve"] == [(0, 2), (1, 2), (2, 2)]
