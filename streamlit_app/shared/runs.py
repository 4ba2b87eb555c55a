"""Names of runs in lists of choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from chatbot_mvp.api import RunLine
from streamlit_app.shared.i18n import moment

KB = "kb"  # the kind of a run over a knowledge base
RAGAS = "ragas"  # the kind of an evaluation of answers


def run_names(runs: Sequence[RunLine], parts: Callable[[RunLine], Sequence[str]]) -> dict[str, str]:
    """Return run_id -> its date and these parts; equal texts are completed with the id.

    Streamlit sends a selection as its text, so two equal texts could not be told apart.
    """
    texts = {run.run_id: " · ".join([moment(run.started_at), *parts(run)]) for run in runs}
    counts = Counter(texts.values())
    return {run_id: text if counts[text] == 1 else f"{text} · {run_id}" for run_id, text in texts.items()}
