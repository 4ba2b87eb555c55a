"""Names of runs and of the data that they measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

from chatbot_mvp.api import RunLine, RunResult, Share, listed_kinds
from streamlit_app.shared.i18n import moment, score, t, word
from streamlit_app.shared.metrics import of_text
from streamlit_app.shared.state import get_app, kb_names

KB = "kb"  # the kind of a run over a knowledge base


class Measured(Protocol):
    """A run, or a group of runs on the same data."""

    @property
    def kind(self) -> str: ...

    @property
    def dataset(self) -> str: ...


def data_namer() -> Callable[[Measured], str]:
    """Return a function that returns the name of the data that a run measured.

    A run over a knowledge base records the id of the base; people know it by its name. The records of the knowledge
    bases are read at most once. A deleted one keeps its id.
    """
    names = cache(lambda: kb_names(get_app().kbs.records()))

    def name(run: Measured) -> str:
        if run.kind != KB:
            return run.dataset
        kb_id, _, questions = run.dataset.partition("/")
        return f"{names().get(kb_id, kb_id)} · {questions}"

    return name


def figure_text(run: RunLine | RunResult, metric: str) -> str:
    """Format a metric of a run: "6 de 10" of questions about a base, else three decimals."""
    value, (scored, _) = run.metrics.get(metric), run.scored.get(metric, (0, 0))
    if value is not None and run.kind == KB and metric in listed_kinds()[KB]:
        return of_text(Share(round(value * scored), scored))
    return score(value)


def spoken(name: str) -> str:
    """Return a name that the core made of parts, such as a run's system or a job's title, its strategy in words."""
    return " · ".join(word("strategy", part) for part in name.split(" · "))


def model_name(run: RunLine) -> str:
    """Return who answered, else who judged, the questions of a run; a dash if nobody did."""
    name = run.generator or run.chat_model or run.judge
    return t("runs.no_model") if name == "demo" else name or "–"


def other_model(model: str) -> str:
    """Return with which model was measured if the chat answers with another one now; "" if not, or if it is unknown."""
    now = get_app().settings.language_model
    return t("runs.other_model", model=model, now=now) if model not in ("", now) else ""


def run_names(runs: Sequence[RunLine], parts: Callable[[RunLine], Sequence[str]]) -> dict[str, str]:
    """Return run_id -> its date and these parts; equal texts are numbered, from the last run on.

    Streamlit sends a selection as its text, so two equal texts could not be told apart.
    """
    texts = {run.run_id: spoken(" · ".join(filter(None, [moment(run.started_at), *parts(run)]))) for run in runs}
    left = Counter(texts.values())
    alike = {text for text, count in left.items() if count > 1}
    for run_id, text in texts.items():
        if text in alike:
            texts[run_id] = f"{text} ({left[text]})"
            left[text] -= 1
    return texts
