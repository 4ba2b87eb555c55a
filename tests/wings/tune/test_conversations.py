"""A tune over a data set of conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chatbot_mvp.app import App
from chatbot_mvp.wings.tune.service import Tuner
from tests.conversation_set import CORPUS, write_garden


def test_a_tune_never_searches_with_one_turn_of_a_conversation_and_confirms_with_another(
    app: App, tmp_path: Path
) -> None:
    talks: list[dict[str, Any]] = [
        {"_id": f"q{talk}{turn}", "text": f"Question {turn} of {talk}?", "history": said[: 2 * turn]}
        for talk in range(8)
        for said in [[{"role": "user", "text": f"Begin {talk}"}, {"role": "assistant", "text": "Yes."}] * 3]
        for turn in range(1, 4)
    ]
    places = list(CORPUS)
    qrels = {one["_id"]: places[number % len(places)] for number, one in enumerate(talks)}
    folder = write_garden(tmp_path / "garden", talks, qrels)
    plan = app.get(Tuner).plan(str(folder))
    sides = [{name[1] for name in side} for side in (plan.split.searching, plan.split.confirming)]
    assert sides[0].isdisjoint(sides[1])
    assert sides[0] | sides[1] == set("01234567")
