"""Where a question goes that a click below an answer asks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbot_mvp.chat.conversation import Conversation, Turn
from chatbot_mvp.types import Chunk
from streamlit_app.chat import asking
from streamlit_app.chat.asking import Asking, place_of

PASSAGE = Chunk("c", "kb", "", "La dieta es de 48 euros.", 0, 24)
FIRST = Turn("a", "¿Y la dieta?", "strict", "")
LATER = (replace(FIRST, turn_id="b", question="¿Y el coche?", after="a"), replace(FIRST, turn_id="c", after="b"))


@pytest.mark.parametrize(("turns", "after"), [((FIRST,), ""), ((FIRST, *LATER), None)])
def test_a_passage_below_an_old_answer_is_answered_from_at_the_end(
    monkeypatch: pytest.MonkeyPatch, turns: tuple[Turn, ...], after: str | None
) -> None:
    """In the place of an old answer it would begin a branch, and hide all that was asked since."""
    monkeypatch.setattr(asking, "shown_branch", lambda _: "")
    talk = Conversation("s", "t", "kb", "Normas", "", turns)
    assert place_of(Asking(FIRST.question, FIRST.after, PASSAGE), talk) == after
    assert place_of(Asking("¿Otra?", FIRST.after), talk) == "", "an edited question begins a branch"
