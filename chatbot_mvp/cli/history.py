"""Chooses and prints the history of ``benchmark history``."""

from __future__ import annotations

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.runs.lists import History, Point, history_of


def chosen_history(archive: RunArchive, dataset: str, metric: str) -> History:
    """Return the history of a data set by its name, or of the newest run's; by default of its main metric.

    Raises:
        UnknownChoice: there is no such run, or no run of the data set has the metric.
    """
    every = archive.series()
    found = [series for series in every if dataset in ("", series.dataset)]
    if not found:
        legal = ", ".join(dict.fromkeys(series.dataset for series in every)) or "-"
        raise UnknownChoice(kind="data set with finished runs", found=dataset, legal=legal)
    # A benchmark and an evaluation of answers may have the same name; the metric tells them apart.
    having = [series for series in found if metric in ("", *series.metrics)]
    if not having or not having[0].metrics:
        legal = ", ".join(found[0].metrics) or "-"
        raise UnknownChoice(kind="metric of these runs", found=metric, legal=legal)
    return history_of(having[0], metric or having[0].metrics[0])


def history_text(history: History) -> str:
    """Return a history as a table, and a line that names the first run that fell out of the band."""
    lines = [f"{history.dataset}  {history.metric}, oldest run first"]
    lines += [_line(point) for point in history.points]
    first = history.first_outside
    if first is None or first.band is None:
        lines.append("no run fell out of the band of the runs before it")
    else:
        low, high = first.band
        lines.append(f"first run out of the band [{low:.4f}, {high:.4f}]: {first.run_id} with {first.value:.4f}")
    return "\n".join(lines)


def _line(point: Point) -> str:
    interval = "-" if point.interval is None else f"[{point.interval[0]:.4f}, {point.interval[1]:.4f}]"
    notes = [
        *(["other data"] if point.data_changed else []),
        *([f"configuration {point.fingerprint}"] if point.configuration_changed else []),
        *(["OUT OF THE BAND"] if point.outside else []),
    ]
    return f"  {point.started_at[:19]}  {point.value:.4f} {interval:<18} {point.run_id}  {'; '.join(notes)}".rstrip()
