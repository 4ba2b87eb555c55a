"""Names of runs and of the data that they measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from chatbot_mvp.api import RunLine, RunResult, Share, listed_kinds, main_metric, main_share, run_kind
from streamlit_app.shared.i18n import moment, score, t, word
from streamlit_app.shared.metrics import metric_help, metric_label, of_text
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
    """Format a metric of a run: "6 de 10" of the first passage and of questions about a base, else three decimals."""
    value, (scored, _) = run.metrics.get(metric), run.scored.get(metric, (0, 0))
    counted = metric == "hit@1" or (run.kind == KB and metric in listed_kinds()[KB])
    return of_text(Share(round(value * scored), scored)) if value is not None and scored and counted else score(value)


@dataclass(frozen=True)
class Figure:
    """The figure of a run that stands for it, the same one wherever it is shown."""

    name: str
    label: str
    text: str
    about: str
    value: float | None
    interval: Sequence[float] | None


def main_figure(run: RunLine | RunResult) -> Figure:
    """Return how many questions went well; of a run that does not count them, its main metric, "" without any."""
    found = main_share(run)
    if found is not None and found[0] == "right":
        share = found[1]
        return Figure("right", t("compare.right"), of_text(share), t("compare.right_help"), share.value, share.interval)
    name = found[0] if found else main_metric(run)
    label, value = metric_label(name) if name else "", run.metrics.get(name)
    return Figure(name, label, figure_text(run, name), metric_help(name), value, run.intervals.get(name))


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


def run_names(runs: Sequence[RunLine], parts: Callable[[RunLine], Sequence[str]] | None = None) -> dict[str, str]:
    """Return run_id -> its date and these parts, by default its data and its system, or who judged given answers; equal
    texts are numbered, from the last run on.

    Streamlit sends a selection as its text, so two equal texts could not be told apart.
    """
    data_name = data_namer()
    parts = parts or (lambda run: (data_name(run), run.system if run_kind(run.kind).retrieves else run.judge))
    texts = {run.run_id: spoken(" · ".join(filter(None, [moment(run.started_at), *parts(run)]))) for run in runs}
    left = Counter(texts.values())
    alike = {text for text, count in left.items() if count > 1}
    for run_id, text in texts.items():
        if text in alike:
            texts[run_id] = f"{text} ({left[text]})"
            left[text] -= 1
    return texts
