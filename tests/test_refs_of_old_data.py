"""What an old data folder refers to opens as before after its knowledge base has changed three times."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import KbChangeError
from chatbot_mvp.knowledge_base.changes import Move
from tests.moving import ALLOWANCES, app_over, document

Promises = pytest.importorskip("chatbot_mvp.wings.promise.service").Promises

V1 = Path(__file__).parent / "fixtures" / "v1"
KB, SESSION = "politica-empresa-6704388c1c044ad47022f75d", "2292c0704e92d59ac1678d33cc73201b"
ASKED = f"20261123_174336_{KB}-De-personas_LEXICAL"


@pytest.fixture
def app(tmp_path: Path, clean_env: Path) -> App:
    return app_over(Path(shutil.copytree(V1, tmp_path / "data")))


def opened(app: App) -> dict[str, object]:
    """Everything that a page shows of conversations, question sets and runs."""
    result = app.kb_evaluation.result(KB, ASKED)
    manifest = app.details.manifest(ASKED)
    return {
        "conversations": app.chat.conversations(SESSION, KB),
        "sets": app.question_sets.sets(KB),
        "runs": [line.run_id for line in app.archive.runs()[0]],
        "result": result,
        "found": [app.kb_evaluation.found(result, row) for row in result.rows],
        "expected": [app.kb_evaluation.expected(result, row) for row in result.rows],
        "documents": app.archive.documents(ASKED, [f"{KB}:0000", f"{KB}:0003"]),
        "finished": app.archive.finished(ASKED).dataset.sha256 == manifest.dataset_sha256,
    }


def changed_three_times(app: App) -> None:
    [policy] = app.kb_changes.documents(KB)
    text = app.kbs.store.text_of(KB, policy)
    app.kb_changes.change(KB, new=[document("gastos/dietas.md", ALLOWANCES)])
    app.kb_changes.change(KB, [Move(policy.path, "normas/")])
    app.kb_changes.change(KB, new=[document(f"normas/{policy.path}", text.replace("23 días", "25 días"))])


def test_conversations_question_sets_and_runs_open_as_before(app: App) -> None:
    before = opened(app)
    changed_three_times(app)
    later = app_over(app.settings.kb_dir.parent)
    assert opened(later) == before
    assert all(before["found"])  # type: ignore[call-overload]
    assert len(later.kb_changes.history(KB)) == 4


def test_what_has_changed_since_is_said(app: App) -> None:
    changed_three_times(app)
    [conversation] = app.chat.conversations(SESSION, KB)
    answers = [turn.answer for turn in conversation.turns if turn.answer]
    states = [now.state for one in answers[0].sources if (now := app.answering.citation_now(one))]
    assert states == ["changed"]
    checks = {one.name: app.question_sets.check(one) for one in app.question_sets.sets(KB)}
    assert all(check.kb_changed for check in checks.values())
    assert {now.state for now in checks["De personas"].passages.values()} == {"same"}
    state = app.get(Promises).state(KB)
    assert state is not None and state.changed[0] == "kb"
    assert app.get(Promises).after_change(KB, state.promise) is None  # nothing had been promised


def test_the_version_that_they_refer_to_stays(app: App) -> None:
    changed_three_times(app)
    for number in range(21):
        app.kb_changes.change(KB, new=[document("gastos/dietas.md", f"{ALLOWANCES}\n\nNota {number}.\n")])
    assert app.kb_changes.history(KB)[-1].kept
    result = app.kb_evaluation.result(KB, ASKED)
    assert app.kb_evaluation.found(result, result.rows[0])


def test_a_document_of_an_old_folder_is_purged(app: App) -> None:
    with pytest.raises(KbChangeError, match="no document left"):
        app.kb_changes.purge(KB, ["politica_empresa.md"])
    app.kb_changes.change(KB, new=[document("gastos/dietas.md", ALLOWANCES)])
    app.kb_changes.purge(KB, ["politica_empresa.md"])
    said = "23 días laborables de vacaciones por año natural".encode()
    data = app.settings.kb_dir.parent
    assert [path for path in data.rglob("*") if path.is_file() and said in path.read_bytes()] == []
    [conversation] = app.chat.conversations(SESSION, KB)
    assert [conversation.damaged, len(conversation.turns)] == [0, 2]
    assert len(app.question_sets.sets(KB)) == 3
    assert app.kb_evaluation.result(KB, ASKED).rows
