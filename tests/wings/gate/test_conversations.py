"""The gate over a data set of conversations."""

from __future__ import annotations

from pathlib import Path

from chatbot_mvp.app import App
from chatbot_mvp.wings.gate.service import Gate
from tests.conversation_set import QUERIES, ROSES, write_garden


def run_of(app: App, folder: Path) -> str:
    changes = {"retrieval_strategy": "LEXICAL", "generation_enabled": False}
    return app.runs.run_now(mteb_dataset_name=str(folder), **changes).run_id


def test_a_gate_compares_a_turn_only_with_itself_after_the_same_conversation(app: App, tmp_path: Path) -> None:
    folder = write_garden(tmp_path / "garden")
    gate = app.get(Gate)
    before = gate.of_runs([run_of(app, folder)])
    other = [{**query, "history": [*ROSES, {"role": "user", "text": "And apples?"}]} for query in QUERIES[:1]]
    write_garden(folder, [*other, *QUERIES[1:]])
    today = gate.of_runs([run_of(app, folder)])
    same = {name: one.digest == today.questions[name].digest for name, one in before.questions.items()}
    assert same == {"follows": False, "changes": True, "alone": True}
